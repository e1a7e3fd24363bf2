"""What the router knows of the routes: which shards an event can be kept from."""

import logging
from collections.abc import Sequence

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition
from numba import njit

from indexes.boxes import MOST_ATTRIBUTES
from indexes.covering import KDCover
from indexes.kinds import KINDS
from topics.routes import BlobError, RouteRecord, decode
from workers.process import metrics
from workers.process.context import Context
from workers.process.records import RecordReader
from workers.router.framing import Accepted, ShardsToAsk

log = logging.getLogger(__name__)

_MOST_RECORDS = 1000  # at a time


class _Routes:
    """Of one shard, as far as they have come."""

    def __init__(self, record: RouteRecord, dimensions: int) -> None:
        self.generation, self.sequence = record.generation, 0
        self.next_offset = record.next_offset
        self._cover = KDCover(dimensions)
        # Around all boxes, and perhaps more: most events of other shards are outside of it.
        self._low, self._high = np.full(dimensions, np.inf), np.full(dimensions, -np.inf)
        self._add(record)

    def _add(self, record: RouteRecord) -> None:
        self._cover.insert_many(record.ids, record.lows, record.highs)
        self._low = np.minimum(self._low, record.lows.min(axis=0, initial=np.inf))
        self._high = np.maximum(self._high, record.highs.max(axis=0, initial=-np.inf))

    def follows(self, record: RouteRecord) -> bool:
        return (record.generation, record.sequence) == (self.generation, self.sequence + 1)

    def misses_one_before(self, record: RouteRecord) -> bool:
        """What is left of an older generation says nothing."""
        return record.generation == self.generation and record.sequence > self.sequence + 1

    def change(self, record: RouteRecord) -> None:
        self._cover.delete_many(record.removed)
        self._add(record)
        self.sequence, self.next_offset = record.sequence, record.next_offset

    def hold(self, points: np.ndarray) -> np.ndarray:
        """Which events lie in a box; what an event lacks is outside of nothing at first."""
        held = _within(points, self._low, self._high)
        held[held] = self._cover.stab_many(points[held])
        return held


class RouteTable:
    """A shard whose routes are not known gets every event."""

    def __init__(self, topic_id: str, axes: Sequence[str], shards: int) -> None:
        self._topic_id = topic_id
        self.dimensions = min(len(axes), MOST_ATTRIBUTES)
        self._routes: list[_Routes | None] = [None] * shards

    def take(self, shard: int, record: RouteRecord) -> bool:
        """Follow a record of `routes`; whether the routes of its shard are known now."""
        if record.topic_id != self._topic_id:
            self.forget(shard)
            return False
        routes = self._routes[shard]
        if record.sequence == 0:
            # A worker that has lost its shard, and does not know yet, says less than is known.
            if routes is None or record.next_offset >= routes.next_offset:
                self._routes[shard] = _Routes(record, self.dimensions)
        elif routes is not None and routes.follows(record):
            routes.change(record)
        elif routes is not None and routes.misses_one_before(record):
            self.forget(shard)
        return self._routes[shard] is not None

    def forget(self, shard: int) -> None:
        self._routes[shard] = None

    @property
    def next_offsets(self) -> np.ndarray:
        """i8[shards]: all subscriptions below are in the routes; 0 where there are none."""
        known = [0 if routes is None else routes.next_offset for routes in self._routes]
        return np.array(known, np.int64)

    def lets_through(self, shard: int, points: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Which events go to a shard: f8[m, d], NaN for what an event lacks; i8[m], its tokens."""
        routes = self._routes[shard]
        if routes is None:
            return np.ones(len(points), np.bool_)
        return routes.hold(points) | (after >= routes.next_offset)


@njit(cache=True)
def _within(points, low, high):
    """Which points are inside a box, as far as they are known."""
    inside = np.ones(len(points), np.bool_)
    for i in range(len(points)):
        for j in range(len(low)):
            if points[i, j] < low[j] or points[i, j] > high[j]:
                inside[i] = False
                break
    return inside


class RouteReader:
    """Follows `routes`, and says which shards the events of a run go to."""

    def __init__(self, context: Context) -> None:
        self._context = context
        collection = context.collection
        topic_id = context.topic_id(context.names.topic("subscriptions"))
        axes = KINDS[collection.kind].axes(collection.attributes)
        self._table = RouteTable(topic_id, axes, collection.shards)
        routes = context.names.topic("routes")
        self._consumer = context.consumer("routes", {"enable.partition.eof": True})
        self._records = RecordReader(context, self._consumer, routes)
        shards = range(collection.shards)
        self._consumer.assign([TopicPartition(routes, s, OFFSET_BEGINNING) for s in shards])

    def poll(self) -> None:
        """Take what has come; never waits."""
        batch = self._records.read(0, _MOST_RECORDS, lambda: 0.0)
        for message in batch.records:
            self._take(message)
        for unread in batch.unread:
            self._refuse(unread.partition, unread.letter.offset, unread.letter.error)

    def _take(self, message: Message) -> None:
        shard = message.partition()
        try:
            record = decode(message.value() or b"", self._table.dimensions)
            self._table.take(shard, record)
        except (BlobError, KeyError, ValueError) as error:
            self._refuse(shard, message.offset(), str(error))

    def _refuse(self, shard: int, offset: int, why: str) -> None:
        self._table.forget(shard)
        metrics.ROUTES_REFUSED.labels(self._context.collection.name, str(shard)).inc()
        text = "routes[%d]@%d refused, the shard gets every event: %s"
        log.warning(text, shard, offset, why)

    def asked(self, events: Accepted, numbers: np.ndarray) -> ShardsToAsk:
        """Which shards the events of a run go to."""
        collection, table = self._context.collection, self._table
        points = np.ascontiguousarray(numbers[:, : table.dimensions])
        passing = np.empty((collection.shards, len(points)), np.bool_)
        after = np.full(passing.shape, -1)
        for event, options in enumerate(events.options):
            for shard, offset in options.after.items():  # of most events there are none
                after[shard, event] = offset
        for shard in range(collection.shards):
            passing[shard] = table.lets_through(shard, points, after[shard])
        if collection.emit_empty:  # somebody has to answer
            unwanted = np.flatnonzero(~passing.any(axis=0))
            passing[unwanted % collection.shards, unwanted] = True
        sent = int(passing.sum())
        metrics.ASKED.labels(collection.name, "sent").inc(sent)
        metrics.ASKED.labels(collection.name, "left out").inc(passing.size - sent)
        return ShardsToAsk(passing, table.next_offsets - 1)

    def close(self) -> None:
        self._consumer.close()
