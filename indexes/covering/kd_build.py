"""Subtrees of a k-d tree built anew: planned first, so that nothing changes where room is short."""

import numpy as np
from numba import njit

from indexes.covering.kd_cut import choose_cut, count_cuts
from indexes.covering.kd_front import clear_front, offer
from indexes.covering.kd_layout import (
    BLOCK,
    DEPTH,
    DIM,
    FIRST_FULL,
    FULL_AGAIN,
    INSERTED,
    LEFT,
    RIGHT,
    ROOT,
    SKEWED,
    UP,
    WEIGHT,
    clear,
    free_blocks,
    free_nodes,
    join_bits,
    make_inner,
    make_leaf,
    put_into_leaf,
    release_block,
    release_node,
    take_block,
    take_node,
)
from indexes.covering.signatures import signature
from indexes.covering.store import PLACE
from indexes.kernels import NIL

__all__ = ["plan_below", "rebuild", "rows_below"]

FIRST, END, OVER, SIDE, AXIS, PLAN_FIELDS = range(6)  # columns of a plan; a leaf has AXIS = NIL


@njit(cache=True, nogil=True)
def rows_below(tree, node):
    bucket = tree.bits.shape[1]
    rows = np.empty(tree.nodes[node, WEIGHT], np.int64)
    stack = np.empty(tree.state[DEPTH] + 2, np.int64)
    stack[0] = node
    waiting, count = 1, 0
    while waiting:
        waiting -= 1
        at = stack[waiting]
        if tree.nodes[at, DIM] != NIL:
            stack[waiting] = tree.nodes[at, LEFT]
            stack[waiting + 1] = tree.nodes[at, RIGHT]
            waiting += 2
            continue
        first = tree.nodes[at, BLOCK] * bucket
        for slot in range(tree.nodes[at, WEIGHT]):
            rows[count] = tree.members[first + slot]
            count += 1
    return rows


@njit(cache=True, nogil=True)
def plan_below(tree, store, thresholds, top, rows, plan, values):
    """Cut ranges of `rows`, which is put in order, until each fits a leaf with room to spare.

    `plan` and `values` take the nodes, siblings side by side and close to what lies below them, as
    a search meets them; how many there are.
    """
    fill = max(1, tree.bits.shape[1] * 3 // 4)
    cuts = np.empty(len(tree.front), np.int64)
    _note(plan, 0, 0, len(rows), NIL, NIL)
    stack = np.empty(len(plan), np.int64)
    stack[0] = 0
    used, waiting = 1, 1
    while waiting:
        waiting -= 1
        at = stack[waiting]
        first, end = plan[at, FIRST], plan[at, END]
        if end - first > fill:
            count_cuts(tree, top, cuts)
            over = plan[at, OVER]
            while over != NIL:
                cuts[plan[over, AXIS]] += 1
                over = plan[over, OVER]
            axis, value = choose_cut(store, thresholds, rows, first, end, cuts)
            middle = _partition(store, rows, first, end, axis, value)
            plan[at, AXIS] = axis
            values[at] = value
            _note(plan, used, first, middle, at, LEFT)
            _note(plan, used + 1, middle, end, at, RIGHT)
            stack[waiting], stack[waiting + 1] = used, used + 1
            waiting += 2
            used += 2
    return used


@njit(cache=True)
def _note(plan, at, first, end, over, side):
    plan[at, FIRST] = first
    plan[at, END] = end
    plan[at, OVER] = over
    plan[at, SIDE] = side
    plan[at, AXIS] = NIL


@njit(cache=True)
def _partition(store, rows, first, end, axis, value):
    """Points up to the value to the front; where the others begin."""
    while first < end:
        if store.points[rows[first], axis] <= value:
            first += 1
        else:
            end -= 1
            rows[first], rows[end] = rows[end], rows[first]
    return first


@njit(cache=True, nogil=True)
def rebuild(tree, store, top, rows, plan, values, thresholds):
    """Plant what was planned for `top`; False, and no change, where room is short.

    A whole tree gets new thresholds, and with them a new front.
    """
    leaves = (len(plan) + 1) // 2
    old_leaves = _leaves_below(tree, top)
    if free_nodes(tree) + 2 * (old_leaves - leaves) < 0:
        return False
    if free_blocks(tree) + old_leaves - leaves < 0:
        return False
    if top == tree.state[ROOT]:
        clear(tree)
        tree.state[ROOT] = take_node(tree, NIL)
        tree.state[FULL_AGAIN] = max(len(rows), FIRST_FULL)
        tree.state[INSERTED] = 0
        tree.thresholds[:] = thresholds
        _plant(tree, store, tree.state[ROOT], rows, plan, values)
        _choose_front(tree, store, rows)
    else:
        _uproot(tree, top)
        _plant(tree, store, top, rows, plan, values)
    tree.state[SKEWED] = NIL
    return True


@njit(cache=True)
def _leaves_below(tree, node):
    leaves = 0
    stack = np.empty(tree.state[DEPTH] + 2, np.int64)
    stack[0] = node
    waiting = 1
    while waiting:
        waiting -= 1
        at = stack[waiting]
        if tree.nodes[at, DIM] == NIL:
            leaves += 1
        else:
            stack[waiting] = tree.nodes[at, LEFT]
            stack[waiting + 1] = tree.nodes[at, RIGHT]
            waiting += 2
    return leaves


@njit(cache=True)
def _uproot(tree, top):
    """Free all blocks of a subtree, and its nodes but for the top."""
    stack = np.empty(tree.state[DEPTH] + 2, np.int64)
    stack[0] = top
    waiting = 1
    while waiting:
        waiting -= 1
        at = stack[waiting]
        if tree.nodes[at, DIM] == NIL:
            release_block(tree, tree.nodes[at, BLOCK])
        else:
            stack[waiting] = tree.nodes[at, LEFT]
            stack[waiting + 1] = tree.nodes[at, RIGHT]
            waiting += 2
        if at != top:
            release_node(tree, at)


@njit(cache=True)
def _plant(tree, store, top, rows, plan, values):
    """Make the planned nodes, the top in its old place."""
    made, deep = np.empty(len(plan), np.int64), np.empty(len(plan), np.int64)
    made[0], deep[0] = top, _depth(tree, top)
    for i in range(len(plan)):
        over = plan[i, OVER]
        if over != NIL:
            made[i] = take_node(tree, made[over])
            deep[i] = deep[over] + 1
            tree.nodes[made[over], plan[i, SIDE]] = made[i]
        if plan[i, AXIS] != NIL:
            make_inner(tree, made[i], plan[i, AXIS], values[i], plan[i, END] - plan[i, FIRST])
        else:
            make_leaf(tree, made[i], take_block(tree))
            for at in range(plan[i, FIRST], plan[i, END]):
                bits = signature(tree.thresholds, store.points[rows[at]])
                put_into_leaf(tree, store, made[i], rows[at], bits)
        tree.state[DEPTH] = max(tree.state[DEPTH], deep[i])
    for i in range(len(plan) - 1, -1, -1):
        if plan[i, AXIS] != NIL:
            join_bits(tree, made[i])


@njit(cache=True)
def _choose_front(tree, store, rows):
    clear_front(tree)
    for row in rows:
        place, bucket = store.links[row, PLACE], tree.bits.shape[1]
        offer(tree, store, row, tree.bits[place // bucket, place % bucket])


@njit(cache=True)
def _depth(tree, node):
    depth = 0
    while tree.nodes[node, UP] != NIL:
        node = tree.nodes[node, UP]
        depth += 1
    return depth
