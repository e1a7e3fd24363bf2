"""Deleting records that a topic would keep, as its retention might."""

from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from tests.fleet.traffic import eventually

PATIENCE_S = 60.0


def delete_records(brokers: str, topic: str, below: Mapping[int, int]) -> None:
    """Those before an offset, by partition; a compacted topic becomes one that allows it."""
    admin = AdminClient({"bootstrap.servers": brokers})
    policy = ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[policy])
    admin.incremental_alter_configs([resource])[resource].result()
    places = [TopicPartition(topic, partition, offset) for partition, offset in below.items()]
    eventually(lambda: _deleted(admin, places), f"a new policy of {topic}", PATIENCE_S)


def _deleted(admin: AdminClient, places: list[TopicPartition]) -> bool:
    """False while the broker has not heard of the new policy."""
    try:
        for answer in admin.delete_records(places).values():
            answer.result()
    except KafkaException as refused:
        if refused.args[0].code() != KafkaError.POLICY_VIOLATION:
            raise
        return False
    return True
