"""The x axis of objects that may share an x: cells of neighbouring floats.

Paint's servers want distinct x.  So the axis is cut into cells of `size` floats each, a power of
two that leaves room for four times the k best.  The ends of a range become the first and the last
float of their cells; the objects of a cell, who share an x, take floats between:

    cell      |first                                        last|
    holds      low ends    object    object         object    high ends

Whoever's range has one of them has all.  Two positions are the same where they share a cell: for
k = 10 a cell is 64 floats wide, so that numbers of up to 13 digits are told apart.

Floats are counted by `ranks`: the same order, whole numbers, neighbours differ by one.
"""

import numpy as np

__all__ = ["ceilings", "cell_size", "floats", "floors", "ranks"]

_SIGN = np.int64(np.iinfo(np.int64).min)


def cell_size(k: int) -> int:
    """
    >>> cell_size(1), cell_size(10), cell_size(1000)
    (8, 64, 4096)
    """
    return 1 << (4 * (k + 1) - 1).bit_length()


def ranks(values: np.ndarray) -> np.ndarray:
    """i8[n]: the places of floats in their order; those of -0.0 and 0.0 are the same.

    >>> (ranks(np.array([0.0, np.nextafter(1.0, 2.0)])) - ranks(np.array([-0.0, 1.0]))).tolist()
    [0, 1]
    """
    bits = np.ascontiguousarray(values, np.float64).view(np.int64)
    return np.where(bits < 0, _SIGN - bits, bits)


def floats(ranks: np.ndarray) -> np.ndarray:
    """f8[n]: the floats that have these ranks."""
    return np.where(ranks < 0, _SIGN - ranks, ranks).view(np.float64)


def floors(values: np.ndarray, size: int) -> np.ndarray:
    """The first float of each value's cell; infinite ones stay as they are."""
    return _edges(values, size, 0)


def ceilings(values: np.ndarray, size: int) -> np.ndarray:
    """The last float of each value's cell; infinite ones stay as they are."""
    return _edges(values, size, size - 1)


def _edges(values: np.ndarray, size: int, place: int) -> np.ndarray:
    given = np.ascontiguousarray(values, np.float64)
    edges = floats(ranks(given) // size * size + place)
    return np.where(np.isinf(given), given, edges)
