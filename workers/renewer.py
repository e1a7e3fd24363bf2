"""Keeps the index of one shard quick: with the bases of the Spark job, or by itself."""

import asyncio
from collections.abc import Callable

from indexes.intervals import LiveMatcher
from workers import metrics
from workers.bases import BaseFollower
from workers.context import Context
from workers.shard import Shard

# Batches of changes that a new index may still miss when it takes over, which frames wait for.
_MOST_BEHIND = 2


class Renewer:
    def __init__(self, context: Context, shard: Shard) -> None:
        self._shard = shard
        self._follower = BaseFollower(context, shard.number)
        self._labels = (context.collection.name, str(shard.number))

    async def step(self, topic_id: str) -> None:
        """Take a base that is new, or make one if the index is worn; else nothing."""
        if not self._shard.has_base:
            return
        follower, loop = self._follower, asyncio.get_running_loop()
        wanted = range(self._shard.base_offset + 1, self._shard.next_offset + 1)
        base = await loop.run_in_executor(None, follower.poll, topic_id, wanted)
        tree = None if base is None else await loop.run_in_executor(None, follower.load, base)
        if base is not None and tree is not None:
            since = base.next_offset
            await self._renew(lambda index: index.replace_base(tree, since), since)
            follower.taken(base)
        elif self._shard.is_worn:
            await self._renew(LiveMatcher.rebase, self._shard.next_offset)

    async def _renew(self, rebuild: Callable[[LiveMatcher], None], base_offset: int) -> None:
        loop = asyncio.get_running_loop()
        renewal = self._shard.begin_renewal()
        await loop.run_in_executor(None, rebuild, renewal.index)
        while renewal.behind > _MOST_BEHIND:
            await loop.run_in_executor(None, renewal.catch_up)
        self._shard.end_renewal(base_offset)
        metrics.RENEWALS.labels(*self._labels).inc()
        metrics.DELTA_SHARE.labels(*self._labels).set(self._shard.delta_share)

    def close(self) -> None:
        self._follower.close()
