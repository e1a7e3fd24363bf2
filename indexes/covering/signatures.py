"""Points as 63 bits, so that one instruction compares all their dimensions, roughly.

Each bit stands for a threshold in one dimension, and is set where the point reaches it.  A point
that dominates another has all the bits of the other; few points that have them do not dominate.
"""

import numpy as np

from indexes.kernels.decorators import inlined

__all__ = ["BITS", "signature", "thresholds_of"]

BITS = 63  # of an int64, without its sign
_SAMPLE = 512  # points that stand for a larger set
_CLOSER_AT_THE_TOP = 1.5  # 1 parts points evenly; boxes that nothing covers have ends near the top


def thresholds_of(points: np.ndarray) -> np.ndarray:
    """f8[63]: the lowest of each dimension in turn, then the second ones, and so on."""
    count, width = points.shape
    in_order = np.sort(points[:: (count - 1) // _SAMPLE + 1], axis=0)
    bits = np.arange(BITS)
    dimensions, levels = bits % width, bits // width + 1
    own = np.bincount(dimensions, minlength=width)[dimensions]
    below = 1.0 - (1.0 - levels / (own + 1)) ** _CLOSER_AT_THE_TOP
    return in_order[(below * len(in_order)).astype(np.int64), dimensions]


@inlined
def signature(thresholds, point):
    """Which thresholds a point reaches; none where they are NaN."""
    bits, first, width = np.int64(0), 0, len(point)
    while first < BITS:
        for j in range(min(width, BITS - first)):
            bits |= np.int64(point[j] >= thresholds[first + j]) << (first + j)
        first += width
    return bits
