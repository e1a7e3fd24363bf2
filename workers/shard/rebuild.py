"""Keeps the index of one shard quick: with the bases of the Spark job, or by itself."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from indexes.kinds import ShardIndex
from topics.kinds import KINDS
from workers.process import metrics
from workers.process.context import Context
from workers.process.latency import lower_priority
from workers.shard.base_follower import BaseFollower
from workers.shard.shard import Shard

# An index that changes quickly would be rebuilt all the time: rebuilding it may take this share.
MOST_TIME = 0.1
# Batches of changes that a new index may still miss when it takes over, which changes wait for.
_MOST_BEHIND = 2

Result = TypeVar("Result")


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
