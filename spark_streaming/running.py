"""Around queries: their metrics, how they are stopped, and what a failure means."""

import logging
import re
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

from prometheus_client import start_http_server
from pyspark.sql.streaming.query import StreamingQuery

from configs.settings import Http
from spark_streaming.errors import JobError, OffsetsLost

log = logging.getLogger(__name__)

_LOOK_S = 0.2
# In the driver's words, and in those of a task that finds its first offset gone.
_DATA_LOSS = ("KAFKA_DATA_LOSS", "Some data may have been lost")
# The last line of a Python traceback, or the reason that the Kafka source gives.
_SAYS_WHY = re.compile(r"(Reason|[a-z_]+(\.[a-z_]+)*\.[A-Z]\w*): ")


class Job(Protocol):
    source: str  # the topic that is being read
    after_loss: str  # what to do when records are gone from it
    failure: Exception | None


class Started(NamedTuple):
    """The query that does a job for one of several collections."""

    collection: str
    job: Job
    query: StreamingQuery


def stop_on_signals() -> threading.Event:
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    return stopping


def serve_metrics(http: Http) -> int:
    """The port, which may be any that is free."""
    try:
        server, _ = start_http_server(http.port, http.host)
    except OSError as error:
        raise JobError(
            f"cannot serve on {http.host}:{http.port}: {error.strerror}", "choose another http.port"
        ) from error
    log.info("metrics on http://%s:%d/metrics", http.host, server.server_port)
    return int(server.server_port)


def await_query(query: StreamingQuery, job: Job, stopping: threading.Event) -> None:
    """Until the query has ended, or `stopping` is set; an exception that says why it failed."""
    while query.isActive:
        if stopping.wait(_LOOK_S):
            query.stop()
    error = query.exception()
    if error is not None and not stopping.is_set():
        raise clearer(error, job) from error


def await_queries(started: Sequence[Started], stopping: threading.Event) -> None:
    """Until all have ended, or `stopping` is set; a `JobError` as soon as one has failed."""
    failed: list[Started] = []
    while any(one.query.isActive for one in started) and not failed:
        if stopping.wait(_LOOK_S):
            return
        failed = _failed(started)
    errors = [_failure_of(one) for one in failed or _failed(started)]
    for error in errors:
        log.error("%s", error)
    if errors:
        raise errors[0]


def _failed(started: Sequence[Started]) -> list[Started]:
    return [one for one in started if not one.query.isActive and one.query.exception()]


def _failure_of(one: Started) -> JobError:
    error = one.query.exception()
    why = clearer(error, one.job) if error is not None else JobError("the job stopped")
    return (why if isinstance(why, JobError) else JobError(str(why))).of(one.collection)


def stop_queries(started: Sequence[Started]) -> None:
    """All at once: each ends with the batch that it is in, and would begin another meanwhile.

    A batch that is cut off is repeated by the next start.
    """
    if started:
        with ThreadPoolExecutor(len(started)) as pool:
            list(pool.map(lambda one: one.query.stop(), started))


def clearer(error: Exception, job: Job) -> Exception:
    """What a failure that came through Spark means for the job's operator."""
    failure = job.failure or error
    text = str(failure)
    if any(sign in text for sign in _DATA_LOSS):
        return OffsetsLost(
            f"{job.source} no longer has records that the job has not read: {_essence(text)}",
            job.after_loss,
        )
    if isinstance(failure, JobError | ConnectionError):
        return failure
    return JobError(f"the job stopped: {_essence(text)}", "start the job again")


def _essence(text: str) -> str:
    """The line that says what happened, out of a traceback of Python, Java or both.

    >>> _essence("Aborted\\nTraceback (most recent call last):\\n  File x\\nb.Failed: no room\\n")
    'b.Failed: no room'
    >>> _essence("Some data may have been lost;\\nReason: gone.\\n\\tat java")
    'Reason: gone.'
    """
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if _SAYS_WHY.match(line)]
    return (said or lines)[-1 if said else 0]
