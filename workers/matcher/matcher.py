"""The matcher: answers `frames` from the shards it holds.  Partition = shard.

Faust assigns partitions, reads frames and commits; one `FrameQueue` per shard answers them.  An
exception inside an agent's loop would acknowledge the frame, so none leaves it, and a frame is
acknowledged by hand once its answer is.
"""

import asyncio
import gc
import logging
from typing import Any

import faust
from faust.types import TP, EventT, StreamT

from topics.codecs.columns import CodecError
from topics.codecs.json_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.frames import fingerprint
from topics.headers import UNREADABLE
from topics.kafka.producer import Outbox
from workers.matcher.frame_queue import FrameQueue, NoSuchPartition
from workers.process import metrics
from workers.process.context import Context, wait_for_topics
from workers.process.faust_app import create_app, require_compiled_streams, run_app
from workers.process.topic_watch import TopicReplaced, TopicWatch
from workers.shard.service import ShardService
from workers.shard.shard import Shard
from workers.snapshots.watch import RedisWatch

log = logging.getLogger(__name__)

SHARDS, FRAMES = "shards", "frames"

_LEAVES_WITHIN_S = 5.0
_HELD_UP_AFTER_S = 10.0


class Matcher:
    """The shards of one worker process, by frame partition."""

    def __init__(self, context: Context, app: faust.App) -> None:
        self._context, self._app = context, app
        self._outbox = Outbox(context.client)
        self._queues: dict[int, FrameQueue] = {}
        self._tasks: dict[int, list[asyncio.Task]] = {}
        self._queues_are_set = asyncio.Event()  # as the latest assignment says
        self._partials = context.names.topic("partials")
        app.on_partitions_revoked.connect(self._on_revoked)
        app.on_partitions_assigned.connect(self._on_assigned)
        app.on_before_shutdown.connect(self._on_leaving)

    async def _on_revoked(self, app: faust.App, revoked: set[TP], **_: Any) -> None:
        """Pause the feeds: every rebalance begins so, and most shards are given back at its end."""
        self._queues_are_set.clear()
        for shard in {place.partition for place in revoked} & self._queues.keys():
            self._queues[shard].service.feed.pause()

    async def _on_assigned(self, app: faust.App, assigned: set[TP], **_: Any) -> None:
        """Go on with the shards that are still ours, open the new ones, close the others."""
        shards = {place.partition for place in assigned}
        new, lost = shards - self._queues.keys(), self._queues.keys() - shards
        for shard in shards & self._queues.keys():
            self._queues[shard].service.feed.resume()
        for shard in new:
            self._add_queue(shard)
        self._queues_are_set.set()
        for shard in new:
            await self._app.add_runtime_dependency(self._queues[shard].service)
        await asyncio.gather(*map(self._close, lost))
        if lost:
            # A feed and its tasks refer to each other.  A worker that keeps calm looks for such
            # cycles too seldom to leave an index, which may be most of its memory, to chance.
            gc.collect()

    async def _on_leaving(self, app: faust.App, **_: Any) -> None:
        """A successor is to begin behind the last answer, or it would be given twice."""
        if app.crashed:
            return
        try:
            await asyncio.wait_for(self._leave(), _LEAVES_WITHIN_S)
        except TimeoutError:
            log.warning("the last answers are not acknowledged yet; they will be given again")
        except Exception:  # Faust would not stop what it has started
            log.exception("the last answers are not committed; they will be given again")

    async def _leave(self) -> None:
        if self._queues:
            await asyncio.gather(*(queue.leave() for queue in self._queues.values()))
            # Faust itself commits when it stops, but not if it is doing so at that moment.
            await self._app.consumer.maybe_wait_for_commit_to_finish()
            await self._app.consumer.force_commit()

    def _add_queue(self, shard: int) -> None:
        log.info("shard %d: ours", shard)
        collection = self._context.collection
        held = Shard(shard, collection.kind, collection.attributes)
        service = ShardService(self._context, held, self._outbox)
        declared = fingerprint(collection.kind, collection.attributes)
        queue = FrameQueue(
            service, collection.name, declared, self._send, self._is_current, self._give_up
        )
        self._queues[shard] = queue
        loops = (queue.answer_all(), queue.send_all())
        self._tasks[shard] = [asyncio.ensure_future(self._guarded(loop)) for loop in loops]

    async def _close(self, shard: int) -> None:
        log.info("shard %d: gone", shard)
        for task in self._tasks.pop(shard):
            task.cancel()
        queue = self._queues.pop(shard)
        queue.empty()
        queue.service.lost = True
        await self._app.remove_dependency(
            queue.service
        )  # which stops it; the app would keep its index

    async def _guarded(self, loop: Any) -> None:
        """An error of our own stops the worker; frames in hand are answered after its restart."""
        try:
            await loop
        except Exception as error:
            log.exception("a frame cannot be answered")
            await self._app.crash(error)

    def report(self) -> None:
        """Ready when every shard is restored; a worker without shards stands by and is ready."""
        feeds = {shard: queue.service.feed for shard, queue in self._queues.items()}
        metrics.SHARDS.labels(self._context.collection.name).set(len(feeds))
        behind = {s: f.behind for s, f in feeds.items() if not f.restored.is_set()}
        if behind:
            listed = ", ".join(f"{s} ({n} records behind)" for s, n in sorted(behind.items()))
            self._context.health.not_ready(SHARDS, f"restoring {listed}")
        else:
            self._context.health.ready(SHARDS)
        waiting = {s: queue.held_up for s, queue in self._queues.items() if s not in behind}
        late = [
            f"shard {s} has waited for subscriptions up to offset {after} for a while"
            for s, (seconds, after) in sorted(waiting.items())
            if seconds > _HELD_UP_AFTER_S
        ]
        if late:
            self._context.health.not_ready(FRAMES, "; ".join(late))
        else:
            self._context.health.ready(FRAMES)

    async def distribute(self, stream: StreamT) -> None:
        """Each frame to the queue of its shard; one of a shard that is gone belongs to another."""
        async for record in stream.noack().events():
            self._context.health.beat()
            # Faust reads on while it tells us of the assignment.  A frame that is left out, and is
            # followed by one that is acknowledged, would count as answered.
            await self._queues_are_set.wait()
            queue = self._queues.get(record.message.partition)
            if queue is not None and self._is_current(record):
                await queue.put(record)

    async def _send(self, partition: int, value: bytes) -> None:
        producer: Any = self._app.producer
        try:
            await producer.send_and_wait(self._partials, None, value, partition, None, {})
        except AssertionError as error:  # so aiokafka says that it knows of no such partition
            await producer._ensure_producer().client.force_metadata_update()
            raise NoSuchPartition(f"{self._partials}[{partition}]") from error

    def _is_current(self, record: EventT) -> bool:
        """Whether the frame's partition has stayed with this worker since it was read."""
        generation = record.message.generation_id
        return generation == self._app.consumer_generation_id and not self._app.crashed

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
    watch = TopicWatch(context, ["subscriptions", "frames"])
    watch.start()

    @app.agent(app.topic(context.names.topic("frames"), value_type=bytes), concurrency=1)
    async def answer_frames(stream: StreamT) -> None:
        await matcher.distribute(stream)

    @app.timer(interval=0.5)
    async def report() -> None:
        context.health.beat()
        matcher.report()
        try:
            watch.check()
        except TopicReplaced as error:
            log.error("%s", error)
            await app.crash(error)

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
