"""Keeps the index of one shard quick: with the bases of the Spark job, or by itself."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from indexes.intervals import SOPTArrays, SOPTRTree
from indexes.kinds import ShardIndex
from storage.array_blob import BlobError
from storage.base_store import BaseStore, NotStored, StoreFailed
from topics.bases import Base, BaseName, TreeBlob, decode_record, decode_tree
from topics.codecs.json_record import BadRecord
from topics.kinds import KINDS
from workers.process import metrics
from workers.process.context import Context
from workers.process.latency import lower_priority
from workers.process.records import RecordReader
from workers.shard.shard import Shard

log = logging.getLogger(__name__)

# Between two tries to read from a store that does not answer: twice as long each time.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
# An index that changes quickly would be rebuilt all the time: rebuilding it may take this share.
MOST_TIME = 0.1
# Batches of changes that a new index may still miss when it takes over, which changes wait for.
_MOST_BEHIND = 2

Result = TypeVar("Result")


class BaseFollower:
    """The bases that the Spark job announces for one shard: the newest, and what is in it.

    Every method may block; they are all called from one thread.
    """

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


class Rebuilder:
    def __init__(
        self, context: Context, shard: Shard, changing: asyncio.Lock, rebuilt: Callable[[], None]
    ) -> None:
        """While `changing` is held nothing changes the shard, but it goes on answering."""
        self._shard, self._changing, self._rebuilt = shard, changing, rebuilt
        self._follower = (
            BaseFollower(context, shard.number)
            if KINDS[context.collection.kind].has_bases
            else None
        )
        self._labels = (context.collection.name, str(shard.number))
        self._rests_until = 0.0
        # Of its own: the loop's threads are shared by all shards, and a store that does not answer
        # would keep them from what holds `changing`.  One: a confluent consumer is used, and
        # closed, by one thread at a time.
        name = f"rebuilder-{shard.number}"
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=lower_priority)

    async def step(self, topic_id: str) -> None:
        """Take a base that is new, or make one of a worn index, or set a stale one in order."""
        if self._follower is not None and await self._take_base(self._follower, topic_id):
            return
        if time.monotonic() < self._rests_until:
            return
        if self._shard.is_worn:
            await self._swap_in(lambda index: index.rebase(), self._shard.next_offset)
        elif self._shard.is_stale:
            await self._swap_in(lambda index: index.refresh(), self._shard.base_offset)

    async def _take_base(self, follower: BaseFollower, topic_id: str) -> bool:
        # One that is as new as ours is taken as well: it has cost this machine nothing.
        wanted = range(self._shard.base_offset, self._shard.next_offset + 1)
        base = await self._in_thread(follower.poll, topic_id, wanted)
        trees = None if base is None else await self._in_thread(follower.load, base)
        if base is None or trees is None:
            return False
        since = base.next_offset
        await self._swap_in(lambda index: index.replace_base(trees, since), since)
        follower.taken(base)
        return True

    async def _swap_in(self, build: Callable[[ShardIndex], None], base_offset: int) -> None:
        began = time.monotonic()
        async with self._changing:
            rebuild = await self._in_thread(self._shard.begin_rebuild)
        await self._in_thread(build, rebuild.index)
        while rebuild.behind > _MOST_BEHIND:
            await self._in_thread(rebuild.catch_up)
        async with self._changing:
            await self._in_thread(rebuild.catch_up)
            retired = [self._shard.end_rebuild(base_offset)]
        await self._in_thread(retired.clear)
        now = time.monotonic()
        self._rests_until = now + (now - began) / MOST_TIME
        metrics.RENEWALS.labels(*self._labels).inc()
        self._rebuilt()

    async def _in_thread(self, act: Callable[..., Result], *given: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, act, *given)

    def close(self) -> None:
        """Returns at once; the thread ends with what it is doing."""
        if self._follower is not None:
            self._thread.submit(self._follower.close)
        self._thread.shutdown(wait=False)
