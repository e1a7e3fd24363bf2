"""Bounds of scores in a BE*-tree (the paper's uscore): what they leave out need not be read."""

import numpy as np

from indexes.boolean.tree_layout import (
    CARD_FIELDS,
    CARD_LEVELS,
    FOLDS,
    GROUPS,
    MORE_COLUMNS,
    SECOND,
    SHARES,
    THIRD,
    TOLD,
)
from indexes.boolean.tree_rates import NORMAL, SLACK, leaf_bound, to_beat
from indexes.hits import better
from indexes.kernels.decorators import bare, fused
from indexes.kernels.prefetch import prefetch

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


@fused
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


@fused
def may_beat(m_sum, at, size, most, score):
    """Whether the sum of weights of one of several members allows for a score."""
    best = np.float32(-1.0)
    sums = m_sum[at : at + size]
    for i in range(size):
        best = max(best, sums[i])
    return not best * most < score


@fused
def order_leaves(t, s, done, leaves, columns, ones, ids, scores):
    """Queue the other l-nodes in `found` that may have a better hit, about the best first.

    Returns how many.
    """
    least = to_beat(scores)
    left, greatest = 0, least
    for j in range(done, leaves):
        if j + _AHEAD < leaves:
            prefetch(t.caps, GROUPS * s.found[j + _AHEAD])
            prefetch(t.cards, CARD_FIELDS * s.found[j + _AHEAD])
            prefetch(t.paths, CARD_LEVELS * s.found[j + _AHEAD])
        node = s.found[j]
        bound = leaf_bound(t, node, s, columns, ones)
        oldest = t.oldest[node] if bound == least else ids[0]  # not read if it decides nothing
        if better(least, ids[0], bound, oldest):
            continue
        s.bounds[left], s.found[left] = bound, node
        left += 1
        greatest = max(greatest, bound)
    _sort_by_rank(s, left, least, greatest)
    return left


@fused
def _sort_by_rank(s, left, least, greatest):
    """Put the l-nodes of `found` into `queue`, by counting how many have each rank."""
    span = greatest - least
    scale = (_RANKS - 1) / span if NORMAL < span < np.inf else 0.0
    s.ranked[:] = 0
    for j in range(left):
        rank = 0
        if s.bounds[j] < greatest:
            rank = _RANKS - 1 - int((s.bounds[j] - least) * scale)
        s.rank[j] = rank
        s.ranked[rank + 1] += 1
    for rank in range(1, _RANKS):
        s.ranked[rank] += s.ranked[rank - 1]
    for j in range(left):
        at = s.ranked[s.rank[j]]
        s.queue[at], s.queued[at] = s.found[j], s.bounds[j]
        s.ranked[s.rank[j]] += 1
