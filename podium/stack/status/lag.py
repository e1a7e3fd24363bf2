"""How far consumer groups are behind: in records, in seconds, and whether that grows."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from podium.stack.run.broker import SILENT, quiet_admin
from podium.stack.status.last_records import reader, written_at_or_after

TIMEOUT_S = 10.0
RETRY_S = 0.1
_STEADY_RECORDS = 10
# What a broker says in the first moments of its life, or of a group's.
NOT_YET = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)


def group_lag(brokers_config: Mapping[str, Any], group: str) -> dict[TopicPartition, int]:
    """Records between the committed offset and the end of each partition the group has committed.

    `brokers_config` is a client configuration (`bootstrap.servers` and what security needs). A
    group that is unknown, or has committed nothing yet, gives an empty answer.
    """
    committed = committed_offsets(brokers_config, group)
    if not committed:
        return {}
    admin = quiet_admin(brokers_config)
    wanted = {TopicPartition(p.topic, p.partition): OffsetSpec.latest() for p in committed}
    ends = admin.list_offsets(wanted, request_timeout=TIMEOUT_S)
    # A topic that was deleted and made anew may end before the old commit: nothing is behind then.
    return {p: max(0, ends[p].result().offset - p.offset) for p in committed}


def committed_offsets(brokers_config: Mapping[str, Any], group: str) -> list[TopicPartition]:
    """Of every partition that the group has committed.

    Asked through a consumer that never joins the group: the admin client's own request for this
    crashes the process (librdkafka 2.16) while the broker is still loading the group's offsets."""
    options = {"group.id": group, "enable.auto.commit": False}
    consumer = Consumer({**brokers_config, **options}, logger=SILENT)
    try:
        topics = consumer.list_topics(timeout=TIMEOUT_S).topics.values()
        everything = [
            TopicPartition(topic.topic, partition)
            for topic in topics
            if not topic.topic.startswith("__")
            for partition in topic.partitions
        ]
        told = _told(consumer, everything) if everything else []
        return [partition for partition in told if partition.offset >= 0]
    finally:
        consumer.close()


def _told(consumer: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return consumer.committed(partitions, timeout=TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() not in NOT_YET or time.monotonic() >= deadline:
                raise
        time.sleep(RETRY_S)


@dataclass(frozen=True)
class LagRow:
    """One partition that a group has committed."""

    group: str
    topic: str
    partition: int
    committed: int
    end: int
    behind: int  # records
    behind_s: float  # since the oldest of these was written; 0: there is none
    per_s: float  # records by which it has grown a second; negative: it shrinks
    arrived_per_s: float  # records

    @property
    def trend(self) -> str:
        """Groups commit once a second, so what has come within one says nothing."""
        if abs(self.per_s) <= max(_STEADY_RECORDS, self.arrived_per_s):
            return "steady"
        if self.per_s > 0:
            return f"falls behind by {self.per_s:,.0f} records/s"
        return f"catches up in {self.behind / -self.per_s:,.0f} s"

    def is_late(self, most_s: float) -> bool:
        """Whether it is so far behind, and is not catching up."""
        return self.behind_s > most_s and not self.trend.startswith("catches up")


Positions = dict[tuple[str, TopicPartition], tuple[int, int]]
"""By group and partition, what is committed and the end."""


def positions_of(brokers_config: Mapping[str, Any], groups: Sequence[str]) -> Positions:
    admin, found = quiet_admin(brokers_config), Positions()
    for group in groups:
        committed = committed_offsets(brokers_config, group)
        wanted = {TopicPartition(p.topic, p.partition): OffsetSpec.latest() for p in committed}
        ends = admin.list_offsets(wanted, request_timeout=TIMEOUT_S) if wanted else {}
        for place in committed:
            found[group, place] = place.offset, ends[place].result().offset
    return found


def lag_rows(
    brokers_config: Mapping[str, Any], groups: Sequence[str], every_s: float
) -> list[LagRow]:
    """Of every partition that the groups have committed, by two looks that far apart."""
    before, at = positions_of(brokers_config, groups), time.monotonic()
    time.sleep(every_s)
    after, elapsed_s = positions_of(brokers_config, groups), time.monotonic() - at
    rows = []
    with reader(brokers_config) as consumer:
        for (group, place), (committed, end) in after.items():
            behind = max(0, end - committed)
            first = TopicPartition(place.topic, place.partition, committed)
            written_at = written_at_or_after(consumer, first) if behind else None
            was_committed, was_end = before.get((group, place), (committed, end))
            grown = behind - max(0, was_end - was_committed)
            rows.append(
                LagRow(
                    group,
                    place.topic,
                    place.partition,
                    committed,
                    end,
                    behind,
                    0.0 if written_at is None else round(max(0.0, time.time() - written_at), 3),
                    round(grown / elapsed_s, 1),
                    round(max(0, end - was_end) / elapsed_s, 1),
                )
            )
    return sorted(rows, key=lambda row: (row.group, row.topic, row.partition))
