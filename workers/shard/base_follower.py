"""The bases that the Spark job announces for one shard: which is the newest, and what is in it.

Every method may block; they are all called from one thread.
"""

import logging
import time
from collections.abc import Callable

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from indexes.intervals import SOPTArrays, SOPTRTree
from storage.array_blob import BlobError
from storage.base_store import BaseStore, NotStored, StoreFailed
from topics.bases import Base, BaseName, TreeBlob, decode_record, decode_tree
from topics.codecs.json_record import BadRecord
from workers.process import metrics
from workers.process.context import Context
from workers.process.records import RecordReader

log = logging.getLogger(__name__)

# Between two tries to read from a store that does not answer: twice as long each time.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0


class BaseFollower:
    """Follows `bases`, in which a shard has a tree an attribute."""

    def __init__(
        self, context: Context, shard: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._context, self._shard = context, shard
        self._labels = (context.collection.name, str(shard))
        self._place = TopicPartition(context.names.topic("bases"), shard, OFFSET_BEGINNING)
        self._consumer: Consumer | None = None
        self._records: RecordReader
        self._newest: Base | None = None  # not taken yet
        self._now, self._rests_until, self._pause_s = now, 0.0, _FIRST_PAUSE_S
        self._out_of_reach: Base | None = None  # the one that this was said of

    def poll(self, topic_id: str, wanted: range) -> Base | None:
        """The newest base of this topic, if the offset that it ends at is wanted.

        None for a while after the store has not answered.
        """
        if self._consumer is None:
            self._consumer = self._context.consumer("bases", {"enable.partition.eof": True})
            self._records = RecordReader(self._context, self._consumer, self._place.topic)
            self._consumer.assign([self._place])
        batch = self._records.read(0, 100, lambda: 0.0)
        for message in batch.records:
            if message.value() is not None:
                self._note(message.value(), topic_id)
        for unread in batch.unread:
            self._refuse("unreadable", unread.letter.error)
        base = self._newest
        if base is None or base.next_offset not in wanted or self._now() < self._rests_until:
            return None
        return base

    def _note(self, value: bytes, topic_id: str) -> None:
        collection = self._context.collection
        try:
            base = decode_record(value)
            if base.topic != self._context.names.topic("subscriptions"):
                raise BadRecord("topic", f"got {base.topic}")
            if (base.topic_id, base.kind, base.shard) != (topic_id, collection.kind, self._shard):
                raise BadRecord("topic_id", f"got {base.topic_id}, expected {topic_id}")
            if [tree.attribute for tree in base.trees] != list(collection.attributes):
                got = [tree.attribute for tree in base.trees]
                raise BadRecord("trees", f"got {got}, expected {list(collection.attributes)}")
        except BadRecord as bad:
            self._refuse("foreign", str(bad))
        else:
            self._newest = base

    def load(self, base: Base) -> list[SOPTRTree] | None:
        """Its trees, every byte verified; None, with a warning, if they cannot be had."""
        settings = self._context.settings
        uri = settings.spark.bases or settings.redis.url
        try:
            store = BaseStore.open(uri.get_secret_value(), settings.redis.timeout_s, retries=0)
            trees: list[SOPTRTree] | None = [
                _loaded(store, base, place, tree) for place, tree in enumerate(base.trees)
            ]
        except StoreFailed as failed:
            self._rest(base, str(failed))
            return None
        except (NotStored, BlobError, KeyError, ValueError) as error:
            self._newest = trees = None
            reason = error.reason if isinstance(error, BlobError) else "missing"
            self._refuse(reason, str(error))
        self._reached()
        return trees

    def _rest(self, base: Base, why: str) -> None:
        """The store may answer the next time; what is wrong with it is said once a base."""
        if self._out_of_reach != base:
            self._refuse("unreachable", f"{why}; trying again")
        self._out_of_reach = base
        self._rests_until = self._now() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def _reached(self) -> None:
        if self._out_of_reach is not None:
            log.info("shard %d: the store of bases answers again", self._shard)
        self._out_of_reach, self._pause_s = None, _FIRST_PAUSE_S

    def taken(self, base: Base) -> None:
        if self._newest == base:
            self._newest = None
        metrics.BASES.labels(*self._labels, "taken").inc()
        metrics.BASE_OFFSET.labels(*self._labels).set(base.next_offset)
        log.info(
            "shard %d: base up to offset %d taken, %d subscriptions",
            self._shard,
            base.next_offset,
            base.subscriptions,
        )

    def _refuse(self, reason: str, why: str) -> None:
        metrics.BASES.labels(*self._labels, reason).inc()
        log.warning("shard %d: base not taken (%s): %s", self._shard, reason, why)

    def close(self) -> None:
        if self._consumer is not None:
            self._records.forget()
            self._consumer.close()


def _loaded(store: BaseStore, base: Base, place: int, tree: TreeBlob) -> SOPTRTree:
    """From where such a tree belongs, whatever name the record gives: that may be any file's."""
    name = BaseName(base.topic, base.topic_id, base.shard, base.next_offset)
    data = store.get(name.tree(place))
    tree.verify(data)
    return SOPTRTree.from_arrays(SOPTArrays(**decode_tree(name, tree.attribute, data)))
