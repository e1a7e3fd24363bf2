"""A collection with its topics, what was sent to it, and what its bases have to answer."""

import json
import random
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from pyspark.sql import SparkSession

from configs import Collection, load_collection, load_settings
from indexes.intervals import SOPTRTree
from indexes.intervals.sopt_r_tree import SOPTArrays
from podium.topics_setup import ensure_topics
from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.backfill import BackfillJob
from spark_streaming.driver.bases import BasesJob
from spark_streaming.driver.pieces import BackfillRequest
from spark_streaming.running import await_query
from storage.base_store import BaseStore
from tests.fleet import places
from tests.fleet.steps import NAMES, expression
from tests.fleet.traffic import MAX_RECORD_BYTES
from tests.oracles import collection as oracle
from tests.oracles.intervals import best_first
from topics.bases import Base, decode_record, decode_tree

Record = tuple[int, bytes | None, bytes | None]  # offset, key, value


class Stage:
    def __init__(
        self,
        folder: Path,
        name: str,
        brokers: str,
        redis_url: str,
        declared: Mapping[str, Any],
        store: str | None = None,
    ) -> None:
        self.folder, self.name, self.brokers = folder, name, brokers
        given = {"name": name, "kind": "ranked", "attributes": ["age"], "shards": 2, **declared}
        self.collection_path, self.settings_path = folder / f"{name}.yaml", folder / "podium.yaml"
        self.collection_path.write_text(yaml.safe_dump(given))
        self._settings = {
            "kafka": {"brokers": brokers},
            "redis": {"url": redis_url},
            "spark": {
                "checkpoints": str(folder / "checkpoints"),
                "bases": store or f"file://{folder}/bases",
            },
        }
        self.configure()
        self.collection = load_collection(self.collection_path)
        ensure_topics(self.settings, self.collection)
        self._producer = Producer(
            {"bootstrap.servers": brokers, "partitioner": "murmur2_random", "linger.ms": 100,
             "message.max.bytes": MAX_RECORD_BYTES}
        )  # fmt: skip

    def configure(self, **spark: Any) -> None:
        self._settings["spark"] |= spark
        self.settings_path.write_text(yaml.safe_dump(self._settings))
        self.settings = load_settings(self.settings_path)

    def topic(self, topic: str) -> str:
        return f"podium.{self.name}.{topic}"

    @property
    def checkpoint(self) -> Path:
        return Path(self.settings.spark.checkpoints, f"podium.{self.name}.sopt-bases")

    def send(self, key: str, value: object, partition: int = -1, **options: Any) -> None:
        """A subscription: `value` as JSON; bytes as they are, None to unsubscribe."""
        self._send("subscriptions", key, value, partition=partition, **options)

    def send_event(self, key: str | None, value: object, **options: Any) -> None:
        self._send("events", key, value, **options)

    def _send(self, topic: str, key: str | None, value: object, **options: Any) -> None:
        data = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        name = self.topic(topic)
        self._producer.produce(name, data, key, on_delivery=self._delivered, **options)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        assert error is None, f"{message.key()!r} was not delivered: {error}"

    def send_random(self, seed: int, count: int, keys: int = 60) -> None:
        """New subscriptions, updates and unsubscriptions, on a coarse grid so that scores tie."""
        chance = random.Random(seed)
        for _ in range(count):
            key = f"k{chance.randrange(keys)}"
            gone = chance.random() < 0.15
            self.send(key, None if gone else random_subscription(chance, self.collection))
        self.flush()

    def flush(self) -> None:
        assert not self._producer.flush(30)

    def io(self, spark: SparkSession) -> CollectionIO:
        return CollectionIO(spark, self.settings, self.collection)

    def backfill(self, spark: SparkSession, request: BackfillRequest) -> BackfillJob:
        return BackfillJob(self.io(spark), request)

    def run(self, spark: SparkSession) -> BasesJob:
        """One run of the job over all that is there; its failure is raised."""
        job = BasesJob(self.io(spark))
        await_query(job.start(once=True), job, threading.Event())
        return job

    def read(self, topic: str) -> list[Message]:
        """Everything in a topic, partition by partition."""
        name = self.topic(topic)
        consumer = Consumer(
            {
                "bootstrap.servers": self.brokers,
                "group.id": "tests",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        partitions = consumer.list_topics(name, timeout=10).topics[name].partitions
        messages = []
        for partition in partitions:
            consumer.assign([TopicPartition(name, partition, 0)])
            while True:
                message = consumer.poll(10)
                assert message is not None, f"{name}[{partition}] was not read to its end"
                if message.error() is not None:
                    assert message.error().code() == KafkaError._PARTITION_EOF
                    break
                messages.append(message)
        consumer.close()
        return messages

    def records(self) -> list[list[Record]]:
        found: list[list[Record]] = [[] for _ in range(self.collection.shards)]
        for message in self.read("subscriptions"):
            found[message.partition()].append((message.offset(), message.key(), message.value()))
        return found

    def announced(self) -> dict[int, list[Base]]:
        """Every announcement, by shard, oldest first."""
        found: dict[int, list[Base]] = {}
        for message in self.read("bases"):
            base = decode_record(message.value())
            assert message.key() == str(base.shard).encode()
            assert message.partition() == base.shard
            found.setdefault(base.shard, []).append(base)
        return found

    def tree(self, base: Base, attribute: int) -> SOPTRTree:
        """As a matcher would load it."""
        blob = base.trees[attribute]
        data = BaseStore.open(self.settings.spark.bases.get_secret_value()).get(blob.name)
        blob.verify(data)
        assert blob.name == base.name.tree(attribute)
        return SOPTRTree.from_arrays(SOPTArrays(**decode_tree(base.name, blob.attribute, data)))

    def blobs(self) -> dict[str, bytes]:
        """What lies in the folder of bases, by name from the shard on."""
        root = self.folder / "bases"
        return {
            "/".join(file.relative_to(root).parts[2:]): file.read_bytes()
            for file in sorted(root.rglob("*"))
            if file.is_file()
        }

    def check_bases(self, records: Sequence[Sequence[Record]] | None = None) -> dict[int, Base]:
        """The newest base of each shard answers as a scan of the records up to its offset."""
        records = records or self.records()
        newest = {shard: bases[-1] for shard, bases in self.announced().items()}
        assert newest.keys() == {shard for shard, found in enumerate(records) if found}
        for shard, base in newest.items():
            live = live_subscriptions(self.collection.kind, base, records[shard], len(records))
            assert base.subscriptions == len(live)
            for i, attribute in enumerate(self.collection.attributes):
                tree = self.tree(base, i)
                tree.check()
                for value in (-1.0, 0.0, 3.0, 4.5, 9.0, 1e300):
                    expected = hits(self.collection.kind, live, attribute, value)
                    for k in (1, 5, len(live) + 1):
                        assert tree.top_k(value, k) == expected[:k], (shard, attribute, value)
        return newest


def random_subscription(chance: random.Random, collection: Collection) -> dict[str, Any]:
    if collection.kind == "boolean":
        return expression(chance, collection.attributes)
    if collection.kind == "spatial_text":
        placed = places.subscription(chance, collection.space, collection.attributes)
        placed.pop("decay", None)  # so that scores are equal to the last digit
        return placed
    names = [name for name in collection.attributes if chance.random() < 0.8]
    if collection.kind == "ranked":
        where = {name: _interval(chance) for name in names}
        return {"where": where, "score": chance.randrange(5)}
    where = {name: _interval(chance) for name in names or collection.attributes[:1]}
    return {"where": where, "weights": {name: chance.randrange(1, 5) for name in where}}


def random_event(chance: random.Random, collection: Collection) -> dict[str, Any]:
    """With a field that only a Boolean collection without attributes looks at."""
    if collection.kind == "spatial_text":
        return places.event(chance, collection.space, collection.attributes)
    values = (
        [0, 1, 2, 3, 2.5, "red", "blue", "green"] if collection.kind == "boolean" else range(12)
    )
    names = [name for name in collection.attributes or NAMES if chance.random() < 0.9]
    event: dict[str, Any] = {name: chance.choice(values) for name in names}
    if names and chance.random() < 0.2:
        event[names[0]] = {"value": chance.choice(values), "weight": 0.5}
    return {**event, "page": "/"}


def _interval(chance: random.Random) -> Any:
    low = chance.randrange(10)
    high = low + chance.randrange(5)
    forms = [[low, high], [None, high], [low, None], {"gt": low - 1, "le": high}, [None, None]]
    return chance.choice(forms)


Live = dict[int, tuple[dict[str, tuple[float, float]], Any]]


def live_subscriptions(kind: str, base: Base, records: Sequence[Record], shards: int) -> Live:
    """By offset: intervals, and the score or the weights; read by the oracle."""
    parse = {"ranked": oracle.ranked_subscription, "relaxed": oracle.relaxed_subscription}[kind]
    attributes = [tree.attribute for tree in base.trees]
    latest: dict[str, tuple[int, Any]] = {}
    for offset, key, value in records:
        if offset >= base.next_offset:
            continue
        try:
            name = oracle.subscription_id(key, base.shard, shards)
            parsed = None if value is None else parse(value, attributes)
        except ValueError:
            continue
        latest[name] = (offset, parsed)
    return {offset: parsed for offset, parsed in latest.values() if parsed is not None}


def hits(kind: str, live: Live, attribute: str, value: float) -> list[tuple[int, float]]:
    """What the tree of one attribute has at a value, best first."""
    found = []
    for offset, (intervals, score) in live.items():
        if attribute not in intervals:
            if kind == "ranked":
                found.append((offset, score))
        elif intervals[attribute][0] <= value <= intervals[attribute][1]:
            found.append((offset, score if kind == "ranked" else score[attribute]))
    return best_first(found)
