"""What the jobs count; served at `/metrics` of the job's own port."""

import json
import time

from prometheus_client import Counter, Gauge, Histogram
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500)

ROWS_PER_SECOND = Gauge(
    "podium_spark_rows_per_second", "Records a second in the last batch", ["collection", "job"]
)
BATCH_SECONDS = Histogram(
    "podium_spark_batch_seconds", "Time of a batch", ["collection", "job"], buckets=_SECONDS
)
LAST_BATCH_SECONDS = Gauge(
    "podium_spark_last_batch_seconds",
    "Time of the last batch that had records",
    ["collection", "job"],
)
OFFSETS_BEHIND = Gauge(
    "podium_spark_offsets_behind", "Records not read yet, all shards", ["collection", "job"]
)
REFUSED = Counter(
    "podium_spark_refused_total", "Bad records skipped", ["collection", "job", "topic"]
)
DEAD_LETTERS = Counter(
    "podium_spark_dead_letters_total",
    "Dead letters written, of records that no matcher had met before",
    ["collection", "job", "topic"],
)
BASES = Counter("podium_spark_bases_total", "Bases announced", ["collection", "shard"])
BASES_REBUILT = Counter(
    "podium_spark_bases_rebuilt_total",
    "Bases built from the beginning because the one before was lost",
    ["collection", "shard"],
)
BASE_BYTES = Gauge("podium_spark_base_bytes", "Size of the newest base", ["collection", "shard"])
BASE_AGE_SECONDS = Gauge(
    "podium_spark_base_age_seconds", "Since the newest base was announced", ["collection", "shard"]
)


def note_base(collection: str, shard: int, nbytes: int) -> None:
    BASES.labels(collection, str(shard)).inc()
    BASE_BYTES.labels(collection, str(shard)).set(nbytes)
    announced_at = time.time()
    age = BASE_AGE_SECONDS.labels(collection, str(shard))
    age.set_function(lambda: time.time() - announced_at)


class ProgressMetrics(StreamingQueryListener):
    """Publishes the progress that Spark reports of one query."""

    def __init__(self, collection: str, job: str) -> None:
        self._labels = (collection, job)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        OFFSETS_BEHIND.labels(*self._labels).set(0)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        ROWS_PER_SECOND.labels(*self._labels).set(progress.processedRowsPerSecond or 0.0)
        spent_ms = progress.durationMs.get("triggerExecution", 0)
        if progress.numInputRows:
            BATCH_SECONDS.labels(*self._labels).observe(spent_ms / 1000)
            LAST_BATCH_SECONDS.labels(*self._labels).set(spent_ms / 1000)
        behind = sum(
            offsets_behind(source.endOffset, source.latestOffset) for source in progress.sources
        )
        OFFSETS_BEHIND.labels(*self._labels).set(behind)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        ROWS_PER_SECOND.labels(*self._labels).set(0.0)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        ROWS_PER_SECOND.labels(*self._labels).set(0.0)


def offsets_behind(read: str | None, latest: str | None) -> int:
    """Both are `{"topic": {"0": 12}}` as Spark tells them.

    >>> offsets_behind('{"t": {"0": 5, "1": 2}}', '{"t": {"0": 9, "1": 2}}')
    4
    """
    if not latest or latest == "null":
        return 0
    done = json.loads(read) if read and read != "null" else {}
    return sum(
        max(0, end - done.get(topic, {}).get(partition, 0))
        for topic, ends in json.loads(latest).items()
        for partition, end in ends.items()
    )
