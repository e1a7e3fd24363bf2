"""The invariants of a SOPT-R-tree's arrangement, written once; `check()` calls this."""

from itertools import pairwise

import numpy as np

from indexes.intervals.packed_r_tree import PackedRTree
from indexes.intervals.scored_rows import check_ranks

__all__ = ["check_arrangement", "check_order"]

EXHAUSTIVE = 1000  # intervals up to which every pair and every value is looked at
SAMPLE = 100


def check_arrangement(t: PackedRTree, entries: np.ndarray) -> None:
    """Raise `AssertionError` unless the arrangement is one that the seed's proofs hold for.

    `entries` says where the interval of each rank is.  Above a thousand intervals a sample of
    pairs and values is looked at.
    """
    n = len(t.ids)
    assert sorted(entries.tolist()) == list(range(n))
    check_ranks(t.ids[entries], t.scores[entries])
    ranks = np.empty(n, np.int64)
    ranks[entries] = np.arange(n)
    check_order(t.lows[:n], t.highs[:n], ranks)
    for value in _some(_values(t), n).tolist():
        _check_holes(t, value)


def _some(values: np.ndarray, n: int) -> np.ndarray:
    step = 1 if n <= EXHAUSTIVE else max(len(values) // SAMPLE, 1)
    return values[::step]


def check_order(lows: np.ndarray, highs: np.ndarray, ranks: np.ndarray) -> None:
    """Whatever meets an interval and comes after it ranks after it."""
    for entry in _some(np.arange(len(ranks)), len(ranks)).tolist():
        after = slice(entry + 1, len(ranks))
        meets = (lows[after] <= highs[entry]) & (highs[after] >= lows[entry])
        assert (ranks[after][meets] > ranks[entry]).all()


def _check_holes(t: PackedRTree, value: float) -> None:
    """Theorem 3.2: of two consecutive nodes around a value, one has an interval around it."""
    b, bounds = int(t.branching[0]), t.levels.tolist()
    around = (t.lows <= value) & (value <= t.highs)
    holds = around[: bounds[1]]
    for start, stop in pairwise(bounds[1:]):
        holds = np.logical_or.reduceat(holds, np.arange(0, len(holds), b))
        stabbed = holds[around[start:stop]]
        assert (stabbed[:-1] | stabbed[1:]).all()


def _values(t: PackedRTree) -> np.ndarray:
    """A value for every set of intervals that some value is in: the ends, and between them."""
    n = len(t.ids)
    ends = np.unique(np.concatenate((t.lows[:n], t.highs[:n], [0.0])))
    ends = ends[np.isfinite(ends)]
    with np.errstate(over="ignore"):  # beyond the largest float is infinity
        beyond = np.nextafter(ends[[0, -1]], [-np.inf, np.inf])
    values = np.unique(np.concatenate((ends, ends[:-1] / 2 + ends[1:] / 2, beyond)))
    return values[np.isfinite(values)]
