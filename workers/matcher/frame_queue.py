"""The way of one shard's frames through a matcher: answered in order, sent in order.

Two tasks per queue, so that the next frame is answered while the last answer is on its way.
Answers that come together meanwhile go out in one record: the slower the broker, the larger the
records.
A frame is acknowledged when its answer is; what is not acknowledged is read again by the shard's
next owner.  A worker that leaves waits for what is on its way, so that none is answered twice.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from aiokafka.errors import KafkaError
from faust.types import EventT

from topics import frames, partials
from topics.codecs.columns import CodecError, bundle, unbundle
from topics.limits import ANSWERS_TOGETHER_BYTES
from workers.process import metrics
from workers.process.stages import ANSWERING, FRAME_WAITING, SENDING
from workers.shard.feed import ShardGone
from workers.shard.service import ShardService

log = logging.getLogger(__name__)

_RETRY_S = (0.2, 0.5, 1, 2, 5, 10)
# How long answers wait for a partition that is not there: one that was just added is soon known.
_NO_PARTITION_S = 30.0
# Records of frames that wait; beyond, the queue holds up the others of its worker.
_MOST_WAITING = 256

Send = Callable[[int, bytes], Awaitable[None]]


class NoSuchPartition(KafkaError):
    """The topic of the answers has no such partition, as far as the producer knows."""


class _Answered(NamedTuple):
    record: EventT
    parts: list[tuple[int, bytes]]  # partition of the partials topic, encoded partial
    events: int
    at: float  # time of the answer, in seconds

    @property
    def nbytes(self) -> int:
        return sum(len(part) for _, part in self.parts)


class FrameQueue:
    """`is_current` says whether a frame is still this worker's to answer.

    `fingerprint` is of the collection as this worker knows it.
    """

    def __init__(
        self,
        service: ShardService,
        collection: str,
        fingerprint: int,
        send: Send,
        is_current: Callable[[EventT], bool],
        give_up: Callable[[EventT, CodecError], Awaitable[None]],
    ) -> None:
        self.service = service
        self._collection = collection
        self._fingerprint = fingerprint
        self._answering: tuple[float, int] | None = None  # since when, and the token that it has
        self.taken: tuple[int, float] | None = None  # offset and timestamp of the record in hand
        self._send, self._is_current, self._give_up = send, is_current, give_up
        self._waiting: asyncio.Queue[EventT] = asyncio.Queue(_MOST_WAITING)
        self._unsent: list[_Answered] = []
        self._sending: list[_Answered] = []
        self._is_leaving = False
        self._changed = asyncio.Condition()

    async def put(self, record: EventT) -> None:
        await self._waiting.put(record)

    def empty(self) -> None:
        """Leave what waits to the shard's next owner; nobody waits for room here any more."""
        while not self._waiting.empty():
            self._waiting.get_nowait()

    async def leave(self) -> None:
        """Answer nothing more, and wait until all that was answered is acknowledged."""
        self._is_leaving = True
        self.empty()
        async with self._changed:
            await self._changed.wait_for(lambda: not self._unsent and not self._sending)

    async def answer_all(self) -> None:
        """Runs until it is cancelled, or the shard is gone."""
        while True:
            record = await self._waiting.get()
            if self._is_leaving or not self._is_current(record):
                continue
            self.taken = record.message.offset, record.message.timestamp
            try:
                answered = await self._answer(record)
            except ShardGone:
                return
            except CodecError as error:
                await self._give_up(record, error)
                answered = _Answered(record, [], 0, time.time())
            await self._hand_over(answered)

    async def send_all(self) -> None:
        """Runs until it is cancelled.  One batch at a time, so that answers keep their order."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._unsent)
                self._sending, self._unsent = self._unsent, []
                self._changed.notify_all()
            await self._send_batch([a for a in self._sending if self._is_current(a.record)])
            async with self._changed:
                self._sending = []
                self._changed.notify_all()

    async def _hand_over(self, answered: _Answered) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._has_room(answered))
            if not self._is_leaving:  # otherwise nobody waits for it, and it must not be sent
                self._unsent.append(answered)
                self._changed.notify_all()

    async def _answer(self, record: EventT) -> _Answered:
        asked = [self._decoded(part) for part in unbundle(record.value or b"")]
        after = max(frame.after for frame in asked)
        self._answering = (time.monotonic(), after)
        await self.service.feed.passed(after)
        events, began = sum(len(frame.offsets) for frame in asked), time.time()
        self._observe(FRAME_WAITING, began - record.message.timestamp, events)
        answers = [(frame.answers, self.service.shard.answer(frame)) for frame in asked]
        parts = [(target, partials.encode(answer)) for target, answer in answers]
        done = time.time()
        self._observe(ANSWERING, done - began, events)
        metrics.FRAMES.labels(self._collection).inc(len(asked))
        self._answering = None
        return _Answered(record, parts, events, done)

    def _observe(self, stage: str, seconds: float, events: int) -> None:
        metrics.STAGE_SECONDS.observe(self._collection, stage, seconds=seconds, events=events)

    def _decoded(self, part: memoryview) -> frames.Frame:
        """`CodecError` for whatever is wrong with a frame: it will be so each time."""
        try:
            frame = frames.decode(part)
        except CodecError:
            raise
        except Exception as error:
            raise CodecError(f"got bytes that are no frame: {error!r}") from error
        if frame.fingerprint != self._fingerprint:
            partition, _, first, last = frame.frame_id
            raise CodecError(
                f"got events[{partition}]@{first} to {last} packed for another kind or other"
                " attributes, expected those of the collection as this matcher knows it; let router"
                " and matchers read the same file, and backfill these events"
            )
        return frame

    @property
    def held_up(self) -> tuple[float, int]:
        """For how long a frame has waited for its token, in seconds, and that token."""
        since, after = self._answering or (time.monotonic(), -1)
        return time.monotonic() - since, after

    async def _send_batch(self, batch: list[_Answered]) -> None:
        by_target: dict[int, list[bytes]] = defaultdict(list)
        for answered in batch:
            for target, part in answered.parts:
                by_target[target].append(part)
        done = await asyncio.gather(*(self._deliver(t, bundle(p)) for t, p in by_target.items()))
        missing = {target for target, sent in zip(by_target, done, strict=True) if not sent}
        for answered in batch:
            if not self._is_current(answered.record):
                continue
            if nowhere := missing & {target for target, _ in answered.parts}:
                said = f"got a frame to be answered into partition {min(nowhere)} of partials"
                await self._give_up(answered.record, CodecError(f"{said}, which does not exist"))
            answered.record.ack()
            self._observe(SENDING, time.time() - answered.at, answered.events)

    async def _deliver(self, target: int, record: bytes) -> bool:
        """False if the frames name a partition that does not exist."""
        attempt, began = 0, time.monotonic()
        while True:
            try:
                await self._send(target, record)
                return True
            except KafkaError as error:
                waited_s = time.monotonic() - began
                if isinstance(error, NoSuchPartition) and waited_s > _NO_PARTITION_S:
                    return False
                wait_s = _RETRY_S[min(attempt, len(_RETRY_S) - 1)]
                shard = self.service.shard.number
                log.warning("shard %d: answers not sent: %r; again in %s s", shard, error, wait_s)
                attempt += 1
                await asyncio.sleep(wait_s)

    def _has_room(self, more: _Answered) -> bool:
        waiting = sum(answered.nbytes for answered in self._unsent)
        return not self._unsent or waiting + more.nbytes <= ANSWERS_TOGETHER_BYTES
