"""Bounds of scores in a BE*-tree (the paper's uscore): what they leave out need not be read."""

import numpy as np

from indexes.boolean.rows import NIL, bare, hot
from indexes.boolean.tree_layout import COLUMN, GROUPS, MANY, PARENT, PNODE, ROW_BITS

SLACK = 1.0 + 1e-9  # more than sums of rounded products can be off


@bare
def weigh_groups(events, i, group_most, group_order):
    """The event's greatest weight in each group of columns, -1 if it has none; groups best first.

    Returns the greatest weight of all, whether all weights are 1, and the number of groups.
    """
    most, ones, count = 0.0, True, 0
    for at in range(events.starts[i], events.starts[i + 1]):
        group = events.columns[at] & (GROUPS - 1)
        if group_most[group] < 0.0:
            group_order[count] = group
            count += 1
        weight = events.weights[at]
        group_most[group] = max(group_most[group], weight)
        most = max(most, weight)
        ones &= weight == 1.0
    for i in range(1, count):
        group, at = group_order[i], i
        while at > 0 and group_most[group_order[at - 1]] < group_most[group]:
            group_order[at] = group_order[at - 1]
            at -= 1
        group_order[at] = group
    return most, ones, count


@hot
def leaf_bound(t, node, group_most, group_order, groups, ones):
    """No member of the l-node scores more.

    The greatest sum of weights is dealt out to groups of columns: first to each what all members
    have there, then the rest to the groups that the event values most, to each as much as any
    member has: a knapsack that may be filled with fractions.
    """
    best = np.float64(t.best[node])
    if ones:
        return best
    rest, bound, unit = best, 0.0, best / 255.0
    for i in range(groups):
        group = group_order[i]
        floor = unit * t.floors[node, group]
        bound += floor * group_most[group]
        rest -= floor
    for i in range(groups):
        if rest <= 0.0:
            break
        group = group_order[i]
        share = unit * (np.float64(t.sums[node, group]) - np.float64(t.floors[node, group]))
        share = min(share, rest)
        bound += share * group_most[group]
        rest -= share
    return bound * SLACK


@bare
def sift_down(keys, items, size, at):
    key, item = keys[at], items[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@bare
def heapify(keys, items, size):
    for at in range(size // 2 - 1, -1, -1):
        sift_down(keys, items, size, at)


@bare
def drop_best(keys, items, size):
    """Move the best behind the heap; return the new size."""
    size -= 1
    keys[0], keys[size] = keys[size], keys[0]
    items[0], items[size] = items[size], items[0]
    sift_down(keys, items, size, 0)
    return size


@hot
def may_beat(m_sum, at, size, most, score):
    """Whether the sum of weights of one of up to `_CHUNK` members allows for a score."""
    best = np.float32(-1.0)
    sums = m_sum[at : at + size]
    for i in range(size):
        best = max(best, sums[i])
    return not best * most < score


@hot
def path_worth(t, node, worth):
    """At most what the columns on a c-node's path add to a score, in parts (1/255) of `best`."""
    bound, below = 0.0, node
    while t.c[below, PNODE] != NIL:
        pnode = t.c[below, PNODE]
        column = t.p[pnode, COLUMN]
        bound += worth[column + 1] * t.sums[node, column & (GROUPS - 1)]
        below = t.p[pnode, PARENT]
    return bound


@hot
def greatest_worth(t, node, s, groups):
    """At most what any one predicate adds, in the same unit."""
    bound = 0.0
    for i in range(groups):
        group = s.group_order[i]
        bound = max(bound, s.group_most[group] * t.sums[node, group])
    return bound


@hot
def may_be_better(t, node, at, on_path, any_column, worth, score):
    """Whether a bound of a member's score, column by column, reaches a score."""
    others = t.m_record[at, 3] >> np.uint32(ROW_BITS)
    if others == MANY:
        return True
    bound = on_path + any_column * others
    for i in range(3):
        column = np.int64(t.m_record[at, i] >> np.uint32(16))
        bound += worth[column] * t.sums[node, (column - 1) & (GROUPS - 1)]
    return not bound * (np.float64(t.best[node]) / 255.0 * SLACK) < score


@hot
def order_leaves(t, s, leaves, groups, ones, ids, scores):
    """Make a heap of the l-nodes in `found` that may have a better hit; return how many."""
    left = 0
    for j in range(leaves):
        node = s.found[j]
        bound = leaf_bound(t, node, s.group_most, s.group_order, groups, ones)
        if bound > scores[0] or (bound == scores[0] and t.oldest[node] < ids[0]):
            s.bounds[left], s.found[left] = bound, node
            left += 1
    heapify(s.bounds, s.found, left)
    return left
