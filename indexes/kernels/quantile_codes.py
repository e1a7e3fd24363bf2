"""Values as bytes: monotone codes that part sampled values evenly.

A column has up to `MOST_BOUNDS` ascending bounds.  A value's code is one more than the number of
bounds below it, so 1 to 254, and never less for a greater value.  An interval becomes an interval
of codes: a value within it is never outside of them.  The codes that are left over mean what a
family needs: 0 that a value is lacking or an interval has no lower end, 255 that it has no upper.
"""

import numpy as np

from indexes.kernels.decorators import bare

__all__ = ["MOST_BOUNDS", "NO_END", "code_of", "evenly"]

MOST_BOUNDS = 253
NO_END = 255


def evenly(in_order: np.ndarray) -> np.ndarray:
    """`MOST_BOUNDS` quantiles of ascending values; those of few values repeat."""
    return in_order[np.linspace(0, len(in_order) - 1, MOST_BOUNDS).astype(np.int64)]


@bare
def code_of(bounds, column, value):
    """The code of a value by row `column` of the bounds."""
    low, high = 0, bounds.shape[1]
    while low < high:
        middle = (low + high) // 2
        if bounds[column, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low + 1
