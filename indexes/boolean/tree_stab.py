"""Which l-nodes of a BE*-tree an event reaches (Algorithm 7): buckets are stabbed run by run."""

from typing import NamedTuple

import numpy as np

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.codes import BLOCK, code_after, first_after
from indexes.boolean.fingerprints import fingerprint
from indexes.boolean.hints import SET_BYTES, clear_asked, write_asked
from indexes.boolean.knapsacks import LANES
from indexes.boolean.masks import CHUNK, admitting
from indexes.boolean.tree_groups import MARKS
from indexes.boolean.tree_layout import (
    C_FIELDS,
    COLUMN,
    COUNT,
    E_COUNT,
    E_START,
    ENTRIES,
    FOLDS,
    START,
)
from indexes.kernels.bits import lowest_bit
from indexes.kernels.decorators import fused, inner
from indexes.kernels.prefetch import prefetch

SIFTED = 64  # chunks of members that are noted at once
_RANKS = 65
_AHEAD = 4  # c-nodes whose entries are prefetched before they are stabbed


class Scratch(NamedTuple):
    """What searching for one event after another writes to."""

    values: np.ndarray  # f8[columns]  NaN = lacking
    weights: np.ndarray  # f8[columns]
    seen: np.ndarray  # u4[columns + 1]  codes by column + 1; 0 = lacking
    worth: np.ndarray  # f8[columns + 1]  weights by column + 1; -inf = lacking
    by_worth: np.ndarray  # i8[columns]  an event's columns + 1, the greatest weight first
    parts: np.ndarray  # f8[MOST_PREDICATES]
    kept: np.ndarray  # i8[2 * CHUNK]  members that wait for further tests
    homes: np.ndarray  # i4[2 * CHUNK]  their c-nodes
    chunks: np.ndarray  # i8[SIFTED + 1]  where chunks begin in which members are left
    left: np.ndarray  # u8[SIFTED + 1]  masks of these members
    owners: np.ndarray  # i4[SIFTED + 1]  their c-nodes
    asked: np.ndarray  # u1[SET_BYTES]  the hints that an event meets
    told: np.ndarray  # i8[2]  how many members hints were tried on, and how many they left
    pace: np.ndarray  # i8[1]  l-nodes that are sifted together
    folded: np.ndarray  # f8[256]  the greatest weight of an event's columns with the same fold
    reached: np.ndarray  # i4[c-nodes]  a queue of those to be followed
    found: np.ndarray  # i4[c-nodes]
    bounds: np.ndarray  # f8[c-nodes]
    queue: np.ndarray  # i4[c-nodes]
    queued: np.ndarray  # f8[c-nodes]  their bounds
    rank: np.ndarray  # i4[c-nodes]  of the l-nodes in `found`, by their bounds
    ranked: np.ndarray  # i8[_RANKS]
    ranks: np.ndarray  # i8[columns + 1]  places of columns in `by_worth`, by column + 1
    rates: np.ndarray  # f8[LANES]  see `tree_rates`
    above: np.ndarray  # f4[columns, LANES]  weights above the rates, in the order of `by_worth`
    counted: np.ndarray  # f4[columns]  what an l-node's members have on columns beside its path
    fixed: np.ndarray  # f4[columns]  ... and on its path, above the floor
    filled: np.ndarray  # f4[LANES]  bounds of an l-node, by rates
    marks: np.ndarray  # u4[MARKS]  of columns by which members gain or lose something
    gains: np.ndarray  # f4[MARKS]  how much
    places: np.ndarray  # u1[MARKS]  where in them each mark is
    partitions: np.ndarray  # i4[columns]
    tops: np.ndarray  # f8[columns]


