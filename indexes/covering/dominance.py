"""Points compared with one point, dimension by dimension."""

import numpy as np
from numba import njit

__all__ = ["dominates", "dominating", "rounded_up"]

_GREATEST = np.float64(np.finfo(np.float32).max)
_INF = np.float32(np.inf)


@njit(cache=True, forceinline=True)
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


@njit(cache=True, forceinline=True)
def dominates(store, row, point):
    j = 0
    while j < len(point) and store.points[row, j] >= point[j]:
        j += 1
    return j == len(point)


@njit(cache=True, forceinline=True)
def rounded_up(end):
    """The least 32-bit float that is not below."""
    if end > _GREATEST:
        return _INF
    if -np.inf < end < -_GREATEST:
        return np.float32(-_GREATEST)
    rounded = np.float32(end)
    return rounded if rounded >= end else np.nextafter(rounded, _INF)
