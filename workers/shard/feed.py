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

from topics.kafka.producer import Outbox
from workers.process import metrics
from workers.process.context import Context
from workers.shard.changes import Changes
from workers.shard.restore_progress import RestoreProgress
from workers.shard.shard import Shard
from workers.shard.subscription_reader import SubscriptionReader

log = logging.getLogger(__name__)

_DOUBT_AFTER_S = 10.0  # whether what a frame waits for will ever come

T = TypeVar("T")
Restore = Callable[[str, range], None]
"""Brings the shard to the state of a snapshot of this topic id, within these offsets."""


class ShardGone(Exception):
    """The shard is with another worker now, and so are its frames."""


class SubscriptionFeed:
    def __init__(
        self,
        context: Context,
        shard: Shard,
        outbox: Outbox,
        changing: asyncio.Lock,
        should_stop: Callable[[], bool],
    ) -> None:
        """`changing` is held while the shard changes."""
        self.shard = shard
        self.restored = asyncio.Event()
        self._is_ours = asyncio.Event()
        self._is_ours.set()
        self._changing, self._should_stop = changing, should_stop
        self._reader = SubscriptionReader(context, shard, outbox)
        self._labels = (context.collection.name, str(shard.number))
        self._moved = asyncio.Condition()
        # One thread, as the reader asks for.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"feed-{shard.number}")

    @property
    def topic_id(self) -> str:
        return self._reader.topic_id

    @property
    def behind(self) -> int:
        return max(0, self._reader.end - self.shard.next_offset)

    @property
    def is_live(self) -> bool:
        """Whether the shard is restored, and as far as anybody knows still this worker's."""
        return self.restored.is_set() and self._is_ours.is_set()

    def pause(self) -> None:
        """Read and apply nothing before `resume`: until then the shard may be another worker's."""
        self._is_ours.clear()

    def resume(self) -> None:
        self._is_ours.set()

    async def passed(self, offset: int) -> None:
        """Wait until the shard is restored and has applied everything up to `offset`.

        `ShardGone` if the feed stops before that.  What the partition does not have is not waited
        for: such an offset is of a topic of the same name that was there before.
        """

        def decided() -> bool:
            there = self.restored.is_set() and self.shard.next_offset > offset
            return there or self._should_stop()

        while not decided():
            try:
                async with asyncio.timeout(_DOUBT_AFTER_S), self._moved:
                    await self._moved.wait_for(decided)
            except TimeoutError:
                if await self._will_never_pass(offset):
                    break
        if self._should_stop():
            raise ShardGone(self.shard.number)

    async def _will_never_pass(self, offset: int) -> bool:
        """Whether the shard has everything, and the partition does not even have that offset."""
        if self._should_stop() or not self.restored.is_set() or self.behind:
            return False
        end = await self._in_thread(self._reader.ask_end)
        if end is None or offset < end:
            return False
        text = "shard %d: an event waits for offset %d, the partition ends at %d; answered without"
        log.warning(text, self.shard.number, offset, end)
        return True

    async def wake_waiters(self) -> None:
        """Have all that wait for an offset look again."""
        async with self._moved:
            self._moved.notify_all()

    async def open(self, restore: Restore) -> None:
        await self._in_thread(self._open, restore)

    def _open(self, restore: Restore) -> None:
        if not self._reader.open(self._should_stop):
            return
        restore(self._reader.topic_id, range(self._reader.begin, self._reader.end))
        self._reader.start()
        self._progress = RestoreProgress(self.shard, self._reader.end)

    async def step(self) -> None:
        """Read what has come, apply it, and tell those who wait."""
        await self._until_ours()
        restored = self.restored.is_set()
        changes, end = await self._in_thread(self._reader.read, restored)
        await self._until_ours()
        if self._should_stop():
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
            self.measure()
        self._count(changes)
        await self.wake_waiters()
        await self._in_thread(self._reader.commit_now_and_then)

    async def look_at_end(self) -> None:
        """Measure the lag, apart from the feed's own round: when that is held up the lag tells."""
        if self.restored.is_set() and not self._should_stop():
            await self._in_thread(self._reader.look_at_end)
        metrics.FEED_LAG.labels(*self._labels).set(self.behind)

    async def close(self) -> None:
        # After whatever the thread is still doing: it may be in the middle of opening.
        await self._in_thread(self._reader.close)
        self._thread.shutdown(wait=False)

    async def _until_ours(self) -> None:
        if not self._is_ours.is_set():
            # A next owner does not write again the dead letters that it finds committed.
            await self._in_thread(self._reader.commit)
            await self._is_ours.wait()

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

    def _in_thread(self, do: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._thread, do, *args)

    def _count(self, changes: list[Changes]) -> None:
        if changes:
            count = sum(len(step.keys) + len(step.removed) for step in changes)
            metrics.CHANGES.labels(*self._labels).inc(count)
            self.measure()
        if not self.restored.is_set():
            self._progress.report()

    def measure(self) -> None:
        metrics.SUBSCRIPTIONS.labels(*self._labels).set(len(self.shard))
        metrics.INDEX_BYTES.labels(*self._labels).set(self.shard.nbytes)
        metrics.DELTA_SHARE.labels(*self._labels).set(self.shard.delta_share)
        metrics.UNPLACED.labels(*self._labels).set(self.shard.unplaced)
