"""Insertion into a BE*-tree (Algorithms 1 to 3)."""

import numpy as np
from numba import njit

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.fingerprints import ANY
from indexes.boolean.tree_home import home_of
from indexes.boolean.tree_layout import (
    CARD_FIELDS,
    CARD_LEVELS,
    COUNT,
    DEPTH,
    GROUPS,
    LEFT,
    LIMIT,
    MEMBERS,
    MOST_DEPTH,
    OVER,
    PARENT,
    PDIR_COUNT,
    PNODE,
    RIGHT,
    ROOM,
    SEGMENT,
    SIZE,
    TOLD,
    copy_members,
    row_of,
)
from indexes.boolean.tree_local import local_on, localise, new_local, write_local
from indexes.boolean.tree_members import widen
from indexes.boolean.tree_nodes import show_bounds
from indexes.boolean.tree_room import can_enter, can_fill, can_split
from indexes.boolean.tree_runs import class_of, give_run, room_of, take_run
from indexes.boolean.tree_settle import CLUSTER, PARTITION, settle
from indexes.boolean.tree_weights import ROOM_FOR_PARTS
from indexes.boolean.tree_writing import write_member
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused, inner
from indexes.kernels.prefetch import prefetch


@njit(cache=True)
def insert_rows(t, r, codes, demand, live, rows, start, options):
    """Insert from position `start` on; return the position at which arrays ran out of room."""
    path, parts = np.empty(MOST_DEPTH, np.int64), np.empty(ROOM_FOR_PARTS)
    local = new_local(1, MOST_PREDICATES)
    for i in range(start, len(rows)):
        if not can_enter(t):
            return i
        local.rows[0] = rows[i]
        write_local(local, r, codes, demand, live, options.by_size)
        node = home_of(t, r, local, path, options)
        _prefetch_home(t, node)
        splits = t.c[node, COUNT] >= max(t.c[node, LIMIT], options.capacity)
        if t.c[node, COUNT] and not _can_take(t, node, splits):
            return i  # nothing has changed, for a new bucket would have no members
        depth = t.c[node, DEPTH]
        low, high, own = 1, 255, ANY
        if depth:
            low, high, own = local_on(local, 0, path[depth - 1])
        at = room_for(t, node, 1)
        write_member(t, r, local, 0, node, at, low, high, own, path, depth, parts)
        _tell_above(t, node)
        if splits:
            _split(t, r, codes, demand, live, node, options)
    return len(rows)


@bare
def _can_take(t, node, splits):
    """Whether there is room for one more member of an l-node, which may be one too many."""
    count = t.c[node, COUNT] + 1
    if splits:
        return can_split(t, node, count)
    return count <= t.c[node, ROOM] or can_fill(t, count)


@bare
def room_for(t, node, more):
    """Free places at the end of an l-node, whose run may have to move; the first of them."""
    count = t.c[node, COUNT]
    if count + more > t.c[node, ROOM]:
        old, start = t.c[node, SEGMENT], take_run(t, MEMBERS, count + more)
        copy_members(t, old, start, count)
        give_run(t, MEMBERS, old, t.c[node, ROOM])
        t.c[node, SEGMENT], t.c[node, ROOM] = start, room_of(class_of(count + more))
    t.c[node, COUNT] += more
    return t.c[node, SEGMENT] + count


@fused
def _prefetch_home(t, node):
    """Prefetch all that a new member of an l-node is written to, before the first is needed."""
    at = t.c[node, SEGMENT] + t.c[node, COUNT]
    prefetch(t.caps, GROUPS * node)
    prefetch(t.floors, GROUPS * node)
    prefetch(t.cards, CARD_FIELDS * node)
    prefetch(t.paths, CARD_LEVELS * node)
    prefetch(t.own, 2 * MOST_DEPTH * node)
    for each in (t.heaviest, t.best, t.top):
        prefetch(each, node)
    prefetch(t.oldest, node)
    for each in (t.m_low, t.m_high, t.m_print, t.m_hint, t.m_other):
        prefetch(each, at)
    for each in (t.m_first, t.m_beside):
        prefetch(each, at)
    prefetch(t.m_sum, at)
    prefetch(t.m_record, 4 * at)
    prefetch(t.m_told, TOLD * at)


@bare
def _covers(box, node, other_box, other, levels):
    for level in range(levels):
        if box[node, level, 0] > other_box[other, level, 0]:
            return False
        if box[node, level, 1] < other_box[other, level, 1]:
            return False
    return True


@bare
def _widen_totals(t, node):
    """Let the boxes of a bucket and those above it cover its members."""
    levels = t.c[node, DEPTH]
    widen(t.total, node, t.own, node, levels)
    over = t.c[node, OVER]
    while over != NIL and not _covers(t.total, over, t.total, node, levels):
        widen(t.total, over, t.total, node, levels)
        over = t.c[over, OVER]


@bare
def _tell_above(t, node):
    """Widen boxes and raise bounds from a c-node, which knows its new member, up to the root."""
    best = t.best[node]
    while True:
        t.top[node] = max(t.top[node], best)
        show_bounds(t, node)
        pnode = t.c[node, PNODE]
        _widen_totals(t, node)
        if pnode == NIL:
            return
        t.p_top[pnode] = max(t.p_top[pnode], best)
        t.p[pnode, SIZE] += 1
        above = t.p[pnode, PARENT]
        for level in range(t.c[above, DEPTH]):
            t.own[above, level, 0] = min(t.own[above, level, 0], t.own[node, level, 0])
            t.own[above, level, 1] = max(t.own[above, level, 1], t.own[node, level, 1])
        node = above


@inner
def rows_of(t, node):
    """The rows in an l-node."""
    start, count = t.c[node, SEGMENT], t.c[node, COUNT]
    rows = np.empty(count, np.int32)
    for i in range(count):
        rows[i] = row_of(t, start + i)
    return rows


@inner
def _split(t, r, codes, demand, live, node, options):
    """Settle the members of an overflowing l-node anew."""
    local = localise(r, codes, demand, live, rows_of(t, node), options.by_size)
    is_leaf = t.c[node, LEFT] == NIL and t.c[node, RIGHT] == NIL
    open_bucket = node != 0 and is_leaf and t.c[node, PDIR_COUNT] == 0
    settle(t, r, local, node, CLUSTER if open_bucket else PARTITION, options, True)
