"""Search of a k-d tree: the front first, then rightmost leaves, where most points dominate (§IV.C).

Nodes wait in a queue and not on a stack: what one says is not needed to go on with the next, so
that they come from memory together.
"""

import numpy as np

from indexes.covering.dominance import dominates
from indexes.covering.kd_front import next_slot, take_from_front
from indexes.covering.kd_layout import ANY, BLOCK, DIM, HELD, LEFT, LIVE_NODES, RIGHT, ROOT, WEIGHT
from indexes.covering.signatures import signature
from indexes.covering.store import COMPARED, VISITED, take_chain
from indexes.kernels import NIL
from indexes.kernels.decorators import inlined

__all__ = ["kd_find"]


@inlined
def kd_find(tree, store, point, k, strict, found):
    """Rows of up to k boxes that cover `point`; with `strict`, none that are equal to it."""
    root = tree.state[ROOT]
    if k == 0 or root == NIL:
        return 0
    tree.state[VISITED] += 1
    tree.state[COMPARED] += tree.state[HELD]
    count = take_from_front(tree, store, point, k, strict, found)
    if count == k or tree.state[HELD] == tree.nodes[root, WEIGHT]:
        return count
    return _descend(tree, store, point, k, strict, found, count)


@inlined
def _descend(tree, store, point, k, strict, found, count):
    """Go on from what was found in the front."""
    nodes, state, in_front = tree.nodes, tree.state, count
    asked = signature(tree.thresholds, point)
    queue = np.empty(state[LIVE_NODES], np.int64)
    queue[0] = state[ROOT]
    first, end, compared = 0, 1, 0
    while first < end and count < k:
        node = queue[first]
        first += 1
        dim = nodes[node, DIM]
        if dim == NIL:
            compared += nodes[node, WEIGHT]
            taken = (found, in_front, count)
            count = _take_from_leaf(tree, store, node, asked, point, k, strict, *taken)
        else:
            left, right = nodes[node, LEFT], nodes[node, RIGHT]
            queue[end] = right
            end += asked & ~nodes[right, ANY] == 0
            queue[end] = left
            end += (asked & ~nodes[left, ANY] == 0) & (point[dim] <= tree.cuts[node])
    state[VISITED] += first
    state[COMPARED] += compared
    return count


@inlined
def _take_from_leaf(tree, store, leaf, asked, point, k, strict, found, in_front, count):
    bucket, block = tree.bits.shape[1], tree.nodes[leaf, BLOCK]
    reaching, slot = np.int64(0), 0
    # Without a branch, so that the compiler compares several points at once.
    for at in range(bucket):
        reaching |= np.int64(asked & ~tree.bits[block, at] == 0) << at
    while reaching != 0 and count < k:
        slot, reaching = next_slot(reaching, slot)
        if slot < tree.nodes[leaf, WEIGHT]:
            head = tree.members[block * bucket + slot]
            if dominates(store, head, point) and not _is_among(found, in_front, head):
                count = take_chain(store, head, point, k, strict, found, count)
    return count


@inlined
def _is_among(found, count, row):
    at = 0
    while at < count and found[at] != row:
        at += 1
    return at < count
