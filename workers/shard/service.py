"""The owner of one shard in a matcher: everything that goes on around its index.

The feed keeps the shard in step with its topic; snapshots spare a successor the replay; rebuilds
keep the index quick; routes tell the routers what the shard holds.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from faust import Service

from topics.kafka.producer import Outbox
from workers.process import metrics
from workers.process.context import Context
from workers.process.latency import lower_priority
from workers.shard.feed import SubscriptionFeed
from workers.shard.rebuild import Rebuilder
from workers.shard.shard import Shard, ShardInconsistent
from workers.snapshots.keeper import SnapshotKeeper

log = logging.getLogger(__name__)

_REBUILD_CHECK_S = 0.5
_LAG_CHECK_S = 0.5


class ShardService(Service):
    logger = logging.getLogger("mode.shard")  # what the service base class has to say

    def __init__(
        self, context: Context, shard: Shard, outbox: Outbox, shared: bool = False
    ) -> None:
        """Of a shard that is `shared` several workers have one each, and one of them keeps it."""
        super().__init__()
        self.shard = shard
        self.lost = False  # to another worker, which is not to be disturbed
        self._context = context
        # Whoever holds it changes the shard, or looks at it from another thread.
        self._changing = asyncio.Lock()
        self.feed = SubscriptionFeed(
            context, shard, outbox, self._changing, lambda: self.should_stop, keeps=not shared
        )
        self._keeper = SnapshotKeeper(context, shard, shared=shared)
        self._rebuilder = Rebuilder(context, shard, self._changing, self.feed.measure)
        self._routes = None
        if context.collection.routing.enabled:
            # Here: it comes with the index that finds what covers what.
            from workers.routing.route_set import RoutePublisher

            self._routes = RoutePublisher(context, shard, outbox)
        self._written: asyncio.Future = asyncio.get_running_loop().create_future()
        self._written.set_result(None)
        name = f"snapshots-{shard.number}"
        self._aside = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=lower_priority)

    @Service.task
    async def _follow(self) -> None:
        try:
            await self.feed.open(self._keeper.restore)
            while not self.should_stop:
                await self.feed.step()
                live = self.feed.is_live and self.feed.keeps
                if live and self._keeper.is_due() and self._written.done():
                    self._written = await self._begin_snapshot()
        except Exception as error:
            await self.crash(error)  # at once: a shard that has failed to change answers nothing
            raise
        finally:
            await self.feed.close()

    @Service.task
    async def _watch_lag(self) -> None:
        while not self.should_stop:
            await self.sleep(_LAG_CHECK_S)
            await self.feed.look_at_end()

    @Service.task
    async def _keep_quick(self) -> None:
        while not self.should_stop:
            await self.sleep(_REBUILD_CHECK_S)
            if self.feed.is_live:
                await self._rebuilder.step(self.feed.topic_id)

    @Service.task
    async def _publish_routes(self) -> None:
        while self._routes is not None and not self.should_stop:
            await self.sleep(self._context.collection.routing.every_ms / 1e3)
            if self.feed.is_live:
                await self._routes.step(self.feed.topic_id)

    async def _begin_snapshot(self) -> asyncio.Future:
        """Nothing is applied before this returns; frames are answered, and changes wait."""
        loop = asyncio.get_running_loop()
        async with self._changing:
            snapshot = await loop.run_in_executor(self._aside, self._keeper.gather)
        return loop.run_in_executor(self._aside, self._keeper.write, snapshot)

    async def on_stop(self) -> None:
        await self.feed.wake_waiters()
        # Nothing is applied any more.  A shard that failed while it was is in no known state.
        whole = self.feed.restored.is_set() and not self.crashed and self.shard.is_consistent
        whole = whole and self.feed.keeps
        if whole and not self.lost and self._keeper.is_behind():
            await self._written
            await self._leave_a_snapshot()
        if not self.shard.is_consistent:
            # The last snapshot may have the fault as well: the next owner reads the log instead.
            await asyncio.get_running_loop().run_in_executor(self._aside, self._keeper.discard)

    async def _leave_a_snapshot(self) -> None:
        try:
            await (await self._begin_snapshot())
        except ShardInconsistent as error:
            log.error("%s; no snapshot is written", error)

    async def on_shutdown(self) -> None:
        self._rebuilder.close()
        # A snapshot that is still being written keeps its connection until it is done, and says
        # then how large it was.
        self._written.add_done_callback(lambda _: self._leave())

    def _leave(self) -> None:
        self._aside.shutdown(wait=False)
        self._keeper.close()
        metrics.forget_shard(self._context.collection.name, self.shard.number)
