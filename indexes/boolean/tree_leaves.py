"""Testing the members of l-nodes that passed their first tests, one by one, and offering them."""

import numpy as np

from indexes.boolean.evaluation import about_score_of, all_hold, score_of
from indexes.boolean.gain_masks import reaching
from indexes.boolean.masks import CHUNK
from indexes.boolean.row_words import is_shared
from indexes.boolean.tree_bounds import member_bound
from indexes.boolean.tree_layout import SECOND, THIRD, TOLD, row_of
from indexes.boolean.tree_rates import SLACK, to_beat
from indexes.boolean.tree_sifting import (
    EVALUATED,
    admitted,
    admitting_first,
    let_wait,
    list_chunks,
    own_column,
    passing_first,
    prefetch_first,
)
from indexes.boolean.tree_stab import admits
from indexes.hits import better, offer_distinct
from indexes.kernels import NIL
from indexes.kernels.decorators import fused
from indexes.kernels.prefetch import prefetch


@fused
def may_reach(t, s, at, length, test):
    """A mask of the members of a chunk whose marks and sums of weights allow for a score."""
    return reaching(
        t.m_beside, t.m_sum, at, length, s.marks, s.gains, test.gains, test.rate, test.least
    )


@fused
def screen_chunk(t, node, s, at, length, test, waiting):
    """Let members of an l-node that pass the first tests wait; return how many wait.

    What leaves out most comes first: fingerprints, or the score where there is one to reach.
    """
    if not test.least > -np.inf:
        mask = admitting_first(t, s, at, admitted(t, node, s, at, length))
    elif t.printed[node]:
        mask = admitted(t, node, s, at, length)
        mask &= may_reach(t, s, at, length, test) if mask else 0
    else:
        mask = may_reach(t, s, at, length, test)
        mask &= admitted(t, node, s, at, length) if mask else 0
    return let_wait(t, node, s, at, mask, waiting)


@fused
def passing(t, s, waiting):
    """Of the members that wait, keep those that pass all their tests; return how many."""
    some, left = 0, 0
    for i in range(waiting):
        at = s.kept[i]
        s.kept[some], s.homes[some] = at, s.homes[i]
        some += admits(t.m_first[at], s.seen)
    for i in range(some):
        prefetch(t.m_record, 4 * s.kept[i])
        prefetch(t.m_told, TOLD * s.kept[i])
    for i in range(some):
        at = s.kept[i]
        s.kept[left], s.homes[left] = at, s.homes[i]
        left += admits(t.m_record[at, SECOND], s.seen) & admits(t.m_record[at, THIRD], s.seen)
    return left


@fused
def _promising(t, s, kept, most, score):
    """Keep the members whose own weights reach a score; return how many."""
    left, node, own = 0, NIL, 0.0
    for i in range(kept):
        at, home = s.kept[i], s.homes[i]
        if home != node:
            node = home
            own = s.worth[own_column(t, node) + 1]
        s.kept[left] = at
        bound = min(t.m_sum[at] * most, member_bound(t, at, s.worth, s.folded, own))
        left += not bound < score
    return left


@fused
def _prefetch_rows(t, r, s, kept):
    """Prefetch all rows before the first is read."""
    for i in range(kept):
        prefetch(r.start, row_of(t, s.kept[i]))
    for i in range(kept):
        row = row_of(t, s.kept[i])
        start = r.start[row]
        prefetch(r.ids, row)
        prefetch(r.reals, start)
        prefetch(r.reals, start + 8)


@fused
def offer_members(t, r, s, waiting, most, k, ids, scores, size, counted):
    """Offer those of the waiting members that match; return how many hits there are."""
    kept = passing(t, s, waiting)
    if size == k:
        kept = _promising(t, s, kept, most, to_beat(scores))
    _prefetch_rows(t, r, s, kept)
    for i in range(kept):
        row = row_of(t, s.kept[i])
        if size == k and about_score_of(r, row, s.weights) * SLACK < to_beat(scores):
            continue
        score = score_of(r, row, s.weights, s.parts)
        if size == k and better(scores[0], ids[0], score, r.ids[row]):
            continue
        counted[EVALUATED] += 1
        if all_hold(r, row, s.values):
            size = offer_distinct(ids, scores, size, r.ids[row], score, is_shared(r, row))
    return size


@fused
def _list_members(t, r, s, waiting, ids, end, counted):
    """Append the ids of the waiting members that match; return where they end."""
    kept = passing(t, s, waiting)
    counted[EVALUATED] += kept
    _prefetch_rows(t, r, s, kept)
    for i in range(kept):
        row = row_of(t, s.kept[i])
        if all_hold(r, row, s.values):
            ids[end] = r.ids[row]
            end += 1
    return end


@fused
def list_leaves(t, r, s, leaves, ids, end, counted):
    """Append the ids of the matching members of l-nodes in `found`.

    Returns where they end, or NIL without room.
    """
    j, done, waiting, count, i = 0, 0, 0, 0, 0
    prefetch_first(t, s, leaves)
    while i < count or j < leaves or waiting:
        if i == count and j < leaves:
            count, j, done = list_chunks(t, s, j, done, leaves, leaves, counted)
            i = 0
        if i < count:
            waiting = let_wait(t, s.owners[i], s, s.chunks[i], passing_first(t, s, i), waiting)
            i += 1
        if waiting >= CHUNK or (i == count and j == leaves):
            if end + waiting > len(ids):
                return NIL
            end = _list_members(t, r, s, waiting, ids, end, counted)
            waiting = 0
    return end
