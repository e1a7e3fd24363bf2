"""Kernels that change or ask a cover for many boxes in one call."""

import numpy as np
from numba import njit

from indexes.covering.dispatch import add_box, find_boxes, is_ready, remove_box
from indexes.kernels.borrowed import borrowed

__all__ = ["add_many", "any_cover", "cover_many", "remove_many"]


@njit(cache=True, nogil=True)
def add_many(index, store, ids, points, done):
    """Add boxes from number `done` on while there is room; how many are done then."""
    index, store = borrowed(index), borrowed(store)
    while done < len(ids) and is_ready(index):
        add_box(index, store, ids[done], points[done])
        done += 1
    return done


@njit(cache=True, nogil=True)
def remove_many(index, store, rows, done):
    """Remove boxes from number `done` on until the index has to be put in order; as `add_many`."""
    index, store = borrowed(index), borrowed(store)
    while done < len(rows) and is_ready(index):
        remove_box(index, store, rows[done])
        done += 1
    return done


@njit(cache=True, nogil=True)
def cover_many(index, store, points, k, counts, ids):
    """Ids of up to k boxes that cover each point, into ids[i, : counts[i]]."""
    index, store = borrowed(index), borrowed(store)
    found = np.empty(k, np.int64)
    for i in range(len(points)):
        counts[i] = find_boxes(index, store, points[i], k, False, found)
        for j in range(counts[i]):
            ids[i, j] = store.ids[found[j]]


@njit(cache=True, nogil=True)
def any_cover(index, store, points, covered):
    """Whether any box covers each point."""
    index, store = borrowed(index), borrowed(store)
    found = np.empty(1, np.int64)
    for i in range(len(points)):
        covered[i] = find_boxes(index, store, points[i], 1, False, found) > 0
