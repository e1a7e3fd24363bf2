"""Points of a block compared with one point, several at a time.

The k-d tree keeps its points in blocks of 32-bit floats, half as long, rounded up; asked about a
point rounded down, it finds all that dominate, and few others, which are looked at again.
"""

import numpy as np
from numba import njit

__all__ = ["SAMPLE_POINTS", "dominates", "dominating", "order_dimensions", "rounded_up"]

_GREATEST = np.float64(np.finfo(np.float32).max)
_INF = np.float32(np.inf)
SAMPLE_POINTS = 32  # stand for all points where dimensions are put in order


@njit(cache=True)
def dominating(blocks, block, point, order, alive):
    """Mark the slots of a block that dominate the point; say whether there are any."""
    j = order[0]
    end, any_alive = point[j], alive[0] & 0
    for slot in range(len(alive)):
        alive[slot] = blocks[block, j, slot] >= end
        any_alive |= alive[slot]
    at = 1
    while any_alive and at < len(point):
        j = order[at]
        end, any_alive = point[j], alive[0] & 0
        for slot in range(len(alive)):
            alive[slot] &= blocks[block, j, slot] >= end
            any_alive |= alive[slot]
        at += 1
    return any_alive != 0


@njit(cache=True)
def dominates(store, row, point):
    j = 0
    while j < len(point) and store.points[row, j] >= point[j]:
        j += 1
    return j == len(point)


@njit(cache=True)
def rounded_up(end):
    """The least 32-bit float that is not below."""
    if end > _GREATEST:
        return _INF
    if -np.inf < end < -_GREATEST:
        return np.float32(-_GREATEST)
    rounded = np.float32(end)
    return rounded if rounded >= end else np.nextafter(rounded, _INF)


@njit(cache=True)
def order_dimensions(sample, point, order):
    """Put the dimensions in order: first those in which fewest of the sample reach the point."""
    reaching = np.empty(len(point), np.int64)
    for j in range(len(point)):
        count = 0
        for i in range(sample.shape[1]):
            count += sample[j, i] >= point[j]
        at = j
        while at > 0 and reaching[at - 1] > count:
            reaching[at] = reaching[at - 1]
            order[at] = order[at - 1]
            at -= 1
        reaching[at] = count
        order[at] = j
