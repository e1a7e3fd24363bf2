"""Follows `routes`, from the side of the router."""

import logging

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, KafkaError, Message, TopicPartition

from topics.routes import BlobError, decode
from workers import metrics
from workers.context import Context
from workers.framing import Accepted, Asked
from workers.route_table import RouteTable

log = logging.getLogger(__name__)

_MOST_RECORDS = 1000  # at a time


class RouteReader:
    def __init__(self, context: Context) -> None:
        self._context = context
        collection = context.collection
        topic_id = context.topic_id(context.names.topic("subscriptions"))
        self._table = RouteTable(topic_id, collection.attributes, collection.shards)
        self._consumer = context.consumer("routes")
        routes = context.names.topic("routes")
        shards = range(collection.shards)
        self._consumer.assign([TopicPartition(routes, s, OFFSET_BEGINNING) for s in shards])

    def poll(self) -> None:
        """Take what has come; never waits."""
        for message in self._consumer.consume(_MOST_RECORDS, 0):
            error = message.error()
            if error is None:
                self._take(message)
            elif error.code() != KafkaError._PARTITION_EOF:
                log.warning("routes: %s", error.str())

    def _take(self, message: Message) -> None:
        shard = message.partition()
        try:
            record = decode(message.value() or b"", self._table.dimensions)
            self._table.take(shard, record)
        except (BlobError, KeyError, ValueError) as error:
            self._table.forget(shard)
            metrics.ROUTES_REFUSED.labels(self._context.collection.name, str(shard)).inc()
            log.warning(
                "routes[%d]@%d refused, the shard gets every event: %s",
                shard,
                message.offset(),
                error,
            )

    def asked(self, events: Accepted, numbers: np.ndarray) -> Asked:
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
        return Asked(passing, table.next_offsets - 1)

    def close(self) -> None:
        self._consumer.close()
