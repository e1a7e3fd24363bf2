"""`ScoredIntervalTree`: a score-sorted interval tree (Machanavajjhala et al., Scalable Ranked
Publish/Subscribe, §2.2.2).

A node has the intervals around its center, the median of the ends in its subtree, in rank
order; those wholly below or above are in its left or right child.  A query merges the nodes on
its path by a heap of the next interval of each that meets it, found by a linear walk of the
node's list, which is what makes this index slow where lists are long.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import Hit, HitTable
from indexes.intervals.ir_build import MOST_PENDING, Entries, Plan, arrange
from indexes.intervals.scored_heap import drop_first, new_heap, push, replace_first
from indexes.intervals.scored_index import ScoredArrays, ScoredIndex
from indexes.intervals.scored_rows import ScoredRows, check_ranks

__all__ = ["ScoredIntervalTree"]

NIL = -1


class IntervalTree(NamedTuple):
    """Node 0 is the root.  A place is a position in the lists of all nodes, end to end."""

    center: np.ndarray  # f8[nodes]  NaN in a leaf with a single interval
    least: np.ndarray  # f8[nodes]  the least low of the node's own intervals
    most: np.ndarray  # f8[nodes]  their greatest high
    left: np.ndarray  # i4[nodes]  or NIL
    right: np.ndarray  # i4[nodes]  or NIL
    start: np.ndarray  # i8[nodes]  the node's places
    stop: np.ndarray  # i8[nodes]
    rows: np.ndarray  # i4[n]  the rank of the interval at a place
    lows: np.ndarray  # f8[n]  its ends
    highs: np.ndarray  # f8[n]
    ids: np.ndarray  # i8[n]  by rank
    scores: np.ndarray  # f8[n]


class ScoredIntervalTree(ScoredIndex):
    """
    >>> tree = ScoredIntervalTree.build([7, 9], [20.0, 30.0], [35.0, float("inf")], [1.5, 4.0])
    >>> tree.top_k(33.0, k=2)
    [Hit(id=9, score=4.0), Hit(id=7, score=1.5)]
    """

    def __init__(self, rows: ScoredRows, branching: int) -> None:
        super().__init__(rows, branching)
        self._branching = branching
        self._tree = _grow(rows)

    def _scan(self, value: float) -> Iterator[Hit]:
        t, heap = self._tree, new_heap(len(self._tree.center))
        _open(t, heap, np.empty(MOST_PENDING, np.int64), value, value, self._visited)
        while (row := _next_row(t, heap, value, value, self._visited)) != NIL:
            yield Hit(int(t.ids[row]), float(t.scores[row]))

    def _stab(self, values: np.ndarray, table: HitTable) -> None:
        _top_k(self._tree, values, values, table, self._visited)

    def _meet(self, low: float, high: float, table: HitTable) -> None:
        _top_k(self._tree, np.array([low]), np.array([high]), table, self._visited)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        t = self._tree
        check_ranks(t.ids, t.scores)
        assert sorted(t.rows.tolist()) == list(range(len(self)))
        assert (t.lows <= t.highs).all()
        nodes = _check_subtree(t, 0, -np.inf, np.inf) if len(t.center) else 0
        assert nodes == len(t.center)
        assert int((t.stop - t.start).sum()) == len(self)

    def to_arrays(self) -> ScoredArrays:
        t, lows, highs = self._tree, np.empty(len(self)), np.empty(len(self))
        lows[t.rows], highs[t.rows] = t.lows, t.highs
        branching = np.array([self._branching])
        return ScoredArrays(t.ids.copy(), lows, highs, t.scores.copy(), branching)

    @classmethod
    def from_arrays(cls, arrays: ScoredArrays) -> "ScoredIntervalTree":
        return cls.build(*arrays[:4], branching=int(arrays.branching[0]))


def _grow(rows: ScoredRows) -> IntervalTree:
    n = len(rows.ids)
    entries = Entries(np.arange(n, dtype=np.int32), rows.lows.copy(), rows.highs.copy())
    plan: Plan = arrange(entries, 1)
    nodes = np.arange(len(plan.center), dtype=np.int32)
    children = np.full((2, len(nodes)), NIL, np.int32)
    children[plan.side[1:], plan.parent[1:]] = nodes[1:]
    least, most = np.empty(len(nodes)), np.empty(len(nodes))
    if n:
        by_start = np.argsort(plan.start)
        least[by_start] = np.minimum.reduceat(entries.lows, plan.start[by_start])
        most[by_start] = np.maximum.reduceat(entries.highs, plan.start[by_start])
    return IntervalTree(
        center=plan.center.copy(),
        least=least,
        most=most,
        left=children[0].copy(),
        right=children[1].copy(),
        start=plan.start.copy(),
        stop=plan.stop.copy(),
        rows=entries.rows,
        lows=entries.lows,
        highs=entries.highs,
        ids=rows.ids,
        scores=rows.scores,
    )


def _check_subtree(t: IntervalTree, node: int, above: float, below: float) -> int:
    """All that is in it lies strictly between two values, if finite; return its nodes."""
    own = slice(int(t.start[node]), int(t.stop[node]))
    lows, highs, center = t.lows[own], t.highs[own], float(t.center[node])
    assert len(lows) == 1 or ((lows <= center) & (center <= highs)).all()
    assert (t.least[node], t.most[node]) == (lows.min(), highs.max())
    assert above < lows.min() or above == -np.inf
    assert highs.max() < below or below == np.inf
    assert (np.diff(t.rows[own]) > 0).all()
    nodes = 1
    if t.left[node] != NIL:
        nodes += _check_subtree(t, int(t.left[node]), above, center)
    if t.right[node] != NIL:
        nodes += _check_subtree(t, int(t.right[node]), center, below)
    return nodes


@njit(cache=True)
def _seek(t, place, stop, lower, upper, visited):
    """The first place before `stop` whose interval meets the query, or `stop`."""
    first = place
    while place < stop and not (t.lows[place] <= upper and t.highs[place] >= lower):
        place += 1
    visited[0] += min(place + 1, stop) - first
    return place


@njit(cache=True)
def _open(t, heap, pending, lower, upper, visited):
    """Push the best interval that meets the query of every node that has one."""
    heap.size[0] = 0
    pending[0], waiting = 0, 1 if len(t.center) else 0
    while waiting:
        waiting -= 1
        node = pending[waiting]
        if t.left[node] != NIL and lower < t.center[node]:
            pending[waiting] = t.left[node]
            waiting += 1
        if t.right[node] != NIL and upper > t.center[node]:
            pending[waiting] = t.right[node]
            waiting += 1
        if t.least[node] <= upper and t.most[node] >= lower:
            stop = t.stop[node]
            place = _seek(t, t.start[node], stop, lower, upper, visited)
            if place < stop:
                push(heap, t.rows[place], place, stop)


@njit(cache=True)
def _next_row(t, heap, lower, upper, visited):
    """The seed's getnext(): the best row not yet returned, or NIL."""
    if heap.size[0] == 0:
        return NIL
    row, stop = heap.items[0, 0], heap.items[0, 2]
    place = _seek(t, heap.items[0, 1] + 1, stop, lower, upper, visited)
    if place < stop:
        replace_first(heap, t.rows[place], place, stop)
    else:
        drop_first(heap)
    return row


@njit(cache=True)
def _top_k(t, lowers, uppers, table, visited):
    """Fill a `HitTable`, one row a query."""
    k = table.ids.shape[1]
    heap, pending = new_heap(len(t.center)), np.empty(MOST_PENDING, np.int64)
    for query in range(len(lowers)):
        lower, upper = lowers[query], uppers[query]
        _open(t, heap, pending, lower, upper, visited)
        found = 0
        while found < k:
            row = _next_row(t, heap, lower, upper, visited)
            if row == NIL:
                break
            table.ids[query, found], table.scores[query, found] = t.ids[row], t.scores[row]
            found += 1
        table.counts[query] = found
        table.ids[query, found:] = -1
        table.scores[query, found:] = np.nan
