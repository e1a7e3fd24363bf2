"""A binary heap of places to go on from, the one with the best rank first."""

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["RankHeap", "drop_first", "new_heap", "push", "replace_first"]


class RankHeap(NamedTuple):
    items: np.ndarray  # i8[capacity, 3]  the rank, and two numbers whose meaning is the user's
    size: np.ndarray  # i8[1]


@njit(cache=True)
def new_heap(capacity):
    return RankHeap(np.empty((capacity, 3), np.int64), np.zeros(1, np.int64))


@njit(cache=True)
def _set(h, i, rank, a, b):
    h.items[i, 0], h.items[i, 1], h.items[i, 2] = rank, a, b


@njit(cache=True)
def _move(h, i, j):
    h.items[j, 0], h.items[j, 1], h.items[j, 2] = h.items[i, 0], h.items[i, 1], h.items[i, 2]


@njit(cache=True)
def push(h, rank, a, b):
    i = h.size[0]
    h.size[0] += 1
    while i > 0 and h.items[(i - 1) >> 1, 0] > rank:
        _move(h, (i - 1) >> 1, i)
        i = (i - 1) >> 1
    _set(h, i, rank, a, b)


@njit(cache=True)
def replace_first(h, rank, a, b):
    i, child = 0, 1
    while child < h.size[0]:
        if child + 1 < h.size[0] and h.items[child + 1, 0] < h.items[child, 0]:
            child += 1
        if h.items[child, 0] >= rank:
            break
        _move(h, child, i)
        i, child = child, 2 * child + 1
    _set(h, i, rank, a, b)


@njit(cache=True)
def drop_first(h):
    h.size[0] -= 1
    last = h.size[0]
    if last:
        replace_first(h, h.items[last, 0], h.items[last, 1], h.items[last, 2])
