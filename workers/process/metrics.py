"""What the fleet counts; served at `/metrics` of each worker."""

from prometheus_client import Counter, Gauge, Histogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

EVENTS = Counter("podium_events_total", "Events packed into frames", ["collection"])
FRAMES = Counter(
    "podium_frames_total", "Frames sent (router) or answered (matcher)", ["collection"]
)
DEAD_LETTERS = Counter("podium_dead_letters_total", "Records refused", ["collection", "topic"])
ASKED = Counter(
    "podium_router_pairs_total",
    "Events times shards, by whether the event went to the shard or its routes kept it out",
    ["collection", "result"],
)
ROUTES_REFUSED = Counter(
    "podium_routes_refused_total", "Route records that could not be used", ["collection", "shard"]
)
LINGER = Gauge("podium_router_linger_seconds", "How long the router gathers events", ["collection"])
ANSWER_SECONDS = Histogram(
    "podium_answer_seconds", "Time to answer one frame", ["collection"], buckets=_SECONDS
)
SHARDS = Gauge("podium_shards", "Shards that the matcher holds, restored or not", ["collection"])
CHANGES = Counter("podium_subscription_changes_total", "Changes applied", ["collection", "shard"])
SUBSCRIPTIONS = Gauge("podium_subscriptions", "Live subscriptions", ["collection", "shard"])
FEED_LAG = Gauge("podium_feed_lag_records", "Records behind", ["collection", "shard"])
INDEX_BYTES = Gauge("podium_index_bytes", "Memory of the index", ["collection", "shard"])
DELTA_SHARE = Gauge(
    "podium_delta_share",
    "How much of the index came since its optimal part was built",
    ["collection", "shard"],
)
UNPLACED = Gauge(
    "podium_unplaced_conjunctions",
    "Conjunctions that match nothing, as the shard has too many attributes to index theirs",
    ["collection", "shard"],
)
ROUTES = Gauge("podium_routes", "Boxes published for the router", ["collection", "shard"])
RENEWALS = Counter(
    "podium_index_renewals_total", "Indexes rebuilt beside live ones", ["collection", "shard"]
)
BASES = Counter(
    "podium_bases_total",
    "Bases that were announced, by whether they were taken or why not",
    ["collection", "shard", "result"],
)
BASE_OFFSET = Gauge(
    "podium_base_next_offset", "Up to where the latest base speaks", ["collection", "shard"]
)
RESTORES = Counter(
    "podium_restores_total",
    "Shards taken over, by what they started from: a snapshot, or why there was none",
    ["collection", "shard", "start"],
)
SNAPSHOTS = Counter(
    "podium_snapshots_total", "Snapshots, by how they ended", ["collection", "shard", "result"]
)
SNAPSHOT_SECONDS = Gauge(
    "podium_snapshot_seconds", "Writing the latest snapshot", ["collection", "shard"]
)
SNAPSHOT_OFFSET = Gauge(
    "podium_snapshot_next_offset", "Up to where it speaks", ["collection", "shard"]
)
SNAPSHOT_BYTES = Gauge("podium_snapshot_bytes", "Its size", ["collection", "shard"])
MATCHES = Counter("podium_matches_total", "Match records written", ["collection"])
PENDING_FRAMES = Gauge("podium_merger_pending_frames", "Frames half answered", ["collection"])
PENDING_BYTES = Gauge("podium_merger_pending_bytes", "Their size", ["collection"])
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
END_TO_END_SECONDS = Histogram(
    "podium_end_to_end_seconds",
    "From an event's timestamp to its match record",
    ["collection"],
    buckets=_SECONDS,
)

# What a matcher says of a shard while it holds it; counters go on, as those of a process do.
_OF_A_SHARD = (
    SUBSCRIPTIONS,
    FEED_LAG,
    INDEX_BYTES,
    DELTA_SHARE,
    UNPLACED,
    ROUTES,
    BASE_OFFSET,
    SNAPSHOT_SECONDS,
    SNAPSHOT_OFFSET,
    SNAPSHOT_BYTES,
)


def forget_shard(collection: str, shard: int) -> None:
    """Say nothing more of its state: from now on its next owner does."""
    for gauge in _OF_A_SHARD:
        gauge.remove(collection, str(shard))
