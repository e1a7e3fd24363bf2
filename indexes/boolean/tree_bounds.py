"""Bounds of scores in a BE*-tree (the paper's uscore): what they leave out need not be read."""

import numpy as np

from indexes.boolean.kernels import bare, hot
from indexes.boolean.tree_layout import (
    CARD_FIELDS,
    CARD_LEVELS,
    DEPTH,
    FLOORS,
    FOLDS,
    GROUPS,
    MORE_COLUMNS,
    OTHERS,
    SECOND,
    SHARES,
    THIRD,
    TOLD,
)
from indexes.prefetching import prefetch

SLACK = 1.0 + 1e-9  # more than sums of rounded products can be off
_RANKS = 64  # that l-nodes are sorted into by their bounds
_AHEAD = 6


@bare
def weigh_event(events, i, worth, folded):
    """Write an event's weights; return the greatest one, and whether all are 1."""
    most, ones = 0.0, True
    for at in range(events.starts[i], events.starts[i + 1]):
        weight, column = events.weights[at], np.int64(events.columns[at])
        worth[column + 1] = weight
        folded[column & (FOLDS - 1)] = max(folded[column & (FOLDS - 1)], weight)
        most = max(most, weight)
        ones &= weight == 1.0
    folded[MORE_COLUMNS] = most
    return most, ones


@bare
def rank_columns(events, i, worth, by_worth):
    """An event's columns, each plus 1, by their weights, the greatest first; how many."""
    count = 0
    for at in range(events.starts[i], events.starts[i + 1]):
        column = np.int64(events.columns[at]) + 1
        place = count
        while place > 0 and worth[by_worth[place - 1]] < worth[column]:
            by_worth[place] = by_worth[place - 1]
            place -= 1
        by_worth[place] = column
        count += 1
    return count


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
def _path_bounds(t, node, worth):
    """What the columns of its path add to the scores of an l-node, in parts of `heaviest`.

    Returns the least and the most, and the weight behind the least.
    """
    least = most = weight = 0.0
    for level in range(CARD_LEVELS):
        column = t.paths[node, level]
        if column == 0:
            break
        floor = np.float64(t.cards[node, FLOORS + level])
        cap = np.float64(t.caps[node, (column - 1) & (GROUPS - 1)])
        least += floor * worth[column]
        most += max(cap, floor) * worth[column]
        weight += floor
    return least, most, weight


@hot
def _above_floor(t, node, column):
    """The most weight of a member on a column, less what all have; whether it is on the path."""
    share = np.float64(t.caps[node, (column - 1) & (GROUPS - 1)])
    for level in range(CARD_LEVELS):
        if t.paths[node, level] == column:
            return share - np.float64(t.cards[node, FLOORS + level]), True
    return share, False


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
    unit, most_others = np.float64(t.heaviest[node]) / 255.0, np.int64(t.cards[node, OTHERS])
    bound, by_count, weight = _path_bounds(t, node, worth)
    rest = best / unit - weight if unit > 0.0 else 0.0
    others, kept = min(most_others, len(greatest)), 0
    for i in range(columns):
        value = worth[by_worth[i]]
        if rest <= 0.0 and kept == others and (kept == 0 or 255.0 * value <= greatest[kept - 1]):
            break  # neither the rest of the weight nor more columns are left
        share, on_path = _above_floor(t, node, by_worth[i])
        if share > 0.0:
            if not on_path:
                kept = keep_greatest(greatest, kept, others, share * value)
            dealt = max(min(share, rest), 0.0)
            bound += dealt * value
            rest -= dealt
    if most_others <= len(greatest):
        for i in range(kept):
            by_count += greatest[i]
        bound = min(bound, by_count)
    return bound * (unit * SLACK)


@hot
def set_gains(t, node, s, columns, score):
    """The most that a member of an l-node gains by each column, folded.

    Returns what the columns beside the path have to add for the member to reach a score.
    """
    if t.c[node, DEPTH] > CARD_LEVELS or not t.best[node] < np.inf:
        return -np.inf
    unit = np.float64(t.heaviest[node]) * (SLACK / 255.0)
    for i in range(columns - 1, -1, -1):  # of columns with the same fold the worthiest stays
        column = s.by_worth[i] - 1
        cap = np.float64(t.caps[node, column & (GROUPS - 1)])
        s.gains[column & (FOLDS - 1)] = cap * s.worth[column + 1] * unit
    return score - _path_bounds(t, node, s.worth)[1] * unit


@hot
def member_bound(t, at, worth, folded, own):
    """No more than this is the score of a member.

    `own` is the event's weight on the c-node's own column.
    """
    shares = np.int64(t.m_record[at, SHARES])
    bound = (
        (shares & 255) * own
        + ((shares >> 8) & 255) * worth[t.m_first[at] >> np.uint32(16)]
        + ((shares >> 16) & 255) * worth[t.m_record[at, SECOND] >> np.uint32(16)]
        + (shares >> 24) * worth[t.m_record[at, THIRD] >> np.uint32(16)]
    )
    for place in range(TOLD):
        told = np.int64(t.m_told[at, place])
        bound += (told & 255) * folded[told >> 8]
    return bound * (np.float64(t.m_sum[at]) * (SLACK / 255.0))


@hot
def may_beat(m_sum, at, size, most, score):
    """Whether the sum of weights of one of several members allows for a score."""
    best = np.float32(-1.0)
    sums = m_sum[at : at + size]
    for i in range(size):
        best = max(best, sums[i])
    return not best * most < score


@hot
def order_leaves(t, s, done, leaves, columns, ones, ids, scores):
    """Queue the other l-nodes in `found` that may have a better hit, about the best first.

    Returns how many.
    """
    left, least, greatest = 0, scores[0], scores[0]
    for j in range(done, leaves):
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
    """Put the l-nodes of `found` into `queue`, by counting how many have each rank."""
    span = greatest - least
    scale = (_RANKS - 1) / span if 0.0 < span < np.inf else 0.0
    s.ranked[:] = 0
    for j in range(left):
        rank = 0
        if s.bounds[j] < greatest:
            rank = _RANKS - 1 - int((s.bounds[j] - least) * scale)
        s.reached[j] = rank
        s.ranked[rank + 1] += 1
    for rank in range(1, _RANKS):
        s.ranked[rank] += s.ranked[rank - 1]
    for j in range(left):
        at = s.ranked[s.reached[j]]
        s.queue[at], s.queued[at] = s.found[j], s.bounds[j]
        s.ranked[s.reached[j]] += 1
