"""A sorted set per range, as one would keep in Redis: every subscription has all its objects.

This is the same in compiled code, over flat arrays, so that neither a network nor an interpreter
counts: the keys of a range's objects in ascending order, in one row.  An update finds the ranges
that have the object by a scan, moves the keys between the old place and the new one by one place,
and tells the range if one of the two places is among the k first.

A range needs 16 bytes for each object in it.  Of uniform ranges and 10,000 objects that is 53 KB
per subscription, so that 10,000 of them take half a gigabyte and a million do not fit.
"""

import numpy as np
from numba import njit

from benchmarks.workloads.paint_objects import Events, Objects, Ranges

__all__ = ["SortedSets"]


class SortedSets:
    def __init__(self, k: int, objects: Objects, ranges: Ranges) -> None:
        self._k, self._ranges = k, ranges
        order = np.lexsort(objects)  # by y, then x
        x, y = objects.x[order], objects.y[order]
        inside = [(low <= x) & (x <= high) for low, high in zip(*ranges, strict=True)]
        sizes = np.array([int(mask.sum()) for mask in inside])
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._y = np.concatenate([y[mask] for mask in inside])
        self._x = np.concatenate([x[mask] for mask in inside])

    @property
    def nbytes(self) -> int:
        return self._y.nbytes + self._x.nbytes + self._starts.nbytes

    def update_many(self, events: Events) -> np.ndarray:
        """How many ranges each update affects."""
        return _update_many(self._k, *self._ranges, self._starts, self._y, self._x, *events)


@njit(cache=True, nogil=True)
def _update_many(k, lows, highs, starts, set_y, set_x, xs, olds, news):
    affected = np.zeros(len(xs), np.int64)
    for event in range(len(xs)):
        x, old, new = xs[event], olds[event], news[event]
        for i in range(len(lows)):
            if lows[i] <= x <= highs[i] and old != new:
                y, other = set_y[starts[i] : starts[i + 1]], set_x[starts[i] : starts[i + 1]]
                before, after = _place(y, other, old, x), _place(y, other, new, x)
                if after > before:
                    after -= 1  # it makes room itself
                    y[before:after] = y[before + 1 : after + 1]
                    other[before:after] = other[before + 1 : after + 1]
                else:
                    y[after + 1 : before + 1] = y[after:before]
                    other[after + 1 : before + 1] = other[after:before]
                y[after], other[after] = new, x
                affected[event] += min(before, after) < k
    return affected


@njit(cache=True)
def _place(ys, xs, y, x):
    """How many keys come before (y, x)."""
    low, high = 0, len(ys)
    while low < high:
        middle = (low + high) // 2
        if ys[middle] < y or (ys[middle] == y and xs[middle] < x):
            low = middle + 1
        else:
            high = middle
    return low