@inner
def new_scratch(columns, nodes):
    worth = np.full(columns + 1, -np.inf)
    worth[0] = 0.0
    return Scratch(
        np.full(columns, np.nan),
        np.zeros(columns),
        np.zeros(columns + 1, np.uint32),
        worth,
        np.zeros(columns, np.int64),
        np.empty(MOST_PREDICATES),
        np.empty(2 * CHUNK, np.int64),
        np.empty(2 * CHUNK, np.int32),
        np.empty(SIFTED + 1, np.int64),
        np.empty(SIFTED + 1, np.uint64),
        np.empty(SIFTED + 1, np.int32),
        np.zeros(SET_BYTES, np.uint8),
        np.zeros(2, np.int64),
        np.ones(1, np.int64),
        np.zeros(256),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1),
        np.empty(nodes + 1, np.int32),
        np.empty(_RANKS, np.int64),
        np.zeros(columns + 1, np.int64),
        np.empty(LANES),
        np.empty((columns, LANES), np.float32),
        np.empty(columns, np.float32),
        np.empty(columns, np.float32),
        np.empty(LANES, np.float32),
        np.empty(MARKS, np.uint32),
        np.empty(MARKS, np.float32),
        np.empty(MARKS, np.uint8),
        np.empty(columns, np.int32),
        np.empty(columns),
    )


@fused
def encode_event(codes, events, i, seen, asked):
    """Codes by column + 1; all others stay 0, which no test admits.  Place 0 passes all tests."""
    seen[0] = 1
    clear_asked(asked)
    start, end = events.starts[i], events.starts[i + 1]
    for at in range(start, end):
        column = events.columns[at]
        seen[column + 1] = first_after(codes, column, events.values[at])
        prefetch(codes.bounds, seen[column + 1])
        prefetch(codes.bounds, seen[column + 1] + BLOCK - 1)
    for at in range(start, end):
        column, value = events.columns[at], events.values[at]
        seen[column + 1] = code_after(codes, column, value, np.int64(seen[column + 1]))
        write_asked(asked, np.int64(column), fingerprint(value))


@fused
def clear_event(events, i, s):
    for at in range(events.starts[i], events.starts[i + 1]):
        column = np.int64(events.columns[at])
        s.seen[column + 1] = 0
        s.worth[column + 1] = -np.inf
        s.folded[column & (FOLDS - 1)] = 0.0


@fused
def admits(word, seen):
    """Whether an event passes a test."""
    code = seen[word >> np.uint32(16)]
    return (((word >> np.uint32(8)) & np.uint32(255)) <= code) & (code <= (word & np.uint32(255)))


@fused
def stab_root(t, pnode, least, s, count):
    """Add to `reached` the c-nodes that an event reaches in a p-node of the root.

    Those with no sum of weights of at least `least` are left out.  Returns how many there are.
    """
    start, code = t.p[pnode, START], s.seen[t.p[pnode, COLUMN] + 1]
    end = start + t.p[pnode, ENTRIES]
    for chunk in range(start, end, CHUNK):
        mask = admitting(t.e_low, t.e_high, chunk, min(CHUNK, end - chunk), code)
        while mask:
            at = chunk + lowest_bit(mask)
            mask &= mask - 1
            if least < 0.0 or t.e_top[at] >= least:
                s.reached[count] = t.e_node[at]
                prefetch(t.c, C_FIELDS * s.reached[count])
                count += 1
    return count


@fused
def _stab(t, start, end, seen, least, reached, count):
    """Add the c-nodes of a run of entries of many columns; return how many there are."""
    for at in range(start, end):
        reached[count] = t.e_node[at]
        count += admits(t.e_word[at], seen) & (t.e_top[at] >= least)
    return count


@fused
def follow(t, least, s, done, reached, leaves):
    """Go on with a c-node of `reached`: add what is reached below it, and to `found` its l-node.

    Subtrees with no sum of weights of at least `least` are left out.  Returns how many c-nodes and
    l-nodes there are then.
    """
    if done + _AHEAD < reached:
        prefetch(t.e_word, t.c[s.reached[done + _AHEAD], E_START])
    node = s.reached[done]
    s.found[leaves] = node
    leaves += t.c[node, COUNT] > 0
    start, size = t.c[node, E_START], t.c[node, E_COUNT]
    if size:
        before = reached
        reached = _stab(t, start, start + size, s.seen, least, s.reached, reached)
        for i in range(before, reached):
            prefetch(t.c, C_FIELDS * s.reached[i])
    return reached, leaves
