"""Snapshots for the tests: small, and telling by their content which offset they belong to."""

import numpy as np

from workers.snapshots import Expected, Snapshot, SnapshotHead

PREFIX, COLLECTION, SHARD = "podium", "ads", 1
MADE_AT = 1_700_000_000.0
TOPIC_ID = "f2lOXTDxQdWmS8Vx2eZzQg"
DAY_S = 86_400.0

EXPECTED = Expected("ranked", ("age", "visits"), TOPIC_ID, max_age_s=7 * DAY_S)


def a_head(next_offset=100, **changes):
    fields = {
        "collection": COLLECTION,
        "kind": "ranked",
        "attributes": ("age", "visits"),
        "shard": SHARD,
        "topic_id": TOPIC_ID,
        "next_offset": next_offset,
        "subscriptions": 3,
        "made_at": MADE_AT,
        "podium": "0.1.0",
    }
    return SnapshotHead(**(fields | changes))


def a_snapshot(next_offset=100, size=200, **changes):
    """Every array is a function of the offset, so that a mixture of two can be told.

    The ids are large and descend, so that their size is that of what was asked for.
    """
    arrays = {
        "ids": np.arange(next_offset, next_offset + size)[::-1] << 40,
        "scores": np.full(size, float(next_offset)),
        "empty": np.empty((0, 2)),
    }
    return Snapshot(a_head(next_offset, **changes), arrays)


def assert_whole(snapshot, size=200):
    """What its head says is what its arrays hold."""
    expected = a_snapshot(snapshot.head.next_offset, size)
    assert snapshot.head == expected.head
    assert snapshot.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        assert snapshot.arrays[name].dtype == array.dtype
        assert snapshot.arrays[name].shape == array.shape
        assert snapshot.arrays[name].tobytes() == array.tobytes(), name
