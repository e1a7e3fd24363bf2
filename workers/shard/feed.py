"""The subscription feed: keeps one shard in step with its partition of `subscriptions`.

One mechanism for restore and for life: read from where the shard stands to the end, then go on
reading.  Records are read and parsed in a thread and applied on the worker's own loop, between
frames, so the index needs no lock.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from faust import Service

from topics.frames import Frame
from topics.kafka.producer import Outbox
from topics.partials import Partial
from workers.process import metrics
from workers.process.context import Context
from workers.process.latency import give_way
from workers.shard.changes import Changes
from workers.shard.rebuild import Renewer
from workers.shard.restore_progress import RestoreProgress
from workers.shard.shard import Shard, ShardInconsistent
from workers.shard.subscription_reader import SubscriptionReader
from workers.snapshots.keeper import SnapshotKeeper

log = logging.getLogger(__name__)

_RENEWAL_CHECK_S = 0.5
_LAG_CHECK_S = 0.5
_DOUBT_AFTER_S = 10.0  # whether what a frame waits for will ever come

T = TypeVar("T")


class ShardGone(Exception):
    """The shard is with another worker now, and so are its frames."""


class SubscriptionFeed(Service):
    logger = logging.getLogger("mode.feed")  # what the service base class has to say

    def __init__(self, context: Context, shard: Shard, outbox: Outbox) -> None:
        super().__init__()
        self.shard = shard
        self.restored = asyncio.Event()
        self.lost = False  # to another worker, which is not to be disturbed
        self._is_ours = asyncio.Event()
        self._is_ours.set()
        self._context = context
        self._reader = SubscriptionReader(context, shard, outbox)
        self._labels = (context.collection.name, str(shard.number))
        self._moved = asyncio.Condition()
        self._keeper = SnapshotKeeper(context, shard)
        # Whoever holds it changes the shard, or looks at it from another thread.
        self._changing = asyncio.Lock()
        self._renewer = Renewer(context, shard, self._changing, self._measure)
        self._routes = None
        if context.collection.routing.enabled:
            from workers.routing.publisher import (
                RoutePublisher,  # with the index that finds what covers what
            )

            self._routes = RoutePublisher(context, shard, outbox)
        self._written: asyncio.Future = asyncio.get_running_loop().create_future()
        self._written.set_result(None)
        # One thread, as the reader asks for.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"feed-{shard.number}")
        name = f"snapshots-{shard.number}"
        self._aside = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=give_way)

    def pause(self) -> None:
        """Read and apply nothing before `resume`: until then the shard may be another worker's."""
        self._is_ours.clear()

    def resume(self) -> None:
        self._is_ours.set()

    @property
    def behind(self) -> int:
        return max(0, self._reader.end - self.shard.next_offset)

    async def passed(self, offset: int) -> None:
        """Wait until the shard is restored and has applied everything up to `offset`.

        `ShardGone` if the feed stops before that.  What the partition does not have is not waited
        for: such an offset is of a topic of the same name that was there before.
        """

        def decided() -> bool:
            there = self.restored.is_set() and self.shard.next_offset > offset
            return there or self.should_stop

        while not decided():
            try:
                async with asyncio.timeout(_DOUBT_AFTER_S), self._moved:
                    await self._moved.wait_for(decided)
            except TimeoutError:
                if await self._will_never_pass(offset):
                    break
        if self.should_stop:
            raise ShardGone(self.shard.number)

    async def _will_never_pass(self, offset: int) -> bool:
        """Whether the shard has everything, and the partition does not even have that offset."""
        if self.should_stop or not self.restored.is_set() or self.behind:
            return False
        end = await self._in_thread(self._reader.ask_end)
        if end is None or offset < end:
            return False
        text = "shard %d: an event waits for offset %d, the partition ends at %d; answered without"
        log.warning(text, self.shard.number, offset, end)
        return True

    def answer(self, frame: Frame) -> Partial:
        collection = self._context.collection.name
        with metrics.ANSWER_SECONDS.labels(collection).time():
            partial = self.shard.answer(frame)
        metrics.FRAMES.labels(collection).inc()
        return partial

    async def on_stop(self) -> None:
        async with self._moved:
            self._moved.notify_all()
        # Nothing is applied any more.  A shard that failed while it was is in no known state.
        whole = self.restored.is_set() and not self.crashed and self.shard.is_consistent
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
        self._renewer.close()
        # A snapshot that is still being written keeps its connection until it is done, and says
        # then how large it was.
        self._written.add_done_callback(lambda _: self._leave())

    def _leave(self) -> None:
        self._aside.shutdown(wait=False)
        self._keeper.close()
        metrics.forget_shard(self._context.collection.name, self.shard.number)

    @Service.task
    async def _follow(self) -> None:
        try:
            await self._in_thread(self._open)
            while not self.should_stop:
                await self._step()
        except Exception as error:
            await self.crash(error)  # at once: a shard that has failed to change answers nothing
            raise
        finally:
            # After whatever the thread is still doing: it may be in the middle of opening.
            await self._in_thread(self._reader.close)
            self._thread.shutdown(wait=False)

    async def _step(self) -> None:
        await self._until_ours()
        restored = self.restored.is_set()
        changes, end = await self._in_thread(self._reader.read, restored)
        await self._until_ours()
        if self.should_stop:
            return
        if any(step.letters for step in changes):
            await self._in_thread(self._reader.write_letters, changes)
        if restored:
            await self._apply_live(changes, end)
        else:  # nobody answers yet, so the loop need not do it
            await self._in_thread(self._apply, changes, end)
        if not restored and self._progress.is_done():
            await self._in_thread(self.shard.open)
            self._progress.finish()
            self.restored.set()
            self._measure()
        self._count(changes)
        async with self._moved:
            self._moved.notify_all()
        await self._in_thread(self._reader.commit_now_and_then)
        if self.restored.is_set() and self._keeper.is_due() and self._written.done():
            self._written = await self._begin_snapshot()

    async def _until_ours(self) -> None:
        if not self._is_ours.is_set():
            # A next owner does not write again the dead letters that it finds committed.
            await self._in_thread(self._reader.commit)
            await self._is_ours.wait()

    def _in_thread(self, do: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._thread, do, *args)

    async def _apply_live(self, changes: list[Changes], end: int | None) -> None:
        """One step after the other, and frames in between."""
        for step in changes:
            async with self._changing:
                self._apply([step], None)
            await asyncio.sleep(0)
        async with self._changing:
            self._apply([], end)

    def _apply(self, changes: list[Changes], end: int | None) -> None:
        for step in changes:
            self.shard.apply(step)
        if end is not None:
            # Offsets that compaction or transactions took count as applied, too.
            self.shard.next_offset = max(self.shard.next_offset, end)

    async def _begin_snapshot(self) -> asyncio.Future:
        """Nothing is applied before this returns; frames are answered, and changes wait."""
        loop = asyncio.get_running_loop()
        async with self._changing:
            snapshot = await loop.run_in_executor(self._aside, self._keeper.gather)
        return loop.run_in_executor(self._aside, self._keeper.write, snapshot)

    @Service.task
    async def _watch_lag(self) -> None:
        """Apart from the feed's own round: when that is held up the lag is what tells."""
        while not self.should_stop:
            await self.sleep(_LAG_CHECK_S)
            if self.restored.is_set() and not self.should_stop:
                await self._in_thread(self._reader.look_at_end)
            metrics.FEED_LAG.labels(*self._labels).set(self.behind)

    @Service.task
    async def _keep_quick(self) -> None:
        while not self.should_stop:
            await self.sleep(_RENEWAL_CHECK_S)
            if self.restored.is_set() and self._is_ours.is_set():
                await self._renewer.step(self._reader.topic_id)

    @Service.task
    async def _publish_routes(self) -> None:
        while self._routes is not None and not self.should_stop:
            await self.sleep(self._context.collection.routing.every_ms / 1e3)
            if self.restored.is_set() and self._is_ours.is_set():
                await self._routes.step(self._reader.topic_id)

    def _open(self) -> None:
        if not self._reader.open(lambda: self.should_stop):
            return
        self._keeper.restore(self._reader.topic_id, range(self._reader.begin, self._reader.end))
        self._reader.start()
        self._progress = RestoreProgress(self.shard, self._reader.end)

    def _count(self, changes: list[Changes]) -> None:
        if changes:
            count = sum(len(step.keys) + len(step.removed) for step in changes)
            metrics.CHANGES.labels(*self._labels).inc(count)
            self._measure()
        if not self.restored.is_set():
            self._progress.report()

    def _measure(self) -> None:
        metrics.SUBSCRIPTIONS.labels(*self._labels).set(len(self.shard))
        metrics.INDEX_BYTES.labels(*self._labels).set(self.shard.nbytes)
        metrics.DELTA_SHARE.labels(*self._labels).set(self.shard.delta_share)
        metrics.UNPLACED.labels(*self._labels).set(self.shard.unplaced)
