"""Search of a k-d tree: the rightmost leaf first, where most points dominate (§IV.C)."""

import numpy as np
from numba import njit

from indexes.covering.dominance import dominates, rounded_up
from indexes.covering.kd_layout import BLOCK, DEPTH, DIM, LEFT, RIGHT, ROOT, WEIGHT
from indexes.covering.signatures import signature
from indexes.covering.store import COMPARED, NIL, VISITED, take_chain

__all__ = ["kd_find"]


@njit(cache=True)
def kd_find(tree, store, point, k, strict, found):
    """Rows of up to k boxes that cover `point`; with `strict`, none that are equal to it."""
    root = tree.state[ROOT]
    if k == 0 or root == NIL:
        return 0
    if tree.nodes[root, DIM] != NIL:
        return _descend(tree, store, point, k, strict, found)
    tree.state[VISITED] += 1
    tree.state[COMPARED] += tree.nodes[root, WEIGHT]
    # So few points are compared sooner than a signature is made: none of its bits is asked for.
    return _take_from_leaf(tree, store, root, 0, point, k, strict, found, 0)


@njit(cache=True, forceinline=True)
def _descend(tree, store, point, k, strict, found):
    nodes, tops, state = tree.nodes, tree.tops, tree.state
    asked = signature(tree.thresholds, point)
    low, stack = np.empty(len(point), np.float32), np.empty(state[DEPTH] + 2, np.int64)
    for j in range(len(point)):
        low[j] = -rounded_up(-point[j])
    stack[0] = state[ROOT]
    count, waiting, visited, compared = 0, 1, 0, 0
    while waiting and count < k:
        waiting -= 1
        node = stack[waiting]
        visited += 1
        dim = nodes[node, DIM]
        if dim == NIL:
            compared += nodes[node, WEIGHT]
            count = _take_from_leaf(tree, store, node, asked, point, k, strict, found, count)
        else:
            # Both children's tops are asked for here, so that they come from memory together.
            left, right = nodes[node, LEFT], nodes[node, RIGHT]
            left_short, right_short = _falls_short(tops, left, low), _falls_short(tops, right, low)
            stack[waiting] = left
            waiting += not left_short and point[dim] <= tree.cuts[node]
            stack[waiting] = right
            waiting += not right_short
    state[VISITED] += visited
    state[COMPARED] += compared
    return count


@njit(cache=True, forceinline=True)
def _take_from_leaf(tree, store, leaf, asked, point, k, strict, found, count):
    bucket, block = tree.bits.shape[1], tree.nodes[leaf, BLOCK]
    weight, reached = tree.nodes[leaf, WEIGHT], asked == 0
    # Without a branch, so that the compiler compares several points at once.
    for slot in range(bucket):
        reached |= asked & ~tree.bits[block, slot] == 0
    if reached:
        slot = 0
        while slot < weight and count < k:
            if asked & ~tree.bits[block, slot] == 0:
                head = tree.members[block * bucket + slot]
                if dominates(store, head, point):
                    count = take_chain(store, head, point, k, strict, found, count)
            slot += 1
    return count


@njit(cache=True, forceinline=True)
def _falls_short(tops, node, point):
    # Without a branch, so that the compiler compares several dimensions at once.
    short = 0
    for j in range(len(point)):
        short |= tops[node, j] < point[j]
    return short != 0
