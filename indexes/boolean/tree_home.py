"""Where an expression belongs: partitions by rank, then the smallest bucket (Algorithms 1, 2)."""

import numpy as np

from indexes.boolean.row_words import COLUMN_MASK, place_of
from indexes.boolean.tree_layout import (
    COLUMN,
    COUNT,
    DEPTH,
    LEFT,
    MOST_DEPTH,
    OVER,
    PDIR,
    PDIR_COUNT,
    PNODE,
    RIGHT,
    ROOT,
    SEGMENT,
    SIZE,
    row_of,
)
from indexes.boolean.tree_members import gather_total
from indexes.boolean.tree_nodes import add_entry, new_c, new_p
from indexes.boolean.tree_pick import COARSE
from indexes.boolean.tree_writing import on_path
from indexes.kernels import NIL
from indexes.kernels.decorators import bare


@bare
def home_of(t, r, local, path, options):
    """The c-node whose l-node takes the only row of `local`; fills in the columns on its path."""
    node, depth = 0, 0
    _open_partition(t, r, local)
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
def _in_root(t, r, column):
    """Whether a member of the root's own l-node has a column."""
    for at in range(t.c[0, SEGMENT], t.c[0, SEGMENT] + t.c[0, COUNT]):
        size, first, _, _ = place_of(r, row_of(t, at))
        for p in range(first, first + size):
            if r.meta[p] & COLUMN_MASK == column:
                return True
    return False


@bare
def _open_partition(t, r, local):
    """A p-node of the root for a row whose best key has none, if it is far better than others.

    It may be the first row with the column, or events may have turned out to lack the column.
    Members of the root's l-node with the column would ask for a second p-node when they are split.
    """
    best, best_known = NIL, NIL
    for i in range(local.starts[0], local.starts[1]):
        if best == NIL or local.loads[i] < local.loads[best]:
            best = i
        if t.at_root[local.columns[i]] != NIL and (
            best_known == NIL or local.loads[i] < local.loads[best_known]
        ):
            best_known = i
    if best_known == NIL or local.loads[best] + COARSE > local.loads[best_known]:
        return
    if not _in_root(t, r, local.columns[best]):
        new_p(t, 0, local.columns[best])


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
