"""Points come into a k-d tree and leave it; buckets split and merge, subtrees are cut anew.

A subtree in which one side has got far more than its half of the points is built anew, but not
before a quarter of its points have changed: where no fair cut exists, that bounds the work.
"""

import numpy as np
from numba import njit

from indexes.covering.kd_cut import choose_cut, count_cuts
from indexes.covering.kd_front import forget, offer, where_in_front
from indexes.covering.kd_layout import (
    ANY,
    BLOCK,
    CHANGES,
    DEPTH,
    DIM,
    FULL_AGAIN,
    INSERTED,
    LEFT,
    RIGHT,
    ROOT,
    SKEWED,
    UP,
    WEIGHT,
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
from indexes.kernels.decorators import inlined

__all__ = ["kd_delete", "kd_insert", "kd_replace"]


@inlined
def kd_insert(tree, store, row):
    """Index a row whose box is new; `is_ready` must hold."""
    nodes, bucket = tree.nodes, tree.bits.shape[1]
    bits = signature(tree.thresholds, store.points[row])
    if tree.state[ROOT] == NIL:
        tree.state[ROOT] = take_node(tree, NIL)
        make_leaf(tree, tree.state[ROOT], take_block(tree))
    node, depth, skewed = tree.state[ROOT], 0, NIL
    while True:
        if nodes[node, DIM] == NIL:
            if nodes[node, WEIGHT] < bucket:
                break
            _split(tree, store, node)
        nodes[node, WEIGHT] += 1
        nodes[node, CHANGES] += 1
        nodes[node, ANY] |= bits
        right = store.points[row, nodes[node, DIM]] > tree.cuts[node]
        child = nodes[node, RIGHT] if right else nodes[node, LEFT]
        if skewed == NIL and _is_skewed(tree, node, nodes[child, WEIGHT] + 1):
            skewed = node
        node = child
        depth += 1
    put_into_leaf(tree, store, node, row, bits)
    offer(tree, store, row, bits)
    tree.state[INSERTED] += 1
    tree.state[DEPTH] = max(tree.state[DEPTH], depth)
    if skewed == NIL and tree.state[INSERTED] >= tree.state[FULL_AGAIN]:
        skewed = tree.state[ROOT]
    if skewed != NIL:
        tree.state[SKEWED] = skewed


@inlined
def kd_delete(tree, store, row):
    """Take a head out of the tree; its row is still in the store."""
    bucket = tree.bits.shape[1]
    place = store.links[row, PLACE]
    block, slot = place // bucket, place % bucket
    leaf = tree.owners[block]
    last = tree.nodes[leaf, WEIGHT] - 1
    moved = tree.members[block * bucket + last]
    tree.members[place] = moved
    store.links[moved, PLACE] = place
    store.links[row, PLACE] = NIL
    forget(tree, row, tree.bits[block, slot])
    tree.bits[block, slot] = tree.bits[block, last]
    tree.bits[block, last] = 0
    tree.nodes[leaf, WEIGHT] = last
    _count_loss(tree, leaf)
    _look_for_skew(tree, _merge(tree, store, leaf))


@inlined
def kd_replace(tree, place, row, head):
    """Let `row`, whose box is equal, stand in the place of `head`."""
    bucket = tree.bits.shape[1]
    slot = where_in_front(tree, head, tree.bits[place // bucket, place % bucket])
    if slot != NIL:
        tree.front_rows[slot] = row
    tree.members[place] = row


@inlined
def _is_skewed(tree, node, heavier):
    weight = tree.nodes[node, WEIGHT]
    much = 10 * heavier > 7 * weight + 10 * tree.bits.shape[1]
    return much and 4 * tree.nodes[node, CHANGES] >= weight


@njit(cache=True)
def _split(tree, store, node):
    """Cut a full leaf; takes two nodes and one block."""
    bucket, block = tree.bits.shape[1], tree.nodes[node, BLOCK]
    weight = tree.nodes[node, WEIGHT]
    rows, bits = np.empty(weight, np.int64), np.empty(weight, np.int64)
    for slot in range(weight):
        rows[slot] = tree.members[block * bucket + slot]
        bits[slot] = tree.bits[block, slot]
    cuts = np.empty(len(tree.front), np.int64)
    count_cuts(tree, node, cuts)
    dim, cut = choose_cut(store, tree.thresholds, rows, 0, weight, cuts)
    release_block(tree, block)
    make_inner(tree, node, dim, cut, weight)
    left, right = take_node(tree, node), take_node(tree, node)
    make_leaf(tree, left, take_block(tree))
    make_leaf(tree, right, take_block(tree))
    tree.nodes[node, LEFT] = left
    tree.nodes[node, RIGHT] = right
    for i in range(weight):
        side = right if store.points[rows[i], dim] > cut else left
        put_into_leaf(tree, store, side, rows[i], bits[i])
    join_bits(tree, node)


@inlined
def _count_loss(tree, leaf):
    """Set the bits of a leaf that lost a point, count the loss above, and join bits anew."""
    nodes, block, bits = tree.nodes, tree.nodes[leaf, BLOCK], np.int64(0)
    for slot in range(tree.bits.shape[1]):
        bits |= tree.bits[block, slot]
    changed = bits != nodes[leaf, ANY]
    nodes[leaf, ANY] = bits
    node = nodes[leaf, UP]
    while node != NIL:
        nodes[node, WEIGHT] -= 1
        nodes[node, CHANGES] += 1
        if changed:
            changed = join_bits(tree, node)
        node = nodes[node, UP]


@inlined
def _merge(tree, store, leaf):
    """Merge a leaf under the underflow limit with its sibling; the node that stands there now.

    An empty leaf beside an inner node gives way to it.
    """
    nodes, bucket = tree.nodes, tree.bits.shape[1]
    up = nodes[leaf, UP]
    if up == NIL or 4 * nodes[leaf, WEIGHT] > bucket:
        return leaf
    left = nodes[up, LEFT]
    sibling = nodes[up, RIGHT] if left == leaf else left
    empty = nodes[leaf, WEIGHT] == 0
    if nodes[sibling, DIM] != NIL and empty:
        _give_way(tree, leaf, up, sibling)
        return up
    if nodes[sibling, DIM] != NIL or (4 * nodes[up, WEIGHT] > 3 * bucket and not empty):
        return leaf
    block = nodes[leaf, BLOCK]
    for slot in range(nodes[leaf, WEIGHT]):
        row = tree.members[block * bucket + slot]
        put_into_leaf(tree, store, sibling, row, tree.bits[block, slot])
    _give_way(tree, leaf, up, sibling)
    return up


@njit(cache=True)
def _give_way(tree, leaf, up, sibling):
    """The sibling of a leaf, whose points are elsewhere, moves into the place of their parent."""
    nodes, over = tree.nodes, tree.nodes[up, UP]
    release_block(tree, nodes[leaf, BLOCK])
    for field in range(nodes.shape[1]):
        nodes[up, field] = nodes[sibling, field]
    nodes[up, UP] = over
    tree.cuts[up] = tree.cuts[sibling]
    if nodes[up, DIM] == NIL:
        tree.owners[nodes[up, BLOCK]] = up
    else:
        nodes[nodes[up, LEFT], UP] = up
        nodes[nodes[up, RIGHT], UP] = up
    release_node(tree, leaf)
    release_node(tree, sibling)


@inlined
def _look_for_skew(tree, node):
    """Note the topmost subtree that has one side too heavy."""
    nodes, skewed = tree.nodes, NIL
    node = nodes[node, UP]
    while node != NIL:
        heavier = max(nodes[nodes[node, LEFT], WEIGHT], nodes[nodes[node, RIGHT], WEIGHT])
        if _is_skewed(tree, node, heavier):
            skewed = node
        node = nodes[node, UP]
    if skewed != NIL:
        tree.state[SKEWED] = skewed
