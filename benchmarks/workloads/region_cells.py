"""Cells of a box, the likelier the nearer to its middle: the i-th nearest in proportion to i^-skew.

Distance is L1, as in the generator that the paper borrows (Chakrabarti et al., Approximate Query
Processing Using Wavelets); cells of one shell, that is at one distance, share their ranks evenly.
A box of eight dimensions has 10^14 cells, so none is listed: a shell is drawn by the sum of its
ranks' weights, then one coordinate after the other by the number of cells that remain possible.

Distances are counted in half cells, since the middle of an even width lies between two cells.
"""

import numpy as np

_SUMMED = 4096  # ranks whose weights are added one by one; an integral is as good beyond


def draw_cells(widths: np.ndarray, count: int, skew: float, rng: np.random.Generator) -> np.ndarray:
    """i8[count, d], coordinates from 0 to width - 1."""
    sizes = [_cells_by_distance(int(width)) for width in widths]
    remaining = [np.ones(1)]  # remaining[-1 - j]: cells by distance over the dimensions from j on
    for size in reversed(sizes):
        remaining.append(np.convolve(remaining[-1], size))
    remaining.reverse()

    left = _draw_shells(remaining[0], count, skew, rng)
    cells = np.empty((count, len(widths)), np.int64)
    for j, (width, size) in enumerate(zip(widths.tolist(), sizes, strict=True)):
        distance = _draw_distances(size, remaining[j + 1], left, rng)
        left = left - distance
        # Distance is |2 * cell - (width - 1)|, on either side.
        side = rng.choice([-1, 1], count)
        cells[:, j] = (width - 1 + side * distance) // 2
    return cells


def _cells_by_distance(width: int) -> np.ndarray:
    """How many cells of one dimension lie 0, 1, 2, ... half cells from its middle."""
    return np.bincount(np.abs(2 * np.arange(width) - (width - 1))).astype(np.float64)


def _draw_shells(
    cells: np.ndarray, count: int, skew: float, rng: np.random.Generator
) -> np.ndarray:
    ranks = np.concatenate(([0.0], np.cumsum(cells)))
    weights = np.diff(_weight_up_to(ranks, skew))
    return rng.choice(len(cells), count, p=weights / weights.sum())


def _weight_up_to(ranks: np.ndarray, skew: float) -> np.ndarray:
    """The sum of i^-skew for i from 1 to each rank."""
    summed = np.concatenate(([0.0], np.cumsum(np.arange(1, _SUMMED + 1) ** -skew)))
    near = np.minimum(ranks, _SUMMED)
    a, b = _SUMMED + 0.5, np.maximum(ranks, _SUMMED) + 0.5
    far = np.log(b / a) if skew == 1.0 else (b ** (1 - skew) - a ** (1 - skew)) / (1 - skew)
    return summed[near.astype(np.int64)] + far


def _draw_distances(
    size: np.ndarray, rest: np.ndarray, left: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The distance in one dimension, given what is left for it and the dimensions after it."""
    total, own = np.arange(len(size) + len(rest) - 1)[:, None], np.arange(len(size))
    other = total - own
    possible = (other >= 0) & (other < len(rest))
    ways = np.where(possible, size * rest[np.clip(other, 0, len(rest) - 1)], 0.0)
    up_to = np.cumsum(ways, axis=1)
    wanted = rng.random(len(left)) * up_to[left, -1]
    distances = np.empty(len(left), np.int64)
    for shell in np.unique(left).tolist():
        here = left == shell
        distances[here] = np.searchsorted(up_to[shell], wanted[here], side="right")
    return distances
