"""One shard and its service in the process of the test, on a real topic and a real Redis."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from confluent_kafka import Producer, TopicPartition
from prometheus_client import REGISTRY

from configs import Collection, Settings
from podium.topics_setup import ensure_topics
from tests.fleet.traffic import SILENT
from tests.retention import delete_records
from topics.kafka.producer import Outbox
from workers.process.context import Context, Names
from workers.process.health import Health
from workers.shard.service import ShardService
from workers.shard.shard import Shard

PATIENCE_S = 60.0
A_SUBSCRIPTION = json.dumps({"where": {"age": [0, 9]}, "score": 1}).encode()


class ShardLab:
    """A collection of one shard: its topics, its settings, and who writes to it."""

    def __init__(
        self,
        name: str,
        brokers: str,
        redis_url: str,
        settings: Mapping[str, Any] | None = None,
        **declared: Any,
    ) -> None:
        ranked = {"kind": "ranked", "attributes": ["age"]}
        self.collection = Collection(name=name, shards=1, **(ranked | declared))
        self.settings = Settings(
            kafka={"brokers": brokers}, redis={"url": redis_url, "timeout_s": 2}, **(settings or {})
        )
        ensure_topics(self.settings, self.collection)
        names = Names.of(self.settings, self.collection)
        self.context = Context(
            "matcher",
            self.settings,
            self.collection,
            names,
            Health([]),
            threading.Event(),
            deque(maxlen=1),
        )
        self.topic = names.topic("subscriptions")
        self.place = TopicPartition(self.topic, 0)
        self._producer = Producer({"bootstrap.servers": brokers, "logger": SILENT})

    def subscribe(self, *ids: str, value: bytes = A_SUBSCRIPTION) -> None:
        self._send(ids, value)

    def unsubscribe(self, *ids: str) -> None:
        self._send(ids, None)

    def _send(self, ids: tuple[str, ...], value: bytes | None) -> None:
        for id in ids:
            self._producer.produce(self.topic, value, id.encode())
        self._producer.flush()

    def delete_records(self, below: int) -> None:
        delete_records(self.settings.kafka.brokers, self.topic, {0: below})

    def new_shard(self) -> Shard:
        return Shard(0, self.collection.kind, self.collection.attributes)

    def new_service(self) -> ShardService:
        return ShardService(self.context, self.new_shard(), Outbox(self.context.client))

    @asynccontextmanager
    async def service(self) -> AsyncIterator[ShardService]:
        """One that is restored; it is stopped at the end, and leaves a snapshot."""
        service = self.new_service()
        await service.start()
        try:
            await until(service.feed.restored.is_set)
            yield service
        finally:
            await service.stop()

    def metric(self, name: str, **labels: str) -> float | None:
        """None where there is no such sample."""
        mine = {"collection": self.collection.name, "shard": "0"}
        return REGISTRY.get_sample_value(name, mine | labels)


async def until(found: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not found():
            await asyncio.sleep(0.01)
