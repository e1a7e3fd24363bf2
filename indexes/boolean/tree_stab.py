"""Which l-nodes of a BE*-tree an event reaches (Algorithm 7): buckets are stabbed run by run."""

from typing import NamedTuple

import numpy as np

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.codes import code_of
from indexes.boolean.kernels import hot, inner
from indexes.boolean.prefetching import prefetch
from indexes.boolean.tree_layout import C_FIELDS, COLUMN, COUNT, E_COUNT, E_START, ENTRIES, START

CHUNK = 64  # entries or members tested together
_RANKS = 65
_FEW = 8  # predicates besides the path that are counted one by one


class Scratch(NamedTuple):
    """What searching for one event after another writes to."""

    values: np.ndarray  # f8[columns]  NaN = lacking
    weights: np.ndarray  # f8[columns]
    seen: np.ndarray  # u4[columns + 1]  codes by column + 1; 0 = lacking
    worth: np.ndarray  # f8[columns + 1]  weights by column + 1; -inf = lacking
    by_worth: np.ndarray  # i8[columns]  an event's columns + 1, the greatest weight first
    parts: np.ndarray  # f8[MOST_PREDICATES]
    flags: np.ndarray  # u1[CHUNK]
    words: np.ndarray  # u8[CHUNK / 8]  the same bytes
    kept: np.ndarray  # i8[CHUNK]  members that are left
    stack: np.ndarray  # i4[c-nodes]
    found: np.ndarray  # i4[c-nodes]
    bounds: np.ndarray  # f8[c-nodes]
    queue: np.ndarray  # i4[c-nodes]
    places: np.ndarray  # i4[c-nodes]
    ranked: np.ndarray  # i8[_RANKS]
    greatest: np.ndarray  # f8[_FEW]
    partitions: np.ndarray  # i4[columns]
    tops: np.ndarray  # f8[columns]


@inner
def new_scratch(columns, nodes):
    flags = np.zeros(CHUNK, np.uint8)
    worth = np.full(columns + 1, -np.inf)
    worth[0] = 0.0
    return Scratch(
        np.full(columns, np.nan),
        np.zeros(columns),
        np.zeros(columns + 1, np.uint32),
        worth,
        np.zeros(columns, np.int64),
        np.empty(MOST_PREDICATES),
        flags,
        flags.view(np.uint64),
        np.empty(CHUNK, np.int64),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.int32),
        np.empty(_RANKS, np.int64),
        np.empty(_FEW),
        np.empty(columns, np.int32),
        np.empty(columns),
    )


@hot
def encode_event(codes, events, i, seen):
    """Codes by column + 1; all others stay 0, which no test admits.  Place 0 passes all tests."""
    seen[0] = 1
    for at in range(events.starts[i], events.starts[i + 1]):
        column = events.columns[at]
        seen[column + 1] = code_of(codes.starts, codes.bounds, column, events.values[at])


@hot
def clear_event(events, i, seen, worth):
    for at in range(events.starts[i], events.starts[i + 1]):
        seen[events.columns[at] + 1] = 0
        worth[events.columns[at] + 1] = -np.inf


@hot
def admits(word, seen):
    """Whether an event passes a test."""
    code = seen[word >> np.uint32(16)]
    return (((word >> np.uint32(8)) & np.uint32(255)) <= code) & (code <= (word & np.uint32(255)))


@hot
def _stab_root(t, start, end, code, least, s):
    """Push the c-nodes of a root's p-node: all entries have one column, and chunks no branch."""
    height, flags = 0, s.flags
    for chunk in range(start, end, CHUNK):
        length = min(CHUNK, end - chunk)
        words = t.e_word[chunk : chunk + length]
        for i in range(length):
            low, high = (words[i] >> np.uint32(8)) & np.uint32(255), words[i] & np.uint32(255)
            flags[i] = (low <= code) & (code <= high)
        for i in range(length, (length + 7) & ~7):
            flags[i] = 0
        for word in range((length + 7) >> 3):
            if s.words[word] == 0:
                continue
            for i in range(8 * word, min(length, 8 * word + 8)):
                node = t.e_node[chunk + i]
                s.stack[height] = node
                if (flags[i] != 0) & (t.e_top[chunk + i] >= least):
                    prefetch(t.c, C_FIELDS * node)
                    height += 1
    return height


@hot
def _stab(t, start, end, seen, least, stack, height):
    """Push the c-nodes of a run of entries of many columns; return the stack's height."""
    for at in range(start, end):
        stack[height] = t.e_node[at]
        height += admits(t.e_word[at], seen) & (t.e_top[at] >= least)
    return height


@hot
def find_leaves(t, pnode, least, s, count):
    """Add to `found` the c-nodes with members that an event reaches below a p-node of the root.

    Subtrees with no sum of weights of at least `least` are left out.  Returns how many there are.
    """
    start, code = t.p[pnode, START], s.seen[t.p[pnode, COLUMN] + 1]
    height = _stab_root(t, start, start + t.p[pnode, ENTRIES], code, least, s)
    while height:
        height -= 1
        node = s.stack[height]
        s.found[count] = node
        count += t.c[node, COUNT] > 0
        start, size = t.c[node, E_START], t.c[node, E_COUNT]
        if size:
            height = _stab(t, start, start + size, s.seen, least, s.stack, height)
    return count
