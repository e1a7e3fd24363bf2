"""Reading the l-nodes that an event reaches: any until k hits are known, then the best first."""

import numpy as np

from indexes.boolean.masks import BLOCK, CHUNK
from indexes.boolean.tree_bounds import may_beat, order_leaves
from indexes.boolean.tree_layout import CARD_FIELDS, COUNT, GROUPS, SEGMENT
from indexes.boolean.tree_leaves import offer_members, screen_chunk
from indexes.boolean.tree_rates import no_test, rank_columns, score_test, set_rates, to_beat
from indexes.boolean.tree_sifting import (
    PRUNED,
    READ,
    VISITED,
    forgive,
    let_wait,
    list_chunks,
    passing_first,
    prefetch_first,
)
from indexes.hits import better
from indexes.kernels.decorators import fused
from indexes.kernels.prefetch import prefetch

_FEW = 8  # members whose records are read together, at least
_MOST_TOGETHER = 32  # l-nodes that are sifted together, at most
_AHEAD = 2  # l-nodes that are prefetched before one is read by its bound
# What it takes to put l-nodes in order, and to bound each, in members that are read one by one.
_TO_BEGIN, _TO_BOUND = 48, 8


@fused
def _pays_to_order(ones, read, candidates, leaves):
    """Whether bounds of so many l-nodes cost less than the members they may leave out.

    These are as many, l-node by l-node, as passed the first tests in those that were read.
    """
    return ones or read == 0 or candidates * leaves > read * (_TO_BEGIN + _TO_BOUND * leaves)


@fused
def _read_any(t, r, s, leaves, most, ones, k, ids, scores, size, counted):
    """Read l-nodes as they come, until k hits are known and it pays to bound the others.

    More and more are sifted together as long as that does not happen.  Returns how many l-nodes
    were read, and how many hits there are.
    """
    j, done, count, i, waiting, candidates, few = 0, 0, 0, 0, 0, 0, _FEW
    prefetch_first(t, s, leaves)
    while i < count or j < leaves:
        if i == count and done == 0 and size == k:
            s.pace[0] = 1
            if _pays_to_order(ones, j, candidates, leaves - j):
                break
        if i == count and j < leaves:
            stop = min(leaves, j + s.pace[0])
            count, j, done = list_chunks(t, s, j, done, stop, leaves, counted)
            i, s.pace[0] = 0, min(2 * s.pace[0], _MOST_TOGETHER)
        if i < count:
            at, node, before = s.chunks[i], s.owners[i], waiting
            wanted = size < k or t.c[node, COUNT] <= CHUNK
            if wanted or may_beat(t.m_sum, at, CHUNK, most, to_beat(scores)):
                waiting = let_wait(t, node, s, at, passing_first(t, s, i), waiting)
            else:
                forgive(t, s, i)
            candidates += waiting - before
            i += 1
        # Once k hits are known few of the others count: they wait for a full house.
        enough = CHUNK if size == k else min(CHUNK, max(k - size, few))
        if waiting >= enough or i == count:
            before = size
            size = offer_members(t, r, s, waiting, most, k, ids, scores, size, counted)
            waiting, few = 0, _FEW if size > before else min(2 * few, CHUNK)
    return j, size


@fused
def _hopeless(t, node, bound, ids, scores):
    least = to_beat(scores)
    oldest = t.oldest[node] if bound == least else ids[0]  # not read if it decides nothing
    return better(least, ids[0], bound, oldest)


@fused
def _prefetch_leaf(t, node, ones):
    """Prefetch what members are tested by: scores, or words where all weights are 1."""
    first, count = t.c[node, SEGMENT], min(t.c[node, COUNT], 2 * CHUNK)
    prefetch(t.cards, CARD_FIELDS * node)
    prefetch(t.floors, GROUPS * node)
    for at in range(first, first + count, CHUNK):
        if t.printed[node]:
            prefetch(t.m_print, at)
        else:
            prefetch(t.m_low, at)
            prefetch(t.m_high, at)
    for at in range(first, first + count, BLOCK):
        if ones:
            prefetch(t.m_first, at)
        else:
            prefetch(t.m_beside, at)
            prefetch(t.m_sum, at)


@fused
def _read_best(t, r, s, leaves, most, columns, ones, k, ids, scores, size, counted):
    """Read l-nodes of the queue that may still have a better hit; return how many hits there are.

    Whoever passes the tests of scores waits for others, whose records are read together.
    """
    waiting, test = 0, no_test()
    for j in range(min(_AHEAD, leaves)):
        _prefetch_leaf(t, s.queue[j], ones)
    for j in range(leaves):
        node = s.queue[j]
        if j + _AHEAD < leaves and not s.queued[j + _AHEAD] < to_beat(scores):
            _prefetch_leaf(t, s.queue[j + _AHEAD], ones)
        if _hopeless(t, node, s.queued[j], ids, scores):
            counted[PRUNED] += 1
            continue
        first, count = int(t.c[node, SEGMENT]), int(t.c[node, COUNT])
        counted[VISITED] += count
        counted[READ] += 1
        if not ones:
            test = score_test(t, node, s, columns, to_beat(scores))
        for at in range(first, first + count, CHUNK):
            length, before = min(CHUNK, first + count - at), waiting
            tested = test.least > -np.inf
            if tested or count <= CHUNK or may_beat(t.m_sum, at, length, most, to_beat(scores)):
                waiting = screen_chunk(t, node, s, at, length, test, waiting)
                # What fails a test of codes is what the paper calls a false candidate.
                t.lost[node] += 0 if tested else length - (waiting - before)
            if waiting >= CHUNK:
                size = offer_members(t, r, s, waiting, most, k, ids, scores, size, counted)
                waiting = 0
    return offer_members(t, r, s, waiting, most, k, ids, scores, size, counted)


@fused
def read_leaves(t, r, events, i, s, leaves, most, ones, k, ids, scores, size, counted):
    """Offer the matching members of l-nodes in `found`; return how many hits there are.

    Those with bounds below the k-th best score are left out.
    """
    columns = 0
    read, size = _read_any(t, r, s, leaves, most, ones, k, ids, scores, size, counted)
    if read < leaves:
        if not ones:
            columns = rank_columns(events, i, s.worth, s.by_worth)
            set_rates(s, columns)
        left = order_leaves(t, s, read, leaves, columns, ones, ids, scores)
        counted[PRUNED] += leaves - read - left
        size = _read_best(
            t, r, s, left, most, columns, ones, k, ids, scores, size, counted
        )  # fmt: skip
    return size
