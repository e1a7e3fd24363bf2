"""Names in Kafka: every topic that a collection may have, and the consumer groups of its workers.

Names are `<prefix>.<collection>.<topic>`, and the same for groups.  Which topics a collection has
is said by its kind (`topics.kinds`).  Frames, partials, bases and routes are internal; the rest is
the contract with producers and consumers.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from topics.headers import ERROR
from topics.limits import DEAD_LETTER_BYTES, FRAME_BYTES, RECORD_BYTES, SHORT_SEGMENT_BYTES

MINUTE_MS = 60 * 1000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

LONGEST_NAME = 249  # Kafka's limit
NAME = re.compile(r"[A-Za-z0-9._-]+")

# By the last part of its name: what a consumer group reads that is not that of a role.  A role's
# main group has the role's own name.
GROUPS = {
    "router": "events, of routers and of nodes: either goes on where the other has stopped",
    "feed": "subscriptions; a shard's own partition is assigned by hand, and committed",
    "routes": "routes, by hand, from their beginning; nothing is committed",
    "scout": "whatever another reader looks ahead for; nothing is committed",
    "bases": "bases, by hand, from their beginning; nothing is committed",
    "subscriptions": "all partitions of subscriptions, by hand, and committed; of a painter",
}

# The client of those who assign partitions by hand and commit nothing asks for a name all the same.
NO_GROUP = "podium-reader"


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """What a Kafka topic is to be.  `config` holds only what must not be left to the broker."""

    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)
    purpose: str = ""
    # Records are placed by their key's partition and looked for there, so that another number of
    # partitions would lose them.
    placed_by_key: bool = False

    def __post_init__(self) -> None:
        if self.partitions < 1:
            raise ValueError(f"{self.name}: got {self.partitions} partitions, expected 1 or more")


@dataclass(frozen=True, slots=True)
class Layout:
    """What the catalogue needs to know of a collection."""

    prefix: str
    collection: str
    shards: int = 2
    zones: int = 2
    events_partitions: int = 4
    partials_partitions: int = 2
    matches_partitions: int = 4
    events_retention_ms: int = 24 * HOUR_MS
    matches_retention_ms: int = 24 * HOUR_MS
    frames_retention_ms: int = 60 * MINUTE_MS
    dead_letters_retention_ms: int = 14 * DAY_MS
    compaction_lag_ms: int = 60 * MINUTE_MS
    unsubscriptions_retention_ms: int = 7 * DAY_MS
    keeps_lists: bool = False  # the latest record of a key of `matches` is its list


def topic_name(prefix: str, collection: str, topic: str) -> str:
    """
    >>> topic_name("podium", "ads", "events.dlq")
    'podium.ads.events.dlq'
    """
    if topic not in TOPICS:
        raise ValueError(f"got topic {topic!r}, expected one of {', '.join(TOPICS)}")
    return _name(prefix, collection, topic)


def group_name(prefix: str, collection: str, group: str) -> str:
    """
    >>> group_name("podium", "ads", "router")
    'podium.ads.router'
    """
    return _name(prefix, collection, group)


def _name(prefix: str, collection: str, last: str) -> str:
    name = f"{prefix}.{collection}.{last}"
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise ValueError(f"got name {name!r}, expected at most {LONGEST_NAME} of A-Z a-z 0-9 . _ -")
    return name


def catalogue(layout: Layout, topics: Sequence[str]) -> list[TopicSpec]:
    """The given topics of a collection, in the order of the flow, dead letters last."""
    specs = []
    for topic in TOPICS:
        if topic in topics:
            made = TOPICS[topic](layout)
            name = topic_name(layout.prefix, layout.collection, topic)
            specs.append(
                TopicSpec(name, made.partitions, made.config, made.purpose, made.placed_by_key)
            )
    return specs


class _Made(NamedTuple):
    partitions: int
    config: dict[str, str]
    purpose: str
    placed_by_key: bool = False


def _subscriptions(layout: Layout) -> _Made:
    what = "subscription id → JSON; null unsubscribes"
    return _Made(layout.shards, _compacted(layout), what, placed_by_key=True)


def _events(layout: Layout) -> _Made:
    config = _deleted_after(layout.events_retention_ms, RECORD_BYTES)
    return _Made(layout.events_partitions, config, "any key → JSON, one event a record")


def _frames(layout: Layout) -> _Made:
    what = "internal: events in columns, router → matcher, partition = shard"
    return _Made(layout.shards, _short(layout), what, placed_by_key=True)


def _partials(layout: Layout) -> _Made:
    what = "internal: answers of one shard, matcher → merger"
    return _Made(layout.partials_partitions, _short(layout), what)


def _objects(layout: Layout) -> _Made:
    return _Made(1, _compacted(layout), "object id → JSON, where it is and how good; null removes")


def _messages(layout: Layout) -> _Made:
    what = "who comes and leaves and what changes for whom, painter → zone, partition = zone"
    return _Made(layout.zones, _short(layout), what, placed_by_key=True)


def _progress(layout: Layout) -> _Made:
    what = "zone → JSON, how far it is; partition = zone"
    return _Made(layout.zones, _latest(RECORD_BYTES), what, placed_by_key=True)


def _matches(layout: Layout) -> _Made:
    config = _deleted_after(layout.matches_retention_ms, FRAME_BYTES)
    if layout.keeps_lists:
        what = "subscription id → JSON, the k best objects of its range"
        config["cleanup.policy"] = "compact,delete"
        return _Made(layout.matches_partitions, config, what, placed_by_key=True)
    what = "event key → JSON, the k best subscriptions of an event"
    return _Made(layout.matches_partitions, config, what)


def _bases(layout: Layout) -> _Made:
    what = "internal: shard → its newest base, Spark job → matcher, partition = shard"
    return _Made(layout.shards, _latest(RECORD_BYTES), what, placed_by_key=True)


def _routes(layout: Layout) -> _Made:
    what = "internal: shard → what it covers, matcher → router, partition = shard"
    return _Made(layout.shards, _latest(FRAME_BYTES), what, placed_by_key=True)


def _dead_letters(of: str) -> Callable[[Layout], _Made]:
    what = f"{of} that cannot be used, as they came, with `{ERROR}` headers"

    def made(layout: Layout) -> _Made:
        config = _deleted_after(layout.dead_letters_retention_ms, DEAD_LETTER_BYTES)
        return _Made(1, config, what)

    return made


def _latest(record_bytes: int) -> dict[str, str]:
    return {"cleanup.policy": "compact", "max.message.bytes": str(record_bytes)}


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


# In the order of the flow, dead letters last.
TOPICS: dict[str, Callable[[Layout], _Made]] = {
    "subscriptions": _subscriptions,
    "events": _events,
    "objects": _objects,
    "frames": _frames,
    "partials": _partials,
    "messages": _messages,
    "matches": _matches,
    "progress": _progress,
    "bases": _bases,
    "routes": _routes,
    "subscriptions.dlq": _dead_letters("subscriptions"),
    "events.dlq": _dead_letters("events"),
    "objects.dlq": _dead_letters("objects"),
}
