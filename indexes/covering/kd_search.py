"""Search of a k-d tree: the rightmost leaf first, where most points dominate (§IV.C)."""

import numpy as np
from numba import njit

from indexes.covering.dominance import dominates, dominating, order_dimensions, rounded_up
from indexes.covering.kd_layout import BLOCK, DEPTH, DIM, LEFT, RIGHT, ROOT, WEIGHT
from indexes.covering.store import COMPARED, NIL, VISITED, take_chain

__all__ = ["kd_find"]


@njit(cache=True)
def kd_find(tree, store, point, k, strict, found):
    """Rows of up to k boxes that cover `point`; with `strict`, none that are equal to it."""
    nodes, state, bucket = tree.nodes, tree.state, tree.blocks.shape[2]
    if k == 0 or state[ROOT] == NIL:
        return 0
    low, order = np.empty(len(point), np.float32), np.empty(len(point), np.int64)
    for j in range(len(point)):
        low[j] = -rounded_up(-point[j])
        order[j] = j
    if _falls_short(tree.tops, state[ROOT], low):
        return 0
    if nodes[state[ROOT], DIM] != NIL:
        order_dimensions(tree.sample, low, order)
    stack = np.empty(state[DEPTH] + 2, np.int64)
    alive = np.empty(bucket, np.int32)
    stack[0] = state[ROOT]
    count, waiting, visited, compared = 0, 1, 0, 0
    while waiting and count < k:
        waiting -= 1
        node = stack[waiting]
        visited += 1
        dim = nodes[node, DIM]
        if dim != NIL:
            # Both children's tops are asked for here, so that they come from memory together.
            left, right = nodes[node, LEFT], nodes[node, RIGHT]
            left_short = _falls_short(tree.tops, left, low)
            right_short = _falls_short(tree.tops, right, low)
            stack[waiting] = left
            waiting += not left_short and point[dim] <= tree.cuts[node]
            stack[waiting] = right
            waiting += not right_short
            continue
        compared += nodes[node, WEIGHT]
        block = nodes[node, BLOCK]
        if dominating(tree.blocks, block, low, order, alive):
            for slot in range(bucket):
                if alive[slot] and count < k:
                    head = tree.members[block * bucket + slot]
                    if dominates(store, head, point):
                        count = take_chain(store, head, point, k, strict, found, count)
    state[VISITED] += visited
    state[COMPARED] += compared
    return count


@njit(cache=True)
def _falls_short(tops, node, point):
    # Without a branch, so that the compiler compares several dimensions at once.
    short = 0
    for j in range(len(point)):
        short |= tops[node, j] < point[j]
    return short != 0
