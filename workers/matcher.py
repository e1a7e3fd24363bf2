"""The matcher: answers `frames` from the shards it holds.  Partition = shard.

Faust assigns partitions, reads frames and commits; what a frame's answer is, `RankedShard` knows.
An exception inside an agent's loop would acknowledge the frame, so none leaves it, and frames are
acknowledged by hand once their answer is.
"""

import asyncio
import logging
from collections import defaultdict
from typing import Any

import faust
from aiokafka.errors import KafkaError
from faust import streams as faust_streams
from faust.types import TP, EventT, StreamT

from topics import frames, partials
from topics.bad_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.packing import CodecError, bundle, unbundle
from topics.subscriptions import RankedContract
from workers import metrics
from workers.context import Context
from workers.faust_app import create_app
from workers.feed import ShardGone, SubscriptionFeed
from workers.outbox import Outbox
from workers.shard import RankedShard

log = logging.getLogger(__name__)

SHARDS = "shards"
_RETRY_S = (0.2, 0.5, 1, 2, 5, 10)


class Matcher:
    """The shards of one worker process, by frame partition."""

    def __init__(self, context: Context, app: faust.App) -> None:
        self._context, self._app = context, app
        self._contract = RankedContract(context.collection.attributes)
        self._outbox = Outbox(context.client)
        self._feeds: dict[int, SubscriptionFeed] = {}
        self._partials = context.names.topic("partials")
        self._answer_seconds = metrics.ANSWER_SECONDS.labels(context.collection.name)
        app.on_partitions_assigned.connect(self._on_assigned)

    async def _on_assigned(self, app: faust.App, assigned: set[TP], **_: Any) -> None:
        """Keep the shards that are still ours, stop the feeds of the others, open the new ones."""
        shards = {place.partition for place in assigned}
        for shard in self._feeds.keys() - shards:
            log.info("shard %d: gone", shard)
            await self._feeds.pop(shard).stop()
        for shard in shards - self._feeds.keys():
            log.info("shard %d: ours", shard)
            feed = SubscriptionFeed(self._context, RankedShard(shard, self._contract), self._outbox)
            self._feeds[shard] = feed
            await app.add_runtime_dependency(feed)

    def report(self) -> None:
        """Ready when every shard is restored; a worker without shards stands by and is ready."""
        behind = {s: f.behind for s, f in self._feeds.items() if not f.restored.is_set()}
        if behind:
            listed = ", ".join(f"{s} ({n} records behind)" for s, n in sorted(behind.items()))
            self._context.health.not_ready(SHARDS, f"restoring {listed}")
        else:
            self._context.health.ready(SHARDS)

    async def answer_all(self, stream: StreamT) -> None:
        async for event in stream.noack().events():
            self._context.health.beat()
            if await self._answer(event) and self._is_current(event):
                event.ack()

    async def _answer(self, event: EventT) -> bool:
        """Send the answer to one frame; whether the frame is dealt with."""
        attempt = 0
        while self._is_current(event):
            try:
                await self._answer_once(event)
                return True
            except ShardGone:
                return False
            except CodecError as error:
                await self._give_up(event, error)
                return True
            except KafkaError as error:
                wait_s = _RETRY_S[min(attempt, len(_RETRY_S) - 1)]
                log.warning("%s: not answered: %r; again in %s s", _place(event), error, wait_s)
                attempt += 1
                await asyncio.sleep(wait_s)
            except Exception as error:
                # Our own fault: stop without acknowledging, so that the frame is answered later.
                log.exception("%s: cannot be answered", _place(event))
                await self._app.crash(error)
                return False
        return False

    async def _answer_once(self, event: EventT) -> None:
        asked = [frames.decode(part) for part in unbundle(event.value)]
        feed = self._feeds.get(event.message.partition)
        if feed is None:
            raise ShardGone(event.message.partition)
        await feed.passed(max(frame.after for frame in asked))
        with self._answer_seconds.time():
            answers = self._answers(feed.shard, asked)
        await asyncio.gather(*(self._send(target, value) for target, value in answers.items()))
        metrics.FRAMES.labels(self._context.collection.name).inc(len(asked))

    def _answers(self, shard: RankedShard, asked: list[frames.Frame]) -> dict[int, bytes]:
        """The answers by partition of the partials topic."""
        by_target: dict[int, list[bytes]] = defaultdict(list)
        for frame in asked:
            target = frame.name.partition % self._context.collection.partitions.partials
            by_target[target].append(partials.encode(shard.answer(frame)))
        return {target: bundle(parts) for target, parts in by_target.items()}

    async def _send(self, partition: int, value: bytes) -> None:
        await self._app.producer.send_and_wait(self._partials, None, value, partition, None, {})

    def _is_current(self, event: EventT) -> bool:
        """Whether the frame's partition has stayed with this worker since it was read."""
        generation = event.message.generation_id
        return generation == self._app.consumer_generation_id and not self._app.should_stop

    async def _give_up(self, event: EventT, error: CodecError) -> None:
        message = event.message
        bad = BadRecord("value", str(error))
        letter = DeadLetter(
            message.topic,
            message.partition,
            message.offset,
            message.key,
            message.value,
            [],
            str(bad),
            bad.field,
        )
        metrics.DEAD_LETTERS.labels(self._context.collection.name, "frames").inc()
        self._outbox.send_dead_letter(letter, to=self._context.names.topic("events.dlq"))
        await asyncio.get_running_loop().run_in_executor(None, self._outbox.settle)


def _place(event: EventT) -> str:
    message = event.message
    return f"{message.topic}[{message.partition}]@{message.offset}"


def build(context: Context) -> faust.App:
    """The Faust app with its agent; nothing runs yet."""
    if faust_streams._CStreamIterator is None:
        # Without it Faust acknowledges frames that it skips during a rebalance, unanswered.
        raise RuntimeError(
            "Faust's compiled stream iterator is missing; install faust-streaming from a wheel"
        )
    app = create_app(context)
    matcher = Matcher(context, app)

    @app.agent(app.topic(context.names.topic("frames"), value_type=bytes), concurrency=1)
    async def answer_frames(stream: StreamT) -> None:
        await matcher.answer_all(stream)

    @app.timer(interval=0.5)
    async def report() -> None:
        context.health.beat()
        matcher.report()

    return app
