"""Bring a collection's topics to the broker."""

from confluent_kafka.admin import AdminClient

from configs import Collection, Settings
from configs import kinds as configured
from podium.clients import KafkaClients
from topics.catalogue import DAY_MS, HOUR_MS, MINUTE_MS, Layout, TopicSpec, catalogue
from topics.kafka.creation import TIMEOUT_S, Plan, apply, examine, plan
from topics.kinds import BETWEEN_SHARDS, KINDS


def layout_of(settings: Settings, collection: Collection) -> Layout:
    kept = collection.retention
    return Layout(
        prefix=settings.prefix,
        collection=collection.name,
        shards=collection.shards,
        zones=collection.zones,
        keeps_lists=configured.KINDS[collection.kind].has_lists,
        events_partitions=collection.partitions.events,
        partials_partitions=collection.partitions.partials,
        matches_partitions=collection.partitions.matches,
        events_retention_ms=round(kept.events_hours * HOUR_MS),
        matches_retention_ms=round(kept.matches_hours * HOUR_MS),
        frames_retention_ms=round(kept.frames_minutes * MINUTE_MS),
        dead_letters_retention_ms=round(kept.dead_letters_days * DAY_MS),
        compaction_lag_ms=round(kept.compaction_lag_minutes * MINUTE_MS),
        unsubscriptions_retention_ms=round(kept.unsubscriptions_days * DAY_MS),
    )


def declared_topics(settings: Settings, collection: Collection) -> list[TopicSpec]:
    wanted = KINDS[collection.kind].topics
    if collection.layout == "replicated":
        wanted = tuple(topic for topic in wanted if topic not in BETWEEN_SHARDS)
    return catalogue(layout_of(settings, collection), wanted)


def plan_topics(settings: Settings, collection: Collection) -> Plan:
    """What `ensure_topics` would do."""
    clients = KafkaClients(settings.kafka)
    admin = clients.admin()
    with clients.reaching(admin):
        return _planned(admin, settings, collection)


def ensure_topics(settings: Settings, collection: Collection, timeout_s: float = TIMEOUT_S) -> Plan:
    """Create the topics of `collection` that are missing; what exists stays as it is.

    Raises `TopicsDiffer` if a topic exists differently, `Failure` if no broker answers.
    """
    kafka = settings.kafka
    clients = KafkaClients(kafka)
    admin = clients.admin()
    with clients.reaching(admin):
        planned = _planned(admin, settings, collection)
        return apply(admin, planned, kafka.replication, timeout_s, kafka.brokers)


def _planned(admin: AdminClient, settings: Settings, collection: Collection) -> Plan:
    wanted = declared_topics(settings, collection)
    existing = examine(admin, [spec.name for spec in wanted])
    return plan(wanted, existing, settings.kafka.brokers)
