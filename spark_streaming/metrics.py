"""What the jobs count; served at `/metrics` of the job's own port."""

import json
import time
from collections.abc import Mapping, Sequence

from prometheus_client import Counter, Gauge, Histogram
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)
from pyspark.sql.streaming.query import StreamingQueryManager

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
PAINTED = Counter(
    "podium_spark_painted_total", "Records of objects that batches have applied", ["collection"]
)
PAINT_MESSAGES = Counter(
    "podium_spark_messages_total", "Messages about objects sent to the zones", ["collection"]
)
RESETS = Counter(
    "podium_spark_resets_total", "Zones whose lists a batch has sent anew", ["collection"]
)
WORLD_OBJECTS = Gauge("podium_spark_world_objects", "Objects that batches know", ["collection"])
WORLD_SUBSCRIPTIONS = Gauge(
    "podium_spark_world_subscriptions", "Subscriptions that batches know", ["collection"]
)
WORLD_BYTES = Gauge(
    "podium_spark_world_bytes", "Bytes of the newest world in the base store", ["collection"]
)


def note_base(collection: str, shard: int, nbytes: int) -> None:
    BASES.labels(collection, str(shard)).inc()
    BASE_BYTES.labels(collection, str(shard)).set(nbytes)
    announced_at = time.time()
    age = BASE_AGE_SECONDS.labels(collection, str(shard))
    age.set_function(lambda: time.time() - announced_at)


def query_name(collection: str, job: str) -> str:
    """What a query is called, so that `ProgressMetrics` knows whose progress it hears of."""
    return f"{collection} {job}"


class ProgressMetrics(StreamingQueryListener):
    """Publishes the progress that Spark reports of our queries, which are among `queries`."""

    def __init__(self, queries: StreamingQueryManager) -> None:
        self._queries = queries
        self._labels: dict[str, list[str]] = {}  # collection and job, by the id of a query

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        labels = (event.name or "").split(" ")
        if len(labels) == 2:
            self._labels[str(event.id)] = labels
            OFFSETS_BEHIND.labels(*labels).set(0)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        labels = self._labels.get(str(progress.id))
        if labels is None:
            return
        ROWS_PER_SECOND.labels(*labels).set(progress.processedRowsPerSecond or 0.0)
        spent_ms = progress.durationMs.get("triggerExecution", 0)
        if progress.numInputRows:
            BATCH_SECONDS.labels(*labels).observe(spent_ms / 1000)
            LAST_BATCH_SECONDS.labels(*labels).set(spent_ms / 1000)
        _note_behind(progress, labels)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Also while records wait for more of them; the event itself does not say how many."""
        labels = self._labels.get(str(event.id))
        if labels is None:
            return
        ROWS_PER_SECOND.labels(*labels).set(0.0)
        query = self._queries.get(str(event.id))
        progress = query.lastProgress if query is not None else None
        if progress is not None:
            _note_behind(progress, labels)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        labels = self._labels.pop(str(event.id), None)
        if labels is not None:
            ROWS_PER_SECOND.labels(*labels).set(0.0)


def _note_behind(progress: StreamingQueryProgress, labels: Sequence[str]) -> None:
    # As JSON: what a query tells of its last progress has offsets in Python's notation.
    sources = json.loads(progress.json)["sources"]
    behind = sum(offsets_behind(each["endOffset"], each["latestOffset"]) for each in sources)
    OFFSETS_BEHIND.labels(*labels).set(behind)


Offsets = Mapping[str, Mapping[str, int]]  # by topic and partition


def offsets_behind(read: Offsets | None, latest: Offsets | None) -> int:
    """Both as Spark tells them.

    >>> offsets_behind({"t": {"0": 5, "1": 2}}, {"t": {"0": 9, "1": 2}})
    4
    """
    done = read or {}
    return sum(
        max(0, end - done.get(topic, {}).get(partition, 0))
        for topic, ends in (latest or {}).items()
        for partition, end in ends.items()
    )
