"""What a job asks of Kafka itself: that its topics are there, and the dead-letter mark.

The mark is the committed offset of the feeds' consumer group: bad subscriptions below it are in the
dead-letter topic.  Matchers move it as they read, and so does a job that was there first, so that
each bad record is written once by whoever meets it first.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from configs.collection import Collection
from spark_streaming.errors import JobError
from topics.kafka.topic_ids import find_topic

_REPLY_S = 15.0


def topic_id_of(client: Mapping[str, Any], topic: str, collection: Collection) -> str:
    """The id that Kafka gave the topic; `JobError` if it is not as the collection declares it."""
    setting, partitions = _declared(topic, collection)
    try:
        found = find_topic(client, topic, _REPLY_S)
    except KafkaException as error:
        raise _clearer(error, topic, collection) from error
    if found.partitions != partitions:
        raise JobError(
            f"{topic}: got {found.partitions} partitions, expected {partitions}",
            f"declare {setting}: {found.partitions} in the collection"
            if setting
            else "make the topic anew: objects have one order",
        )
    return found.topic_id


def _declared(topic: str, collection: Collection) -> tuple[str | None, int]:
    """How many partitions a topic has to have, and the setting that says so."""
    last = topic.rpartition(".")[2]
    if last == "objects":
        return None, 1
    of_zones = last in ("messages", "progress")
    return ("zones", collection.zones) if of_zones else ("shards", collection.shards)


def members_of(client: Mapping[str, Any], group: str) -> int:
    """How many clients are in a consumer group now."""
    admin = AdminClient(dict(client))
    asked = admin.describe_consumer_groups([group], request_timeout=_REPLY_S)
    return len(asked[group].result().members)


def _clearer(error: KafkaException, topic: str, collection: Collection) -> JobError:
    cause: KafkaError = error.args[0]
    if cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        remedy = f"run `podium topics create --collection {collection.name}`"
        return JobError(f"topic {topic} does not exist", remedy)
    unreachable = JobError(
        f"Kafka does not answer: {cause.str()}", "start it, or name it: --brokers"
    )
    unreachable.exit_code = 4
    return unreachable


class LetterMark:
    def __init__(self, client: Mapping[str, Any], group: str, topic: str) -> None:
        self._topic = topic
        self._consumer = Consumer({**client, "group.id": group, "enable.auto.commit": False})

    def read(self, shards: Iterable[int]) -> dict[int, int]:
        places = [TopicPartition(self._topic, shard) for shard in shards]
        committed = self._consumer.committed(places, timeout=_REPLY_S)
        return {place.partition: max(0, place.offset) for place in committed}

    def move(self, offsets: Mapping[int, int]) -> None:
        """Bad records below these are written; a mark that is further on stays."""
        if not offsets:
            return
        now = self.read(offsets)
        places = [
            TopicPartition(self._topic, shard, offset)
            for shard, offset in offsets.items()
            if offset > now[shard]
        ]
        if places:
            self._consumer.commit(offsets=places, asynchronous=False)
