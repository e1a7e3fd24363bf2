"""Matching in a BE*-tree: all matches, and the k best with pruning of p-nodes and l-nodes (§VI).

The p-nodes of the root are taken best first by their bound, and so are, once k hits are known,
the l-nodes below them.  What has a bound below the k-th best score is left out.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.codes import code_of
from indexes.boolean.evaluation import all_hold, score_of
from indexes.boolean.matching import close_event, spread, unspread
from indexes.boolean.prefetching import prefetch
from indexes.boolean.ranking import offer, sort_best_first, worse
from indexes.boolean.rows import NIL, bare, hot, inner, is_shared
from indexes.boolean.tree_bounds import (
    SLACK,
    drop_best,
    greatest_worth,
    heapify,
    may_be_better,
    may_beat,
    order_leaves,
    path_worth,
    weigh_groups,
)
from indexes.boolean.tree_layout import (
    COLUMN,
    COUNT,
    E_COUNT,
    E_START,
    ENTRIES,
    GROUPS,
    PNODE,
    SEGMENT,
    START,
)
from indexes.boolean.tree_members import row_of

_CHUNK = 64  # members tested together
_AHEAD = 6  # l-nodes that are asked for before they are read
_RECORDS_AHEAD = 48
_NEVER = 1 << 62  # more hits than there can be


@hot
def encode_event(codes, events, i, seen, worth):
    """Codes by column + 1; all others stay 0, which no test admits.  Place 0 passes all tests."""
    seen[0] = 1
    for at in range(events.starts[i], events.starts[i + 1]):
        column = events.columns[at]
        seen[column + 1] = code_of(codes.starts, codes.bounds, column, events.values[at])
        worth[column + 1] = events.weights[at]


@hot
def clear_event(events, i, seen):
    for at in range(events.starts[i], events.starts[i + 1]):
        seen[events.columns[at] + 1] = 0


@hot
def admits(word, seen):
    """Whether an event passes a test."""
    code = seen[word >> np.uint32(16)]
    return (((word >> np.uint32(8)) & np.uint32(255)) <= code) & (code <= (word & np.uint32(255)))


@hot
def stab(t, start, end, seen, least, stack, height):
    """Push the c-nodes of a run of entries that admit the event; return the stack's height."""
    if least <= 0.0:
        for at in range(start, end):
            stack[height] = t.e_node[at]
            height += admits(t.e_word[at], seen)
    else:
        for at in range(start, end):
            stack[height] = t.e_node[at]
            height += admits(t.e_word[at], seen) & (t.e_top[at] >= least)
    return height


@hot
def find_leaves(t, seen, pnode, least, stack, found, count):
    """Add to `found` the c-nodes with members that an event reaches below a p-node of the root.

    Subtrees with no sum of weights of at least `least` are left out.  Returns how many there are.
    """
    start = t.p[pnode, START]
    height = stab(t, start, start + t.p[pnode, ENTRIES], seen, least, stack, 0)
    while height:
        height -= 1
        node = stack[height]
        found[count] = node
        count += t.c[node, COUNT] > 0
        start, size = t.c[node, E_START], t.c[node, E_COUNT]
        if size:
            height = stab(t, start, start + size, seen, least, stack, height)
    return count


@hot
def test_chunk(m_low, m_high, at, size, code, flags):
    """Which of up to `_CHUNK` members admit the code, without a branch."""
    lows, highs = m_low[at : at + size], m_high[at : at + size]
    for i in range(size):
        flags[i] = (lows[i] <= code) & (code <= highs[i])
    for i in range(size, (size + 7) & ~7):
        flags[i] = 0


@hot
def passes(record, at, seen):
    return (
        admits(record[at, 0], seen) and admits(record[at, 1], seen) and admits(record[at, 2], seen)
    )


class Scratch(NamedTuple):
    """What searching for one event after another writes to."""

    values: np.ndarray  # f8[columns]  NaN = lacking
    weights: np.ndarray  # f8[columns]
    seen: np.ndarray  # u4[columns + 1]
    worth: np.ndarray  # f8[columns + 1]  weights by column + 1
    parts: np.ndarray  # f8[MOST_PREDICATES]
    flags: np.ndarray  # u1[_CHUNK]
    words: np.ndarray  # u8[_CHUNK / 8]  the same bytes
    kept: np.ndarray  # i8[_CHUNK]  members that are worth scoring
    group_most: np.ndarray  # f8[GROUPS]
    group_order: np.ndarray  # i8[GROUPS]
    stack: np.ndarray  # i4[c-nodes]
    found: np.ndarray  # i4[c-nodes]
    bounds: np.ndarray  # f8[c-nodes]
    partitions: np.ndarray  # i4[columns]
    tops: np.ndarray  # f8[columns]


