"""Reads whole topics back, and asks how far a consumer group has come."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from podium.clients import KafkaClients
from podium.demo.watch import CONSUMER
from podium.stack.status.lag import group_lag
from podium.terminal import Failure

if TYPE_CHECKING:
    from podium.demo.scene import Scene

BATCH = 10_000
POLL_S = 0.1
SILENCE_S = 30.0
ANSWER_S = 10.0


class TopicRecord(NamedTuple):
    offset: int
    key: bytes
    value: bytes | None


def end_offsets(admin: AdminClient, topic: str, partitions: int) -> list[int]:
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    futures = admin.list_offsets(
        dict.fromkeys(places, OffsetSpec.latest()), request_timeout=ANSWER_S
    )
    return [futures[place].result().offset for place in places]


def read_topic(clients: KafkaClients, topic: str, ends: Sequence[int]) -> list[list[TopicRecord]]:
    """Each partition's records below its end, in the order of their offsets."""
    consumer: Consumer = clients.consumer(CONSUMER)
    try:
        consumer.assign([TopicPartition(topic, p, 0) for p, end in enumerate(ends) if end])
        return _read(consumer, topic, ends)
    finally:
        consumer.close()


def _read(consumer: Consumer, topic: str, ends: Sequence[int]) -> list[list[TopicRecord]]:
    partitions: list[list[TopicRecord]] = [[] for _ in ends]
    unfinished = {partition for partition, end in enumerate(ends) if end}
    heard_at = time.monotonic()
    while unfinished:
        messages = consumer.consume(BATCH, POLL_S)
        if messages:
            heard_at = time.monotonic()
        elif time.monotonic() - heard_at > SILENCE_S:
            raise Failure(f"reading {topic}: no record for {SILENCE_S:g} s before its end")
        for message in messages:
            if message.error() is not None:
                raise Failure(f"reading {topic}: {message.error().str()}")
            partition, offset = message.partition(), message.offset()
            partitions[partition].append(TopicRecord(offset, message.key(), message.value()))
            if offset + 1 >= ends[partition]:
                unfinished.discard(partition)
    return partitions


def behind(scene: "Scene", role: str, topic: str, partitions: int) -> int:
    """Records of `topic` that the group of `role` has not committed yet."""
    name = scene.topic(topic)
    known = group_lag({"bootstrap.servers": scene.clients.brokers}, scene.group(role))
    lag = {place.partition: records for place, records in known.items() if place.topic == name}
    ends = end_offsets(scene.admin, name, partitions)
    return sum(lag.get(partition, end) for partition, end in enumerate(ends))
