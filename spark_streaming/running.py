"""Around a query: its metrics, how it is stopped, and what its failure means."""

import logging
import re
import signal
import threading
from typing import Protocol

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
