"""Interval events on a SOPT-R-tree.

An interval meets [low, high] if it is around `low` or begins in (low, high].  The first kind
the R-tree gives in rank order, as for any point.  The second is a slice of the intervals in
the order of their lows, in whatever arrangement, and `LeftOrder` finds the best of a slice:
a tournament whose every node holds the best rank below it.  Both take O(k log n) steps.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import better
from indexes.intervals.packed_r_tree import PackedRTree, new_cursor, open_cursor, take
from indexes.intervals.scored_heap import drop_first, new_heap, push

__all__ = ["LeftOrder", "check_left_order", "left_order", "top_k_meeting"]

FAN = 16


class LeftOrder(NamedTuple):
    ranks: np.ndarray  # i4[...]  of the intervals by low; then, a level at a time, of each FAN
    levels: np.ndarray  # i8[height + 1]  where each level begins, and the end
    entries: np.ndarray  # i4[n]  where in the arrangement the interval of a rank is


def left_order(by_low: np.ndarray, arranged: np.ndarray) -> LeftOrder:
    """Both arguments list all ranks: in the order of the lows, and as arranged."""
    levels = [by_low.astype(np.int32)]
    while len(levels[-1]) > FAN:
        levels.append(np.minimum.reduceat(levels[-1], np.arange(0, len(levels[-1]), FAN)))
    entries = np.empty(len(arranged), np.int32)
    entries[arranged] = np.arange(len(arranged), dtype=np.int32)
    bounds = np.cumsum([0, *(len(level) for level in levels)])
    return LeftOrder(np.concatenate(levels), bounds, entries)


def check_left_order(left: LeftOrder, t: PackedRTree) -> None:
    """Raise `AssertionError` unless lows ascend and every node holds the best rank below it."""
    n, bounds = len(left.entries), left.levels.tolist()
    assert bounds[:2] == [0, n]
    assert bounds[-1] == len(left.ranks)
    assert sorted(left.ranks[:n].tolist()) == list(range(n))
    lows = t.lows[left.entries[left.ranks[:n]]]
    assert (lows[:-1] <= lows[1:]).all()
    for start, middle, stop in zip(bounds, bounds[1:], bounds[2:], strict=False):
        assert stop - middle == -(-(middle - start) // FAN)
        for node in range(stop - middle):
            below = left.ranks[start + node * FAN : min(start + node * FAN + FAN, middle)]
            assert left.ranks[middle + node] == below.min()


@njit(cache=True)
def _begin_to(t, left, value):
    """How many intervals begin at or before the value."""
    low, high = 0, len(left.entries)
    while low < high:
        middle = (low + high) // 2
        if t.lows[left.entries[left.ranks[middle]]] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _push_slice(left, heap, start, stop):
    """The fewest nodes that make up the slice, as (rank, level, number in its level)."""
    level, last = 0, len(left.levels) - 2
    while start < stop:
        begin = left.levels[level]
        while start < stop and (start % FAN or level == last):
            push(heap, left.ranks[begin + start], level, start)
            start += 1
        while start < stop and stop % FAN:
            stop -= 1
            push(heap, left.ranks[begin + stop], level, stop)
        start, stop, level = start // FAN, stop // FAN, level + 1


@njit(cache=True)
def _push_beaten(left, heap, rank, level, node):
    """On the way down to the winner of a node, push those that it won against."""
    while level > 0:
        level -= 1
        first = left.levels[level] + node * FAN
        for at in range(first, min(first + FAN, left.levels[level + 1])):
            if left.ranks[at] == rank:
                node = at - left.levels[level]
            else:
                push(heap, left.ranks[at], level, at - left.levels[level])


@njit(cache=True)
def _best_of_slice(left, start, stop, ranks, visited):
    """The best ranks of a slice of the order, ascending, into `ranks`; return how many."""
    height = len(left.levels) - 1
    heap = new_heap(min(len(left.ranks), FAN * height * (len(ranks) + 2)))
    _push_slice(left, heap, start, stop)
    visited[0] += heap.size[0]
    found = 0
    while found < len(ranks) and heap.size[0]:
        rank, level, node = heap.items[0, 0], heap.items[0, 1], heap.items[0, 2]
        drop_first(heap)
        before = heap.size[0]
        _push_beaten(left, heap, rank, level, node)
        visited[0] += heap.size[0] - before
        ranks[found] = rank
        found += 1
    return found


@njit(cache=True)
def _goes_first(t, i, j):
    return better(t.scores[i], t.ids[i], t.scores[j], t.ids[j])


@njit(cache=True, nogil=True)
def top_k_meeting(t, left, low, high, table, visited):
    """Fill a `HitTable` of one row with the best intervals that meet [low, high]."""
    k = table.ids.shape[1]
    around, right = np.empty(k, np.int64), np.empty(k, np.int64)
    cursor = new_cursor(t)
    open_cursor(t, cursor, low, low, visited)
    in_reach = take(t, cursor, low, low, around, k, visited)
    start, stop = _begin_to(t, left, low), _begin_to(t, left, high)
    to_right = _best_of_slice(left, start, stop, right, visited)
    found, i, j = 0, 0, 0
    while found < k and (i < in_reach or j < to_right):
        entry = around[i] if i < in_reach else left.entries[right[j]]
        if i < in_reach and j < to_right and _goes_first(t, left.entries[right[j]], entry):
            entry = left.entries[right[j]]
            j += 1
        elif i < in_reach:
            i += 1
        else:
            j += 1
        table.ids[0, found], table.scores[0, found] = t.ids[entry], t.scores[entry]
        found += 1
    table.counts[0] = found
    table.ids[0, found:] = -1
    table.scores[0, found:] = np.nan
