"""The shards of a node: all that the collection has, each with its feed."""

import asyncio

from topics.kafka.producer import Outbox
from topics.kinds import event_form
from workers.merger.assembly import MergedFrame
from workers.node.answering import answer
from workers.process import metrics
from workers.process.context import Context
from workers.router.framing import Accepted
from workers.shard.service import ShardService
from workers.shard.shard import Shard

SHARDS = "shards"

# Events that wait for subscriptions are read again after this: meanwhile nodes may join and leave.
_PATIENCE_S = 1.0


class AllShards:
    """Its methods run on the loop, which is where the shards change: between two answers.

    Of all nodes one keeps the shards: it writes the dead letters of `subscriptions` and snapshots.
    """

    def __init__(self, context: Context, outbox: Outbox) -> None:
        self._context, collection = context, context.collection
        self._form = event_form(collection.kind, collection.attributes, collection.dialect)
        self._shards = [
            Shard(number, collection.kind, collection.attributes, collection.dialect)
            for number in range(collection.shards)
        ]
        self._services = [
            ShardService(context, shard, outbox, shared=True) for shard in self._shards
        ]
        metrics.SHARDS.labels(collection.name).set(len(self._shards))

    async def start(self) -> None:
        for service in self._services:
            await service.start()

    async def stop(self) -> None:
        await asyncio.gather(*(service.stop() for service in self._services))

    def keep(self, keeps: bool) -> None:
        for service in self._services:
            service.feed.keep(keeps)

    def check(self) -> None:
        """Raise what has ended one of them, if anything has."""
        for service in self._services:
            if service.crashed and service.crash_reason is not None:
                raise service.crash_reason

    def are_restored(self) -> bool:
        """Whether all are; `/readyz` says which are not."""
        feeds = {service.shard.number: service.feed for service in self._services}
        behind = {s: feed.behind for s, feed in feeds.items() if not feed.restored.is_set()}
        if behind:
            listed = ", ".join(f"{s} ({n} records behind)" for s, n in behind.items())
            self._context.health.not_ready(SHARDS, f"restoring {listed}")
        else:
            self._context.health.ready(SHARDS)
        return not behind

    async def answer(self, run: Accepted) -> MergedFrame | None:
        """None if the subscriptions that the events wait for do not come soon."""
        after: dict[int, int] = {}
        for options in run.options:
            for shard, offset in options.after.items():  # of most events there are none
                after[shard] = max(offset, after.get(shard, -1))
        try:
            async with asyncio.timeout(_PATIENCE_S):
                for shard, offset in after.items():
                    await self._services[shard].feed.passed(offset)
        except TimeoutError:
            return None
        return answer(run, self._shards, self._form)
