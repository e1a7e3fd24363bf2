"""Intervals of whole numbers in one word: low * 2^20 + width, which a float64 holds exactly.

Most intervals are such, and their rows take a quarter less memory.  In a row they have an operator
of their own; everywhere else they are `between`.
"""

import numpy as np

from indexes.boolean.batches import BETWEEN, Batch
from indexes.kernels.decorators import fused

NARROW = 9  # after the nine operators
_SCALE = 2.0**20
_MOST = 2.0**31


@fused
def is_narrow(low, high):
    return (
        abs(low) <= _MOST
        and np.floor(low) == low
        and np.floor(high) == high
        and high - low >= 0.0
        and high - low < _SCALE
        and (low != 0.0 or not np.signbit(low))
        and (high != 0.0 or not np.signbit(high))
    )


@fused
def packed(low, high):
    return low * _SCALE + (high - low)


@fused
def unpacked(word):
    low = np.floor(word * (1.0 / _SCALE))
    return low, low + (word - low * _SCALE)


def count_wide(batch: Batch) -> int:
    """How many intervals of a batch take two words."""
    between = batch.kinds == BETWEEN
    low, high = batch.firsts[between], batch.seconds[between]
    with np.errstate(invalid="ignore"):  # of infinite ends
        width = high - low
        narrow = (np.abs(low) <= _MOST) & (np.floor(low) == low) & (np.floor(high) == high)
        narrow &= (width >= 0.0) & (width < _SCALE)
    for ends in (low, high):
        narrow &= (ends != 0.0) | ~np.signbit(ends)
    return int((~narrow).sum())
