"""`ScoredSegmentTree`: a segment tree with ranked lists (Machanavajjhala et al., Scalable Ranked
Publish/Subscribe, §2.2.1).

The atomic segments are cells: the line is cut before each low and after each high, so that all
floats of a cell lie in the same intervals and closed ends are exact.  A perfect binary tree
stands over them: node 1 is the root, node v has the children 2v and 2v + 1, cell c is node
leaves + c.  An interval is in the lists of the highest nodes that it covers wholly, up to two a
level, which makes queries quick and the index O(n log n) large.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import Hit, HitTable
from indexes.intervals.scored_heap import drop_first, new_heap, push, replace_first
from indexes.intervals.scored_index import ScoredArrays, ScoredIndex
from indexes.intervals.scored_rows import ScoredRows, check_ranks

__all__ = ["ScoredSegmentTree"]

NIL = -1


class SegmentTree(NamedTuple):
    cuts: np.ndarray  # f8[cells]  the least value of each cell
    starts: np.ndarray  # i8[2 * leaves + 1]  where the list of each node begins, and the end
    lists: np.ndarray  # i4[stored]  ranks, ascending in each list
    ids: np.ndarray  # i8[n]  by rank
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    scores: np.ndarray  # f8[n]


class ScoredSegmentTree(ScoredIndex):
    """
    >>> tree = ScoredSegmentTree.build([7, 9], [20.0, 30.0], [35.0, float("inf")], [1.5, 4.0])
    >>> tree.top_k(33.0, k=2)
    [Hit(id=9, score=4.0), Hit(id=7, score=1.5)]
    """

    def __init__(self, rows: ScoredRows, branching: int) -> None:
        super().__init__(rows, branching)
        self._branching = branching
        self._tree = _grow(rows)

    def _scan(self, value: float) -> Iterator[Hit]:
        t, heap = self._tree, new_heap(_most_lists(self._tree, value, value))
        _open(t, heap, value, value, self._visited)
        while (row := _next_row(t, heap, self._visited)) != NIL:
            yield Hit(int(t.ids[row]), float(t.scores[row]))

    def _stab(self, values: np.ndarray, table: HitTable) -> None:
        _top_k(self._tree, values, values, table, self._visited)

    def _meet(self, low: float, high: float, table: HitTable) -> None:
        _top_k(self._tree, np.array([low]), np.array([high]), table, self._visited)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        t, leaves = self._tree, len(self._tree.starts) // 2
        check_ranks(t.ids, t.scores)
        assert np.array_equal(t.cuts, _cuts(t.lows, t.highs))
        assert leaves & (leaves - 1) == 0
        assert max(len(t.cuts), 1) <= leaves <= 2 * max(len(t.cuts), 1)
        first, stop = _cells(t.cuts, t.lows, t.highs)
        covered = np.zeros(len(self), np.int64)
        for node in range(2 * leaves):
            own = t.lists[t.starts[node] : t.starts[node + 1]]
            assert (np.diff(own) > 0).all()
            begin, end = _span(node, leaves)
            assert ((first[own] <= begin) & (end <= stop[own])).all()
            begin, end = _span(node // 2, leaves)
            assert node == 1 or not ((first[own] <= begin) & (end <= stop[own])).any()
            covered[own] += _span(node, leaves)[1] - _span(node, leaves)[0]
        assert (covered == stop - first).all()

    def to_arrays(self) -> ScoredArrays:
        t, branching = self._tree, np.array([self._branching])
        columns = (t.ids, t.lows, t.highs, t.scores, branching)
        return ScoredArrays(*(column.copy() for column in columns))

    @classmethod
    def from_arrays(cls, arrays: ScoredArrays) -> "ScoredSegmentTree":
        return cls.build(*arrays[:4], branching=int(arrays.branching[0]))


def _grow(rows: ScoredRows) -> SegmentTree:
    cuts = _cuts(rows.lows, rows.highs)
    first, stop = _cells(cuts, rows.lows, rows.highs)
    leaves = 1 << max(len(cuts) - 1, 0).bit_length()
    starts = np.zeros(2 * leaves + 1, np.int64)
    _place_all(first, stop, starts[1:], np.empty(0, np.int32))
    np.cumsum(starts, out=starts)
    lists = np.empty(starts[-1], np.int32)
    _place_all(first, stop, starts[:-1].copy(), lists)
    return SegmentTree(cuts, starts, lists, rows.ids, rows.lows, rows.highs, rows.scores)


def _cuts(lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    return np.unique(np.concatenate((lows, _just_above(highs))))


def _cells(cuts: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each interval covers the cells from the first up to, not with, the second answer."""
    after = np.searchsorted(cuts, _just_above(highs))
    return np.searchsorted(cuts, lows), np.where(highs == np.inf, len(cuts), after)


