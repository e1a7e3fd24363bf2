"""The newest base of every shard, as the Spark job has announced it, beside the end of the log."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from podium.stack.run.broker import SILENT
from topics.bases import decode_record
from topics.catalogue import NO_GROUP, topic_name
from topics.codecs.json_record import BadRecord

TIMEOUT_S = 10.0


@dataclass(frozen=True)
class BaseRow:
    collection: str
    shard: int
    next_offset: int
    behind: int  # records of `subscriptions` that are not in it
    age_s: float
    subscriptions: int


def newest_bases(brokers_config: Mapping[str, Any], prefix: str, collection: str) -> list[BaseRow]:
    """By shard; none where no job has announced any."""
    options = {"group.id": NO_GROUP, "enable.auto.commit": False}
    consumer = Consumer({**brokers_config, **options}, logger=SILENT)
    try:
        topic = topic_name(prefix, collection, "bases")
        known = consumer.list_topics(timeout=TIMEOUT_S).topics
        if topic not in known:
            return []
        rows = (
            _row(consumer, collection, _last(consumer, TopicPartition(topic, shard)))
            for shard in sorted(known[topic].partitions)
        )
        return [row for row in rows if row is not None]
    finally:
        consumer.close()


def _last(consumer: Consumer, place: TopicPartition) -> Message | None:
    """The last record of a partition; what compaction has taken from its end is not there."""
    low, high = consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)
    if low == high:
        return None
    place.offset = max(low, high - 1)
    consumer.assign([place])
    return consumer.poll(TIMEOUT_S)


def _row(consumer: Consumer, collection: str, message: Message | None) -> BaseRow | None:
    if message is None or message.error() is not None:
        return None
    try:
        base = decode_record(message.value())
    except BadRecord:  # of another version of the job; the matchers say so, too
        return None
    place = TopicPartition(base.topic, base.shard)
    _, end = consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)
    age_s = time.time() - message.timestamp()[1] / 1000
    return BaseRow(
        collection,
        base.shard,
        base.next_offset,
        max(0, end - base.next_offset),
        round(max(0.0, age_s), 1),
        base.subscriptions,
    )
