"""Where a k-d tree is cut: in the dimension least cut above, at the median or a threshold near it.

The adaptive tree of Bentley and Friedman cuts where points are spread most; attributes of different
scales have no spread in common, so here the number of cuts that the path already has decides.  A
dimension in which no cut leaves a quarter on either side is passed over while another does better.
Where a cut is a threshold of the signatures, their bits say all that the cut does.
"""

import numpy as np
from numba import njit

from indexes.covering.kd_layout import DIM, UP
from indexes.kernels import NIL

__all__ = ["choose_cut", "count_cuts"]

_SAMPLE = 64  # points that stand for a larger set


@njit(cache=True)
def count_cuts(tree, node, cuts):
    """Count the cuts of the ancestors of `node`, dimension by dimension."""
    for j in range(len(cuts)):
        cuts[j] = 0
    up = tree.nodes[node, UP]
    while up != NIL:
        cuts[tree.nodes[up, DIM]] += 1
        up = tree.nodes[up, UP]


@njit(cache=True)
def choose_cut(store, thresholds, rows, first, end, cuts):
    """Dimension and value of a cut of different points, with some of them on either side."""
    step = (end - first - 1) // _SAMPLE + 1
    size = (end - first - 1) // step + 1
    values = np.empty(size)
    chosen, value, smallest, fewest = -1, 0.0, 0, 0
    for j in range(len(cuts)):
        fair = smallest * 4 >= size
        if fair and cuts[j] >= fewest:
            continue
        for i in range(size):
            _sort_in(values, i, store.points[rows[first + i * step], j])
        below = _nearest_rise(values)
        smaller = min(below, size - below)
        if smaller * 4 >= size if fair else smaller > smallest:
            chosen, smallest, fewest = j, smaller, cuts[j]
            value = _near(values, below, thresholds[j :: len(cuts)])
    return chosen, value


@njit(cache=True)
def _sort_in(values, count, value):
    """Add a value to so many sorted ones."""
    while count > 0 and values[count - 1] > value:
        values[count] = values[count - 1]
        count -= 1
    values[count] = value


@njit(cache=True)
def _nearest_rise(values):
    """How many of the sorted values are below the rise that is nearest to the middle; 0: none."""
    size = len(values)
    middle = size // 2
    for away in range(size):
        if away < middle and values[middle - away - 1] < values[middle - away]:
            return middle - away
        if middle + away < size and values[middle + away - 1] < values[middle + away]:
            return middle + away
    return 0


@njit(cache=True)
def _near(values, middle, thresholds):
    """The cut below the threshold that parts sorted values best, or else below number `middle`."""
    size = len(values)
    cut, fairest = values[middle - 1], size * 3 // 8
    for threshold in thresholds:
        below = 0
        for value in values:
            below += value < threshold
        if min(below, size - below) > fairest:
            cut, fairest = np.nextafter(threshold, -np.inf), min(below, size - below)
    return cut
