"""Sorting that is quick: a stable argsort (numpy's unstable one, ties mended), and ids in place."""

import numpy as np
from numba import njit

from indexes.kernels.decorators import inner

__all__ = ["sort_ascending", "stable_order"]

_FEW_TO_SORT = 200


def stable_order(keys: np.ndarray) -> np.ndarray:
    """As `np.argsort(keys, kind="stable")`."""
    order = np.argsort(keys)
    _mend_ties(order, keys[order])
    return order


@njit(cache=True, nogil=True)
def _mend_ties(order, in_order):
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and in_order[stop] == in_order[start]:
            stop += 1
        if stop - start > 1:
            order[start:stop].sort()
        start = stop


@inner
def sort_ascending(values, spare):
    """Sort whole numbers >= 0 (i8) in place; `spare` has room for as many.

    Many are sorted byte by byte: ids are found in thousands, and comparing them takes longer than
    finding them does.
    """
    if len(values) < _FEW_TO_SORT:
        values.sort()
        return
    most = np.int64(0)
    for value in values:
        most |= value
    counts = np.zeros(256, np.int64)
    shift = 0
    while shift < 64 and most >> shift:
        counts[:] = 0
        for value in values:
            counts[value >> shift & 255] += 1
        at = 0
        for byte in range(256):
            counts[byte], at = at, at + counts[byte]
        for value in values:
            byte = value >> shift & 255
            spare[counts[byte]] = value
            counts[byte] += 1
        values[:] = spare[: len(values)]
        shift += 8
