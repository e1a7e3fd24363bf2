"""Points come onto the Z-order curve and leave it; blocks split and merge."""

from numba import njit

from indexes.covering.store import PLACE
from indexes.covering.z_layout import (
    BLOCKS,
    FREE_BLOCK,
    POINTS,
    USED_BLOCKS,
    cell_at,
    comes_before,
    set_row,
)
from indexes.kernels import NIL

__all__ = ["z_delete", "z_insert", "z_replace"]


@njit(cache=True)
def z_insert(curve, store, row):
    """Index a row whose box is new; `is_ready` must hold."""
    bucket = len(curve.members) // len(curve.filled)
    for j in range(curve.cells.shape[1]):
        curve.cells[row, j] = cell_at(curve.grid, j, store.points[row, j])
    curve.state[POINTS] += 1
    if curve.state[BLOCKS] == 0:
        _add_block(curve, 0)
    ordinal = _ordinal_for(curve, bucket, row)
    if curve.filled[curve.order[ordinal]] == bucket:
        _split(curve, store, bucket, ordinal)
        ordinal = _ordinal_for(curve, bucket, row)
    block = curve.order[ordinal]
    slot = curve.filled[block]
    while slot > 0:
        before = curve.members[block * bucket + slot - 1]
        if not comes_before(curve.cells, row, before):
            break
        set_row(curve, store, block, slot, before)
        slot -= 1
    set_row(curve, store, block, slot, row)
    curve.filled[block] += 1


@njit(cache=True)
def z_delete(curve, store, row):
    """Take a head off the curve; its row is still in the store."""
    bucket = len(curve.members) // len(curve.filled)
    place = store.links[row, PLACE]
    block = place // bucket
    curve.filled[block] -= 1
    for slot in range(place % bucket, curve.filled[block]):
        set_row(curve, store, block, slot, curve.members[block * bucket + slot + 1])
    store.links[row, PLACE] = NIL
    curve.state[POINTS] -= 1
    ordinal = curve.ordinals[block]
    if curve.filled[block] == 0:
        _drop_block(curve, bucket, ordinal)
    elif ordinal + 1 < curve.state[BLOCKS]:
        following = curve.order[ordinal + 1]
        if 4 * (curve.filled[block] + curve.filled[following]) <= 3 * bucket:
            _move(curve, store, bucket, following, 0, block)
            _drop_block(curve, bucket, ordinal + 1)


@njit(cache=True)
def z_replace(curve, place, row, head):
    """Cells belong to rows, so they move with the place."""
    curve.members[place] = row
    for j in range(curve.cells.shape[1]):
        curve.cells[row, j] = curve.cells[head, j]


@njit(cache=True)
def _ordinal_for(curve, bucket, row):
    """The last block that does not begin after the row, or the first of all."""
    first, end = 0, curve.state[BLOCKS]
    while end - first > 1:
        middle = (first + end) // 2
        if comes_before(curve.cells, row, curve.members[curve.order[middle] * bucket]):
            end = middle
        else:
            first = middle
    return first


@njit(cache=True)
def _split(curve, store, bucket, ordinal):
    _add_block(curve, ordinal + 1)
    block, new = curve.order[ordinal], curve.order[ordinal + 1]
    _move(curve, store, bucket, block, curve.filled[block] // 2, new)


@njit(cache=True)
def _move(curve, store, bucket, source, first, target):
    """Rows of a block from a slot on to the end of another."""
    for slot in range(first, curve.filled[source]):
        row = curve.members[source * bucket + slot]
        set_row(curve, store, target, curve.filled[target], row)
        curve.filled[target] += 1
    curve.filled[source] = first


@njit(cache=True)
def _add_block(curve, ordinal):
    state = curve.state
    block = state[FREE_BLOCK]
    if block != NIL:
        state[FREE_BLOCK] = curve.members[block * (len(curve.members) // len(curve.filled))]
    else:
        block = state[USED_BLOCKS]
        state[USED_BLOCKS] += 1
    for later in range(state[BLOCKS], ordinal, -1):
        curve.order[later] = curve.order[later - 1]
        curve.ordinals[curve.order[later]] = later
    curve.order[ordinal] = block
    curve.ordinals[block] = ordinal
    curve.filled[block] = 0
    state[BLOCKS] += 1


@njit(cache=True)
def _drop_block(curve, bucket, ordinal):
    state, block = curve.state, curve.order[ordinal]
    state[BLOCKS] -= 1
    for later in range(ordinal, state[BLOCKS]):
        curve.order[later] = curve.order[later + 1]
        curve.ordinals[curve.order[later]] = later
    curve.members[block * bucket] = state[FREE_BLOCK]
    state[FREE_BLOCK] = block
