"""`LiveSOPT`: a SOPT-R-tree that takes updates.

Beyond the seed (Machanavajjhala et al., Scalable Ranked Publish/Subscribe), whose authors leave
updates of the SOPT-R-tree and of scores open.  Three parts:

    base        a SOPT-R-tree, never changed
    tombstones  one bit an interval of the base, in its arrangement: deleted since, or replaced
    delta       an IR-tree with everything that came since

An id is live in the base or in the delta, never in both; an update of an interval of the base is
a tombstone there and a row in the delta.  Queries merge both in rank order.  Besides the base's
41 bytes an interval takes 5, for finding it by id, and one bit.

`rebase()` makes one base of all.  `replace_base()` does so with a base that was built elsewhere
while updates went on.  Neither happens by itself: `delta_share` and `tombstone_share` tell when it
is time.  One thread at a time may use the structure.
"""

from collections.abc import Iterator
from copy import copy
from heapq import merge
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.forking import forked
from indexes.hits import Hit, HitTable, empty_table, hits_of, rank_key
from indexes.id_map import ABSENT
from indexes.intervals.ir_tree import IRTree
from indexes.intervals.live_base import LiveBase
from indexes.intervals.live_merge import top_k_live
from indexes.intervals.scored_index import BRANCHING
from indexes.intervals.scored_rows import ScoredRows
from indexes.intervals.sopt_r_tree import SOPTArrays, SOPTRTree

__all__ = ["LiveArrays", "LiveSOPT"]


class LiveArrays(NamedTuple):
    """The base with its arrangement, its tombstones, and the delta in the order of its ids."""

    ids: np.ndarray  # i8[n]  of the base, in rank order
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    scores: np.ndarray  # f8[n]
    arranged: np.ndarray  # i4[n]  ranks
    edges: np.ndarray  # i8[1]
    branching: np.ndarray  # i8[1]
    tombstones: np.ndarray  # u1[(n + 7) // 8]  bit i % 8 of byte i // 8: the interval arranged[i]
    delta_ids: np.ndarray  # i8[m]
    delta_lows: np.ndarray  # f8[m]
    delta_highs: np.ndarray  # f8[m]
    delta_scores: np.ndarray  # f8[m]


