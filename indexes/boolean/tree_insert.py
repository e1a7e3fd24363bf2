"""Insertion into a BE*-tree (Algorithms 1 to 3)."""

import numpy as np
from numba import njit

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.codes import coarse_on
from indexes.boolean.rows import NIL, bare, inner
from indexes.boolean.tree_layout import (
    COLUMN,
    COUNT,
    DEPTH,
    GROUPS,
    LEFT,
    LIMIT,
    LONGEST,
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
    USED_C,
    USED_D,
    USED_E,
    USED_M,
    USED_P,
    add_entry,
    class_of,
    give_run,
    new_c,
    room_of,
    show_bounds,
    take_run,
)
from indexes.boolean.tree_members import gather_total, on_path, row_of, write_member
from indexes.boolean.tree_settle import CLUSTER, PARTITION, localise, settle


@njit(cache=True)
def insert_rows(t, r, codes, popularity, live, rows, start, options):
    """Insert from position `start` on; return the position at which arrays ran out of room."""
    path, parts = np.empty(MOST_DEPTH, np.int64), np.empty(MOST_PREDICATES + GROUPS)
    for i in range(start, len(rows)):
        if not _has_room(t, 1, options.capacity):
            return i
        local = localise(r, codes, popularity, live, rows[i : i + 1], options.by_size)
        node = _home(t, local, path, options)
        depth = t.c[node, DEPTH]
        low, high = 1, 255
        if depth:
            low, high = coarse_on(r, codes, rows[i], path[depth - 1])
        at = room_for_one(t, node)
        write_member(t, r, codes, local, 0, node, at, low, high, path, depth, parts)
        _tell_above(t, r, codes, rows[i], node)
        if t.c[node, COUNT] > max(t.c[node, LIMIT], options.capacity):
            if not _has_room(t, t.c[node, COUNT] + 8, options.capacity):
                # Out of room to split, which the next insertion will do.
                return i + 1
            _split(t, r, codes, popularity, live, node, options)
    return len(rows)


@bare
def _has_room(t, members, capacity):
    """Whether an l-node of so many may be split without running out of anything."""
    most = 4 * (members + capacity) + 64
    return (
        t.state[USED_C] + most <= len(t.c)
        and t.state[USED_P] + most <= len(t.p)
        and t.state[USED_M] + 8 * most <= len(t.m_low)
        and t.state[USED_E] + 16 * most + 4 * t.state[LONGEST] <= len(t.e_node)
        and t.state[USED_D] + 16 * most <= len(t.d_node)
    )


@bare
def _home(t, local, path, options):
    """The c-node whose l-node takes the only row of `local`; fills in the columns on its path."""
    node, depth = 0, 0
    while t.c[node, PDIR_COUNT] > 0 and depth < MOST_DEPTH:
        best, key = NIL, NIL
        for i in range(local.starts[0], local.starts[1]):
            column = local.columns[i]
            if on_path(path, depth, column):
                continue
            pnode = _partition_for(t, node, column)
            if pnode == NIL:
                continue
            if best == NIL or _outranks(t, local, i, pnode, key, best):
                best, key = pnode, i
        if best == NIL:
            break
        path[depth] = t.p[best, COLUMN]
        depth += 1
        low, high = _narrowest(local, t.p[best, COLUMN])
        node = _bucket_for(t, best, low, high, options.beta)
    return node


@bare
def _partition_for(t, node, column):
    if node == 0:
        return t.at_root[column]
    for at in range(t.c[node, PDIR], t.c[node, PDIR] + t.c[node, PDIR_COUNT]):
        if t.d_column[at] == column:
            return t.d_node[at]
    return NIL


@bare
def _outranks(t, local, i, pnode, j, other):
    """The rank of a p-node for a row: seldom read with it, then shared by many, then first."""
    if local.loads[i] != local.loads[j]:
        return local.loads[i] < local.loads[j]
    size, other_size = t.p[pnode, SIZE], t.p[other, SIZE]
    return size > other_size or (size == other_size and t.p[pnode, COLUMN] < t.p[other, COLUMN])


