"""The node: every shard in one process, which reads `events` and writes match records.

The shards change on the loop, and answer there.  Events are read by a thread, because the group's
reader blocks.  Faust's own consumer would take 200 µs an event, and come with a loop of its own, so
only its services are used here.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from topics.kafka.producer import Outbox
from topics.kinds import event_form
from workers.kinds import roles
from workers.merger.assembly import MergedFrame
from workers.node.answering import answer
from workers.node.events import EventReader
from workers.process import metrics
from workers.process.context import Context, wait_for_topics
from workers.process.stages import ANSWERING
from workers.process.topic_watch import TopicWatch
from workers.router.framing import Accepted
from workers.shard.service import ShardService
from workers.shard.shard import Shard
from workers.snapshots.watch import RedisWatch

log = logging.getLogger(__name__)

SHARDS = "shards"

_LOOK_EVERY_S = 0.25
# Events that wait for subscriptions are read again after this: meanwhile nodes may join and leave.
_PATIENCE_S = 1.0


class AllShards:
    """All shards of the collection, each with its feed.

    Its methods run on the loop, which is where the shards change: between two answers.
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

    async def answer(self, run: Accepted, after: Mapping[int, int]) -> MergedFrame | None:
        """None if the subscriptions up to `after`, by shard, do not come soon."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                for shard, offset in after.items():
                    await self._services[shard].feed.passed(offset)
        except TimeoutError:
            return None
        name, began = self._context.collection.name, time.time()
        merged = answer(run, self._shards, self._form)
        took_s, events = time.time() - began, len(run.messages)
        metrics.STAGE_SECONDS.observe(name, ANSWERING, seconds=took_s, events=events)
        return merged


class Node:
    """To be made on the loop that it works on."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._outbox = Outbox(context.client, **{"compression.type": "lz4"})
        self._watch = TopicWatch(context, ["subscriptions"])
        self._shards = AllShards(context, self._outbox)

    async def serve(self) -> None:
        """Until the worker is to stop, or something that it cannot do without has failed."""
        self._watch.start()
        await self._shards.start()
        try:
            while not self._context.stopping.is_set() and not self._shards.are_restored():
                self._context.health.beat()
                await self._look()
            await self._answer_events()
        finally:
            self._watch.stop()
            await self._shards.stop()

    async def _answer_events(self) -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="events") as thread:
            reading = loop.run_in_executor(thread, self._read_events, loop)
            try:
                while not reading.done():
                    await self._look()
            finally:
                self._context.stopping.set()
                await asyncio.wait([reading])
        reading.result()

    def _read_events(self, loop: asyncio.AbstractEventLoop) -> None:
        group, *_ = roles()[self._context.role].groups
        EventReader(self._context, group, self._shards, loop, self._outbox).run()

    async def _look(self) -> None:
        await asyncio.sleep(_LOOK_EVERY_S)
        self._shards.check()
        self._watch.check()


def run(context: Context) -> int:
    context.health.not_ready(SHARDS, "restoring")
    RedisWatch(context.health, context.settings.redis).probe().start()
    topics = ["events", "matches", "subscriptions", "subscriptions.dlq", "events.dlq"]
    if wait_for_topics(context, topics):
        asyncio.run(_serve(context))
    return 0


async def _serve(context: Context) -> None:
    await Node(context).serve()
