"""The front of a k-d tree: the points that reach most thresholds, compared all at once.

They are in the leaves as well.  A point comes in when it reaches more than the least of those there
and leaves when it leaves the tree; gaps are filled by what comes next, whatever it reaches.
"""

import numpy as np
from numba import njit

from indexes.covering.kd_layout import HELD, LEAST
from indexes.covering.store import take_chain
from indexes.kernels import NIL
from indexes.kernels.decorators import inlined

__all__ = ["clear_front", "forget", "offer", "reach", "take_from_front", "where_in_front"]


@inlined
def reach(bits):
    """How many thresholds a signature says are reached."""
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


@njit(cache=True)
def clear_front(tree):
    for slot in range(len(tree.front_rows)):
        _set(tree, slot, NIL, NIL)
    tree.state[HELD] = 0
    tree.state[LEAST] = 0


@inlined
def offer(tree, store, row, bits):
    """Let a point of the tree into the front if it reaches more than the least one there."""
    slot, reached = tree.state[LEAST], reach(bits)
    if reached <= tree.front_reach[slot]:
        return
    tree.state[HELD] += tree.front_rows[slot] == NIL
    _set(tree, slot, row, reached)
    for j in range(len(tree.front)):
        tree.front[j, slot] = store.points[row, j]
    tree.state[LEAST] = np.argmin(tree.front_reach)


@njit(cache=True)
def _set(tree, slot, row, reached):
    tree.front_rows[slot] = row
    tree.front_reach[slot] = reached
    for j in range(len(tree.front)):
        tree.front[j, slot] = np.nan


@inlined
def where_in_front(tree, row, bits):
    """The slot of a row with these bits, or NIL."""
    if reach(bits) >= tree.front_reach[tree.state[LEAST]]:
        for slot in range(len(tree.front_rows)):
            if tree.front_rows[slot] == row:
                return slot
    return NIL


@inlined
def forget(tree, row, bits):
    """Take a row out of the front, if it is there."""
    slot = where_in_front(tree, row, bits)
    if slot != NIL:
        _set(tree, slot, NIL, NIL)
        tree.state[HELD] -= 1
        tree.state[LEAST] = slot


@inlined
def take_from_front(tree, store, point, k, strict, found):
    """Rows of up to k boxes in the front that cover `point`; how many there are."""
    dominating, j, count = np.int64(-1), 0, 0
    while dominating != 0 and j < len(point):
        # Without a branch, so that the compiler compares several points at once.
        reached, end = np.int64(0), point[j]
        for slot in range(tree.front.shape[1]):
            reached |= np.int64(tree.front[j, slot] >= end) << slot
        dominating &= reached
        j += 1
    slot = 0
    while dominating != 0 and count < k:
        slot, dominating = next_slot(dominating, slot)
        count = take_chain(store, tree.front_rows[slot], point, k, strict, found, count)
    return count


@inlined
def next_slot(marked, slot):
    """The first marked slot from `slot` on, and the other marks; there must be one."""
    while marked >> slot & 0xFF == 0:
        slot += 8
    while marked >> slot & 1 == 0:
        slot += 1
    return slot, marked ^ np.int64(1) << slot
