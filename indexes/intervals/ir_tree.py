"""`IRTree`: an incremental index of scored intervals (seed: see `ir_layout`)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.hits import Hit, HitTable, empty_table, hits_of, rank_order
from indexes.intervals.ir_build import Entries
from indexes.intervals.ir_cursor import begin_scan, scan_on, top_k_rows
from indexes.intervals.ir_index import RowIndex
from indexes.intervals.rows import RowTable

__all__ = ["IRArrays", "IRTree"]


class IRArrays(NamedTuple):
    """The indexed intervals in the order of their ids: equal content gives equal bytes."""

    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    scores: np.ndarray  # f8[n]
    branching: np.ndarray  # i8[1]


class IRTree:
    """The best intervals around a value, best first; ties go to the lower id.

    >>> tree = IRTree()
    >>> tree.insert(7, 20.0, 35.0, score=1.5)
    >>> tree.insert(9, 30.0, float("inf"), score=4.0)
    >>> tree.top_k(33.0, k=2)
    [Hit(id=9, score=4.0), Hit(id=7, score=1.5)]
    """

    def __init__(self, branching: int = 50) -> None:
        self._index = RowIndex(validation.as_count("branching", branching, least=2))
        self._rows = RowTable()
        self._changes = 0

    @classmethod
    def build(
        cls,
        ids: ArrayLike,
        lows: ArrayLike,
        highs: ArrayLike,
        scores: ArrayLike,
        branching: int = 50,
    ) -> "IRTree":
        """Index many intervals at once, in O(n log n)."""
        tree = cls(branching)
        tree.insert_many(ids, lows, highs, scores)
        return tree

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes + self._index.nbytes

    @property
    def visited(self) -> int:
        """How many entries of blocks all queries so far have looked at."""
        return self._index.visited

    def insert(self, id: int, low: float, high: float, score: float) -> None:
        self.insert_many([id], [low], [high], [score])

    def insert_many(
        self, ids: ArrayLike, lows: ArrayLike, highs: ArrayLike, scores: ArrayLike
    ) -> None:
        """Add new ids, all of them or, where one argument is refused, none."""
        new = validation.as_id_array(ids)
        low = validation.as_bound_array("lows", lows)
        high = validation.as_bound_array("highs", highs)
        score = validation.as_score_array(scores)
        validation.require_same_length(ids=new, lows=low, highs=high, scores=score)
        validation.require_ordered(low, high)
        self._rows.require_new(new)
        self._changes += 1
        # Building anew is so much quicker that it pays from half as many intervals again.
        if 2 * len(new) >= len(self):
            old = self.to_arrays()
            self._rebuild(
                np.concatenate((old.ids, new)),
                np.concatenate((old.lows, low)),
                np.concatenate((old.highs, high)),
                np.concatenate((old.scores, score)),
            )
            return
        self._rows.reserve(len(new))
        self._index.reserve_rows(self._rows.capacity)
        rows = self._rows.take(new, score)
        self._index.insert(self._rows.keys, rows, low, high)

    def delete(self, id: int) -> None:
        self.delete_many([id])

    def delete_many(self, ids: ArrayLike) -> None:
        """Forget ids, all of them or, where one is not indexed, none."""
        rows = self._rows.find(validation.as_id_array(ids))
        self._changes += 1
        self._index.delete(self._rows.keys, rows)
        self._rows.release(rows)
        if 4 * len(self) < self._rows.capacity:
            arrays = self.to_arrays()
            self._rebuild(arrays.ids, arrays.lows, arrays.highs, arrays.scores)

    def update_score(self, id: int, score: float) -> None:
        self.update_scores([id], [score])

    def update_scores(self, ids: ArrayLike, scores: ArrayLike) -> None:
        """Give known ids new scores, all of them or, where one argument is refused, none."""
        known, score = validation.as_id_array(ids), validation.as_score_array(scores)
        validation.require_same_length(ids=known, scores=score)
        rows = self._rows.find(known)
        self._changes += 1
        lifted = self._index.lift(self._rows.keys, rows)
        self._rows.keys.scores[rows] = score
        self._index.drop(self._rows.keys, rows, lifted)

    def scan(self, value: float) -> Iterator[Hit]:
        """Every interval around the value, best first, found one at a time."""
        point = float(validation.as_values("value", [value])[0])
        return self._scan(point, point)

    def _scan(self, lower: float, upper: float) -> Iterator[Hit]:
        tree, keys, changes = self._index.tree, self._rows.keys, self._changes
        cursors = begin_scan(tree, keys, lower, upper)
        row = np.empty(1, np.int32)
        while scan_on(tree, keys, cursors, lower, upper, row):
            yield Hit(int(keys.ids[row[0]]), float(keys.scores[row[0]]))
            if self._changes != changes:
                raise RuntimeError("the tree changed during a scan; start a new scan")

    def top_k(self, value: float, k: int) -> list[Hit]:
        k = validation.as_count("k", k)
        return hits_of(self.top_k_many([value], min(k, len(self))), 0)

    def top_k_many(self, values: ArrayLike, k: int) -> HitTable:
        """The k best intervals around each value, in one compiled call."""
        points, k = validation.as_values("values", values), validation.as_count("k", k)
        return self._top_k_rows(points, points, k)

    def top_k_between(self, low: float, high: float, k: int) -> list[Hit]:
        """The k best intervals that meet [low, high]; the ends may be infinite."""
        lowers, uppers = (
            validation.as_bound_array("low", [low]),
            validation.as_bound_array("high", [high]),
        )
        validation.require_ordered(lowers, uppers)
        k = min(validation.as_count("k", k), len(self))
        return hits_of(self._top_k_rows(lowers, uppers, k), 0)

    def _top_k_rows(self, lowers: np.ndarray, uppers: np.ndarray, k: int) -> HitTable:
        table = empty_table(len(lowers), k)
        top_k_rows(self._index.tree, self._rows.keys, lowers, uppers, table)
        return table

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self._rows.check()
        self._index.check(self._rows.keys, self._rows.live())

    def to_arrays(self) -> IRArrays:
        live = self._rows.live()
        ids = self._rows.keys.ids[live]
        order = np.argsort(ids, kind="stable")
        rows = live[order]
        lows, highs = self._index.intervals(rows)
        branching = np.array([self._index.branching])
        return IRArrays(ids[order], lows, highs, self._rows.keys.scores[rows], branching)

    @classmethod
    def from_arrays(cls, arrays: IRArrays) -> "IRTree":
        ids, lows, highs, scores, branching = arrays
        return cls.build(ids, lows, highs, scores, int(branching[0]))

    def _rebuild(
        self, ids: np.ndarray, lows: np.ndarray, highs: np.ndarray, scores: np.ndarray
    ) -> None:
        # Rows in rank order: what one query reads then lies close together.
        rank = rank_order(scores, ids)
        self._rows.refill(ids[rank], scores[rank])
        self._index.clear(len(ids))
        rows = np.arange(len(ids), dtype=np.int32)
        self._index.build(self._rows.keys, Entries(rows, lows[rank], highs[rank]))
