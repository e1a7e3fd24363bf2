"""The owner of one zone: restore, apply, write, acknowledge, and tell how far it is.

Records of `matches` are written in transactions of the zone: from the moment that another worker
has opened the zone, what its former owner still sends is refused, so that the latest record of a
key is its list also after a worker that was taken for dead comes back.  A record of `messages` is
acknowledged when what it led to is committed.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from confluent_kafka import KafkaException, Producer, TopicPartition
from faust import Service
from faust.types import EventT

from topics import messages as codec
from topics import progress
from topics.codecs.columns import CodecError
from topics.headers import AS_OF, MESSAGE, format_token
from topics.kafka.producer import Outbox
from topics.limits import FRAME_BYTES
from topics.messages import ZoneRecord
from topics.progress import Progress
from workers.kinds import ZONES
from workers.process import metrics
from workers.process.context import Context
from workers.process.latency import lower_priority
from workers.process.records import RecordReader
from workers.snapshots.keeper import SnapshotKeeper
from workers.zones.history import ended, read_history, whereabouts
from workers.zones.lists import Output, ZoneLists

log = logging.getLogger(__name__)

_TOGETHER = 64  # records of messages that become one transaction, at most
_WAITING = 256
_IDLE_S = 0.25
_REPLY_S = 5.0
# Between two times that a zone says how far it is.
_PROGRESS_PAUSE_S = 1.0
_QUIET_PAUSE_S = 4.0

T = TypeVar("T")


class ProgressWriter:
    """Of one zone."""

    def __init__(self, context: Context, outbox: Outbox) -> None:
        self._topic, self._outbox = context.names.topic("progress"), outbox
        self._said_at, self._said = 0.0, Progress(None, 0)

    def say(self, zone: ZoneLists, written: int) -> bool:
        """Whether it was time to say something; lists are written up to that object offset."""
        now, objects = time.monotonic(), written - 1 if written else None
        said = Progress(objects, 0, format_token(zone.left), zone.reset, zone.is_lost)
        if now - self._said_at < (_QUIET_PAUSE_S if said == self._said else _PROGRESS_PAUSE_S):
            return False
        self._said, self._said_at = said, now
        value = progress.encode(
            Progress(objects, round(time.time() * 1e3), said.left, said.reset, said.lost)
        )
        key = progress.key_of(zone.number)
        self._outbox.send(self._topic, value, key=key, partition=zone.number)
        self._outbox.poll()
        return True


class ZoneFenced(Exception):
    """Another worker has opened the zone: this one must not write to it any more."""


class ZoneService(Service):
    logger = logging.getLogger("mode.zone")

    def __init__(
        self, context: Context, number: int, outbox: Outbox, is_current: Callable[[EventT], bool]
    ) -> None:
        super().__init__()
        self._context, self._is_current = context, is_current
        names, collection = context.names, context.collection
        self.number = number
        self.zone = ZoneLists(
            number, collection, names.topic("objects"), names.topic("subscriptions")
        )
        self.restored = asyncio.Event()
        self.lost = False  # to another worker
        self._place = TopicPartition(names.topic("messages"), number)
        self._matches = names.topic("matches")
        self._labels = (collection.name, str(number))
        self._keeper = SnapshotKeeper(context, self.zone, ZONES.of)
        self._producer: Producer | None = None
        self._waiting: asyncio.Queue[EventT] = asyncio.Queue(_WAITING)
        self._is_ours = asyncio.Event()
        self._is_ours.set()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._unacknowledged: list[EventT] = []  # whose changes of lists are put off
        self._interval_s = collection.min_interval_ms / 1e3
        self._flushed_at = 0.0
        self._written_objects = 0  # next offset of objects that the written lists do not have
        self._progress = ProgressWriter(context, outbox)
        self._snapshot_is_due = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"zone-{number}")
        self._aside = ThreadPoolExecutor(
            1, thread_name_prefix=f"snapshots-{number}", initializer=lower_priority
        )
        self._written: asyncio.Future | None = None

    @property
    def following(self) -> int:
        """The first object record that the written lists do not have."""
        return self._written_objects

    async def put(self, event: EventT) -> None:
        await self._waiting.put(event)

    def pause(self) -> None:
        self._is_ours.clear()

    def resume(self) -> None:
        self._is_ours.set()

    @property
    def service(self) -> Service:
        return self

    def give_back(self) -> None:
        """Another worker has the zone now."""
        self.lost = True
        self._empty()
        self.resume()  # it may wait for that

    def _empty(self) -> None:
        """Leave what waits to the zone's next owner; nobody waits for room here any more."""
        while not self._waiting.empty():
            self._waiting.get_nowait()

    async def leave(self) -> None:
        """Begin nothing more, and wait until all that was begun is acknowledged."""
        self.pause()
        self._empty()
        await self._is_idle.wait()
        if self._unacknowledged and self.restored.is_set():
            await self._write_put_off()

    @Service.task
    async def _follow(self) -> None:
        try:
            await self._in_thread(self._open)
            if self.should_stop:
                return
            self._written_objects = self.zone.objects
            self.restored.set()
            while not self.should_stop:
                await self._is_ours.wait()
                batch = await self._gather()
                self._is_idle.clear()
                try:
                    await self._step(batch)
                finally:
                    self._is_idle.set()
        except Exception as error:
            await self.crash(error)
            raise
        finally:
            await self._in_thread(self._close)

    async def _gather(self) -> list[EventT]:
        """What has come, or nothing after a while."""
        try:
            async with asyncio.timeout(_IDLE_S):
                batch = [await self._waiting.get()]
        except TimeoutError:
            return []
        while not self._waiting.empty() and len(batch) < _TOGETHER:
            batch.append(self._waiting.get_nowait())
        return batch

    async def _step(self, batch: list[EventT]) -> None:
        if not self._is_ours.is_set():
            return  # to be read again, by whoever has the zone then
        current = [event for event in batch if self._is_current(event)]
        if current:
            due = time.monotonic() - self._flushed_at >= self._interval_s
            records = [(event.message.offset, event.value) for event in current]
            await self._in_thread(self._take, records, due)
            self._unacknowledged += current
            if due:
                self._acknowledge()
        elif self._unacknowledged and time.monotonic() - self._flushed_at >= self._interval_s:
            await self._write_put_off()
        await self._in_thread(self._say_progress)
        await self._snapshot_if_due()

    def _acknowledge(self) -> None:
        self._flushed_at = time.monotonic()
        self._written_objects = self.zone.objects
        for event in self._unacknowledged:
            if self._is_current(event):
                event.ack()
        self._unacknowledged = []

    async def _write_put_off(self) -> None:
        await self._in_thread(self._flush)
        self._acknowledge()

    # In the zone's thread.

    def _flush(self) -> None:
        last = self.zone.next_offset - 1
        self._write([(one, last) for one in self.zone.flush()])

    def _take(self, records: list[tuple[int, bytes]], due: bool) -> None:
        with metrics.ZONE_SECONDS.labels(self._context.collection.name).time():
            outputs: list[tuple[Output, int]] = []
            for offset, value in records:
                outputs += [(one, offset) for one in self._apply(offset, value)]
            if due and self._interval_s:
                last = self.zone.next_offset - 1
                outputs += [(one, last) for one in self.zone.flush()]
            self._write(outputs)
        metrics.ZONE_SUBSCRIPTIONS.labels(*self._labels).set(len(self.zone))
        metrics.count_changes(self._labels, *self.zone.lists.take_counts())
        metrics.ZONE_OBJECTS.labels(*self._labels).set(self.zone.objects)

    def _apply(self, offset: int, value: bytes | None) -> list[Output]:
        """What a record leads to; one that is in already leads to nothing."""
        zone = self.zone
        if offset < zone.next_offset:
            return []
        if offset > zone.next_offset and (zone.is_live or zone.next_offset):
            self._lose(f"{self._at(zone.next_offset)} to {offset - 1} are gone")
        zone.next_offset = offset + 1
        record = self._decoded(offset, value)
        if record is None:
            return []
        metrics.ZONE_MESSAGES.labels(*self._labels).inc(len(record.messages.group))
        due = self._interval_s == 0
        if not zone.ends_reset(record):
            return zone.take(record, due=due)
        self._snapshot_is_due = True
        here = (self.number, offset)  # what was written from here on is to be written again
        known, others = read_history(self._context, zone.resuming(record), self._stopping, here)
        gone = ended(self._context, others, record.positions.tolist(), self._stopping)
        ids = {o.id.encode() for one in known.values() for o in one.record.list or ()}
        at = whereabouts(self._context, ids, record.objects, self._stopping)
        return zone.take(record, known, gone, due, at)

    def _stopping(self) -> bool:
        return bool(self.should_stop)

    def _decoded(self, offset: int, value: bytes | None) -> ZoneRecord | None:
        try:
            return codec.decode(value or b"")
        except CodecError as error:
            self._lose(f"{self._at(offset)} cannot be read: {error}")
            return None

    def _lose(self, why: str) -> None:
        log.warning("zone %d: %s; asking the painter for all lists", self.number, why)
        self.zone.lose()

    def _at(self, offset: int) -> str:
        return f"{self._place.topic}[{self.number}]@{offset}"

    def _open(self) -> None:
        """Be the only one who writes; then bring the lists to where the last owner was."""
        while not self.should_stop:
            try:
                self._producer = self._open_producer()
                break
            except KafkaException as error:
                log.warning("zone %d: %s; trying again", self.number, error.args[0].str())
                time.sleep(1.0)
        consumer = self._context.consumer(
            "zone", {"enable.partition.eof": True, "auto.offset.reset": "error"}
        )
        try:
            while not self.should_stop:
                try:
                    (committed,) = consumer.committed([self._place], timeout=_REPLY_S)
                    begin, end = consumer.get_watermark_offsets(self._place, timeout=_REPLY_S)
                    topic_id = self._context.topic_id(self._place.topic)
                    break
                except KafkaException as error:
                    log.warning("zone %d: %s; trying again", self.number, error.args[0].str())
                    time.sleep(1.0)
            if self.should_stop:
                return
            self._keeper.restore(topic_id, range(begin, end))
            reached = min(max(committed.offset, 0), end)
            if not self.zone.is_live and begin > 0:
                self._lose(f"{self._at(0)} to {begin - 1} are gone")
                self.zone.next_offset = max(begin, reached)
            self._replay(consumer, reached)
            self.zone.lists.take_counts()  # of what was written and counted before
        finally:
            consumer.close()
        log.info(
            "zone %d: restored, %d subscriptions up to %s, objects up to %d",
            *(self.number, len(self.zone), self._at(self.zone.next_offset), self.zone.objects - 1),
        )

    def _open_producer(self) -> Producer:
        names = self._context.names
        producer = Producer(
            {
                **self._context.client,
                "transactional.id": names.group(f"zone.{self.number}"),
                "partitioner": "murmur2_random",
                "linger.ms": 0,
                "compression.type": "lz4",
                "message.max.bytes": FRAME_BYTES,
                "queue.buffering.max.kbytes": 512 * 1024,
            }
        )
        producer.init_transactions(30.0)
        return producer

    def _replay(self, consumer: Any, end: int) -> None:
        """Take in, in silence, what the last owner has acknowledged."""
        zone, was_reset = self.zone, False
        if zone.next_offset >= end:
            return
        place = TopicPartition(self._place.topic, self.number, zone.next_offset)
        consumer.assign([place])
        reader = RecordReader(self._context, consumer, self._place.topic)
        while zone.next_offset < end and not self.should_stop:
            batch = reader.read(0.2, 1_000, lambda: 0.0)
            for message in batch.records:
                if message.offset() >= end:
                    break
                zone.next_offset = message.offset() + 1
                record = self._decoded(message.offset(), message.value())
                if record is not None:
                    was_reset = was_reset or zone.ends_reset(record)
                    zone.take(record)
            zone.next_offset = max(zone.next_offset, *batch.ends.values(), 0)
        if was_reset:  # what counted on from earlier records did so from none
            here = (self.number, zone.next_offset)
            zone.count_on(read_history(self._context, zone.lives, self._stopping, here).known)

    def _write(self, outputs: list[tuple[Output, int]]) -> None:
        """All of them, in one transaction that is tried until it is committed."""
        if not outputs:
            return
        while True:
            try:
                self._write_once(outputs)
                metrics.ZONE_LISTS.labels(*self._labels).inc(len(outputs))
                return
            except KafkaException as raised:
                error = raised.args[0]
                if error.fatal() or not (error.txn_requires_abort() or error.retriable()):
                    raise ZoneFenced(f"zone {self.number}: {error.str()}") from raised
                log.warning("zone %d: lists not written: %s; again", self.number, error.str())
                self._abort()
                time.sleep(0.2)

    def _write_once(self, outputs: list[tuple[Output, int]]) -> None:
        producer = self._producer
        assert producer is not None
        producer.begin_transaction()
        for (key, value, as_of), offset in outputs:
            headers = [(AS_OF, as_of), (MESSAGE, b"%d@%d" % (self.number, offset))]
            while True:
                try:
                    producer.produce(self._matches, value, key, headers=headers)
                    break
                except BufferError:
                    producer.poll(0.05)
        producer.commit_transaction(60.0)

    def _abort(self) -> None:
        assert self._producer is not None
        while True:
            try:
                self._producer.abort_transaction(30.0)
                return
            except KafkaException as raised:
                if raised.args[0].fatal() or not raised.args[0].retriable():
                    raise ZoneFenced(f"zone {self.number}: {raised.args[0].str()}") from raised

    def _say_progress(self) -> None:
        if self._progress.say(self.zone, self._written_objects):
            metrics.ZONE_BYTES.labels(*self._labels).set(self.zone.nbytes)

    async def _snapshot_if_due(self) -> None:
        if not (self._snapshot_is_due or self._keeper.is_due()) or self._unacknowledged:
            return
        if self.zone.is_whole and (self._written is None or self._written.done()):
            self._snapshot_is_due = False
            await self._begin_snapshot()

    async def _begin_snapshot(self) -> None:
        snapshot = await self._in_thread(self._keeper.gather)
        loop = asyncio.get_running_loop()
        self._written = loop.run_in_executor(self._aside, self._keeper.write, snapshot)

    def _close(self) -> None:
        if self._producer is not None:
            self._producer.flush(1.0)

    async def on_stop(self) -> None:
        await self._is_idle.wait()
        whole = self.restored.is_set() and not self.crashed and not self._unacknowledged
        if whole and not self.lost and self.zone.is_whole and self._keeper.is_behind():
            if self._written is not None:
                await self._written
            await self._begin_snapshot()
            assert self._written is not None
            await self._written

    async def on_shutdown(self) -> None:
        self._thread.shutdown(wait=False)
        self._aside.shutdown(wait=False)
        self._keeper.close()
        metrics.forget_zone(*self._labels)

    def _in_thread(self, do: Callable[..., T], *given: Any) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._thread, do, *given)
