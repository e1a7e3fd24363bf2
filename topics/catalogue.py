"""Every topic of a collection: its name, partitions and how long it keeps records.

Names are `<prefix>.<collection>.<topic>`.  Frames and partials are internal; the rest is the
contract with producers and consumers.
"""

import re
from dataclasses import dataclass

from topics.spec import TopicSpec

TOPICS = (
    "subscriptions",
    "events",
    "frames",
    "partials",
    "matches",
    "bases",
    "routes",
    "subscriptions.dlq",
    "events.dlq",
)

MIB = 1024 * 1024
# The largest record, as Kafka counts it (after compression, with key and headers).
RECORD_BYTES = 4 * MIB
# Many events, or many matches, in one record.
FRAME_BYTES = 16 * MIB
# The original record and the headers that say what was wrong with it.
DEAD_LETTER_BYTES = 5 * MIB
# Kafka deletes whole segments only: with its default of 1 GiB, a short retention would be long.
SHORT_SEGMENT_BYTES = 128 * MIB

MINUTE_MS = 60 * 1000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

LONGEST_NAME = 249  # Kafka's limit
NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Layout:
    """What the catalogue needs to know of a collection."""

    prefix: str
    collection: str
    shards: int = 2
    events_partitions: int = 4
    partials_partitions: int = 2
    matches_partitions: int = 4
    events_retention_ms: int = 24 * HOUR_MS
    matches_retention_ms: int = 24 * HOUR_MS
    frames_retention_ms: int = 60 * MINUTE_MS
    dead_letters_retention_ms: int = 14 * DAY_MS
    compaction_lag_ms: int = 60 * MINUTE_MS
    unsubscriptions_retention_ms: int = 7 * DAY_MS


def topic_name(prefix: str, collection: str, topic: str) -> str:
    """
    >>> topic_name("podium", "ads", "events.dlq")
    'podium.ads.events.dlq'
    """
    if topic not in TOPICS:
        raise ValueError(f"got topic {topic!r}, expected one of {', '.join(TOPICS)}")
    name = f"{prefix}.{collection}.{topic}"
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise ValueError(
            f"got topic name {name!r}, expected at most {LONGEST_NAME} of A-Z a-z 0-9 . _ -"
        )
    return name


def catalogue(layout: Layout) -> list[TopicSpec]:
    """The topics of a collection, in the order of the flow, dead letters last."""
    return [
        _topic(
            layout,
            "subscriptions",
            layout.shards,
            _compacted(layout),
            "subscription id → JSON; null unsubscribes",
            placed_by_key=True,
        ),
        _topic(
            layout,
            "events",
            layout.events_partitions,
            _deleted_after(layout.events_retention_ms, RECORD_BYTES),
            "any key → JSON, one event a record",
        ),
        _topic(
            layout,
            "frames",
            layout.shards,
            _short(layout),
            "internal: events in columns, router → matcher, partition = shard",
            placed_by_key=True,
        ),
        _topic(
            layout,
            "partials",
            layout.partials_partitions,
            _short(layout),
            "internal: answers of one shard, matcher → merger",
        ),
        _topic(
            layout,
            "matches",
            layout.matches_partitions,
            _deleted_after(layout.matches_retention_ms, FRAME_BYTES),
            "event key → JSON, the k best subscriptions of an event",
        ),
        *(
            _topic(
                layout,
                topic,
                layout.shards,
                {"cleanup.policy": "compact", "max.message.bytes": str(most_bytes)},
                f"internal: shard → {what}, partition = shard",
                placed_by_key=True,
            )
            for topic, most_bytes, what in (
                ("bases", RECORD_BYTES, "its newest base, Spark job → matcher"),
                ("routes", FRAME_BYTES, "what it covers, matcher → router"),
            )
        ),
        *(
            _topic(
                layout,
                f"{topic}.dlq",
                1,
                _deleted_after(layout.dead_letters_retention_ms, DEAD_LETTER_BYTES),
                f"{topic} that cannot be used, as they came, with `podium-error` headers",
            )
            for topic in ("subscriptions", "events")
        ),
    ]


def _topic(
    layout: Layout,
    topic: str,
    partitions: int,
    config: dict[str, str],
    purpose: str,
    placed_by_key: bool = False,
) -> TopicSpec:
    name = topic_name(layout.prefix, layout.collection, topic)
    return TopicSpec(name, partitions, config, purpose, placed_by_key)


def _compacted(layout: Layout) -> dict[str, str]:
    return {
        "cleanup.policy": "compact",
        "min.compaction.lag.ms": str(layout.compaction_lag_ms),
        "delete.retention.ms": str(layout.unsubscriptions_retention_ms),
        "max.message.bytes": str(RECORD_BYTES),
    }


def _deleted_after(retention_ms: int, record_bytes: int) -> dict[str, str]:
    return {
        "cleanup.policy": "delete",
        "retention.ms": str(retention_ms),
        "max.message.bytes": str(record_bytes),
    }


def _short(layout: Layout) -> dict[str, str]:
    return _deleted_after(layout.frames_retention_ms, FRAME_BYTES) | {
        "segment.bytes": str(SHORT_SEGMENT_BYTES)
    }
