"""What the fleet counts; served at `/metrics` of each worker."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from confluent_kafka import Message
from prometheus_client import Counter, Gauge, Histogram

from workers.process.stages import EVENT_WAITING, EventSeconds, sampled

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

EVENTS = Counter(
    "podium_events_total", "Events that the router has packed into frames", ["collection"]
)
FRAMES = Counter(
    "podium_frames_total",
    "Frames that the router has sent, the matcher has answered or the merger has put together",
    ["collection"],
)
DEAD_LETTERS = Counter(
    "podium_dead_letters_total",
    "Records refused and written to a dead-letter topic",
    ["collection", "topic"],
)
ASKED = Counter(
    "podium_router_pairs_total",
    "Pairs of event and shard, by whether the event was sent or kept out by the routes",
    ["collection", "result"],
)
ROUTES_REFUSED = Counter(
    "podium_routes_refused_total",
    "Records of routes that the router could not use",
    ["collection", "shard"],
)
LINGER = Gauge(
    "podium_router_linger_seconds",
    "Seconds for which the router gathers events into one batch",
    ["collection"],
)
STAGE_SECONDS = EventSeconds(
    "podium_stage_seconds",
    "Seconds that events have spent in one stage of their way through the fleet",
    ("collection", "stage"),
)
BUSY_SHARE = Gauge(
    "podium_busy_share",
    "Share of the time, 0 to 1, in which the busiest thread of the worker had work to do",
    ["collection"],
)
LAG_RECORDS = Gauge(
    "podium_lag_records",
    "Records of the partition that the worker has not taken up yet",
    ["collection", "topic", "partition"],
)
LAG_SECONDS = Gauge(
    "podium_lag_seconds",
    "Seconds that the oldest record has waited that the worker has not taken up, at most",
    ["collection", "topic", "partition"],
)
SHARDS = Gauge("podium_shards", "Shards that the matcher holds, restored or not", ["collection"])
CHANGES = Counter(
    "podium_subscription_changes_total",
    "Changes of subscriptions applied to the shard",
    ["collection", "shard"],
)
SUBSCRIPTIONS = Gauge(
    "podium_subscriptions", "Subscriptions that the shard holds", ["collection", "shard"]
)
FEED_LAG = Gauge(
    "podium_feed_lag_records",
    "Records of subscriptions that the shard has not applied yet",
    ["collection", "shard"],
)
FEED_LAG_SECONDS = Gauge(
    "podium_feed_lag_seconds",
    "Seconds that the oldest subscription record has waited that the shard lacks, at most",
    ["collection", "shard"],
)
INDEX_BYTES = Gauge(
    "podium_index_bytes",
    "Bytes of memory that the index of the shard takes",
    ["collection", "shard"],
)
DELTA_SHARE = Gauge(
    "podium_delta_share",
    "Share of the index, 0 to 1, that came since its base was built",
    ["collection", "shard"],
)
UNPLACED = Gauge(
    "podium_unplaced_conjunctions",
    "Conjunctions that match nothing, as the shard has too many attributes to index theirs",
    ["collection", "shard"],
)
ROUTES = Gauge(
    "podium_routes", "Boxes that the shard has published as its routes", ["collection", "shard"]
)
RENEWALS = Counter(
    "podium_index_renewals_total",
    "Indexes rebuilt beside the live index and swapped in",
    ["collection", "shard"],
)
BASES = Counter(
    "podium_bases_total",
    "Bases that were announced, by whether they were taken or why not",
    ["collection", "shard", "result"],
)
BASE_OFFSET = Gauge(
    "podium_base_next_offset",
    "First subscription offset that is not in the base of the shard",
    ["collection", "shard"],
)
RESTORES = Counter(
    "podium_restores_total",
    "Shards taken over, by what they started from: a snapshot, or why there was none",
    ["collection", "shard", "start"],
)
SNAPSHOTS = Counter(
    "podium_snapshots_total",
    "Snapshots of the shard, by whether they were written or why not",
    ["collection", "shard", "result"],
)
SNAPSHOT_SECONDS = Gauge(
    "podium_snapshot_seconds",
    "Seconds that writing the latest snapshot of the shard took",
    ["collection", "shard"],
)
SNAPSHOT_OFFSET = Gauge(
    "podium_snapshot_next_offset",
    "First subscription offset that is not in the latest snapshot of the shard",
    ["collection", "shard"],
)
SNAPSHOT_BYTES = Gauge(
    "podium_snapshot_bytes", "Bytes of the latest snapshot of the shard", ["collection", "shard"]
)
MATCHES = Counter(
    "podium_matches_total", "Match records that the merger has written", ["collection"]
)
PENDING_FRAMES = Gauge(
    "podium_merger_pending_frames",
    "Frames that some shards have answered and others have not",
    ["collection"],
)
PENDING_BYTES = Gauge(
    "podium_merger_pending_bytes",
    "Bytes of the answers to frames that are not complete",
    ["collection"],
)
ORPHANED_FRAMES = Counter(
    "podium_merger_orphaned_frames_total",
    "Half-answered frames given up because their events were answered in other frames",
    ["collection"],
)
LOST_FRAMES = Counter(
    "podium_merger_lost_frames_total",
    "Half-answered frames given up because a shard has never had them: their events are lost",
    ["collection"],
)
END_TO_END_SECONDS = EventSeconds(
    "podium_end_to_end_seconds",
    "Seconds from the timestamp of an event to its match record",
    ("collection",),
)

PAINTED = Counter(
    "podium_painter_updates_total",
    "Records of objects that the painter has applied",
    ["collection"],
)
PAINT_MESSAGES = Counter(
    "podium_painter_messages_total",
    "Messages about objects that the painter has sent to the zones",
    ["collection"],
)
PAINTER_SUBSCRIPTIONS = Gauge(
    "podium_painter_subscriptions", "Subscriptions that the painter knows", ["collection"]
)
PAINTER_OBJECTS = Gauge("podium_painter_objects", "Objects that the painter knows", ["collection"])
RESETS = Counter(
    "podium_painter_resets_total",
    "Zones whose lists the painter has sent anew, by the reason",
    ["collection", "reason"],
)
PAINTER_LAG = Gauge(
    "podium_painter_lag_records",
    "Records of objects that the painter has not told the zones of yet",
    ["collection"],
)
PAINTER_LAG_SECONDS = Gauge(
    "podium_painter_lag_seconds",
    "Seconds since the timestamp of the oldest object record that the painter has not told of",
    ["collection"],
)
ZONE_MESSAGES = Counter(
    "podium_zone_messages_total",
    "Messages about objects that the zone has applied to its lists",
    ["collection", "zone"],
)
ZONE_RECEIVED = Counter(
    "podium_zone_received_messages_total",
    "Messages about objects that the lists of the zone have taken in, once for each list",
    ["collection", "zone"],
)
ZONE_CHANGED = Counter(
    "podium_zone_changed_lists_total",
    "Lists of the zone that messages have changed, once for each object record or Paint batch",
    ["collection", "zone"],
)
ZONE_LISTS = Counter(
    "podium_zone_lists_total", "Records of lists that the zone has written", ["collection", "zone"]
)
ZONE_SUBSCRIPTIONS = Gauge(
    "podium_zone_subscriptions", "Subscriptions whose lists the zone keeps", ["collection", "zone"]
)
ZONE_BYTES = Gauge(
    "podium_zone_bytes", "Bytes of memory that the lists of the zone take", ["collection", "zone"]
)
ZONE_OBJECTS = Gauge(
    "podium_zone_next_object",
    "First offset of objects that the lists of the zone do not have yet",
    ["collection", "zone"],
)
ZONE_LAG = Gauge(
    "podium_zone_lag_records",
    "Records of objects that the written lists of the zone do not have yet",
    ["collection", "zone"],
)
ZONE_LAG_SECONDS = Gauge(
    "podium_zone_lag_seconds",
    "Seconds since the timestamp of the oldest object record that the written lists do not have",
    ["collection", "zone"],
)
ZONE_SECONDS = Histogram(
    "podium_zone_step_seconds",
    "Seconds in which the zone applies what has come and writes the lists",
    ["collection"],
    buckets=_SECONDS,
)

# What a matcher says of a shard while it holds it; counters go on, as those of a process do.
_OF_A_SHARD = (
    SUBSCRIPTIONS,
    FEED_LAG,
    FEED_LAG_SECONDS,
    INDEX_BYTES,
    DELTA_SHARE,
    UNPLACED,
    ROUTES,
    BASE_OFFSET,
    SNAPSHOT_SECONDS,
    SNAPSHOT_OFFSET,
    SNAPSHOT_BYTES,
)


_OF_A_ZONE = (ZONE_SUBSCRIPTIONS, ZONE_BYTES, ZONE_OBJECTS)


def observe_waiting(collection: str, messages: Sequence[Message], now: float) -> None:
    """How long events have waited that are taken up now: of a few, which stand for all."""
    some, each = sampled(len(messages))
    waited = now - np.array([message.timestamp()[1] for message in messages[some]]) / 1e3
    STAGE_SECONDS.observe(collection, EVENT_WAITING, seconds=waited, events=each)


def count_changes(labels: tuple[str, str], received: int, changed: int) -> None:
    """What messages have done to the lists of a zone since the last call."""
    ZONE_RECEIVED.labels(*labels).inc(received)
    ZONE_CHANGED.labels(*labels).inc(changed)


def forget_zone(collection: str, zone: str) -> None:
    """Say nothing more of its state: from now on its next owner does."""
    for gauge in (*_OF_A_ZONE, SNAPSHOT_SECONDS, SNAPSHOT_OFFSET, SNAPSHOT_BYTES):
        with suppress(KeyError):  # which has not been said yet
            gauge.remove(collection, zone)


def forget_shard(collection: str, shard: int) -> None:
    """Say nothing more of its state: from now on its next owner does."""
    for gauge in _OF_A_SHARD:
        gauge.remove(collection, str(shard))
