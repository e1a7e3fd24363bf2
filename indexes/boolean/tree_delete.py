"""Deletion from a BE*-tree: boxes shrink, empty nodes go, sparse buckets merge (§IV-B, §IV-C).

A c-node's box covers all columns on its path, its active one and the inactive ones above.  So
what a deletion leaves is read off the members of one l-node and the boxes of its neighbours, and
handed upwards; nothing below has to be visited.
"""

import numpy as np
from numba import njit

from indexes.boolean.codes import coarse_on
from indexes.boolean.row_words import COLUMN_MASK, place_of
from indexes.boolean.tree_insert import room_for
from indexes.boolean.tree_layout import (
    COUNT,
    DEPTH,
    LEFT,
    MEMBERS,
    MOST_DEPTH,
    OVER,
    PARENT,
    PDIR,
    PDIR_COUNT,
    PNODE,
    RIGHT,
    ROOM,
    ROOT,
    SEGMENT,
    SIZE,
    copy_members,
    row_of,
)
from indexes.boolean.tree_members import gather_total, path_of, widen
from indexes.boolean.tree_nodes import (
    drop_entry,
    drop_p,
    entries_of,
    forget_weights,
    free_c,
    show_bounds,
)
from indexes.boolean.tree_room import can_fill
from indexes.boolean.tree_runs import give_run
from indexes.boolean.tree_weights import ROOM_FOR_PARTS, weigh_member
from indexes.kernels import NIL
from indexes.kernels.decorators import bare


@njit(cache=True)
def count_columns(r, rows, popularity, step):
    for i in range(len(rows)):
        size, first, _, _ = place_of(r, rows[i])
        for p in range(first, first + size):
            popularity[r.meta[p] & COLUMN_MASK] += step


@njit(cache=True)
def delete_rows(t, r, codes, rows, options):
    path, parts = np.empty(MOST_DEPTH, np.int64), np.empty(ROOM_FOR_PARTS)
    for i in range(len(rows)):
        node = t.where[rows[i]]
        t.where[rows[i]] = NIL
        was_best = _take_out(t, node, rows[i]) >= t.best[node]
        touched = _touches(t, r, codes, node, rows[i], path)
        above = node
        while t.c[above, PNODE] != NIL:
            t.p[t.c[above, PNODE], SIZE] -= 1
            above = t.p[t.c[above, PNODE], PARENT]
        if was_best or t.c[node, COUNT] == 0:
            _weigh_anew(t, r, node, parts)
        if touched:
            _shrink(t, r, codes, node, path)
        _tell_tops(t, node)
        _tidy(t, r, codes, node, options.capacity, path, parts)


@bare
def _take_out(t, node, row):
    """Remove a row's member, whose place the last one takes; return its sum of weights."""
    first, last = t.c[node, SEGMENT], t.c[node, SEGMENT] + t.c[node, COUNT] - 1
    at = first
    while row_of(t, at) != row:
        at += 1
    weight = t.m_sum[at]
    copy_members(t, last, at, 1)
    t.c[node, COUNT] -= 1
    if t.c[node, COUNT] == 0:
        give_run(t, MEMBERS, first, t.c[node, ROOM])
        t.c[node, ROOM] = 0
    return weight


@bare
def _touches(t, r, codes, node, row, path):
    """Whether a row reaches an edge of the c-node's box."""
    for level in range(path_of(t, node, path)):
        low, high = coarse_on(r, codes, row, path[level])
        if t.own[node, level, 0] >= low or t.own[node, level, 1] <= high:
            return True
    return False


@bare
def _weigh_anew(t, r, node, parts):
    t.best[node] = -1.0
    t.oldest[node] = np.iinfo(np.int64).max
    forget_weights(t, node)
    for at in range(t.c[node, SEGMENT], t.c[node, SEGMENT] + t.c[node, COUNT]):
        weigh_member(t, r, node, at, row_of(t, at), parts)


