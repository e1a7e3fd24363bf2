"""Reading the l-nodes of a BE*-tree: one column of tests after another, for many members each."""

import numpy as np

from indexes.boolean.evaluation import all_hold, score_of
from indexes.boolean.kernels import NIL, hot
from indexes.boolean.prefetching import prefetch
from indexes.boolean.ranking import offer, worse
from indexes.boolean.row_words import is_shared
from indexes.boolean.tree_bounds import beside_worth, may_beat, member_bound
from indexes.boolean.tree_layout import COLUMN, COUNT, DEPTH, PNODE, SECOND, SEGMENT, THIRD, row_of
from indexes.boolean.tree_stab import CHUNK, admits

VISITED, EVALUATED, READ, PRUNED = range(4)  # counters: members, members, l-nodes, l-nodes


@hot
def _admitted(t, s, at, length, code):
    """Put those of up to `CHUNK` members that admit the code into `kept`; return how many."""
    lows, highs, flags = t.m_low[at : at + length], t.m_high[at : at + length], s.flags
    for i in range(length):
        flags[i] = (lows[i] <= code) & (code <= highs[i])
    for i in range(length, (length + 7) & ~7):
        flags[i] = 0
    kept = 0
    for word in range((length + 7) >> 3):
        if s.words[word] == 0:
            continue
        for i in range(8 * word, 8 * word + 8):
            s.kept[kept] = at + i
            kept += flags[i]
    return kept


@hot
def _passing(t, s, kept):
    """Of the members in `kept`, keep those that pass all their tests; return how many."""
    left = 0
    for i in range(kept):
        at = s.kept[i]
        s.kept[left] = at
        left += admits(t.m_first[at], s.seen)
    kept, left = left, 0
    for i in range(kept):
        at = s.kept[i]
        s.kept[left] = at
        left += admits(t.m_record[at, SECOND], s.seen) & admits(t.m_record[at, THIRD], s.seen)
    return left


@hot
def code_at(t, node, seen):
    """The event's code on a c-node's own column."""
    pnode = t.c[node, PNODE]
    return seen[t.p[pnode, COLUMN] + 1] if pnode != NIL else seen[0]


@hot
def prefetch_leaf(t, node):
    """Ask for what reading an l-node begins with."""
    first, count = t.c[node, SEGMENT], t.c[node, COUNT]
    prefetch(t.m_low, first)
    prefetch(t.m_high, first)
    for at in range(first, first + min(count, CHUNK), 16):
        prefetch(t.m_first, at)


@hot
def prefetch_members(t, node):
    """Ask for the rest of an l-node, most of which will be read."""
    first, last = t.c[node, SEGMENT], t.c[node, SEGMENT] + min(t.c[node, COUNT], CHUNK)
    for at in range(first, last, 16):
        prefetch(t.m_sum, at)
    for at in range(first, last, 4):
        prefetch(t.m_record, 4 * at)


@hot
def _prefetch_row(r, row):
    start = r.start[row]
    prefetch(r.reals, start)
    prefetch(r.reals, start + 8)


@hot
def _promising(t, node, s, kept, most, score):
    """Keep the members whose own weights reach a score; return how many."""
    depth = np.int64(t.c[node, DEPTH])
    beside = beside_worth(t, node, depth, s.worth, most)
    own = s.worth[t.p[t.c[node, PNODE], COLUMN] + 1] if depth else 0.0
    left = 0
    for i in range(kept):
        at = s.kept[i]
        s.kept[left] = at
        bound = min(t.m_sum[at] * most, member_bound(t, at, s.worth, own, beside, most))
        left += not bound < score
    return left


@hot
def read_leaf(t, r, node, s, most, k, ids, scores, size, counted):
    """Offer the matching members of an l-node; return how many hits there are."""
    code = code_at(t, node, s.seen)
    first, count = t.c[node, SEGMENT], t.c[node, COUNT]
    counted[VISITED] += count
    counted[READ] += 1
    matched = 0
    for chunk in range(first, first + count, CHUNK):
        length, full = min(CHUNK, first + count - chunk), size == k
        if full and count > CHUNK and not may_beat(t.m_sum, chunk, length, most, scores[0]):
            continue
        kept = _passing(t, s, _admitted(t, s, chunk, length, code))
        matched += kept
        if kept and full:
            kept = _promising(t, node, s, kept, most, scores[0])
        # All rows of a chunk are asked for before the first is read.
        for i in range(kept):
            _prefetch_row(r, row_of(t, s.kept[i]))
        for i in range(kept):
            row = row_of(t, s.kept[i])
            score = score_of(r, row, s.weights, s.parts)
            if size == k and worse(score, r.ids[row], scores[0], ids[0]):
                continue
            counted[EVALUATED] += 1
            if all_hold(r, row, s.values):
                size = offer(ids, scores, size, r.ids[row], score, is_shared(r, row))
    # Members that fail a test of codes are what the paper calls false candidates.
    t.lost[node] += count - matched
    return size


@hot
def list_leaf(t, r, node, s, ids, end, counted):
    """Append the ids of the matching members of an l-node; return where they end."""
    code = code_at(t, node, s.seen)
    first, count = t.c[node, SEGMENT], t.c[node, COUNT]
    counted[VISITED] += count
    counted[READ] += 1
    for chunk in range(first, first + count, CHUNK):
        length = min(CHUNK, first + count - chunk)
        kept = _passing(t, s, _admitted(t, s, chunk, length, code))
        counted[EVALUATED] += kept
        for i in range(kept):
            row = row_of(t, s.kept[i])
            if all_hold(r, row, s.values):
                ids[end] = r.ids[row]
                end += 1
    return end
