"""The plain scan: what the covering paper measures against, compiled, and no more than that.

Boxes lie one after the other; one is left at the first side that fails, and the first cover ends
the search.  Nothing is looked up, checked or linked besides, so that it takes less than any graph
over it would.
"""

import numpy as np
from numba import njit

from indexes.covering import Commands
from indexes.covering.points import box_points

__all__ = ["PlainScan", "empty_call"]

_NONE = -1


class PlainScan:
    """Boxes whose ids are the numbers from 0 on, in the order in which they come."""

    def __init__(self, lows: np.ndarray, highs: np.ndarray, most_ids: int) -> None:
        self._count, width = len(lows), 2 * lows.shape[1]
        self.covered = 0  # of the boxes that came since
        self._points, self._ids = np.zeros((most_ids, width)), np.arange(most_ids)
        self._places = np.arange(most_ids)  # by id
        self._points[: self._count] = box_points(lows, highs, lows.shape[1])

    def covers_many(self, lows: np.ndarray, highs: np.ndarray) -> list[int]:
        """The place of a box that covers each, or -1."""
        found = np.empty(len(lows), np.int64)
        _first_covers(self._points, self._count, box_points(lows, highs, lows.shape[1]), found)
        return found.tolist()

    def apply_many(self, given: Commands) -> None:
        """Look for one cover of what comes.  What loses its cover would have to look again."""
        ends = box_points(given.lows, given.highs, given.lows.shape[1])
        boxes = (self._points, self._ids, self._places)
        self._count, covered = _apply(*boxes, self._count, given.ids, ends, given.subscribes)
        self.covered += covered


@njit(cache=True)
def _first_cover(points, count, point):
    for row in range(count):
        j = 0
        while j < len(point) and points[row, j] >= point[j]:
            j += 1
        if j == len(point):
            return row
    return _NONE


@njit(cache=True)
def _first_covers(points, count, asked, found):
    for i in range(len(asked)):
        found[i] = _first_cover(points, count, asked[i])


@njit(cache=True)
def _apply(points, ids, places, count, given, ends, subscribes):
    """The last box moves into the place of one that leaves."""
    covered = 0
    for i in range(len(given)):
        if subscribes[i]:
            covered += _first_cover(points, count, ends[i]) != _NONE
            points[count], ids[count], places[given[i]] = ends[i], given[i], count
            count += 1
        else:
            count -= 1
            place, last = places[given[i]], ids[count]
            points[place], ids[place], places[last] = points[count], last, place
    return count, covered


@njit(cache=True)
def empty_call(handle, id, ends):
    """What a call of a compiled kernel costs that does nothing."""
    return id