def _just_above(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # above the largest float is infinity
        return np.nextafter(values, np.inf)


def _span(node: int, leaves: int) -> tuple[int, int]:
    """The cells below a node."""
    width = leaves >> (max(node, 1).bit_length() - 1)
    begin = node * width - leaves
    return begin, begin + width


@njit(cache=True)
def _place_all(first, stop, at, lists):
    """Put each row into its nodes' lists, or, if there are none yet, count them in `at`."""
    leaves = len(at) // 2
    for row in range(len(first)):
        left, right = leaves + first[row], leaves + stop[row]
        while left < right:
            if left & 1:
                _place(at, lists, left, row)
                left += 1
            if right & 1:
                right -= 1
                _place(at, lists, right, row)
            left, right = left >> 1, right >> 1


@njit(cache=True)
def _place(at, lists, node, row):
    if len(lists):
        lists[at[node]] = row
    at[node] += 1


@njit(cache=True)
def _cells_between(t, lower, upper):
    """The cells of a query, both included; none if the second comes before the first."""
    first = np.searchsorted(t.cuts, lower, side="right") - 1
    return max(first, 0), np.searchsorted(t.cuts, upper, side="right") - 1


@njit(cache=True)
def _most_lists(t, lower, upper):
    """A bound on the lists that a query opens."""
    first, last = _cells_between(t, lower, upper)
    return 2 * max(last - first, 0) + 64


@njit(cache=True)
def _open(t, heap, lower, upper, visited):
    """Push the best of every list above a cell of the query: all of it meets the query."""
    heap.size[0] = 0
    first, last = _cells_between(t, lower, upper)
    leaves = len(t.starts) // 2
    left, right = leaves + first, leaves + last
    while left <= right and left > 0:
        for node in range(left, right + 1):
            if t.starts[node] < t.starts[node + 1]:
                push(heap, t.lists[t.starts[node]], t.starts[node], t.starts[node + 1])
        left, right = left >> 1, right >> 1
    visited[0] += heap.size[0]


@njit(cache=True)
def _next_row(t, heap, visited):
    """The seed's getnext(): the best row not yet returned, or NIL."""
    if heap.size[0] == 0:
        return NIL
    row = heap.items[0, 0]
    # The lists of an interval event share rows, which come to the front together.
    while heap.size[0] and heap.items[0, 0] == row:
        place, stop = heap.items[0, 1] + 1, heap.items[0, 2]
        if place < stop:
            visited[0] += 1
            replace_first(heap, t.lists[place], place, stop)
        else:
            drop_first(heap)
    return row


@njit(cache=True)
def _top_k(t, lowers, uppers, table, visited):
    """Fill a `HitTable`, one row a query; all queries are points, or there is one."""
    k = table.ids.shape[1]
    capacity = _most_lists(t, lowers[0], uppers[0]) if len(lowers) else 0
    heap = new_heap(capacity)
    for query in range(len(lowers)):
        _open(t, heap, lowers[query], uppers[query], visited)
        found = 0
        while found < k:
            row = _next_row(t, heap, visited)
            if row == NIL:
                break
            table.ids[query, found], table.scores[query, found] = t.ids[row], t.scores[row]
            found += 1
        table.counts[query] = found
        table.ids[query, found:] = -1
        table.scores[query, found:] = np.nan
