"""After a batch: tell of the new bases, and drop those that nobody needs any more."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Row

from spark_streaming import metrics
from spark_streaming.kafka_options import DELIVERY
from storage.base_store import BaseStore
from topics.bases import BaseName, decode_record
from topics.kafka.producer import Outbox

log = logging.getLogger(__name__)


class Announcements:
    def __init__(
        self, client: Mapping[str, Any], topic: str, store: BaseStore, collection: str, job: str
    ) -> None:
        self._outbox = Outbox(client, **DELIVERY)
        self._topic, self._store = topic, store
        self._collection, self._job = collection, job

    def publish(self, outcomes: Iterable[Row]) -> None:
        """One record a shard, on the shard's own partition; returns when all are acknowledged."""
        bases = []
        for outcome in outcomes:
            labels = (self._collection, self._job, "subscriptions")
            metrics.REFUSED.labels(*labels).inc(outcome.refused)
            metrics.DEAD_LETTERS.labels(*labels).inc(outcome.letters)
            value, key = bytes(outcome.base), str(outcome.shard).encode()
            self._outbox.send(self._topic, value, key=key, partition=outcome.shard)
            bases.append(decode_record(value))
        self._outbox.settle()
        for base in bases:
            nbytes = sum(tree.size for tree in base.trees)
            metrics.note_base(self._collection, base.shard, nbytes)
            log.info(
                "shard %d: base up to offset %d, %d subscriptions, %d bytes",
                *(base.shard, base.next_offset, base.subscriptions, nbytes),
            )

    def drop(self, base: BaseName, trees: int) -> None:
        for i in range(trees):
            self._store.drop(base.tree(i))
        self._store.drop(base.state)
