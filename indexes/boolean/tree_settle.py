"""Settling expressions below a c-node: the two phases of the tree's growth (Algorithms 4 and 5).

Clustering parts the members of a bucket by their intervals on the bucket's own column;
partitioning moves members that lie in one place to p-nodes for further columns.  The same code
settles the members of one overflowing l-node and a whole tree (BE*-B).
"""

import numpy as np
from numba import njit

from indexes.boolean.fingerprints import ANY
from indexes.boolean.tree_cut import NO_CUT, find_cut
from indexes.boolean.tree_layout import (
    DEPTH,
    LEFT,
    MOST_DEPTH,
    OVER,
    PNODE,
    RIGHT,
    ROOT,
    SIZE,
)
from indexes.boolean.tree_local import local_on, prefetch_local
from indexes.boolean.tree_members import path_of, sum_up
from indexes.boolean.tree_nodes import add_entry, make_room_for_p, new_c, new_p
from indexes.boolean.tree_pick import by_pick, pick
from indexes.boolean.tree_plan import ABOVE, NODE, PLAN_FIELDS, fill_planned, make_plan
from indexes.boolean.tree_room import can_part
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, inner

CLUSTER, PARTITION = 0, 1
# Tasks for each member, at most.  Those that keep members, and those with several tasks below
# them, are fewer than 2 n; all others hand two members or more on to one p-node, and so are at most
# n / 2 of each depth.
_MOST_TASKS = 2 + MOST_DEPTH // 2
_ALIKE = 8  # capacities of members with one value that are tested sooner than parted further


@njit(cache=True)
def settle(t, r, local, node, mode, options, partly):
    """Put all rows of `local` below a c-node, in the place of its l-node.

    Returns the c-nodes that were filled; none if the arrays ran out of room on the way.  Then all
    is to be done anew with more room, unless `partly` is said, for which there is room for
    members (see `can_split`): members that lack room for nodes stay together until the next one.
    """
    n = len(local.rows)
    order = np.arange(n).astype(np.int32)
    lows, highs, prints = np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(n, np.uint8)
    tasks, waiting = np.empty((n + 8, 5), np.int64), 1
    plan, count = np.empty((_MOST_TASKS * n + 8, PLAN_FIELDS), np.int32), 0
    tally, picked = np.zeros(len(t.at_root), np.int64), np.empty(n, np.int64)
    path = np.empty(MOST_DEPTH, np.int64)
    depth = path_of(t, node, path)
    _read_codes(local, order, lows, highs, prints, path[depth - 1] if depth else NIL)
    tasks[0, 0], tasks[0, 1], tasks[0, 2], tasks[0, 3], tasks[0, 4] = mode, node, 0, n, NIL
    while waiting:
        waiting -= 1
        node, a, b = tasks[waiting, 1], tasks[waiting, 2], tasks[waiting, 3]
        crowded = b - a > options.capacity and not can_part(t, node, b - a)
        if not partly and crowded:
            return plan[:0, NODE]
        parting = b - a > options.capacity and not crowded
        plan[count, NODE], plan[count, ABOVE] = node, tasks[waiting, 4]
        if tasks[waiting, 0] == CLUSTER and parting:
            waiting, a = _cluster(
                t, node, order, lows, highs, prints, a, b, options, tasks, waiting, count
            )
        depth = path_of(t, node, path)
        apart = _told_apart(lows[a:b], highs[a:b], prints[a:b], options.capacity)
        rest = a
        if parting and b - a > options.capacity and depth < MOST_DEPTH and not apart:
            least = options.group if node else 1
            pick(local, order[a:b], path, depth, tally, least, picked[a:b])
            rest = a + by_pick(order[a:b], lows[a:b], highs[a:b], prints[a:b], picked[a:b], tally)
            waiting = _grow_partitions(t, node, picked, a, rest, tasks, waiting)
            _read_picked(local, order, lows, highs, prints, picked, a, rest)
        make_plan(plan, count, rest, b, lows, highs, crowded, not apart)
        count += 1
    if not fill_planned(t, r, local, plan[:count], order, lows, highs, prints, path, options):
        return plan[:0, NODE]
    for i in range(count - 1, -1, -1):
        sum_up(t, plan[i, NODE])
    return plan[:count, NODE]