@bare
def _tell_tops(t, node):
    """Lower the bounds of subtrees from a c-node upwards, as far as they change."""
    while True:
        top = t.best[node]
        for at in range(t.c[node, PDIR], t.c[node, PDIR] + t.c[node, PDIR_COUNT]):
            top = max(top, t.p_top[t.d_node[at]])
        t.top[node] = top
        show_bounds(t, node)
        pnode = t.c[node, PNODE]
        if pnode == NIL:
            return
        top = np.float32(-1.0)
        start, _, count = entries_of(t, pnode)
        for at in range(start, start + count):
            if t.c[t.e_node[at], PNODE] == pnode:
                top = max(top, t.e_top[at])
        if t.p_top[pnode] == top:
            return
        t.p_top[pnode] = top
        node = t.p[pnode, PARENT]


@bare
def _shrink(t, r, codes, node, path):
    """Make the boxes exact from a c-node upwards, as far as they change."""
    while True:
        depth = path_of(t, node, path)
        for level in range(depth):
            t.own[node, level, 0], t.own[node, level, 1] = 255, 0
            for at in range(t.c[node, SEGMENT], t.c[node, SEGMENT] + t.c[node, COUNT]):
                low, high = coarse_on(r, codes, row_of(t, at), path[level])
                t.own[node, level, 0] = min(np.int64(t.own[node, level, 0]), low)
                t.own[node, level, 1] = max(np.int64(t.own[node, level, 1]), high)
        for at in range(t.c[node, PDIR], t.c[node, PDIR] + t.c[node, PDIR_COUNT]):
            widen(t.own, node, t.total, t.p[t.d_node[at], ROOT], depth)
        show_bounds(t, node)
        pnode = t.c[node, PNODE]
        if pnode == NIL:
            return
        bucket = node
        while bucket != NIL:
            gather_total(t, bucket)
            bucket = t.c[bucket, OVER]
        node = t.p[pnode, PARENT]


@bare
def _replace(t, node, child):
    """Put a c-node (or NIL) in the place of its parent bucket, which goes."""
    over, pnode = t.c[node, OVER], t.c[node, PNODE]
    if over == NIL:
        t.p[pnode, ROOT] = child
    elif t.c[over, LEFT] == node:
        t.c[over, LEFT] = child
    else:
        t.c[over, RIGHT] = child
    if child != NIL:
        t.c[child, OVER] = over
    drop_entry(t, node)
    free_c(t, node)


@bare
def _tidy(t, r, codes, node, capacity, path, parts):
    """Remove what is empty; merge a sparse leaf bucket with its parent if that is open."""
    while node != 0 and t.c[node, PDIR_COUNT] == 0:
        left, right, over = t.c[node, LEFT], t.c[node, RIGHT], t.c[node, OVER]
        pnode = t.c[node, PNODE]
        if t.c[node, COUNT] == 0 and (left == NIL or right == NIL):
            _replace(t, node, left if left != NIL else right)
            if t.p[pnode, ROOT] == NIL:
                over = t.p[pnode, PARENT]
                drop_p(t, pnode)
            if over == NIL:
                return
            node = over
        elif left == NIL and right == NIL and over != NIL and t.c[over, PDIR_COUNT] == 0:
            together = t.c[node, COUNT] + t.c[over, COUNT]
            if 2 * together > capacity or not can_fill(t, together):
                return
            _merge(t, r, node, over, parts)
            node = over
        else:
            return


@bare
def _merge(t, r, node, over, parts):
    """Move the members of a bucket to its parent; both test the same column on the same path."""
    first = room_for(t, over, t.c[node, COUNT])  # by one run, not by one longer than another
    copy_members(t, t.c[node, SEGMENT], first, t.c[node, COUNT])
    for at in range(first, first + t.c[node, COUNT]):
        row = row_of(t, at)
        t.where[row] = over
        weigh_member(t, r, over, at, row, parts)
    t.printed[over] |= t.printed[node]
    widen(t.own, over, t.own, node, t.c[node, DEPTH])
    t.top[over] = max(t.top[over], t.top[node])
    _replace(t, node, NIL)
    show_bounds(t, over)
    gather_total(t, over)
