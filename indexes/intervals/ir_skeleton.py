"""The interval tree of an IR-tree: descending it and keeping it in balance.

A node keeps the intervals around its center; those wholly below or above it are in its
subtrees.  A subtree of at most `bucket` intervals is one node without a center.  Balance is
kept by rebuilding: a subtree is built anew when a child outweighs HEAVIEST of it, so the
depth stays logarithmic and a rebuild is paid for by the updates that made it necessary.
"""

import numpy as np
from numba import njit

from indexes.intervals.ir_blocks import insert_entry, node_of, remove_entry
from indexes.intervals.ir_build import MOST_PENDING
from indexes.intervals.ir_entries import position
from indexes.intervals.ir_layout import LIVE_BLOCKS, LIVE_NODES, TOP, new_node
from indexes.kernels import NIL
from indexes.kernels.decorators import bare

HEAVIEST = 0.7  # a fresh median leaves a child at most 0.5 of the weight


@bare
def _home(t, low, high):
    """The node an interval belongs to, or the parent and side of one to be made."""
    over, side, node = NIL, 0, t.state[TOP]
    while node != NIL:
        if high < t.center[node]:
            over, side, node = node, 0, t.left[node]
        elif low > t.center[node]:
            over, side, node = node, 1, t.right[node]
        else:
            break
    return node, over, side


@bare
def has_room(t, node):
    """Whether one insertion into the node's R-tree cannot run out of blocks or nodes."""
    height = 0 if node == NIL or t.root[node] == NIL else t.level[t.root[node]] + 1
    blocks_left = len(t.filled) - t.state[LIVE_BLOCKS]
    return blocks_left >= height + 1 and len(t.center) > t.state[LIVE_NODES]


@bare
def _weigh(t, node, change, batch):
    while node != NIL:
        t.weight[node] += change
        t.touched[node] = batch
        node = t.over[node]


@njit(cache=True, nogil=True)
def insert_rows(t, rows, new, lows, highs, start, batch):
    """Insert from position `start` on; return the position at which room ran out."""
    for i in range(start, len(new)):
        node, over, side = _home(t, lows[i], highs[i])
        if not has_room(t, node):
            return i
        if node == NIL:
            node = new_node(t, np.nan, over, side)
        insert_entry(t, rows, node, np.int64(new[i]), lows[i], highs[i])
        _weigh(t, node, 1, batch)
    return len(new)


@njit(cache=True, nogil=True)
def delete_rows(t, rows, old, batch):
    for i in range(len(old)):
        node = node_of(t, np.int64(old[i]))
        remove_entry(t, rows, np.int64(old[i]))
        _weigh(t, node, -1, batch)


@njit(cache=True, nogil=True)
def intervals_of(t, rows, lows, highs):
    for i in range(len(rows)):
        leaf = np.int64(t.where[rows[i]])
        pos = position(t, leaf, np.int64(rows[i]))
        lows[i], highs[i] = t.lows[leaf, pos], t.highs[leaf, pos]


@njit(cache=True, nogil=True)
def lift_rows(t, rows, moving):
    """Take rows out of their R-trees but keep their nodes' weight, for `drop_rows`."""
    nodes = np.empty(len(moving), np.int64)
    lows, highs = np.empty(len(moving)), np.empty(len(moving))
    for i in range(len(moving)):
        nodes[i] = node_of(t, np.int64(moving[i]))
        lows[i], highs[i] = remove_entry(t, rows, np.int64(moving[i]))
    return nodes, lows, highs


@njit(cache=True, nogil=True)
def drop_rows(t, rows, moving, nodes, lows, highs, start):
    """Put lifted rows back by their new scores; return the position at which room ran out."""
    for i in range(start, len(moving)):
        if not has_room(t, nodes[i]):
            return i
        insert_entry(t, rows, nodes[i], np.int64(moving[i]), lows[i], highs[i])
    return len(moving)


@bare
def _is_out_of_balance(t, node, bucket):
    weight = t.weight[node]
    if t.center[node] != t.center[node]:
        return weight > bucket
    heaviest = 0
    for child in (t.left[node], t.right[node]):
        if child != NIL:
            heaviest = max(heaviest, t.weight[child])
    return 2 * weight <= bucket or heaviest > HEAVIEST * weight


@njit(cache=True, nogil=True)
def out_of_balance(t, bucket, batch):
    """The topmost nodes that a batch has brought out of balance."""
    found, count = np.empty(t.state[LIVE_NODES], np.int32), 0
    pending = np.empty(MOST_PENDING, np.int32)
    pending[0], size = t.state[TOP], 1
    while size:
        size -= 1
        node = pending[size]
        if node == NIL or t.touched[node] != batch:
            continue
        if _is_out_of_balance(t, node, bucket):
            found[count] = node
            count += 1
            continue
        pending[size], pending[size + 1] = t.left[node], t.right[node]
        size += 2
    return found[:count]
