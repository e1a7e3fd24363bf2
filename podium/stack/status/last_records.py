"""Single records of topics: the last one of each partition, and when one was written."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from podium.stack.run.broker import SILENT
from topics.catalogue import NO_GROUP

TIMEOUT_S = 10.0
MARKS_S = 2.0  # behind the last record there may be marks of transactions, of which nothing comes


@contextmanager
def reader(brokers_config: Mapping[str, Any]) -> Iterator[Consumer]:
    options = {"group.id": NO_GROUP, "enable.auto.commit": False}
    consumer = Consumer({**brokers_config, **options}, logger=SILENT)
    try:
        yield consumer
    finally:
        consumer.close()


def last_records(consumer: Consumer, topic: str) -> list[Message]:
    """By partition; none where there is no such topic, or nothing in it."""
    known = consumer.list_topics(timeout=TIMEOUT_S).topics
    if topic not in known:
        return []
    found = (_last(consumer, TopicPartition(topic, p)) for p in sorted(known[topic].partitions))
    return [message for message in found if message is not None and message.error() is None]


def _last(consumer: Consumer, place: TopicPartition) -> Message | None:
    """What compaction has taken from the end of a partition is not there."""
    low, high = consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)
    if low == high:
        return None
    place.offset = max(low, high - 1)
    consumer.assign([place])
    return consumer.poll(TIMEOUT_S)


def end_of(consumer: Consumer, place: TopicPartition) -> int:
    return consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)[1]


def written_at_or_after(consumer: Consumer, place: TopicPartition) -> float | None:
    """The timestamp of the first record from an offset on, in seconds; None if there is none."""
    consumer.assign([place])
    message = consumer.poll(MARKS_S)
    if message is None or message.error() is not None:
        return None
    return float(message.timestamp()[1]) / 1e3
