"""Testing the members of l-nodes: one column of tests after another, for many members each."""

import numpy as np

from indexes.boolean.evaluation import about_score_of, all_hold, score_of
from indexes.boolean.gain_masks import reaching
from indexes.boolean.kernels import NIL, hot
from indexes.boolean.masks import BLOCK, CHUNK, admitting, lowest, passing_words
from indexes.boolean.ranking import offer, worse
from indexes.boolean.row_words import is_shared
from indexes.boolean.tree_asking import note_agreeing, noted
from indexes.boolean.tree_bounds import member_bound
from indexes.boolean.tree_layout import (
    COLUMN,
    COUNT,
    DEPTH,
    PNODE,
    SECOND,
    SEGMENT,
    THIRD,
    TOLD,
    row_of,
)
from indexes.boolean.tree_rates import SLACK, no_test, to_beat
from indexes.boolean.tree_stab import admits
from indexes.prefetching import prefetch

VISITED, EVALUATED, READ, PRUNED = range(4)  # counters: members, members, l-nodes, l-nodes


@hot
def skip_strangers(t, node, s, j, at, end):
    """The next chunk of an l-node with a member that has the event's fingerprint, or its end."""
    if not t.printed[node]:
        return at
    while at < end and not noted(t, node, s, j, at, min(CHUNK, end - at)):
        at += CHUNK
    return min(at, end)


@hot
def _admitted(t, node, s, j, at, length):
    """A mask of the members that admit the event's value on the c-node's own column."""
    pnode = t.c[node, PNODE]
    if pnode == NIL:
        return admitting(t.m_low, t.m_high, at, length, s.seen[0])
    column = t.p[pnode, COLUMN]
    if not t.printed[node]:
        return admitting(t.m_low, t.m_high, at, length, s.seen[column + 1])
    mask = noted(t, node, s, j, at, length)
    level = t.c[node, DEPTH] - 1
    # An event that reaches a box of one code has the code of all members.
    if mask and t.own[node, level, 0] != t.own[node, level, 1]:
        mask &= admitting(t.m_low, t.m_high, at, length, s.seen[column + 1])
    return mask


@hot
def _admitting_first(t, s, at, mask):
    """Of members in a mask, those whose first word the event passes."""
    for block in range(0, CHUNK, BLOCK):
        some = (mask >> block) & ((1 << BLOCK) - 1)
        if some:
            mask ^= (some & ~passing_words(t.m_first, at + block, s.seen)) << block
    return mask


@hot
def _let_wait(t, node, s, at, mask, waiting):
    """Let the members in a mask wait for tests of their own; return how many wait."""
    while mask:
        s.kept[waiting], s.homes[waiting] = at + lowest(mask), node
        prefetch(t.m_first, s.kept[waiting])
        waiting += 1
        mask &= mask - 1
    return waiting


@hot
def may_reach(t, s, at, length, test):
    """A mask of the members of a chunk whose marks and sums of weights allow for a score."""
    return reaching(
        t.m_beside, t.m_sum, at, length, s.marks, s.gains, test.gains, test.rate, test.least
    )


@hot
def screen_chunk(t, node, s, j, at, length, test, waiting):
    """Let members of the j-th l-node that pass the first tests wait; return how many wait.

    What leaves out most comes first: fingerprints, or the score where there is one to reach.
    """
    if not test.least > -np.inf:
        mask = _admitting_first(t, s, at, _admitted(t, node, s, j, at, length))
    elif t.printed[node]:
        mask = _admitted(t, node, s, j, at, length)
        mask &= may_reach(t, s, at, length, test) if mask else 0
    else:
        mask = may_reach(t, s, at, length, test)
        mask &= _admitted(t, node, s, j, at, length) if mask else 0
    return _let_wait(t, node, s, at, mask, waiting)


@hot
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


@hot
def _promising(t, s, kept, most, score):
    """Keep the members whose own weights reach a score; return how many."""
    left, node, own = 0, NIL, 0.0
    for i in range(kept):
        at, home = s.kept[i], s.homes[i]
        if home != node:
            node = home
            own = s.worth[t.p[t.c[node, PNODE], COLUMN] + 1] if t.c[node, DEPTH] else 0.0
        s.kept[left] = at
        bound = min(t.m_sum[at] * most, member_bound(t, at, s.worth, s.folded, own))
        left += not bound < score
    return left


@hot
def _prefetch_rows(t, r, s, kept):
    """Ask for all rows before the first is read."""
    for i in range(kept):
        prefetch(r.start, row_of(t, s.kept[i]))
    for i in range(kept):
        row = row_of(t, s.kept[i])
        start = r.start[row]
        prefetch(r.ids, row)
        prefetch(r.reals, start)
        prefetch(r.reals, start + 8)


@hot
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
        if size == k and worse(score, r.ids[row], scores[0], ids[0]):
            continue
        counted[EVALUATED] += 1
        if all_hold(r, row, s.values):
            size = offer(ids, scores, size, r.ids[row], score, is_shared(r, row))
    return size


@hot
def list_leaf(t, r, node, s, ids, end, counted):
    """Append the ids of the matching members of an l-node; return where they end."""
    first, count = t.c[node, SEGMENT], t.c[node, COUNT]
    counted[VISITED] += count
    counted[READ] += 1
    if t.printed[node]:
        note_agreeing(t, node, s, 0, False)
    for at in range(first, first + count, CHUNK):
        length = min(CHUNK, first + count - at)
        kept = passing(t, s, screen_chunk(t, node, s, 0, at, length, no_test(), 0))
        counted[EVALUATED] += kept
        for i in range(kept):
            row = row_of(t, s.kept[i])
            if all_hold(r, row, s.values):
                ids[end] = r.ids[row]
                end += 1
    return end