@inner
def new_scratch(columns, nodes):
    flags = np.zeros(_CHUNK, np.uint8)
    return Scratch(
        np.full(columns, np.nan),
        np.zeros(columns),
        np.zeros(columns + 1, np.uint32),
        np.zeros(columns + 1),
        np.empty(MOST_PREDICATES),
        flags,
        flags.view(np.uint64),
        np.empty(_CHUNK, np.int64),
        np.full(GROUPS, -1.0),
        np.zeros(GROUPS, np.int64),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1),
        np.empty(columns, np.int32),
        np.empty(columns),
    )


@hot
def prefetch_row(r, row):
    start = r.start[row]
    prefetch(r.reals, start)
    prefetch(r.reals, start + 8)


@hot
def read_leaf(t, r, node, s, most, groups, k, ids, scores, size, counted):
    """Offer the matching members of an l-node; return how many hits there are."""
    pnode, flags, seen = t.c[node, PNODE], s.flags, s.seen
    code = seen[t.p[pnode, COLUMN] + 1] if pnode != NIL else seen[0]
    first, count = t.c[node, SEGMENT], t.c[node, COUNT]
    on_path, any_column = np.inf, 0.0
    if size == k:
        on_path, any_column = path_worth(t, node, s.worth), greatest_worth(t, node, s, groups)
    counted[0] += count
    for chunk in range(first, first + count, _CHUNK):
        length = min(_CHUNK, first + count - chunk)
        if size == k and count > _CHUNK and not may_beat(t.m_sum, chunk, length, most, scores[0]):
            continue
        test_chunk(t.m_low, t.m_high, chunk, length, code, flags)
        # All rows of a chunk are asked for before the first is read.
        kept = 0
        for word in range((length + 7) >> 3):
            if s.words[word] == 0:
                continue
            for i in range(8 * word, 8 * word + 8):
                at = chunk + i
                if flags[i] == 0 or not passes(t.m_record, at, seen):
                    continue
                if size == k and (
                    t.m_sum[at] * most < scores[0]
                    or not may_be_better(t, node, at, on_path, any_column, s.worth, scores[0])
                ):
                    continue
                prefetch_row(r, row_of(t, at))
                s.kept[kept] = at
                kept += 1
        for i in range(kept):
            row = row_of(t, s.kept[i])
            score = score_of(r, row, s.weights, s.parts)
            if size == k and worse(score, r.ids[row], scores[0], ids[0]):
                continue
            counted[1] += 1
            if all_hold(r, row, s.values):
                size = offer(ids, scores, size, r.ids[row], score, is_shared(r, row))
    return size


@hot
def open_partitions(t, events, i, s):
    """Queue the root's p-nodes that an event reaches, the best first; return how many."""
    waiting = 0
    for at in range(events.starts[i], events.starts[i + 1]):
        pnode = t.at_root[events.columns[at]]
        if pnode != NIL:
            s.partitions[waiting], s.tops[waiting] = pnode, t.p_top[pnode]
            waiting += 1
    heapify(s.tops, s.partitions, waiting)
    return waiting


@hot
def prefetch_leaf(t, node):
    """Ask for what reading an l-node begins with."""
    first, count = t.c[node, SEGMENT], t.c[node, COUNT]
    prefetch(t.m_low, first)
    prefetch(t.m_high, first)
    for at in range(4 * first, 4 * (first + min(count, _RECORDS_AHEAD)), 16):
        prefetch(t.m_record, at)


@hot
def read_leaves(t, r, s, leaves, most, groups, ones, k, ids, scores, size, counted):
    """Read the l-nodes in `found`: in any order until k hits are known, then the best first."""
    ordered = False
    while leaves:
        if size < k:
            leaves -= 1
            node = s.found[leaves]
            if leaves >= _AHEAD:
                prefetch_leaf(t, s.found[leaves - _AHEAD])
        else:
            if not ordered:
                leaves = order_leaves(t, s, leaves, groups, ones, ids, scores)
                ordered = True
            if leaves == 0 or s.bounds[0] < scores[0]:
                break
            node, bound = s.found[0], s.bounds[0]
            leaves = drop_best(s.bounds, s.found, leaves)
            prefetch_leaf(t, s.found[0])
            if bound == scores[0] and t.oldest[node] > ids[0]:
                continue
        size = read_leaf(t, r, node, s, most, groups, k, ids, scores, size, counted)
    return size


