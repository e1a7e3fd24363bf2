"""The newest base of every shard, as the Spark job has announced it, beside the end of the log."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from podium.stack.status.last_records import end_of, last_records, reader
from topics.bases import decode_record
from topics.catalogue import topic_name
from topics.codecs.json_record import BadRecord


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
    with reader(brokers_config) as consumer:
        announced = last_records(consumer, topic_name(prefix, collection, "bases"))
        rows = (_row(consumer, collection, message) for message in announced)
        return [row for row in rows if row is not None]


def _row(consumer: Consumer, collection: str, message: Message) -> BaseRow | None:
    try:
        base = decode_record(message.value())
    except BadRecord:  # of another version of the job; the matchers say so, too
        return None
    end = end_of(consumer, TopicPartition(base.topic, base.shard))
    age_s = time.time() - message.timestamp()[1] / 1000
    return BaseRow(
        collection,
        base.shard,
        base.next_offset,
        max(0, end - base.next_offset),
        round(max(0.0, age_s), 1),
        base.subscriptions,
    )
