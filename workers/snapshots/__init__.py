"""Snapshots of shards in Redis: one checksummed blob a shard, behind one pointer.

Kafka is the truth and Redis a cache of it: whatever is wrong with a snapshot means a longer
replay, never a failure and never a partial index.
"""

from workers.snapshots.errors import NoSnapshot, SnapshotFailed, StaleWriter
from workers.snapshots.pointer import Pointer
from workers.snapshots.snapshot import Expected, Snapshot, SnapshotHead
from workers.snapshots.store import SnapshotStore, Written, stored_name

__all__ = [
    "Expected",
    "NoSnapshot",
    "Pointer",
    "Snapshot",
    "SnapshotFailed",
    "SnapshotHead",
    "SnapshotStore",
    "StaleWriter",
    "Written",
    "stored_name",
]
