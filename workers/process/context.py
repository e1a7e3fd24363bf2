"""What every worker has: settings, names, health, and the patience to wait for its broker."""

import logging
import re
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from configs.collection import Collection
from configs.kafka_client import kafka_client_config
from configs.settings import Settings
from topics.catalogue import group_name, topic_name
from topics.kafka.topic_ids import find_topic
from topics.kinds import KINDS
from workers.process.health import Health, LoadMeter, Probe, serve

log = logging.getLogger(__name__)


class Names(NamedTuple):
    """Names in Kafka that belong to one collection."""

    prefix: str
    collection: str

    @classmethod
    def of(cls, settings: Settings, collection: Collection) -> "Names":
        return cls(settings.prefix, collection.name)

    def topic(self, topic: str) -> str:
        return topic_name(self.prefix, self.collection, topic)

    def group(self, group: str) -> str:
        """A consumer group of `topics.catalogue.GROUPS`."""
        return group_name(self.prefix, self.collection, group)


BROKER = "broker"
TOPICS = "topics"
# What librdkafka adds to an error differs each time, and the same reason is said once.
_HOW_LONG = re.compile(r" \(after \d+ms [^)]*\)")
REPLY_S = 5.0
# Whose partitions are shards: with another number of them records lie where nobody looks.
_BY_SHARD = ("subscriptions", "frames", "routes", "bases")
_BY_ZONE = ("messages", "progress")


class Context(NamedTuple):
    role: str
    settings: Settings
    collection: Collection
    names: Names
    health: Health
    stopping: threading.Event
    # What librdkafka said last of its connections: it knows why, its calls only know that.
    last_error: deque[str]

    @property
    def client(self) -> dict[str, Any]:
        """Options of confluent-kafka that reach the broker and log where we log."""
        return {
            **kafka_client_config(self.settings.kafka),
            "logger": logging.getLogger("kafka"),
            "error_cb": self._on_error,
        }

    def consumer(self, role: str, options: Mapping[str, Any] | None = None) -> Consumer:
        """A consumer in the group of `role` that commits only when it is told to."""
        return Consumer(
            {
                **self.client,
                "group.id": self.names.group(role),
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                # Partitions of a worker that died wait this long for their next owner.
                "session.timeout.ms": round(self.settings.matcher.session_timeout_s * 1000),
                "heartbeat.interval.ms": round(self.settings.matcher.heartbeat_s * 1000),
                # Its default of 1000 costs two thirds of the throughput when there is a backlog.
                "fetch.queue.backoff.ms": 5,
                # librdkafka unpacks zstd with three times more room each time, up to this.
                "receive.message.max.bytes": self.settings.kafka.most_unpacked_mib * 1024 * 1024,
                **(options or {}),
            }
        )

    def topic_id(self, topic: str) -> str:
        return find_topic(self.client, topic, REPLY_S).topic_id

    def _on_error(self, error: KafkaError) -> None:
        """librdkafka goes on trying by itself; the probe says when it is fine again."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # says less than the error before it
            self.last_error.append(error.str())
        self.health.not_ready(BROKER, f"{unreachable(self, error)}; trying again")


def open_context(role: str, settings: Settings, collection: Collection) -> Context:
    """Serve health from the first moment on, so that a worker can say what it waits for."""
    names = Names.of(settings, collection)
    health = Health([BROKER, TOPICS, role])
    port = serve(health, settings.http.host, settings.http.port)
    log.info("%s of %s: health on http://%s:%d", role, names.collection, settings.http.host, port)
    context = Context(role, settings, collection, names, health, threading.Event(), deque(maxlen=1))
    LoadMeter(collection.name, context.stopping).start()
    admin = AdminClient(context.client)
    Probe(health, BROKER, lambda: _ask_broker(context, admin)).start()
    return context


def wait_for_topics(context: Context, topics: list[str]) -> bool:
    """Wait until the topics exist; False if the worker is to stop before they do."""
    wanted = {context.names.topic(topic) for topic in topics}
    admin, wait_s = AdminClient(context.client), 0.5
    while not context.stopping.is_set():
        try:
            found = admin.list_topics(timeout=REPLY_S).topics
        except KafkaException as error:
            admin.poll(0)  # calls `error_cb`, which hears why
            reason = f"{unreachable(context, error.args[0])}; trying again"
            context.health.not_ready(TOPICS, reason)
        else:
            partitions = {name: len(found[name].partitions) for name in wanted & found.keys()}
            problem = _missing(context, wanted - found.keys())
            problem = problem or wrong_partitions(context, partitions)
            if not problem:
                context.health.ready(TOPICS)
                return True
            context.health.not_ready(TOPICS, f"{problem}; trying again")
        context.health.beat()
        context.stopping.wait(wait_s)
        wait_s = min(2 * wait_s, 10.0)
    return False


def _missing(context: Context, topics: set[str]) -> str:
    if not topics:
        return ""
    create = f"podium topics create --collection {context.collection.name}"
    return f"missing {', '.join(sorted(topics))}; run `{create}`"


def wrong_partitions(context: Context, partitions: Mapping[str, int]) -> str:
    """What is wrong with the number of partitions of these topics, by their full names."""
    collection, names = context.collection, context.names
    wanted = {names.topic(topic): (collection.shards, "shards") for topic in _BY_SHARD}
    wanted |= {names.topic(topic): (collection.zones, "zones") for topic in _BY_ZONE}
    least = {names.topic("partials"): collection.partitions.partials}
    for name, got in sorted(partitions.items()):
        expected, by = wanted.get(name, (got, ""))
        if got != expected:
            return (
                f"{name}: got {got} partitions, expected {expected}, as many as {by}; what"
                f" lies in the others is not read: make the topic anew, or correct `{by}`"
            )
        if got < least.get(name, 0):
            return (
                f"{name}: got {got} partitions, expected {least[name]}; `podium topics create"
                f" --collection {collection.name}` shows the command that adds them"
            )
    return ""


def _ask_broker(context: Context, admin: AdminClient) -> None:
    topic = KINDS[context.collection.kind].topics[0]  # any: all of them would be a long answer
    try:
        admin.list_topics(context.names.topic(topic), timeout=REPLY_S)
    except KafkaException as error:
        admin.poll(0)  # calls `error_cb`, which hears why
        raise ConnectionError(unreachable(context, error.args[0])) from None
    context.last_error.clear()


def unreachable(context: Context, error: KafkaError) -> str:
    why = context.last_error[0] if context.last_error else error.str()
    why = _HOW_LONG.sub("", why)
    return f"no answer from {context.settings.kafka.brokers} ({why})"
