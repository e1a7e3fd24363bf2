"""A SOPT-R-tree whose intervals can be found by id and be buried, one bit each.

Layout: `slots` is a hash table (`indexes.id_map`) over the ids in the order of the arrangement,
so a place in it is an entry of the tree's lowest level; bit i % 8 of byte i // 8 of `tombstones`
is set once the interval at place i is deleted or replaced.
"""

from collections.abc import Iterator
from copy import copy

import numpy as np
from numba import njit

from indexes.hits import Hit, empty_table
from indexes.id_map import ABSENT, check_slots, empty_slots, find, link_many
from indexes.intervals.live_merge import is_buried
from indexes.intervals.packed_r_tree import PackedRTree, scan_packed
from indexes.intervals.scored_rows import ScoredRows
from indexes.intervals.sopt_left_order import top_k_meeting
from indexes.intervals.sopt_r_tree import SOPTRTree


class LiveBase:
    def __init__(
        self, tree: SOPTRTree, tombstones: np.ndarray | None = None, buried: bool = False
    ) -> None:
        """Nothing is buried, or what the tombstones say, or everything."""
        n = len(tree)
        if tombstones is None:
            tombstones = np.packbits(np.full(n, buried), bitorder="little")
        self.tree = tree
        self.packed: PackedRTree = tree._tree
        self.tombstones = _checked(tombstones, n)
        self.live = n - int(np.unpackbits(self.tombstones).sum())
        self._slots = empty_slots(n)
        link_many(self._slots, self.packed.ids, np.arange(n))

    def fork(self) -> "LiveBase":
        """A copy with tombstones of its own; the tree, which never changes, is shared."""
        twin = copy(self)
        twin.tombstones = self.tombstones.copy()
        return twin

    @property
    def branching(self) -> int:
        return int(self.packed.branching[0])

    @property
    def nbytes(self) -> int:
        return self.tree.nbytes + self.tombstones.nbytes + self._slots.nbytes

    def places(self, ids: np.ndarray) -> np.ndarray:
        """Where in the arrangement each id is live, or ABSENT."""
        return _live_places(self._slots, self.packed.ids, self.tombstones, ids)

    def rows(self, places: np.ndarray) -> ScoredRows:
        t = self.packed
        return ScoredRows(t.ids[places], t.lows[places], t.highs[places], t.scores[places])

    def live_rows(self) -> ScoredRows:
        buried = np.unpackbits(self.tombstones, count=len(self.tree), bitorder="little")
        return self.rows(np.flatnonzero(buried == 0))

    def bury(self, places: np.ndarray) -> None:
        """Set the tombstones of live places."""
        _bury(self.tombstones, places)
        self.live -= len(places)

    def revive(self, rows: ScoredRows, since: int) -> ScoredRows:
        """Lift the tombstones of rows below `since` that are here as they are; the other rows."""
        revived = _revive(self._slots, self.packed, self.tombstones, rows, since)
        self.live += int(revived.sum())
        return ScoredRows(*(column[~revived] for column in rows))

    def scan(self, value: float, visited: np.ndarray) -> Iterator[Hit]:
        for hit in scan_packed(self.packed, value, visited):
            if self.places(np.array([hit.id]))[0] != ABSENT:
                yield hit

    def top_k_between(self, low: float, high: float, k: int, visited: np.ndarray) -> list[Hit]:
        """At most k live hits; as many more are looked for as tombstones may be among them."""
        n = len(self.tree)
        wanted = min(k + min(k, n - self.live), n)
        while True:
            table = empty_table(1, wanted)
            top_k_meeting(self.packed, self.tree._left, low, high, table, visited)
            found = int(table.counts[0])
            ids, scores = table.ids[0, :found], table.scores[0, :found]
            live = np.flatnonzero(self.places(ids) != ABSENT)[:k]
            if len(live) == k or found < wanted or wanted == n:
                pairs = zip(ids[live].tolist(), scores[live].tolist(), strict=True)
                return [Hit(id, score) for id, score in pairs]
            wanted = min(2 * wanted, n)

    def check(self) -> None:
        n = len(self.tree)
        self.tree.check()
        check_slots(self._slots, self.packed.ids, np.arange(n))
        assert len(self.tombstones) == (n + 7) // 8
        bits = np.unpackbits(self.tombstones, bitorder="little")
        assert not bits[n:].any()
        assert self.live == n - bits.sum()


def _checked(tombstones: np.ndarray, n: int) -> np.ndarray:
    """A copy of our own, one bit an interval and zeros behind the last."""
    if tombstones.dtype != np.uint8 or tombstones.shape != ((n + 7) // 8,):
        got = f"{tombstones.dtype}{list(tombstones.shape)}"
        raise ValueError(f"tombstones: got {got} when uint8[{(n + 7) // 8}] was expected")
    if np.unpackbits(tombstones, bitorder="little")[n:].any():
        raise ValueError(f"tombstones: got bits beyond {n} when one an interval was expected")
    return tombstones.copy()


@njit(cache=True, nogil=True)
def _live_places(slots, keys, tombstones, ids):
    places = np.empty(len(ids), np.int32)
    for i in range(len(ids)):
        place = find(slots, keys, ids[i])
        places[i] = ABSENT if place == ABSENT or is_buried(tombstones, place) else place
    return places


@njit(cache=True, nogil=True)
def _bury(tombstones, places):
    for place in places:
        tombstones[place >> 3] |= np.uint8(1 << (place & 7))


@njit(cache=True, nogil=True)
def _revive(slots, t, tombstones, rows, since):
    revived = np.zeros(len(rows.ids), np.bool_)
    for i in range(len(rows.ids)):
        if rows.ids[i] >= since:
            continue
        place = find(slots, t.ids, rows.ids[i])
        revived[i] = (
            place != ABSENT
            and t.lows[place] == rows.lows[i]
            and t.highs[place] == rows.highs[i]
            and t.scores[place] == rows.scores[i]
        )
        if revived[i]:
            tombstones[place >> 3] &= np.uint8(255 ^ (1 << (place & 7)))
    return revived
