"""Follows `routes`, from the side of the router."""

import logging

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition

from topics.routes import BlobError, decode
from workers.process import metrics
from workers.process.context import Context
from workers.process.records import RecordReader
from workers.router.framing import Accepted, ShardsToAsk
from workers.router.route_table import RouteTable

log = logging.getLogger(__name__)

_MOST_RECORDS = 1000  # at a time


class RouteReader:
    def __init__(self, context: Context) -> None:
        self._context = context
        collection = context.collection
        topic_id = context.topic_id(context.names.topic("subscriptions"))
        self._table = RouteTable(topic_id, collection.attributes, collection.shards)
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
