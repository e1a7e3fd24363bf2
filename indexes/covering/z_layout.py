"""The Z-order curve through all points, as sorted blocks (the covering paper, §IV.D).

A point's cell is its place on a grid of 2**16 cells a dimension; the curve interleaves the bits of
the cell, dimension 0 first, from the top.  No key is stored: of two cells, the dimension in which
they differ at the highest bit decides their order.

Rows lie in blocks in the order of the curve, and `order` lists the blocks in that order: a search
tree of two levels, where the paper has an AVL tree.  A position on the curve is
`ordinal * bucket + slot`.  The grid spans what was there when it was last made; points outside are
in its outermost cells.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.covering.store import PLACE

BITS = 16
TOP_CELL = 2**BITS - 1
_LEAST_EXTENT = 1e-300  # so that the scale is finite
LEAST_GRID = 64  # points that a first grid, which knows of none, is good for
# Fields of `state`, behind the counters of work.
BLOCKS, FREE_BLOCK, USED_BLOCKS, POINTS, LAID, STATE_FIELDS = range(2, 8)


class Curve(NamedTuple):
    cells: np.ndarray  # i4[rows, 2d]
    members: np.ndarray  # i8[blocks * bucket]  rows; a free block has the next free one first
    filled: np.ndarray  # i8[blocks]  rows of each block, at least one
    order: np.ndarray  # i8[blocks]  the block at each ordinal
    ordinals: np.ndarray  # i8[blocks]  the reverse
    grid: np.ndarray  # f8[2, 2d]  half of where it begins, and cells a unit of half an end
    # i8[7]  VISITED runs, COMPARED points; blocks in order, the first free one, blocks ever used,
    # points, points when the grid was laid
    state: np.ndarray


def allocate(width: int, bucket: int, rows: int, blocks: int) -> Curve:
    state = np.zeros(STATE_FIELDS, np.int64)
    state[FREE_BLOCK] = -1
    return Curve(
        cells=np.empty((rows, width), np.int32),
        members=np.empty(blocks * bucket, np.int64),
        filled=np.empty(blocks, np.int64),
        order=np.empty(blocks, np.int64),
        ordinals=np.empty(blocks, np.int64),
        grid=np.zeros((2, width)),
        state=state,
    )


def cells_of(points: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The cells of many points at once; as `cell_at`."""
    scaled = (points * 0.5 - grid[0]) * grid[1]
    return np.clip(scaled, 0.0, TOP_CELL).astype(np.int32)


def grid_over(points: np.ndarray) -> np.ndarray:
    """A grid over the finite ends of points."""
    finite = np.isfinite(points)
    lows = np.where(finite, points, np.inf).min(axis=0, initial=np.inf)
    highs = np.where(finite, points, -np.inf).max(axis=0, initial=-np.inf)
    spread = np.isfinite(lows) & (highs > lows)
    # Halved, so that the extent of the whole range of floats is finite.
    begin = np.where(np.isfinite(lows), lows, 0.0) * 0.5
    extent = np.where(spread, highs, 0.0) * 0.5 - np.where(spread, lows, 0.0) * 0.5
    scale = TOP_CELL / np.maximum(extent, _LEAST_EXTENT)
    return np.stack((begin, np.where(spread, scale, 1.0)))


@njit(cache=True)
def cell_at(grid, j, end):
    scaled = (end * 0.5 - grid[0, j]) * grid[1, j]
    if not scaled > 0.0:
        return 0
    return TOP_CELL if scaled > TOP_CELL else int(scaled)


@njit(cache=True)
def is_ready(curve):
    """Whether one more point fits, and the grid still suits: anew for twice as many points."""
    state = curve.state
    return state[BLOCKS] < len(curve.filled) and state[POINTS] < max(2 * state[LAID], LEAST_GRID)


@njit(cache=True)
def deciding_dimension(cells, row, other):
    """The dimension in which two cells differ at the highest bit; the first of several."""
    chosen, most = 0, 0
    for j in range(cells.shape[1]):
        differing = cells[row, j] ^ cells[other, j]
        if most < differing and most < (most ^ differing):
            chosen, most = j, differing
    return chosen


@njit(cache=True)
def comes_before(cells, row, other):
    j = deciding_dimension(cells, row, other)
    return cells[row, j] < cells[other, j]


@njit(cache=True)
def row_at(curve, position):
    bucket = len(curve.members) // len(curve.filled)
    block = curve.order[position // bucket]
    return curve.members[block * bucket + position % bucket]


@njit(cache=True)
def set_row(curve, store, block, slot, row):
    place = block * (len(curve.members) // len(curve.filled)) + slot
    curve.members[place] = row
    store.links[row, PLACE] = place