class LiveSOPT:
    """The best intervals around a value, best first; ties go to the lower id.

    >>> index = LiveSOPT.build([7, 9], [20.0, 30.0], [35.0, float("inf")], [1.5, 4.0])
    >>> index.update_score(7, 5.0)
    >>> index.top_k(33.0, k=2)
    [Hit(id=7, score=5.0), Hit(id=9, score=4.0)]
    >>> index.delta_share, index.tombstone_share
    (0.5, 0.5)
    >>> index.rebase()
    >>> index.delta_share, index.tombstone_share
    (0.0, 0.0)
    """

    def __init__(self, branching: int = BRANCHING) -> None:
        self._start(SOPTRTree.build([], [], [], [], branching), IRTree(branching))

    def _start(self, base: SOPTRTree, delta: IRTree, tombstones: np.ndarray | None = None) -> None:
        self._base = LiveBase(base, tombstones)
        self._delta = delta
        self._visited = np.zeros(1, np.int64)  # by this base's queries and deltas of the past
        self._changes = 0

    @classmethod
    def build(
        cls,
        ids: ArrayLike,
        lows: ArrayLike,
        highs: ArrayLike,
        scores: ArrayLike,
        branching: int = BRANCHING,
    ) -> "LiveSOPT":
        """Index many intervals at once, all in the base."""
        index = cls.__new__(cls)
        index._start(SOPTRTree.build(ids, lows, highs, scores, branching), IRTree(branching))
        return index

    def __len__(self) -> int:
        return self._base.live + len(self._delta)

    @property
    def nbytes(self) -> int:
        return self._base.nbytes + self._delta.nbytes + self._visited.nbytes

    @property
    def visited(self) -> int:
        """How many entries all queries so far have looked at."""
        return int(self._visited[0]) + self._delta.visited

    @property
    def delta_share(self) -> float:
        """How much of what is indexed is in the delta, from 0 to 1."""
        return len(self._delta) / len(self) if len(self) else 0.0

    @property
    def tombstone_share(self) -> float:
        """How much of the base is deleted or replaced, from 0 to 1."""
        n = len(self._base.tree)
        return (n - self._base.live) / n if n else 0.0

    @property
    def changed(self) -> int:
        """How many intervals came, and how many of the base went, since it was built."""
        return len(self._delta) + len(self._base.tree) - self._base.live

    def insert(self, id: int, low: float, high: float, score: float) -> None:
        self.insert_many([id], [low], [high], [score])

    def insert_many(
        self, ids: ArrayLike, lows: ArrayLike, highs: ArrayLike, scores: ArrayLike
    ) -> None:
        """Add new ids, all of them or, where one argument is refused, none."""
        new = validation.as_id_array(ids, distinct=False)
        known = new[self._base.places(new) != ABSENT]
        if len(known):
            raise KeyError(f"id {known[0]} is already indexed; delete it first")
        self._delta.insert_many(new, lows, highs, scores)
        self._changes += 1

    def delete(self, id: int) -> None:
        self.delete_many([id])

    def delete_many(self, ids: ArrayLike) -> None:
        """Forget ids, all of them or, where one is not indexed, none."""
        known = validation.as_id_array(ids)
        places = self._base.places(known)
        in_base = places != ABSENT
        if not in_base.all():
            self._delta.delete_many(known[~in_base])
        self._base.bury(places[in_base])
        self._changes += 1

    def update_score(self, id: int, score: float) -> None:
        self.update_scores([id], [score])

    def update_scores(self, ids: ArrayLike, scores: ArrayLike) -> None:
        """Give known ids new scores, all of them or, where one argument is refused, none."""
        known, score = validation.as_id_array(ids), validation.as_score_array(scores)
        validation.require_same_length(ids=known, scores=score)
        places = self._base.places(known)
        in_base = places != ABSENT
        if not in_base.all():
            self._delta.update_scores(known[~in_base], score[~in_base])
        if in_base.any():
            moved = self._base.rows(places[in_base])
            self._delta.insert_many(moved.ids, moved.lows, moved.highs, score[in_base])
            self._base.bury(places[in_base])
        self._changes += 1

    def scan(self, value: float) -> Iterator[Hit]:
        """Every interval around the value, best first, found as it is asked for."""
        return self._scan(float(validation.as_values("value", [value])[0]))

    def _scan(self, value: float) -> Iterator[Hit]:
        changes = self._changes
        base = self._base.scan(value, self._visited)
        for hit in merge(base, self._delta.scan(value), key=rank_key):
            yield hit
            if self._changes != changes:
                raise RuntimeError("the index changed during a scan; start a new scan")

    def top_k(self, value: float, k: int) -> list[Hit]:
        return hits_of(self.top_k_many([value], min(validation.as_count("k", k), len(self))), 0)

    def top_k_many(self, values: ArrayLike, k: int) -> HitTable:
        """The k best intervals around each value, in one compiled call."""
        return self.stab_many(validation.as_values("values", values), validation.as_count("k", k))

    def stab_many(self, values: np.ndarray, k: int) -> HitTable:
        """As `top_k_many`, of f8[m] that may be infinite: an interval may reach so far."""
        # Writable also where the caller's are not (bytes of a frame): one compiled form for all.
        points = np.require(values, requirements="W")
        table = empty_table(len(points), k)
        base, delta = self._base, self._delta
        late, keys = delta._index.tree, delta._rows.keys
        top_k_live(base.packed, base.tombstones, late, keys, points, table, self._visited)
        return table

    def top_k_between(self, low: float, high: float, k: int) -> list[Hit]:
        """The k best intervals that meet [low, high]; the ends may be infinite."""
        late = self._delta.top_k_between(low, high, k)  # refuses bad arguments
        early = self._base.top_k_between(float(low), float(high), min(k, len(self)), self._visited)
        return sorted(early + late, key=rank_key)[:k]

    def rebase(self) -> None:
        """Fold the delta into a new base, without tombstones; the answers stay the same."""
        if not len(self._delta) and self._base.live == len(self._base.tree):
            return
        rows = _joined(self._base.live_rows(), self._delta_rows())
        base = SOPTRTree.build(*rows, branching=self._base.branching)
        self._swap(LiveBase(base), IRTree(self._base.branching))

    def replace_base(self, base: SOPTRTree, since: int) -> None:
        """Take over a base that was built elsewhere; the answers stay the same.

        `base` holds what was live before some change, and `since` is the first id that came with
        or after that change (in the fleet both are offsets of one partition).  Our ids from
        `since` on stay in the delta or move there.  An older one is answered from the new base
        if that has the same interval and score for it, else it is kept in the delta.  What the
        base has and is no longer live here gets a tombstone.
        """
        if not isinstance(base, SOPTRTree):
            raise ValueError(f"base: got {type(base).__name__} when a SOPTRTree was expected")
        bound = min(validation.as_count("since", since), np.iinfo(np.int64).max)
        new = LiveBase(base, buried=True)
        early = new.revive(self._base.live_rows(), bound)
        late = new.revive(self._delta_rows(), bound)
        self._swap(new, IRTree.build(*_joined(early, late), branching=new.branching))

    def fork(self) -> "LiveSOPT":
        """A copy, cheap since the base is shared, that another thread may rebase."""
        twin = copy(self)
        twin._base, twin._delta = self._base.fork(), forked(self._delta)
        twin._visited = self._visited.copy()
        return twin

    def _swap(self, base: LiveBase, delta: IRTree) -> None:
        self._visited[0] += self._delta.visited
        self._base, self._delta = base, delta
        self._changes += 1

    def ids(self) -> np.ndarray:
        """Every live id, ascending."""
        return np.sort(np.concatenate((self._base.live_rows().ids, self._delta_rows().ids)))

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Lows and highs of everything live, the base before the delta."""
        rows = _joined(self._base.live_rows(), self._delta_rows())
        return rows.lows, rows.highs

    def _delta_rows(self) -> ScoredRows:
        return ScoredRows(*self._delta.to_arrays()[:4])

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self._base.check()
        self._delta.check()
        assert (self._base.places(self._delta_rows().ids) == ABSENT).all(), "live in both"

    def to_arrays(self) -> LiveArrays:
        base, tombstones = self._base.tree.to_arrays(), self._base.tombstones.copy()
        return LiveArrays(*base, tombstones, *self._delta_rows())

    @classmethod
    def from_arrays(cls, arrays: LiveArrays) -> "LiveSOPT":
        """Restore without building the base anew: its arrangement is taken as it is."""
        base = SOPTRTree.from_arrays(SOPTArrays(*arrays[:7]))
        delta = IRTree.build(*arrays[8:], branching=int(arrays.branching[0]))
        index = cls.__new__(cls)
        index._start(base, delta, arrays.tombstones)
        twice = arrays.delta_ids[index._base.places(arrays.delta_ids) != ABSENT]
        if len(twice):
            raise ValueError(f"delta_ids: got {twice[0]}, which is live in the base as well")
        return index


def _joined(early: ScoredRows, late: ScoredRows) -> ScoredRows:
    return ScoredRows(*(np.concatenate(columns) for columns in zip(early, late, strict=True)))
