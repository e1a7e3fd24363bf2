"""The ids that Kafka gives topics: one that is made anew under the same name has another."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient


class TopicFound(NamedTuple):
    topic_id: str
    partitions: int


def find_topics(
    admin: AdminClient, topics: Sequence[str], timeout_s: float
) -> dict[str, TopicFound | KafkaException]:
    """By name; what is wrong with one, such as that it does not exist, does not hide the others."""
    found: dict[str, TopicFound | KafkaException] = {}
    answers = admin.describe_topics(TopicCollection(list(topics)), request_timeout=timeout_s)
    for name, answer in answers.items():
        try:
            described = answer.result()
            found[name] = TopicFound(str(described.topic_id), len(described.partitions))
        except KafkaException as error:
            found[name] = error
    return found


def find_topic(client: Mapping[str, Any], topic: str, timeout_s: float) -> TopicFound:
    """`KafkaException` if there is no such topic or no answer; `client` is confluent-kafka's."""
    admin = AdminClient(dict(client))  # must live until it has its answer
    found = find_topics(admin, [topic], timeout_s)[topic]
    if isinstance(found, KafkaException):
        raise found
    return found
