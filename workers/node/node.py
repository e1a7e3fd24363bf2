"""The node: every shard in one process, which reads `events` and writes match records.

The shards change on the loop, and answer there.  Events are read by a thread, because the group's
reader blocks.  Faust's own consumer would take 200 µs an event, and come with a loop of its own, so
only its services are used here.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from topics.kafka.producer import Outbox
from workers.kinds import roles
from workers.node.events import EventReader
from workers.node.shards import SHARDS, AllShards
from workers.process.context import Context, wait_for_topics
from workers.process.topic_watch import TopicWatch
from workers.snapshots.watch import RedisWatch

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.25


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
