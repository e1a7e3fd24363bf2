"""The zone worker: keeps lists right by what comes on `messages`, and writes those that change.

Partition = zone.  One `ZoneService` per zone does the work, in a thread of its own.
"""

import faust
from faust.types import StreamT

from topics.kafka.producer import Outbox
from workers.process import metrics
from workers.process.context import Context, wait_for_topics
from workers.process.faust_app import create_app, require_compiled_streams, run_app
from workers.process.object_lag import ObjectLag
from workers.process.partitions import Partitions, report_regularly
from workers.process.topic_watch import TopicWatch
from workers.snapshots.watch import RedisWatch
from workers.zones.service import ZoneService

ZONES = "zones"


class Zones:
    """The zones of one worker process."""

    def __init__(self, context: Context, app: faust.App) -> None:
        self._context = context
        self._outbox = Outbox(context.client)
        self.zones = Partitions(context, app, "zone", self._open)

    def _open(self, zone: int) -> ZoneService:
        return ZoneService(self._context, zone, self._outbox, self.zones.is_current)

    def report(self) -> None:
        """Ready when every zone is restored and live; a worker without zones stands by."""
        metrics.SHARDS.labels(self._context.collection.name).set(len(self.zones))
        states = dict(self.zones.items())
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
        name = self._context.collection.name
        return {(name, str(zone)): service.following for zone, service in self.zones.items()}


def build(context: Context) -> faust.App:
    """The Faust app with its agent; nothing runs yet."""
    require_compiled_streams()
    app = create_app(context)
    zones = Zones(context, app)
    ObjectLag(context, metrics.ZONE_LAG, metrics.ZONE_LAG_SECONDS, zones.following).start()

    @app.agent(app.topic(context.names.topic("messages"), value_type=bytes), concurrency=1)
    async def keep_lists(stream: StreamT) -> None:
        await zones.zones.distribute(stream)

    watch = TopicWatch(context, ["messages", "objects", "subscriptions"])
    report_regularly(app, context, watch, zones.report)
    return app


def run(context: Context) -> int:
    context.health.not_ready(ZONES, "not assigned yet")
    RedisWatch(context.health, context.settings.redis).probe().start()
    if not wait_for_topics(context, ["messages", "matches", "progress"]):
        return 0
    return run_app(build(context), context)
