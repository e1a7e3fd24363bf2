"""The subscription feed: keeps one shard in step with its partition of `subscriptions`.

One mechanism for restore and for life: read from where the shard stands to the end, then go on
reading.  Records are read and parsed in a thread and applied on the worker's own loop, between
frames, so the index needs no lock.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from topics.dead_letters import DeadLetter
from topics.kafka.producer import Outbox
from workers.process import metrics
from workers.process.context import Context
from workers.process.lag import PartitionLag
from workers.process.records import RecordReader
from workers.shard.changes import Changes, nothing_but, read_changes, read_live
from workers.shard.shard import Shard

log = logging.getLogger(__name__)

_PROGRESS_EVERY_S = 2.0
_POLL_S = 0.1
_COMMIT_EVERY_S = 1.0
_LIVE_BATCH = 1000

# Nobody but the reader may decide where to go on when its offset is gone.
_OPTIONS = {"enable.partition.eof": True, "auto.offset.reset": "error"}
_DOUBT_AFTER_S = 10.0  # whether what a frame waits for will ever come

T = TypeVar("T")
Restore = Callable[[str, range], None]
"""Brings the shard to the state of a snapshot of this topic id, within these offsets."""


class RestoreProgress:
    """From where the shard stands when this is made to `end`, where its partition ended then.

    What comes later is life, not restore: while changes keep coming there may never be a moment
    at which all of them are in.
    """

    def __init__(self, shard: Shard, end: int, now: Callable[[], float] = time.monotonic) -> None:
        self._shard, self._now = shard, now
        self._first, self._end = shard.next_offset, end
        self._started_at = self._reported_at = now()

    def is_done(self) -> bool:
        return self._shard.next_offset >= self._end

    def report(self) -> None:
        if self._now() - self._reported_at >= _PROGRESS_EVERY_S:
            self._reported_at = self._now()
            log.info("shard %d: restoring, %s", self._shard.number, self.line())

    def line(self) -> str:
        """Of the part of the log that is replayed, in records as their offsets count them."""
        done, all_ = self._shard.next_offset - self._first, self._end - self._first
        per_s = done / max(self._now() - self._started_at, 1e-9)
        left = f"{(all_ - done) / per_s:.0f} s left" if done else "no end in sight yet"
        return f"{100 * done // max(1, all_)} %, {per_s:,.0f} records/s, {left}"

    def finish(self) -> None:
        log.info(
            "shard %d: restored, %d subscriptions up to offset %d, of which %d records replayed"
            " in %.1f s",
            self._shard.number,
            len(self._shard),
            self._shard.next_offset,
            self._shard.next_offset - self._first,
            self._now() - self._started_at,
        )


class RecordsLost(Exception):
    """Records were deleted that the shard has not read: its index is not to be trusted.

    Restart the worker, which builds the index anew from what is left.
    """


class SubscriptionReader:
    """Reads the partition of `subscriptions` that belongs to one shard.

    The group's committed offset does not say where to start, the shard does.  It says up to where
    bad records are already in the dead-letter topic, so that a replay does not write them again.
    Of several workers that hold the shard, one keeps it: it writes these letters, and commits.  The
    others have them ready, up to what is committed, for the case that they are to keep it next.

    Every method may block; a confluent consumer is used by one thread at a time.
    """

    def __init__(self, context: Context, shard: Shard, outbox: Outbox, keeps: bool = True) -> None:
        self._context, self._shard, self._outbox = context, shard, outbox
        self.keeps = keeps
        self._unwritten: list[DeadLetter] = []  # as long as another worker keeps the shard
        self._place = TopicPartition(context.names.topic("subscriptions"), shard.number)
        self.topic_id = ""  # of the topic that is read
        self.begin = 0  # of the partition, as it was when the reader was opened
        self.end = 0  # of the partition, as last seen
        self.latest_at = 0.0  # timestamp of the record that was read last, in seconds
        self._letters_written = 0  # up to here, as committed
        self._committed_at = time.monotonic()
        self._consumer: Consumer | None = None
        self._records: RecordReader
        self._is_reading = False

    def open(self, should_stop: Callable[[], bool]) -> bool:
        """Ask the broker what there is to read, until it answers; False if told to stop before.

        One that is told to stop has lost the shard, perhaps, and is to disturb nobody.
        """
        self._consumer = self._context.consumer("feed", _OPTIONS)
        self._records = RecordReader(self._context, self._consumer, self._place.topic)
        while not should_stop():
            try:
                (committed,) = self._consumer.committed([self._place], timeout=5)
                offsets = self._consumer.get_watermark_offsets(self._place, timeout=5)
                self.begin, self.end = offsets
                self.topic_id = self._context.topic_id(self._place.topic)
            except KafkaException as error:
                log.warning("shard %d: %s; trying again", self._shard.number, error.args[0].str())
                time.sleep(1.0)
            else:
                self._letters_written = max(0, committed.offset)
                return not should_stop()
        return False

    def start(self) -> None:
        """Begin where the shard stands, or where the partition does."""
        assert self._consumer is not None
        if self._shard.next_offset < self.begin:
            log.warning(
                "shard %d: %s begins at offset %d, what was sent before is deleted: answers miss"
                " every subscription that has not been sent again since; send the missing"
                " subscriptions again, and set the topic's cleanup.policy to compact",
                self._shard.number,
                self._place.topic,
                self.begin,
            )
            self._shard.next_offset = self.begin
        place = TopicPartition(self._place.topic, self._place.partition, self._shard.next_offset)
        self._consumer.assign([place])
        self._is_reading = True

    def read(self, restored: bool) -> tuple[list[Changes], int | None]:
        """What the next records change, and the end of the partition if it was reached."""
        assert self._consumer is not None
        # The first record at once; only a restore waits for the rest of a large batch.
        most = _LIVE_BATCH if restored else self._context.settings.matcher.feed_batch
        batch = self._records.read(_POLL_S, most, lambda: 0 if restored else _POLL_S)
        for message in batch.errors:
            if message.error().code() == KafkaError._AUTO_OFFSET_RESET:
                raise RecordsLost(
                    f"{self._place.topic}[{self._place.partition}]@{self._shard.next_offset}:"
                    f" {message.error().str()}; restart the worker, which builds its index anew"
                    " from what is left, and send the subscriptions again that were deleted"
                )
        if batch.records:
            self.latest_at = batch.records[-1].timestamp()[1] / 1e3
        contract, shards = self._shard.contract, self._context.collection.shards
        changes = []
        if batch.records and restored:
            changes = read_live(batch.records, contract, shards)
        elif batch.records:
            changes = [read_changes(batch.records, contract, shards)]
        changes += [
            nothing_but(unread.letter, unread.next_offset, contract) for unread in batch.unread
        ]
        return changes, batch.ends.get(self._place.partition)

    def write_letters(self, changes: list[Changes]) -> None:
        """Of the bad ones among these records; returns when the broker has them."""
        letters = [letter for step in changes for letter in step.letters]
        new = [letter for letter in letters if letter.offset >= self._letters_written]
        if self.keeps:
            self._write(new)
        else:
            self._unwritten += new

    def _write(self, letters: list[DeadLetter]) -> None:
        for letter in letters:
            metrics.DEAD_LETTERS.labels(self._context.collection.name, "subscriptions").inc()
            self._outbox.send_dead_letter(letter)
        if letters:
            self._outbox.settle()

    def keep(self, keeps: bool) -> None:
        """Begin to keep the shard where the one before has stopped, or leave it to the next."""
        if keeps:
            self._forget_written()
            self._write(self._unwritten)
            self._unwritten.clear()
        else:
            self.commit()
        self.keeps = keeps

    def _forget_written(self) -> None:
        assert self._consumer is not None
        (committed,) = self._consumer.committed([self._place], timeout=5)
        self._letters_written = max(self._letters_written, committed.offset)
        unwritten = [one for one in self._unwritten if one.offset >= self._letters_written]
        self._unwritten = unwritten

    def look_at_end(self) -> None:
        """The consumer knows it from what it fetches ahead, which is more than was read."""
        assert self._consumer is not None
        _, end = self._consumer.get_watermark_offsets(self._place, cached=True)
        self.end = max(self.end, end)  # it is negative until something was fetched

    def ask_end(self) -> int | None:
        """Where the partition ends, open transactions included; None if the broker does not say."""
        scout = self._context.consumer("scout", {"isolation.level": "read_uncommitted"})
        try:
            _, end = scout.get_watermark_offsets(self._place, timeout=5)
        except KafkaException as error:
            log.warning("shard %d: %s", self._shard.number, error.args[0].str())
            return None
        finally:
            scout.close()
        return int(end)

    def commit_now_and_then(self) -> None:
        if time.monotonic() - self._committed_at >= _COMMIT_EVERY_S:
            self._committed_at = time.monotonic()
            self.commit()

    def commit(self) -> None:
        assert self._consumer is not None
        position = self._shard.next_offset  # letters are written before a batch is applied
        try:
            if not self.keeps:
                if self._unwritten:
                    self._forget_written()
            elif position > self._letters_written:
                place = TopicPartition(self._place.topic, self._place.partition, position)
                self._consumer.commit(offsets=[place], asynchronous=False)
                self._letters_written = position
        except KafkaException as error:
            log.warning("shard %d: not committed: %s", self._shard.number, error.args[0].str())

    def close(self) -> None:
        """In whatever state it is."""
        if self._is_reading:
            self.commit()
        if self._consumer is not None:
            self._records.forget()  # what is in the way is its next owner's affair
            self._consumer.close()


class ShardGone(Exception):
    """The shard is with another worker now, and so are its frames, or this worker stops."""


class SubscriptionFeed:
    """What a matcher asks of the feed of one shard; its methods run on the worker's loop."""

    def __init__(
        self,
        context: Context,
        shard: Shard,
        outbox: Outbox,
        changing: asyncio.Lock,
        should_stop: Callable[[], bool],
        keeps: bool = True,
    ) -> None:
        """`changing` is held while the shard changes."""
        self.shard = shard
        self.restored = asyncio.Event()
        self._is_ours = asyncio.Event()
        self._is_ours.set()
        self._changing, self._should_stop = changing, should_stop
        self._reader = SubscriptionReader(context, shard, outbox, keeps)
        self._is_to_keep = keeps
        self._labels = (context.collection.name, str(shard.number))
        self._lag = PartitionLag(metrics.FEED_LAG, metrics.FEED_LAG_SECONDS, self._labels[:1])
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

    @property
    def keeps(self) -> bool:
        """Whether it is for this worker to write what is written once a shard."""
        return self._is_to_keep and self._reader.keeps

    def keep(self, keeps: bool) -> None:
        """From the next step on."""
        self._is_to_keep = keeps

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
        if self._reader.keeps != self._is_to_keep:
            await self._in_thread(self._keep, self._is_to_keep)
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

    def _keep(self, keeps: bool) -> None:
        try:
            self._reader.keep(keeps)
        except KafkaException as error:  # tried again with the next step
            log.warning("shard %d: %s", self.shard.number, error.args[0].str())

    async def look_at_end(self) -> None:
        """Measure the lag, apart from the feed's own round: when that is held up the lag tells."""
        if self.restored.is_set() and not self._should_stop():
            await self._in_thread(self._reader.look_at_end)
        if self._reader.latest_at:
            self._lag.took(self.shard.number, self._reader.latest_at)
        self._lag.measure(self.shard.number, self.shard.next_offset, self._reader.end)

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
