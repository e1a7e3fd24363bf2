"""Members of l-nodes, and the summaries that follow from them: boxes and bounds of weights."""

import numpy as np
from numba import njit

from indexes.boolean.row_words import place_of
from indexes.boolean.tree_groups import choose_spread
from indexes.boolean.tree_layout import (
    COLUMN,
    COUNT,
    DEPTH,
    LEFT,
    LIMIT,
    MEMBERS,
    PARENT,
    PDIR,
    PDIR_COUNT,
    PNODE,
    RIGHT,
    ROOM,
    ROOT,
    ROW,
    SEGMENT,
    USED_C,
    row_of,
)
from indexes.boolean.tree_nodes import forget_weights, show_bounds
from indexes.boolean.tree_runs import class_of, give_run, room_of, take_run
from indexes.boolean.tree_weights import ROOM_FOR_PARTS
from indexes.boolean.tree_writing import write_member
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused, inner
from indexes.kernels.prefetch import prefetch

_AHEAD = 4


@bare
def path_of(t, node, path):
    """The columns on the way from the root to a c-node; returns how many."""
    depth = t.c[node, DEPTH]
    for level in range(depth - 1, -1, -1):
        path[level] = t.p[t.c[node, PNODE], COLUMN]
        node = t.p[t.c[node, PNODE], PARENT]
    return depth


@bare
def forget_summary(t, node):
    for level in range(t.c[node, DEPTH]):
        t.own[node, level, 0], t.own[node, level, 1] = 255, 0
    t.best[node] = t.top[node] = -1.0
    t.oldest[node], t.printed[node] = np.iinfo(np.int64).max, False
    forget_weights(t, node)


@inner
def _by_weight(r, local, order):
    sums = np.zeros(len(order))
    for i in range(len(order)):
        size, _, w, _ = place_of(r, local.rows[order[i]])
        for j in range(w, w + size):
            sums[i] -= r.reals[j]
    return np.argsort(sums, kind="mergesort")


@fused
def _prefetch_next(r, local, order, in_order, i):
    """Prefetch the rows of the members that are written some steps later."""
    if i + 3 * _AHEAD < len(order):
        prefetch(local.rows, order[in_order[i + 3 * _AHEAD]])
        prefetch(local.starts, order[in_order[i + 3 * _AHEAD]])
    if i + 2 * _AHEAD < len(order):
        row = local.rows[order[in_order[i + 2 * _AHEAD]]]
        prefetch(r.start, row)
        prefetch(r.ids, row)
    if i + _AHEAD < len(order):
        member = order[in_order[i + _AHEAD]]
        start, first = r.start[local.rows[member]], local.starts[member]
        prefetch(r.reals, start)
        prefetch(r.reals, start + 8)
        prefetch(local.columns, first)
        prefetch(local.lows, first)
        prefetch(local.highs, first)
        prefetch(local.loads, first)


@inner
def fill(t, r, local, node, order, lows, highs, prints, path, depth, capacity, by_weight):
    """Make the given members the l-node of a c-node.

    They are ordered by where their intervals begin and by fingerprints, which keeps together what
    an event admits; where nothing tells too many of them apart, the heaviest come first.
    """
    n = len(order)
    give_run(t, MEMBERS, t.c[node, SEGMENT], t.c[node, ROOM])
    t.c[node, COUNT], t.c[node, ROOM] = n, 0
    t.c[node, LIMIT] = capacity if n <= capacity else 2 * n
    forget_summary(t, node)
    if n == 0:
        return
    t.c[node, ROOM] = room_of(class_of(n))
    choose_spread(t, local, node, order)
    start = take_run(t, MEMBERS, n)
    t.c[node, SEGMENT] = start
    parts = np.empty(ROOM_FOR_PARTS)
    in_order = np.argsort(lows.astype(np.uint16) * 256 + prints, kind="mergesort")
    if n > capacity and by_weight:
        in_order = _by_weight(r, local, order)
    for i in range(n):
        _prefetch_next(r, local, order, in_order, i)
        j = in_order[i]
        write_member(
            t, r, local, order[j], node, start + i, lows[j], highs[j], prints[j], path, depth, parts
        )


@fused
def widen(box, node, other_box, other, levels):
    for level in range(levels):
        box[node, level, 0] = min(box[node, level, 0], other_box[other, level, 0])
        box[node, level, 1] = max(box[node, level, 1], other_box[other, level, 1])


@bare
def sum_up(t, node):
    """Complete a c-node whose `own` is the box of its l-node, from what is below and beside it."""
    depth, pnode = t.c[node, DEPTH], t.c[node, PNODE]
    t.top[node] = t.best[node]
    for at in range(t.c[node, PDIR], t.c[node, PDIR] + t.c[node, PDIR_COUNT]):
        below = t.d_node[at]
        t.top[node] = max(t.top[node], t.p_top[below])
        widen(t.own, node, t.total, t.p[below, ROOT], depth)
    gather_total(t, node)
    show_bounds(t, node)
    if pnode != NIL:
        t.p_top[pnode] = max(t.p_top[pnode], t.top[node])


@bare
def gather_total(t, node):
    depth = t.c[node, DEPTH]
    for level in range(depth):
        t.total[node, level, 0] = t.own[node, level, 0]
        t.total[node, level, 1] = t.own[node, level, 1]
    for side in (LEFT, RIGHT):
        if t.c[node, side] != NIL:
            widen(t.total, node, t.total, t.c[node, side], depth)


@njit(cache=True)
def rows_in_order(t, count):
    """All rows, l-node after l-node as their runs lie in memory."""
    used = t.state[USED_C]
    order = np.empty(count, np.int32)
    starts = np.empty(used, np.int64)
    for node in range(used):
        alive = t.c[node, DEPTH] != NIL and t.c[node, COUNT] > 0
        starts[node] = t.c[node, SEGMENT] if alive else np.iinfo(np.int64).max
    at = 0
    for node in np.argsort(starts, kind="mergesort"):
        if starts[node] == np.iinfo(np.int64).max:
            break
        for i in range(t.c[node, SEGMENT], t.c[node, SEGMENT] + t.c[node, COUNT]):
            order[at] = row_of(t, i)
            at += 1
    return order


@njit(cache=True)
def renumber_members(t, new):
    for node in range(t.state[USED_C]):
        if t.c[node, DEPTH] != NIL:
            for i in range(t.c[node, SEGMENT], t.c[node, SEGMENT] + t.c[node, COUNT]):
                t.m_record[i, ROW] = np.uint32(new[row_of(t, i)])
