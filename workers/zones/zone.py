"""The zone worker: keeps lists right by what comes on `messages`, and writes those that change.

Partition = zone.  Faust assigns partitions, reads and commits; one `ZoneService` per zone does the
rest, in a thread of its own.  An exception inside an agent's loop would acknowledge the record, so
none leaves it, and a record is acknowledged by hand.
"""

import asyncio
import gc
import logging
from typing import Any

import faust
from faust.types import TP, EventT, StreamT

from topics.kafka.producer import Outbox
from workers.process import metrics
from workers.process.context import Context, wait_for_topics
from workers.process.faust_app import create_app, require_compiled_streams, run_app
from workers.process.object_lag import ObjectLag
from workers.process.topic_watch import TopicReplaced, TopicWatch
from workers.snapshots.watch import RedisWatch
from workers.zones.service import ZoneService

log = logging.getLogger(__name__)

ZONES = "zones"

_LEAVES_WITHIN_S = 5.0


class Zones:
    """The zones of one worker process."""

    def __init__(self, context: Context, app: faust.App) -> None:
        self._context, self._app = context, app
        self._outbox = Outbox(context.client)
        self._services: dict[int, ZoneService] = {}
        self._are_set = asyncio.Event()  # as the latest assignment says
        app.on_partitions_revoked.connect(self._on_revoked)
        app.on_partitions_assigned.connect(self._on_assigned)
        app.on_before_shutdown.connect(self._on_leaving)

    async def _on_revoked(self, app: faust.App, revoked: set[TP], **_: Any) -> None:
        """Pause: every rebalance begins so, and most zones are given back at its end."""
        self._are_set.clear()
        for zone in {place.partition for place in revoked} & self._services.keys():
            self._services[zone].pause()

    async def _on_assigned(self, app: faust.App, assigned: set[TP], **_: Any) -> None:
        zones = {place.partition for place in assigned}
        new, lost = zones - self._services.keys(), self._services.keys() - zones
        for zone in zones & self._services.keys():
            self._services[zone].resume()
        for zone in new:
            log.info("zone %d: ours", zone)
            self._services[zone] = ZoneService(self._context, zone, self._outbox, self._is_current)
        self._are_set.set()
        for zone in new:
            await self._app.add_runtime_dependency(self._services[zone])
        await asyncio.gather(*map(self._close, lost))
        if lost:
            gc.collect()  # lists may be most of the memory, and what refers to them is in cycles

    async def _on_leaving(self, app: faust.App, **_: Any) -> None:
        if app.crashed or not self._services:
            return
        try:
            await asyncio.wait_for(self._leave(), _LEAVES_WITHIN_S)
        except TimeoutError:
            log.warning("the last lists are not acknowledged yet; they will be written again")
        except Exception:  # Faust would not stop what it has started
            log.exception("the last lists are not committed; they will be written again")

    async def _leave(self) -> None:
        await asyncio.gather(*(service.leave() for service in self._services.values()))
        await self._app.consumer.maybe_wait_for_commit_to_finish()
        await self._app.consumer.force_commit()

    async def _close(self, zone: int) -> None:
        log.info("zone %d: gone", zone)
        service = self._services.pop(zone)
        service.lost = True
        service.empty()
        service.resume()  # it may wait for that
        await self._app.remove_dependency(service)

    def report(self) -> None:
        """Ready when every zone is restored and live; a worker without zones stands by."""
        metrics.SHARDS.labels(self._context.collection.name).set(len(self._services))
        states = dict(sorted(self._services.items()))
        restoring = [z for z, service in states.items() if not service.restored.is_set()]
        waiting = [z for z, service in states.items() if not service.zone.is_live]
        if restoring:
            self._context.health.not_ready(ZONES, f"restoring {', '.join(map(str, restoring))}")
        elif waiting:
            listed, health = ", ".join(map(str, waiting)), self._context.health
            said = f"waiting for the painter to send the lists of {listed}"
            if self._context.collection.painter == "live":
                health.not_ready(ZONES, said)
                return
            # Whoever starts the fleet starts the job afterwards, perhaps much later.
            health.ready(ZONES)
            health.degraded("lists", said)
        else:
            self._context.health.ready(ZONES)
            self._context.health.ready("lists")

    def following(self) -> dict[tuple[str, ...], int]:
        """By labels of metrics, the first object record that the lists of a zone do not have."""
        name, services = self._context.collection.name, self._services.copy()
        return {(name, str(zone)): service.following for zone, service in services.items()}

    async def distribute(self, stream: StreamT) -> None:
        async for event in stream.noack().events():
            self._context.health.beat()
            await self._are_set.wait()
            service = self._services.get(event.message.partition)
            if service is not None and self._is_current(event):
                await service.put(event)

    def _is_current(self, event: EventT) -> bool:
        """Whether the partition has stayed with this worker since the record was read."""
        generation = event.message.generation_id
        return generation == self._app.consumer_generation_id and not self._app.crashed


def build(context: Context) -> faust.App:
    """The Faust app with its agent; nothing runs yet."""
    require_compiled_streams()
    app = create_app(context)
    zones = Zones(context, app)
    watch = TopicWatch(context, ["messages", "objects", "subscriptions"])
    watch.start()
    ObjectLag(context, metrics.ZONE_LAG, metrics.ZONE_LAG_SECONDS, zones.following).start()

    @app.agent(app.topic(context.names.topic("messages"), value_type=bytes), concurrency=1)
    async def keep_lists(stream: StreamT) -> None:
        await zones.distribute(stream)

    @app.timer(interval=0.5)
    async def report() -> None:
        context.health.beat()
        zones.report()
        try:
            watch.check()
        except TopicReplaced as error:
            log.error("%s", error)
            await app.crash(error)

    return app


def run(context: Context) -> int:
    context.health.not_ready(ZONES, "not assigned yet")
    RedisWatch(context.health, context.settings.redis).probe().start()
    if not wait_for_topics(context, ["messages", "matches", "progress"]):
        return 0
    return run_app(build(context), context)
