"""`SOPTRTree`: the score-optimal R-tree (Machanavajjhala et al., Scalable Ranked
Publish/Subscribe, §3.2).

Only intervals that meet have to be found in rank order; the others may stand in any order, and
this arrangement puts neighbours together.  So a search for the k best around a value enters at
most 2k nodes of a level, and the index is built in O(n log n) and takes 41 bytes an interval:
32 for what it is, 8 for interval events, the rest for the levels above.

Its long kernels release the interpreter lock, so that one thread can build the next tree while
another answers from the last.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from indexes import validation
from indexes.hits import Hit, HitTable
from indexes.intervals.packed_r_tree import check_packed, pack, scan_packed, top_k_packed
from indexes.intervals.scored_index import ScoredIndex
from indexes.intervals.scored_rows import ScoredRows, reordered
from indexes.intervals.sopt_arrange import Arrangement, score_optimal
from indexes.intervals.sopt_check import check_arrangement
from indexes.intervals.sopt_left_order import check_left_order, left_order, top_k_meeting
from indexes.kernels.sorting import stable_order

__all__ = ["SOPTArrays", "SOPTRTree"]


class SOPTArrays(NamedTuple):
    """The intervals in rank order and their arrangement: equal content gives equal bytes."""

    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    scores: np.ndarray  # f8[n]
    arranged: np.ndarray  # i4[n]  ranks
    edges: np.ndarray  # i8[1]
    branching: np.ndarray  # i8[1]


class SOPTRTree(ScoredIndex):
    """The best intervals around a value, best first; ties go to the lower id.

    >>> tree = SOPTRTree.build([7, 9], [20.0, 30.0], [35.0, float("inf")], [1.5, 4.0])
    >>> tree.top_k(33.0, k=2)
    [Hit(id=9, score=4.0), Hit(id=7, score=1.5)]
    """

    def __init__(
        self, rows: ScoredRows, branching: int, arranged: Arrangement | None = None
    ) -> None:
        super().__init__(rows, branching)
        by_low = stable_order(rows.lows)
        ranks, self._edges = arranged or score_optimal(rows, by_low)
        self._tree = pack(reordered(rows, ranks), branching)
        self._left = left_order(by_low, ranks)

    @property
    def edges(self) -> int:
        """Edges of the constraint graph that the arrangement respects, at most 3n."""
        return self._edges

    def _columns(self) -> Iterable[np.ndarray]:
        return (*self._tree, *self._left)

    def _scan(self, value: float) -> Iterator[Hit]:
        return scan_packed(self._tree, value, self._visited)

    def _stab(self, values: np.ndarray, table: HitTable) -> None:
        top_k_packed(self._tree, values, values, table, self._visited)

    def _meet(self, low: float, high: float, table: HitTable) -> None:
        top_k_meeting(self._tree, self._left, low, high, table, self._visited)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        assert 0 <= self._edges <= 3 * len(self)
        check_packed(self._tree)
        check_arrangement(self._tree, self._left.entries)
        check_left_order(self._left, self._tree)

    def to_arrays(self) -> SOPTArrays:
        t, n, entries = self._tree, len(self), self._left.entries
        rows = reordered(ScoredRows(t.ids, t.lows[:n], t.highs[:n], t.scores), entries)
        arranged = np.empty(n, np.int32)
        arranged[entries] = np.arange(n, dtype=np.int32)
        return SOPTArrays(*rows, arranged, np.array([self._edges]), t.branching.copy())

    @classmethod
    def from_arrays(cls, arrays: SOPTArrays) -> "SOPTRTree":
        """Restore without building: the arrangement is taken as it is."""
        rows, ranks = ScoredRows(*arrays[:4]), arrays.arranged
        validation.require_same_length(**rows._asdict(), arranged=ranks)
        if not np.array_equal(np.sort(ranks), np.arange(len(ranks))):
            raise ValueError(f"arranged: got {ranks} when each rank once was expected")
        b = validation.as_count("branching", arrays.branching[0], least=2)
        return cls(rows, b, Arrangement(ranks, int(arrays.edges[0])))
