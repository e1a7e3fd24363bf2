"""`ScoredRTree`: an R-tree over the intervals in rank order (Machanavajjhala et al., Scalable
Ranked Publish/Subscribe, §2.2.3).

Compact and simple, but nodes hold intervals from anywhere, so their extents have holes: a search
may enter every node without finding anything.
"""

from collections.abc import Iterator

import numpy as np

from indexes.hits import Hit, HitTable
from indexes.intervals.packed_r_tree import check_packed, pack, scan_packed, top_k_packed
from indexes.intervals.scored_index import ScoredArrays, ScoredIndex
from indexes.intervals.scored_rows import ScoredRows, check_ranks

__all__ = ["ScoredRTree"]


class ScoredRTree(ScoredIndex):
    """
    >>> tree = ScoredRTree.build([7, 9], [20.0, 30.0], [35.0, float("inf")], [1.5, 4.0])
    >>> tree.top_k(33.0, k=2)
    [Hit(id=9, score=4.0), Hit(id=7, score=1.5)]
    """

    def __init__(self, rows: ScoredRows, branching: int) -> None:
        super().__init__(rows, branching)
        self._tree = pack(rows, branching)

    def _scan(self, value: float) -> Iterator[Hit]:
        return scan_packed(self._tree, value, self._visited)

    def _stab(self, values: np.ndarray, table: HitTable) -> None:
        top_k_packed(self._tree, values, values, table, self._visited)

    def _meet(self, low: float, high: float, table: HitTable) -> None:
        top_k_packed(self._tree, np.array([low]), np.array([high]), table, self._visited)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        check_packed(self._tree)
        check_ranks(self._tree.ids, self._tree.scores)

    def to_arrays(self) -> ScoredArrays:
        t, n = self._tree, len(self)
        columns = (t.ids, t.lows[:n], t.highs[:n], t.scores, t.branching)
        return ScoredArrays(*(column.copy() for column in columns))

    @classmethod
    def from_arrays(cls, arrays: ScoredArrays) -> "ScoredRTree":
        return cls.build(*arrays[:4], branching=int(arrays.branching[0]))