@bare
def rank_one(t, r, codes, events, i, s, prune, ids, scores, counted):
    """The best of what matches event i; return how many (Algorithm 6)."""
    encode_event(codes, events, i, s.seen, s.worth)
    most, ones, groups = weigh_groups(events, i, s.group_most, s.group_order)
    most = most if ones else most * SLACK
    size, k = 0, len(ids) if prune else _NEVER
    waiting = open_partitions(t, events, i, s)
    # The root's own l-node comes first.
    s.found[0], leaves = 0, 1 if t.c[0, COUNT] else 0
    while True:
        if ones or waiting == 0:
            size = read_leaves(t, r, s, leaves, most, groups, ones, k, ids, scores, size, counted)
            leaves = 0
        if waiting == 0 or (size == k and s.tops[0] * most < scores[0]):
            break
        # Where all weights are 1 the bounds of p-nodes are exact, and one after another is read.
        # Otherwise they say little, and the l-nodes of all p-nodes are ranked together.
        least = scores[0] / SLACK if size == k else -1.0
        pnode = s.partitions[0]
        waiting = drop_best(s.tops, s.partitions, waiting)
        leaves = find_leaves(t, s.seen, pnode, least, s.stack, s.found, leaves)
    sort_best_first(ids, scores, size)
    clear_event(events, i, s.seen)
    s.group_most[:] = -1.0
    return size


@njit(cache=True)
def rank(t, r, codes, events, columns, prune, table, counted):
    s = new_scratch(columns, len(t.c))
    for i in range(len(events.starts) - 1):
        spread(events, i, s.values, s.weights)
        ids, scores = table.ids[i], table.scores[i]
        table.counts[i] = rank_one(t, r, codes, events, i, s, prune, ids, scores, counted)
        unspread(events, i, s.values)


@hot
def list_leaf(t, r, node, s, ids, end, counted):
    """Append the ids of the matching members of an l-node; return where they end."""
    pnode, flags, seen = t.c[node, PNODE], s.flags, s.seen
    code = seen[t.p[pnode, COLUMN] + 1] if pnode != NIL else seen[0]
    first, count = t.c[node, SEGMENT], t.c[node, COUNT]
    counted[0] += count
    for chunk in range(first, first + count, _CHUNK):
        length = min(_CHUNK, first + count - chunk)
        test_chunk(t.m_low, t.m_high, chunk, length, code, flags)
        for i in range(length):
            if flags[i] == 0 or not passes(t.m_record, chunk + i, seen):
                continue
            row = row_of(t, chunk + i)
            counted[1] += 1
            if all_hold(r, row, s.values):
                ids[end] = r.ids[row]
                end += 1
    return end


@bare
def list_one(t, r, codes, events, i, s, ids, end, counted):
    """Append the ids of what matches event i; return where they end, or NIL without room."""
    encode_event(codes, events, i, s.seen, s.worth)
    s.found[0], leaves = 0, 1  # the root's own l-node comes first
    at = events.starts[i]
    while end != NIL:
        for j in range(leaves):
            if end + t.c[s.found[j], COUNT] > len(ids):
                end = NIL
                break
            end = list_leaf(t, r, s.found[j], s, ids, end, counted)
        if at == events.starts[i + 1]:
            break
        pnode = t.at_root[events.columns[at]]
        leaves = 0 if pnode == NIL else find_leaves(t, s.seen, pnode, -1.0, s.stack, s.found, 0)
        at += 1
    clear_event(events, i, s.seen)
    return end


@njit(cache=True)
def collect(t, r, codes, events, columns, first, starts, ids, counted):
    s = new_scratch(columns, len(t.c))
    for i in range(first, len(events.starts) - 1):
        spread(events, i, s.values, s.weights)
        end = list_one(t, r, codes, events, i, s, ids, starts[i], counted)
        unspread(events, i, s.values)
        if end == NIL:
            return i
        starts[i + 1] = close_event(ids, starts[i], end)
    return len(events.starts) - 1