@bare
def _narrowest(local, column):
    low, high = np.int64(1), np.int64(256)
    for i in range(local.starts[0], local.starts[1]):
        if local.columns[i] == column:
            first, last = np.int64(local.lows[i]), np.int64(local.highs[i])
            if last - first < high - low:
                low, high = first, last
    return low, high


@bare
def _meets(t, node, level, low, high):
    return node != NIL and t.total[node, level, 0] <= high and low <= t.total[node, level, 1]


@bare
def _bucket_for(t, pnode, low, high, beta):
    """The smallest bucket for an interval (Algorithm 2).

    Bottom-up expansion: an interval that would stretch a bucket `beta` times gets a new one above.
    """
    node = t.p[pnode, ROOT]
    level = t.c[node, DEPTH] - 1
    while t.c[node, LEFT] != NIL or t.c[node, RIGHT] != NIL:
        left, right = t.c[node, LEFT], t.c[node, RIGHT]
        first, last = np.int64(t.total[node, level, 0]), np.int64(t.total[node, level, 1])
        if max(last, high) - min(first, low) + 1 > beta * (last - first + 1):
            return _new_above(t, node)
        in_left, in_right = _meets(t, left, level, low, high), _meets(t, right, level, low, high)
        if in_left and in_right:
            return node
        if in_left:
            node = left
        elif in_right:
            node = right
        elif left == NIL or right == NIL:
            return node
        elif _stretch(t, left, level, low, high) < _stretch(t, right, level, low, high):
            node = left
        else:
            node = right
    return node


@bare
def _stretch(t, node, level, low, high):
    first, last = np.int64(t.total[node, level, 0]), np.int64(t.total[node, level, 1])
    return max(last, high) - min(first, low)


@bare
def _new_above(t, node):
    """A bucket in the place of another one, which becomes its only descendant."""
    pnode, over = t.c[node, PNODE], t.c[node, OVER]
    above = new_c(t, pnode, t.c[node, DEPTH])
    add_entry(t, above)
    t.c[above, OVER], t.c[above, LEFT], t.c[node, OVER] = over, node, above
    if over == NIL:
        t.p[pnode, ROOT] = above
    elif t.c[over, LEFT] == node:
        t.c[over, LEFT] = above
    else:
        t.c[over, RIGHT] = above
    gather_total(t, above)
    return above


@bare
def room_for_one(t, node):
    """A free place at the end of an l-node, whose run may have to move."""
    count = t.c[node, COUNT]
    if count == t.c[node, ROOM]:
        old, start = t.c[node, SEGMENT], take_run(t, MEMBERS, count + 1)
        for i in range(count):
            t.m_low[start + i], t.m_high[start + i] = t.m_low[old + i], t.m_high[old + i]
            t.m_sum[start + i] = t.m_sum[old + i]
            for word in range(4):
                t.m_record[start + i, word] = t.m_record[old + i, word]
        give_run(t, MEMBERS, old, t.c[node, ROOM])
        t.c[node, SEGMENT], t.c[node, ROOM] = start, room_of(class_of(count + 1))
    t.c[node, COUNT] += 1
    return t.c[node, SEGMENT] + count


@bare
def _tell_above(t, r, codes, row, node):
    """Widen boxes and raise bounds from a c-node, which knows its new member, up to the root."""
    best = t.best[node]
    while True:
        t.top[node] = max(t.top[node], best)
        show_bounds(t, node)
        pnode = t.c[node, PNODE]
        bucket = node
        while bucket != NIL:
            gather_total(t, bucket)
            bucket = t.c[bucket, OVER]
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
def _split(t, r, codes, popularity, live, node, options):
    """Settle the members of an overflowing l-node anew."""
    local = localise(r, codes, popularity, live, rows_of(t, node), options.by_size)
    is_leaf = t.c[node, LEFT] == NIL and t.c[node, RIGHT] == NIL
    open_bucket = node != 0 and is_leaf and t.c[node, PDIR_COUNT] == 0
    settle(t, r, codes, local, node, CLUSTER if open_bucket else PARTITION, options)
