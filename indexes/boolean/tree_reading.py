"""Reading the l-nodes that an event reaches: any until k hits are known, then the best first."""

import numpy as np

from indexes.boolean.kernels import hot
from indexes.boolean.masks import CHUNK
from indexes.boolean.tree_asking import ask_for_first, ask_for_next
from indexes.boolean.tree_bounds import may_beat, order_leaves
from indexes.boolean.tree_layout import COUNT, SEGMENT
from indexes.boolean.tree_leaves import (
    PRUNED,
    READ,
    VISITED,
    offer_members,
    screen_chunk,
    skip_strangers,
)
from indexes.boolean.tree_rates import no_test, rank_columns, score_test, set_rates, to_beat

_FEW = 8  # members whose records are read together, at least
# What it takes to put l-nodes in order, and to bound each, in members that are read one by one.
_TO_BEGIN, _TO_BOUND = 48, 8


@hot
def _hopeless(t, node, bound, ids, scores):
    least = to_beat(scores)
    return bound < least or (bound == least and t.oldest[node] > ids[0])


@hot
def _screen(t, node, s, j, at, length, most, full, test, score, waiting):
    """Let members of a chunk wait, unless no sum of weights reaches the score."""
    if test.least > -np.inf:
        return screen_chunk(t, node, s, j, at, length, test, waiting)
    if full and t.c[node, COUNT] > CHUNK and not may_beat(t.m_sum, at, length, most, score):
        return waiting
    before = waiting
    waiting = screen_chunk(t, node, s, j, at, length, test, waiting)
    # What fails a test of codes is what the paper calls a false candidate.
    t.lost[node] += length - (waiting - before)
    return waiting


@hot
def _pays_to_order(ones, read, candidates, leaves):
    """Whether bounds of so many l-nodes cost less than the members they may leave out.

    These are as many, l-node by l-node, as passed the first tests in those that were read.
    """
    return ones or read == 0 or candidates * leaves > read * (_TO_BEGIN + _TO_BOUND * leaves)


@hot
def read_leaves(t, r, events, i, s, leaves, most, ones, k, ids, scores, size, counted):
    """Offer the matching members of l-nodes in `found`; return how many hits there are.

    Those with bounds below the k-th best score are left out.
    """
    j, at, end, node, waiting, test = 0, 0, 0, 0, 0, no_test()
    ordered, columns, candidates, few = False, 0, 0, _FEW
    ask_for_first(t, s, leaves, ordered, False)
    while at < end or j < leaves or waiting:
        if at >= end and j < leaves:
            if size == k and not ordered and _pays_to_order(ones, j, candidates, leaves - j):
                if not ones:
                    columns = rank_columns(events, i, s.worth, s.by_worth)
                    set_rates(s, columns)
                left = order_leaves(t, s, j, leaves, columns, ones, ids, scores)
                counted[PRUNED] += leaves - j - left
                ordered, j, leaves = True, 0, left
                ask_for_first(t, s, leaves, ordered, not ones)
                continue
            node = s.queue[j] if ordered else s.found[j]
            ask_for_next(t, s, j, leaves, ordered, not ones, to_beat(scores))
            j += 1
            if ordered and _hopeless(t, node, s.queued[j - 1], ids, scores):
                counted[PRUNED] += 1
            else:
                at, end = int(t.c[node, SEGMENT]), int(t.c[node, COUNT])
                counted[VISITED] += end
                counted[READ] += 1
                end += at
                if ordered and not ones:
                    test = score_test(t, node, s, columns, to_beat(scores))
        if at < end:
            chunk = at
            at = skip_strangers(t, node, s, j - 1, at, end)
            t.lost[node] += at - chunk
        if at < end:
            length, before = min(CHUNK, end - at), waiting
            least = to_beat(scores)
            waiting = _screen(t, node, s, j - 1, at, length, most, size == k, test, least, waiting)
            candidates += waiting - before
            at += CHUNK
        # Once k hits are known few of the others count: they wait for a full house.
        enough = CHUNK if size == k else min(CHUNK, max(k - size, few))
        if waiting >= enough or (at >= end and j >= leaves):
            before = size
            size = offer_members(t, r, s, waiting, most, k, ids, scores, size, counted)
            waiting, few = 0, _FEW if size > before else min(2 * few, CHUNK)
    return size
