"""The trees of a matcher over the rows of its `RowTable`: a base and a delta for each attribute.

    base     a SOPT-R-tree of what was there when it was built (`row_base`), or nothing
    covered  one flag a row: the bases have it as it is
    delta    an IR-tree with the other rows

`Column`s tell what there is to know of all rows in one attribute, by row: id, interval and score,
with low > high where a row does not constrain it.
"""

from collections.abc import Sequence

import numpy as np

from indexes.intervals.ir_build import Entries
from indexes.intervals.ir_index import RowIndex
from indexes.intervals.ir_layout import Rows
from indexes.intervals.row_base import adopted, base_of, check_base, empty_base, is_alive
from indexes.intervals.row_cursor import BaseAndDelta
from indexes.intervals.rows import RowTable, by_rank
from indexes.intervals.scored_rows import ScoredRows as Column
from indexes.intervals.scored_rows import distinct
from indexes.intervals.sopt_r_tree import SOPTRTree

__all__ = ["Column", "Lifted", "RowTrees"]

# For each attribute the rows that are out, and where they were.
Lifted = list[tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]]


class RowTrees:
    def __init__(self, attributes: int, branching: int) -> None:
        self._branching = branching
        self._deltas = [RowIndex(branching) for _ in range(attributes)]
        self._visited = np.zeros(1, np.int64)  # by queries on bases
        self._drop_bases(0)

    def _drop_bases(self, capacity: int) -> None:
        self.bases = [empty_base(self._branching)] * len(self._deltas)
        self.covered = np.zeros(capacity, np.bool_)
        self.in_base = 0  # rows that are covered
        self.buried = 0  # ids of the bases that are gone, or not as they are there

    @property
    def nbytes(self) -> int:
        bases = sum(array.nbytes for base in self.bases for array in base)
        deltas = sum(delta.nbytes for delta in self._deltas)
        return bases + deltas + self.covered.nbytes + self._visited.nbytes

    @property
    def visited(self) -> int:
        return int(self._visited[0]) + sum(delta.visited for delta in self._deltas)

    def reserve_rows(self, capacity: int) -> None:
        if capacity > len(self.covered):
            more = np.zeros(capacity - len(self.covered), np.bool_)
            self.covered = np.concatenate((self.covered, more))
        for delta in self._deltas:
            delta.reserve_rows(capacity)

    def insert(self, columns: Sequence[Column], rows: np.ndarray) -> None:
        """Take further rows, which go into the deltas."""
        for delta, column in zip(self._deltas, columns, strict=True):
            delta.insert(_keys(column), *_entries(column, rows))

    def delete(self, columns: Sequence[Column], rows: np.ndarray) -> None:
        late = self._uncover(rows)
        for delta, column in zip(self._deltas, columns, strict=True):
            delta.delete(_keys(column), _entries(column, late).rows)

    def _uncover(self, rows: np.ndarray) -> np.ndarray:
        """Bury what the bases have of the rows; the other rows."""
        early = self.covered[rows]
        self.covered[rows] = False
        count = int(np.count_nonzero(early))
        self.in_base -= count
        self.buried += count
        return rows[~early]

    def lift(self, columns: Sequence[Column], rows: np.ndarray) -> Lifted:
        """Take rows out so that their scores may change; `drop` has to follow."""
        late, lifted = rows[~self.covered[rows]], []
        for delta, column in zip(self._deltas, columns, strict=True):
            own = _entries(column, late).rows
            lifted.append((own, delta.lift(_keys(column), own)))
        return lifted

    def drop(self, columns: Sequence[Column], rows: np.ndarray, lifted: Lifted) -> None:
        early = rows[self.covered[rows]]
        for delta, column, (own, places) in zip(self._deltas, columns, lifted, strict=True):
            delta.drop(_keys(column), own, places)
        self._uncover(early)
        self.insert(columns, early)

    def build(self, columns: Sequence[Column], rows: np.ndarray) -> None:
        """Start anew with these rows, all of them in the deltas."""
        self._drop_bases(len(columns[0].ids))
        self._build_deltas(columns, rows)

    def _build_deltas(self, columns: Sequence[Column], rows: np.ndarray) -> None:
        for delta, column in zip(self._deltas, columns, strict=True):
            delta.clear(len(column.ids))
            delta.build(_keys(column), _entries(column, by_rank(_keys(column), rows)))

    def rebase(self, columns: Sequence[Column], rows: np.ndarray) -> None:
        """Start anew with these rows, all of them in bases that are built here."""
        self.build(columns, rows[:0])
        self.bases = [
            base_of(_keys(column), _entries(column, by_rank(_keys(column), rows)), self._branching)
            for column in columns
        ]
        self.covered[rows] = True
        self.in_base = len(rows)

    def replace_bases(
        self, columns: Sequence[Column], table: RowTable, trees: Sequence[SOPTRTree], since: int
    ) -> None:
        """Take over trees that were built elsewhere; the deltas get what these lack."""
        live, ids = table.live(), table.keys.ids
        covered, bases = np.zeros(len(ids), np.bool_), []
        covered[live] = ids[live] < since
        for tree, column in zip(trees, columns, strict=True):
            packed = tree._tree
            base, found = adopted(packed, table.rows_of(packed.ids), column)
            covered &= found | (column.lows > column.highs)
            bases.append(base)
        dead = [t._tree.ids[~is_alive(b, covered)] for t, b in zip(trees, bases, strict=True)]
        self.bases, self.covered = bases, covered
        self.in_base, self.buried = int(covered.sum()), len(distinct(np.concatenate(dead)))
        self._build_deltas(columns, live[~covered[live]])

    def of(self, attribute: int) -> BaseAndDelta:
        """What queries on one attribute need."""
        tree = self._deltas[attribute].tree
        return BaseAndDelta(self.bases[attribute], self.covered, tree, self._visited)

    def check(self, columns: Sequence[Column], live: np.ndarray) -> None:
        """Raise `AssertionError` unless bases and deltas have the live rows as they are."""
        assert self.in_base == self.covered.sum()
        assert self.covered[live].sum() == self.in_base
        assert self.buried >= 0
        early, late = live[self.covered[live]], live[~self.covered[live]]
        for base, delta, column in zip(self.bases, self._deltas, columns, strict=True):
            assert len(self.covered) == len(column.ids)
            check_base(base, self.covered, column, _entries(column, early).rows)
            own = _entries(column, late)
            delta.check(_keys(column), own.rows)
            lows, highs = delta.intervals(own.rows)
            assert (lows == own.lows).all()
            assert (highs == own.highs).all()


def _keys(column: Column) -> Rows:
    return Rows(column.ids, column.scores)


def _entries(column: Column, rows: np.ndarray) -> Entries:
    """Those of the rows that constrain the attribute."""
    lows, highs = column.lows[rows], column.highs[rows]
    own = lows <= highs
    return Entries(rows[own], lows[own], highs[own])
