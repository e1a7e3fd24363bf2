"""How far a consumer group is behind."""

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from podium.stack.run.broker import SILENT, quiet_admin

TIMEOUT_S = 10.0
RETRY_S = 0.1
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
    committed = _committed(brokers_config, group)
    if not committed:
        return {}
    admin = quiet_admin(brokers_config)
    wanted = {TopicPartition(p.topic, p.partition): OffsetSpec.latest() for p in committed}
    ends = admin.list_offsets(wanted, request_timeout=TIMEOUT_S)
    # A topic that was deleted and made anew may end before the old commit: nothing is behind then.
    return {p: max(0, ends[p].result().offset - p.offset) for p in committed}


def _committed(brokers_config: Mapping[str, Any], group: str) -> list[TopicPartition]:
    """Asked through a consumer that never joins the group: the admin client's own request for this
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
