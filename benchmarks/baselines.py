"""What a user could pick instead of an index, each as quick as its library allows.

A baseline takes `queries` (f8[m, d]) and k and returns `Answers`, the same as the index beside it.
"""

from collections.abc import Callable

import numpy as np
from ncls import NCLS
from superintervals import IntervalMap

from benchmarks import scans
from benchmarks.scans import Answers, Columns, new_answers

__all__ = [
    "Baseline",
    "Ncls",
    "NumbaScan",
    "NumpyScan",
    "RankedScan",
    "SuperIntervals",
    "columns_of",
]

Baseline = Callable[[np.ndarray, int], Answers]


def columns_of(lows: np.ndarray, highs: np.ndarray, weights: np.ndarray) -> Columns:
    """Columns of f8[n, d] tables; a row's id is its number."""
    by_column = [np.ascontiguousarray(table.T) for table in (lows, highs, weights)]
    # In the order of the dimensions, as the scans add them: sums depend on the order.
    scores = np.add.accumulate(weights, axis=1)[:, -1].copy()
    return Columns(by_column[0], by_column[1], by_column[2], scores)


def in_rank_order(columns: Columns) -> tuple[Columns, np.ndarray]:
    """The columns by score, then id, and the ids in that order."""
    rank = np.argsort(-columns.scores, kind="stable")
    return Columns(*(np.ascontiguousarray(column[..., rank]) for column in columns)), rank


class NumbaScan:
    """The plain or the blocked scan of one kind of matching (`exact` or `relaxed`)."""

    def __init__(self, columns: Columns, kind: str, blocked: bool) -> None:
        self._columns = columns
        self._scan = getattr(scans, f"{kind}_scan_blocked" if blocked else f"{kind}_scan")

    def __call__(self, queries: np.ndarray, k: int) -> Answers:
        answers = new_answers(len(queries), k)
        self._scan(self._columns, queries, answers)
        return answers


class RankedScan:
    """A numba scan of subscriptions kept in rank order, which stops at the k-th match."""

    def __init__(self, columns: Columns) -> None:
        self._columns, self._rows = in_rank_order(columns)

    def __call__(self, queries: np.ndarray, k: int) -> Answers:
        answers = new_answers(len(queries), k)
        scans.ranked_scan(self._columns, self._rows, queries, answers)
        return answers


class NumpyScan:
    """A mask, then `argpartition` of what matches; one dimension."""

    def __init__(self, columns: Columns) -> None:
        self._lows, self._highs, self._scores = columns.lows[0], columns.highs[0], columns.scores

    def __call__(self, queries: np.ndarray, k: int) -> Answers:
        answers = new_answers(len(queries), k)
        for i, value in enumerate(queries[:, 0].tolist()):
            rows = np.flatnonzero((self._lows <= value) & (value <= self._highs))
            scores = self._scores[rows]
            if len(rows) > k:
                best = np.argpartition(scores, len(rows) - k)[-k:]
                rows, scores = rows[best], scores[best]
            order = np.lexsort((rows, -scores))
            answers.ids[i, : len(order)] = rows[order]
            answers.scores[i, : len(order)] = scores[order]
        return answers


class _IntegerIntervals:
    """Both interval libraries want integers: ends become ranks, which loses nothing.

    The i-th smallest end, from 0 on, is 2i + 1, a value just below it 2i: none is negative, which
    ncls would take for another strand.  A subscription is known to the library by its place in
    rank order, so that the k best are the k least places.
    """

    def __init__(self, columns: Columns) -> None:
        ranked, self._rows = in_rank_order(columns)
        self._scores = ranked.scores
        self._ends = np.unique(np.concatenate((ranked.lows[0], ranked.highs[0])))
        self.lows = 2 * np.searchsorted(self._ends, ranked.lows[0]) + 1
        self.highs = 2 * np.searchsorted(self._ends, ranked.highs[0]) + 1

    def places(self, value: int) -> np.ndarray:
        """The places of all intervals around a value, in any order."""
        raise NotImplementedError

    def __call__(self, queries: np.ndarray, k: int) -> Answers:
        answers = new_answers(len(queries), k)
        left = np.searchsorted(self._ends, queries[:, 0])
        at_end = self._ends[np.minimum(left, len(self._ends) - 1)] == queries[:, 0]
        for i, value in enumerate((2 * left + at_end).tolist()):
            places = self.places(value)
            if len(places) > k:
                places = np.partition(places, k)[:k]
            places = np.sort(places)
            answers.ids[i, : len(places)] = self._rows[places]
            answers.scores[i, : len(places)] = self._scores[places]
        return answers


class SuperIntervals(_IntegerIntervals):
    def __init__(self, columns: Columns) -> None:
        super().__init__(columns)
        lows, highs = self.lows.astype(np.int32), self.highs.astype(np.int32)
        self._map = IntervalMap.from_arrays(lows, highs, list(range(len(lows))))

    def places(self, value: int) -> np.ndarray:
        # Of its ways to return matches the quickest to make an array of.
        found = self._map.search_values(value, value)
        return np.fromiter(found, np.int64, len(found))


class Ncls(_IntegerIntervals):
    def __init__(self, columns: Columns) -> None:
        super().__init__(columns)
        lows, highs = self.lows.astype(np.int32), self.highs.astype(np.int32)
        # Half-open, unlike ours.
        self._ncls = NCLS(lows, highs + np.int32(1), np.arange(len(lows)))
        self._one = np.zeros(1, np.int64)

    def places(self, value: int) -> np.ndarray:
        start = np.array([value], np.int32)
        return self._ncls.all_overlaps_both(start, start + np.int32(1), self._one)[1]
