"""The matcher: answers `frames` from the shards it holds.  Partition = shard.

One `FrameQueue` per shard answers its frames; a frame is acknowledged once its answer is.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import faust
from faust.types import TP, EventT, StreamT

from topics.codecs.columns import CodecError
from topics.codecs.json_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.frames import fingerprint
from topics.headers import UNREADABLE
from topics.kafka.producer import Outbox
from topics.kinds import reading_of
from workers.matcher.frame_queue import FrameQueue, NoSuchPartition
from workers.process import metrics
from workers.process.context import Context, wait_for_topics
from workers.process.faust_app import create_app, require_compiled_streams, run_app
from workers.process.lag import PartitionLag
from workers.process.partitions import Partitions, report_regularly
from workers.process.topic_watch import TopicWatch
from workers.shard.service import ShardService
from workers.shard.shard import Shard
from workers.snapshots.watch import RedisWatch

log = logging.getLogger(__name__)

SHARDS, FRAMES = "shards", "frames"

_HELD_UP_AFTER_S = 10.0


class ShardAtWork:
    """A shard of this worker: its service, and the two tasks of its queue of frames."""

    def __init__(self, queue: FrameQueue, app: faust.App) -> None:
        self.queue, self._app = queue, app
        loops = (queue.answer_all(), queue.send_all())
        self._tasks = [asyncio.ensure_future(self._guarded(loop)) for loop in loops]

    @property
    def service(self) -> ShardService:
        return self.queue.service

    async def put(self, record: EventT) -> None:
        await self.queue.put(record)

    def pause(self) -> None:
        self.service.feed.pause()

    def resume(self) -> None:
        self.service.feed.resume()

    def give_back(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.queue.empty()
        self.service.lost = True

    async def leave(self) -> None:
        await self.queue.leave()

    async def _guarded(self, loop: Coroutine[Any, Any, None]) -> None:
        """An error of our own stops the worker; frames in hand are answered after its restart."""
        try:
            await loop
        except Exception as error:
            log.exception("a frame cannot be answered")
            await self._app.crash(error)


class Matcher:
    """The shards of one worker process, by frame partition."""

    def __init__(self, context: Context, app: faust.App) -> None:
        self._context, self._app = context, app
        self._outbox = Outbox(context.client)
        self._partials = context.names.topic("partials")
        self._measured: set[int] = set()  # shards whose lag is told
        self._frames = context.names.topic("frames")
        self._lag = PartitionLag(
            metrics.LAG_RECORDS, metrics.LAG_SECONDS, (context.collection.name, "frames")
        )
        self.shards = Partitions(context, app, "shard", self._open)

    def _open(self, shard: int) -> ShardAtWork:
        collection = self._context.collection
        kind, dialect = collection.kind, collection.dialect
        held = Shard(shard, kind, collection.attributes, dialect)
        service = ShardService(self._context, held, self._outbox)
        declared = fingerprint(kind, collection.attributes, reading_of(kind, dialect))
        is_current = self.shards.is_current
        queue = FrameQueue(
            service, collection.name, declared, self._send, is_current, self._give_up
        )
        return ShardAtWork(queue, self._app)

    def report(self) -> None:
        """Ready when every shard is restored; a worker without shards stands by and is ready."""
        self._measure_lag()
        feeds = {number: shard.service.feed for number, shard in self.shards.items()}
        metrics.SHARDS.labels(self._context.collection.name).set(len(feeds))
        behind = {s: f.behind for s, f in feeds.items() if not f.restored.is_set()}
        if behind:
            listed = ", ".join(f"{s} ({n} records behind)" for s, n in sorted(behind.items()))
            self._context.health.not_ready(SHARDS, f"restoring {listed}")
        else:
            self._context.health.ready(SHARDS)
        waiting = {s: shard.queue.held_up for s, shard in self.shards.items() if s not in behind}
        late = [
            f"shard {s} has waited for subscriptions up to offset {after} for a while"
            for s, (seconds, after) in sorted(waiting.items())
            if seconds > _HELD_UP_AFTER_S
        ]
        if late:
            self._context.health.not_ready(FRAMES, "; ".join(late))
        else:
            self._context.health.ready(FRAMES)

    def _measure_lag(self) -> None:
        for number in self._measured - dict(self.shards.items()).keys():
            self._lag.forget(number)
        self._measured = set()
        for number, shard in self.shards.items():
            end = self._app.consumer.highwater(TP(self._frames, number))
            if shard.queue.taken is not None and end is not None:
                offset, written_at = shard.queue.taken
                self._lag.took(number, written_at)
                self._lag.measure(number, offset + 1, end)
            self._measured.add(number)

    async def _send(self, partition: int, value: bytes) -> None:
        producer: Any = self._app.producer
        try:
            await producer.send_and_wait(self._partials, None, value, partition, None, {})
        except AssertionError as error:  # so aiokafka says that it knows of no such partition
            await producer._ensure_producer().client.force_metadata_update()
            raise NoSuchPartition(f"{self._partials}[{partition}]") from error

    async def _give_up(self, record: EventT, error: CodecError) -> None:
        """Internal records are not anybody's input: this is another version, or damage."""
        message = record.message
        unreadable = dict(message.headers or ()).get(UNREADABLE)
        bad = BadRecord("value", unreadable.decode() if unreadable else str(error))
        place = message.topic, message.partition, message.offset
        letter = DeadLetter.of(*place, message.key, message.value, [], bad)
        metrics.DEAD_LETTERS.labels(self._context.collection.name, "frames").inc()
        self._outbox.send_dead_letter(letter, to=self._context.names.topic("events.dlq"))
        await asyncio.get_running_loop().run_in_executor(None, self._outbox.settle)


def build(context: Context) -> faust.App:
    """The Faust app with its agent; nothing runs yet."""
    require_compiled_streams()
    app = create_app(context)
    matcher = Matcher(context, app)

    @app.agent(app.topic(context.names.topic("frames"), value_type=bytes), concurrency=1)
    async def answer_frames(stream: StreamT) -> None:
        await matcher.shards.distribute(stream)

    watch = TopicWatch(context, ["subscriptions", "frames"])
    report_regularly(app, context, watch, matcher.report)
    return app


def run(context: Context) -> int:
    context.health.not_ready(SHARDS, "not assigned yet")
    RedisWatch(context.health, context.settings.redis).probe().start()
    topics = ["frames", "partials", "subscriptions", "subscriptions.dlq", "events.dlq"]
    if context.collection.routing.enabled:
        topics.append("routes")
    if not wait_for_topics(context, topics):
        return 0
    return run_app(build(context), context)