@inner
def _told_apart(lows, highs, prints, capacity):
    """Whether members have one code, and fingerprints leave few of them to be tested."""
    if len(lows) <= capacity:
        return False
    alike, most = np.zeros(256, np.int64), 0
    for i in range(len(lows)):
        if lows[i] != lows[0] or highs[i] != lows[0]:
            return False
        alike[prints[i]] += 1
        if prints[i] != ANY:
            most = max(most, alike[prints[i]])
    return alike[ANY] + most <= min(_ALIKE * capacity, len(lows) // 2)


@bare
def _read_codes(local, order, lows, highs, prints, column):
    for i in range(len(order)):
        low, high, own = 1, 255, ANY
        if column != NIL:
            prefetch_local(local, order, i)
            low, high, own = local_on(local, order[i], column)
        lows[i], highs[i], prints[i] = low, high, own


@inner
def _part(order, lows, highs, prints, cut):
    """Bring what ends at or below the cut to the front, then what begins above; keep the order."""
    n, at = len(order), 0
    old, old_lows, old_highs = order.copy(), lows.copy(), highs.copy()
    old_prints = prints.copy()
    left = right = 0
    for side in range(3):
        for i in range(n):
            below, above = old_highs[i] <= cut, old_lows[i] > cut
            if (
                (side == 0 and below)
                or (side == 1 and above)
                or (side == 2 and not below and not above)
            ):
                order[at], lows[at], highs[at] = old[i], old_lows[i], old_highs[i]
                prints[at] = old_prints[i]
                at += 1
        if side == 0:
            left = at
        elif side == 1:
            right = at - left
    return left, right


@inner
def _cluster(t, node, order, lows, highs, prints, a, b, options, tasks, waiting, planned):
    """Part a bucket's members by the best cut there is; return where those begin that stay."""
    cut = find_cut(lows[a:b], highs[a:b], options.alpha, options.split)
    if cut == NO_CUT:
        return waiting, a
    left, right = _part(order[a:b], lows[a:b], highs[a:b], prints[a:b], cut)
    waiting = _grow_bucket(t, node, LEFT, tasks, waiting, a, a + left, planned)
    waiting = _grow_bucket(t, node, RIGHT, tasks, waiting, a + left, a + left + right, planned)
    return waiting, a + left + right


@bare
def _grow_bucket(t, node, side, tasks, waiting, a, b, planned):
    """Top-down expansion: a bucket on one side, to be clustered further."""
    if a == b:
        return waiting
    child = new_c(t, t.c[node, PNODE], t.c[node, DEPTH])
    add_entry(t, child)
    t.c[node, side], t.c[child, OVER] = child, node
    tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 4] = CLUSTER, child, planned
    tasks[waiting, 2], tasks[waiting, 3] = a, b
    return waiting + 1


@bare
def _grow_partitions(t, node, picked, a, b, tasks, waiting):
    """A p-node for each run of members that picked the same column, to be clustered."""
    new = 0
    for i in range(a, b):
        new += i + 1 == b or picked[i + 1] != picked[i]
    make_room_for_p(t, node, new)
    start = a
    for i in range(a, b):
        if i + 1 == b or picked[i + 1] != picked[i]:
            pnode = new_p(t, node, picked[i])
            t.p[pnode, SIZE] = i + 1 - start
            tasks[waiting, 0], tasks[waiting, 1] = CLUSTER, t.p[pnode, ROOT]
            tasks[waiting, 2], tasks[waiting, 3], tasks[waiting, 4] = start, i + 1, NIL
            waiting += 1
            start = i + 1
    return waiting


@bare
def _read_picked(local, order, lows, highs, prints, picked, a, b):
    for i in range(a, b):
        prefetch_local(local, order, i)
        low, high, own = local_on(local, order[i], picked[i])
        lows[i], highs[i], prints[i] = low, high, own
