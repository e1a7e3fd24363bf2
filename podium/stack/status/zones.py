"""How far each zone of a collection of lists is, as it says on `progress`, beside the log's end."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from confluent_kafka import Consumer, Message, TopicPartition

from podium.stack.status.last_records import (
    end_of,
    last_records,
    reader,
    written_at_or_after,
)
from topics import progress
from topics.catalogue import topic_name

# A zone that has nothing to do says so at least every five seconds.
STALLED_S = 15.0


@dataclass(frozen=True)
class ZoneRow:
    collection: str
    zone: int
    objects: int | None  # offset of the last object record that is in
    behind: int  # records of `objects` that are not
    behind_s: float  # since the oldest of these was written; 0: there is none
    age_s: float  # of what it said last
    lost: bool  # it waits for its lists

    @property
    def stalled(self) -> bool:
        return self.age_s > STALLED_S


def newest_progress(
    brokers_config: Mapping[str, Any], prefix: str, collection: str
) -> list[ZoneRow]:
    """By zone; none where no zone has said anything, or there are none."""
    with reader(brokers_config) as consumer:
        said = last_records(consumer, topic_name(prefix, collection, "progress"))
        if not said:
            return []
        objects = topic_name(prefix, collection, "objects")
        rows = (_row(consumer, collection, objects, message) for message in said)
        return [row for row in rows if row is not None]


def _row(consumer: Consumer, collection: str, objects: str, message: Message) -> ZoneRow | None:
    try:
        read = progress.decode(message.value() or b"")
    except msgspec.MsgspecError:  # not written by a zone
        return None
    following = TopicPartition(objects, 0, 0 if read.objects is None else read.objects + 1)
    behind = max(0, end_of(consumer, following) - following.offset)
    written_at = written_at_or_after(consumer, following) if behind else None
    return ZoneRow(
        collection,
        int(message.partition() or 0),
        read.objects,
        behind,
        0.0 if written_at is None else round(max(0.0, time.time() - written_at), 1),
        round(max(0.0, time.time() - read.at / 1000), 1),
        read.lost,
    )
