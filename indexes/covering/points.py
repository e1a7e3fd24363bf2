"""Boxes and events as points, checked on the way (the covering paper, §IV.A).

`[low, high]` in each attribute becomes `(-low, high)` in turn.  An event is a box without extent;
where it lacks an attribute its point is at infinity, which only a box without ends there reaches.
"""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from indexes import validation

__all__ = [
    "MOST_DIMENSIONS", "MOST_ID", "box_point", "box_points", "event_points", "many_ids", "one_id",
]  # fmt: skip

MOST_DIMENSIONS = 32
MOST_ID = 2**63 - 1


def box_point(lows: ArrayLike, highs: ArrayLike, dimensions: int) -> np.ndarray:
    """One box as f8[1, 2d]."""
    point = np.empty((1, 2 * dimensions))
    try:
        low, high = np.array(lows), np.array(highs)
    except ValueError:  # rows of different lengths
        return _checked_point(lows, highs, dimensions)
    # A good box takes a few microseconds; what is wrong with a bad one is found out at leisure.
    if low.dtype != np.float64 or high.dtype != np.float64:
        return _checked_point(lows, highs, dimensions)
    if low.shape == high.shape == (dimensions,) and write_point(low, high, point):
        return point
    return _checked_point(lows, highs, dimensions)


@njit(cache=True)
def write_point(lows, highs, point):
    """Write the point of a box; False where its ends are not in order, or NaN."""
    in_order = True
    for j in range(len(lows)):
        in_order &= lows[j] <= highs[j]
        point[0, 2 * j] = 0.0 - lows[j]
        point[0, 2 * j + 1] = highs[j] + 0.0
    return in_order


def _checked_point(lows: ArrayLike, highs: ArrayLike, dimensions: int) -> np.ndarray:
    low = validation.as_bound_array("lows", lows)
    high = validation.as_bound_array("highs", highs)
    for name, ends in (("lows", low), ("highs", high)):
        if len(ends) != dimensions:
            raise ValueError(f"{name}: got {len(ends)} ends when {dimensions} were expected")
    validation.require_ordered(low, high, "box")
    return _interleaved(low, high)[np.newaxis]


def one_id(id: int) -> np.ndarray:
    """An id as i8[1]."""
    if type(id) is int and 0 <= id <= MOST_ID:
        return np.array([id])
    return validation.as_id_array([id])


def many_ids(ids: ArrayLike, distinct: bool = True) -> np.ndarray:
    """Ids as i8[n], writable: numba would compile everything again for what is not."""
    array = validation.as_id_array(ids, distinct=distinct)
    return array if array.flags.writeable else array.copy()


def box_points(lows: ArrayLike, highs: ArrayLike, dimensions: int) -> np.ndarray:
    """Boxes as f8[n, 2d]."""
    low, high = _table("lows", lows, dimensions), _table("highs", highs, dimensions)
    validation.require_same_length(lows=low, highs=high)
    validation.require_ordered(low, high, "box")
    return _interleaved(low, high)


def event_points(values: ArrayLike, dimensions: int) -> np.ndarray:
    """Events as f8[m, 2d]; NaN in a value means that the event lacks the attribute."""
    value = validation.as_table("points", values, dimensions)
    if np.isinf(value).any():
        infinite = value[np.isinf(value)][0]
        raise ValueError(
            f"points: got {infinite} when a finite number, or nan for none, was expected"
        )
    points = _interleaved(value, value)
    points[np.isnan(points)] = np.inf
    return points


def _table(name: str, values: ArrayLike, dimensions: int) -> np.ndarray:
    if np.size(values) == 0 and np.ndim(values) == 1:  # no box at all, as an empty list
        return np.empty((0, dimensions))
    array = validation.as_table(name, values, dimensions)
    if np.isnan(array).any():
        raise ValueError(f"{name}: got nan when a number or an infinite end was expected")
    return array


def _interleaved(lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    points = np.empty((*lows.shape[:-1], 2 * lows.shape[-1]))
    # A zero is added so that no -0.0 is left: equal boxes are to have equal bits.
    points[..., 0::2] = 0.0 - lows
    points[..., 1::2] = highs + 0.0
    return points
