"""Bounds of scores in a BE*-tree (the paper's uscore): what they leave out need not be read."""

import numpy as np

from indexes.boolean.kernels import bare, hot
from indexes.boolean.prefetching import prefetch
from indexes.boolean.tree_layout import (
    CARD_FIELDS,
    CARD_LEVELS,
    FLOORS,
    GROUPS,
    OTHERS,
    ROW,
    ROW_BITS,
    SECOND,
    SHARES,
    THIRD,
)

SLACK = 1.0 + 1e-9  # more than sums of rounded products can be off
_RANKS = 64  # that l-nodes are sorted into by their bounds
_AHEAD = 6


@bare
def weigh_event(events, i, worth, by_worth):
    """An event's columns, each plus 1, by their weights, the greatest first.

    Returns the greatest weight, whether all weights are 1, and the number of columns.
    """
    most, ones, count = 0.0, True, 0
    for at in range(events.starts[i], events.starts[i + 1]):
        column, weight = np.int64(events.columns[at]) + 1, events.weights[at]
        worth[column] = weight
        most = max(most, weight)
        ones &= weight == 1.0
        place = count
        while place > 0 and worth[by_worth[place - 1]] < weight:
            by_worth[place] = by_worth[place - 1]
            place -= 1
        by_worth[place] = column
        count += 1
    return most, ones, count


@hot
def keep_greatest(greatest, kept, most, value):
    """Put a value among the greatest, in order, of which there are at most so many."""
    if kept < most:
        kept += 1
    elif most == 0 or value <= greatest[most - 1]:
        return kept
    at = kept - 1
    while at > 0 and greatest[at - 1] < value:
        greatest[at] = greatest[at - 1]
        at -= 1
    greatest[at] = value
    return kept


@hot
def leaf_bound(t, node, worth, by_worth, columns, ones, greatest):
    """No member of the l-node scores more.

    The greatest sum of weights is dealt out to columns: first to each of the path what all members
    have there, then the rest to the columns that the event values most, to each as much as any
    member has: a knapsack filled with fractions.  Nor can more columns count than one member has.
    """
    best = np.float64(t.best[node])
    if ones or not best < np.inf:
        return best
    unit = np.float64(t.heaviest[node]) / 255.0
    bound, rest = 0.0, best / unit if unit > 0.0 else 0.0
    for level in range(CARD_LEVELS):
        if t.paths[node, level] == 0:
            break
        floor = np.float64(t.cards[node, FLOORS + level])
        bound += floor * worth[t.paths[node, level]]
        rest -= floor
    by_count, others, kept = bound, min(np.int64(t.cards[node, OTHERS]), len(greatest)), 0
    for i in range(columns):
        column = by_worth[i]
        share = np.float64(t.caps[node, (column - 1) & (GROUPS - 1)])
        if share == 0.0:
            continue
        on_path = False
        for level in range(CARD_LEVELS):
            if t.paths[node, level] == column:
                share, on_path = share - np.float64(t.cards[node, FLOORS + level]), True
        value = worth[column]
        if on_path:
            by_count += max(share, 0.0) * value
        else:
            kept = keep_greatest(greatest, kept, others, share * value)
        dealt = max(min(share, rest), 0.0)
        bound += dealt * value
        rest -= dealt
    if t.cards[node, OTHERS] <= len(greatest):
        for i in range(kept):
            by_count += greatest[i]
        bound = min(bound, by_count)
    return bound * (unit * SLACK)


@hot
def member_bound(t, at, worth, own, beside, most):
    """No more than this is the score of a member.

    `own` is the event's weight on the c-node's own column, `beside` the greatest on the columns
    above it, `most` the greatest of all.
    """
    shares = np.int64(t.m_record[at, SHARES])
    here, first, second, third = (
        shares & 255,
        (shares >> 8) & 255,
        (shares >> 16) & 255,
        shares >> 24,
    )
    # Every share may be one part too great, and what is missing for that lies elsewhere.
    rest = max(0, 259 - here - first - second - third)
    unknown = most if t.m_record[at, ROW] >> np.uint32(ROW_BITS) else beside
    bound = (
        here * own
        + first * worth[t.m_first[at] >> np.uint32(16)]
        + second * worth[t.m_record[at, SECOND] >> np.uint32(16)]
        + third * worth[t.m_record[at, THIRD] >> np.uint32(16)]
        + rest * unknown
    )
    return bound * (np.float64(t.m_sum[at]) * (SLACK / 255.0))


@hot
def beside_worth(t, node, depth, worth, most):
    """The event's greatest weight on the columns of a path but for the last one."""
    greatest = most if depth > CARD_LEVELS else 0.0
    for level in range(min(depth - 1, CARD_LEVELS)):
        greatest = max(greatest, worth[t.paths[node, level]])
    return greatest


@hot
def may_beat(m_sum, at, size, most, score):
    """Whether the sum of weights of one of several members allows for a score."""
    best = np.float32(-1.0)
    sums = m_sum[at : at + size]
    for i in range(size):
        best = max(best, sums[i])
    return not best * most < score


@hot
def order_leaves(t, s, leaves, columns, ones, ids, scores):
    """Queue the l-nodes in `found` that may have a better hit, about the best first; how many."""
    left, least, greatest = 0, scores[0], scores[0]
    for j in range(leaves):
        if j + _AHEAD < leaves:
            prefetch(t.caps, GROUPS * s.found[j + _AHEAD])
            prefetch(t.cards, CARD_FIELDS * s.found[j + _AHEAD])
            prefetch(t.paths, CARD_LEVELS * s.found[j + _AHEAD])
        node = s.found[j]
        bound = leaf_bound(t, node, s.worth, s.by_worth, columns, ones, s.greatest)
        if bound < least or (bound == least and t.oldest[node] > ids[0]):
            continue
        s.bounds[left], s.found[left] = bound, node
        left += 1
        greatest = max(greatest, bound)
    _sort_by_rank(s, left, least, greatest)
    return left


@hot
def _sort_by_rank(s, left, least, greatest):
    """Fill `queue` with positions in `found`, by counting how many have each rank."""
    span = greatest - least
    scale = (_RANKS - 1) / span if 0.0 < span < np.inf else 0.0
    s.ranked[:] = 0
    for j in range(left):
        rank = 0
        if s.bounds[j] < greatest:
            rank = _RANKS - 1 - int((s.bounds[j] - least) * scale)
        s.queue[j] = rank
        s.ranked[rank + 1] += 1
    for rank in range(1, _RANKS):
        s.ranked[rank] += s.ranked[rank - 1]
    for j in range(left):
        rank = s.queue[j]
        s.places[s.ranked[rank]] = j
        s.ranked[rank] += 1


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
