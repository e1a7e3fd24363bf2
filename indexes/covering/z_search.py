"""Search along the Z-order curve: the runs of the query region, greatest cells first (§IV.D).

All points of a cell are one run of the curve.  What the first and the last cell of a run have in
common at the top of their bits is the smallest cell around the run.  In a dimension in which that
cell is below the query's, the run is left out; where it is above in all, every point of the run
covers; else the run is cut at the first bit that differs, and the upper half comes first.
"""

import numpy as np
from numba import njit

from indexes.covering.store import COMPARED, VISITED, take_chain
from indexes.covering.z_layout import (
    BITS,
    BLOCKS,
    cell_at,
    deciding_dimension,
    row_at,
)

__all__ = ["z_find"]

_OUTSIDE, _PARTLY, _INSIDE = range(3)


@njit(cache=True)
def z_find(curve, store, point, k, strict, found):
    """Rows of up to k boxes that cover `point`; with `strict`, none that are equal to it."""
    bucket = len(curve.members) // len(curve.filled) if len(curve.filled) else 1
    count, blocks = 0, curve.state[BLOCKS]
    if k == 0 or blocks == 0:
        return 0
    asked = np.empty(len(point), np.int64)
    for j in range(len(point)):
        asked[j] = cell_at(curve.grid, j, point[j])
    runs = np.empty((BITS * len(point) + 2, 2), np.int64)  # each level leaves one run waiting
    runs[0, 0] = 0
    runs[0, 1] = (blocks - 1) * bucket + curve.filled[curve.order[blocks - 1]] - 1
    waiting = 1
    while waiting and count < k:
        waiting -= 1
        first, last = runs[waiting, 0], runs[waiting, 1]
        curve.state[VISITED] += 1
        dim, bit = _first_difference(curve.cells, row_at(curve, first), row_at(curve, last))
        where = _place_of_cell(curve.cells, row_at(curve, first), asked, dim, bit)
        if where == _OUTSIDE:
            continue
        if where == _PARTLY and bit >= 0 and last // bucket - first // bucket > 1:
            middle = _first_above(curve, bucket, first, last, dim, bit)
            runs[waiting, 0], runs[waiting, 1] = first, _before(curve, bucket, middle)
            runs[waiting + 1, 0], runs[waiting + 1, 1] = middle, last
            waiting += 2
        else:
            inside = where == _INSIDE
            count = _scan(curve, store, bucket, first, last, inside, point, k, strict, found, count)
    return count


@njit(cache=True)
def _first_difference(cells, row, other):
    """Dimension and bit at which two cells part on the curve; bit -1 where they are one."""
    dim = deciding_dimension(cells, row, other)
    differing, bit = cells[row, dim] ^ cells[other, dim], -1
    while differing:
        differing >>= 1
        bit += 1
    return dim, bit


@njit(cache=True)
def _place_of_cell(cells, row, asked, dim, bit):
    """Where the cell is that fixes the bits of `row` ahead of a dimension's bit."""
    above = 0
    for j in range(len(asked)):
        open_bits = bit if j < dim else bit + 1  # not fixed in this dimension
        own, wanted = cells[row, j] >> open_bits, asked[j] >> open_bits
        if own < wanted:
            return _OUTSIDE
        above += own > wanted
    return _INSIDE if above == len(asked) else _PARTLY


@njit(cache=True)
def _first_above(curve, bucket, first, last, dim, bit):
    """The first position of a run with the bit set; that of `last` is, that of `first` is not."""
    low, high = first // bucket, last // bucket
    while high - low > 1:
        middle = (low + high) // 2
        if (curve.cells[curve.members[curve.order[middle] * bucket], dim] >> bit) & 1:
            high = middle
        else:
            low = middle
    # Either in the block `low`, behind its first row, or where the block `high` begins.
    block = curve.order[low]
    begin = first % bucket if low == first // bucket else 0
    for slot in range(begin, curve.filled[block]):
        if (curve.cells[curve.members[block * bucket + slot], dim] >> bit) & 1:
            return low * bucket + slot
    begin = high * bucket
    while not (curve.cells[row_at(curve, begin), dim] >> bit) & 1:
        begin += 1
    return begin


@njit(cache=True)
def _before(curve, bucket, position):
    if position % bucket:
        return position - 1
    ordinal = position // bucket - 1
    return ordinal * bucket + curve.filled[curve.order[ordinal]] - 1


@njit(cache=True)
def _scan(curve, store, bucket, first, last, inside, point, k, strict, found, count):
    """Compare the points of a run one by one, or take them all where they are inside."""
    position = first
    while position <= last and count < k:
        if position % bucket == curve.filled[curve.order[position // bucket]]:
            position = (position // bucket + 1) * bucket
        row = row_at(curve, position)
        covers = inside
        if not inside:
            curve.state[COMPARED] += 1
            covers = True
            for j in range(len(point)):
                if store.points[row, j] < point[j]:
                    covers = False
                    break
        if covers:
            count = take_chain(store, row, point, k, strict, found, count)
        position += 1
    return count
