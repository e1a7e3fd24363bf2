"""The work of the Spark job for one shard, without Spark and in one thread."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from confluent_kafka import Message, TopicPartition

from configs import Collection, Settings, kafka_client_config
from indexes.intervals import SOPTArrays, SOPTRTree
from indexes.kinds import KINDS
from podium.clients import KafkaClients
from spark_streaming.driver.topic_admin import topic_id_of
from spark_streaming.kafka_options import executor_client
from spark_streaming.tasks.shard_state import ShardState
from storage.base_store import BaseStore
from topics.bases import BaseName, decode_state, decode_tree
from topics.catalogue import topic_name
from topics.kinds import contract_for
from workers.shard.changes import read_changes

__all__ = ["Baseline", "measure_from_state", "measure_from_topic"]

REPETITIONS = 3
_POLL_RECORDS, _POLL_S = 10_000, 0.1
_READER = {
    "group.id": "benchmark",
    "enable.auto.commit": False,
    "fetch.queue.backoff.ms": 5,
}


@dataclass(frozen=True)
class Baseline:
    read_s: float  # bytes to columns
    build_s: float  # columns to trees

    @property
    def seconds(self) -> float:
        return self.read_s + self.build_s


def measure_from_state(settings: Settings, collection: Collection, end: int) -> Baseline:
    """Read what the job stored of shard 0 up to an offset, and build its trees, once.

    They have to be the trees that the job has stored.
    """
    topic = topic_name(settings.prefix, collection.name, "subscriptions")
    client = executor_client(kafka_client_config(settings.kafka))
    name = BaseName(topic, topic_id_of(client, topic, collection), 0, end)
    store = BaseStore.open(settings.redis.url.get_secret_value())
    layout = {
        "kind": collection.kind,
        "attributes": list(collection.attributes),
        "shards": collection.shards,
    }
    began = time.perf_counter()
    arrays = decode_state(name, layout, store.get(name.state))
    contract = contract_for(collection.kind, collection.attributes)
    state = ShardState.from_arrays(arrays, contract)
    read = time.perf_counter()
    trees = KINDS[collection.kind].trees_for_a_base
    assert trees is not None
    built = list(trees(collection.attributes, state.ids, state.columns))
    taken = Baseline(read - began, time.perf_counter() - read)
    for i, tree in enumerate(built):
        stored = decode_tree(name, collection.attributes[i], store.get(name.tree(i)))
        if not all(np.array_equal(stored[field], ours) for field, ours in tree._asdict().items()):
            raise RuntimeError(f"{name.tree(i)} is not the tree of its state")
        SOPTRTree.from_arrays(SOPTArrays(**stored))  # as a matcher would take it
    return taken


def measure_from_topic(settings: Settings, collection: Collection) -> Baseline:
    """Read and parse shard 0 of `subscriptions` as a matcher does, and build its trees."""
    taken = []
    for _ in range(REPETITIONS):
        began = time.perf_counter()
        contract = contract_for(collection.kind, collection.attributes)
        columns, ids = [], []
        for messages in _records(settings, collection):
            changes = read_changes(messages, contract, collection.shards)
            ids.append(changes.offsets)
            columns.append(changes.columns)
        read = time.perf_counter()
        lows, highs, scores = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        SOPTRTree.build(np.concatenate(ids), lows[:, 0], highs[:, 0], scores)
        taken.append(Baseline(read - began, time.perf_counter() - read))
    return min(taken, key=lambda one: one.seconds)


def _records(settings: Settings, collection: Collection) -> Iterator[list[Message]]:
    consumer = KafkaClients(settings.kafka).consumer(_READER)
    place = TopicPartition(topic_name(settings.prefix, collection.name, "subscriptions"), 0, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=10)
    consumer.assign([place])
    at = 0
    while at < end:
        messages = consumer.consume(_POLL_RECORDS, _POLL_S)
        if messages:
            at = messages[-1].offset() + 1
            yield messages
    consumer.close()
