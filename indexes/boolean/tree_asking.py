"""Asking for l-nodes before they are read: memory takes longer to answer than their tests take."""

import numpy as np

from indexes.boolean.codes import BLOCK as PIVOTS
from indexes.boolean.fingerprints import fingerprint
from indexes.boolean.kernels import hot
from indexes.boolean.masks import BLOCK, CHUNK, agreeing, lowest, mask_of
from indexes.boolean.tree_layout import (
    CARD_FIELDS,
    COLUMN,
    COUNT,
    DEPTH,
    GROUPS,
    MOST_DEPTH,
    PNODE,
    SEGMENT,
)
from indexes.prefetching import prefetch

_AHEAD = 6  # l-nodes that are asked for before one is read,
_AGREEING = 3  # ... and of which it is known which members have the event's fingerprint
_AHEAD_BEST = 2  # ... once they are read by their bounds
NOTES = _AGREEING + 1  # l-nodes that fingerprints are noted of: these, and the one that is read,
NOTED = 16  # ... so many chunks of each


@hot
def _ask_for_scores(t, node):
    """What tells whether members reach a score."""
    first, count = t.c[node, SEGMENT], min(t.c[node, COUNT], 2 * CHUNK)
    prefetch(t.cards, CARD_FIELDS * node)
    prefetch(t.floors, GROUPS * node)
    for at in range(first, first + count, BLOCK):
        prefetch(t.m_beside, at)
        prefetch(t.m_sum, at)


@hot
def _ask(t, node, tested):
    """What reading an l-node begins with."""
    first, count = t.c[node, SEGMENT], t.c[node, COUNT]
    prefetch(t.lost, node)
    if t.printed[node]:
        prefetch(t.own, MOST_DEPTH * 2 * node)
        for at in range(first, first + min(count, NOTED * CHUNK), CHUNK):
            prefetch(t.m_print, at)
    else:
        count = min(count, 2 * CHUNK)
        for at in range(first, first + count, CHUNK):
            prefetch(t.m_low, at)
            prefetch(t.m_high, at)
        if not tested:
            for at in range(first, first + count, BLOCK):
                prefetch(t.m_first, at)
    if tested:
        _ask_for_scores(t, node)


@hot
def note_agreeing(t, node, s, j, ahead):
    """Note which members of the j-th l-node have the event's fingerprint, often few.

    If that is some steps ahead, ask for what their tests go on with.
    """
    first, count = t.c[node, SEGMENT], min(t.c[node, COUNT], NOTED * CHUNK)
    own = fingerprint(s.values[t.p[t.c[node, PNODE], COLUMN]])
    level = t.c[node, DEPTH] - 1
    wide = ahead and t.own[node, level, 0] != t.own[node, level, 1]
    note = NOTED * (j % NOTES)
    for chunk in range(0, count, CHUNK):
        at = first + chunk
        mask = agreeing(t.m_print, at, min(CHUNK, count - chunk), own)
        s.agreeing[note + chunk // CHUNK] = np.uint64(mask)
        if mask and wide:
            prefetch(t.m_low, at)
            prefetch(t.m_high, at)
        while ahead and mask:
            block = lowest(mask) & -BLOCK
            prefetch(t.m_first, at + block)
            prefetch(t.m_first, at + block + BLOCK - 1)
            mask &= ~(((1 << BLOCK) - 1) << block)


@hot
def noted(t, node, s, j, at, length):
    """A mask of the members of a chunk of the j-th l-node that have the event's fingerprint."""
    chunk = (at - t.c[node, SEGMENT]) // CHUNK
    if chunk < NOTED:
        return mask_of(s.agreeing[NOTED * (j % NOTES) + chunk])
    return agreeing(t.m_print, at, length, fingerprint(s.values[t.p[t.c[node, PNODE], COLUMN]]))


@hot
def ask_for_codes(codes, events, i):
    """What the codes of an event, if there is one, are found by."""
    if i + 1 < len(events.starts):
        for at in range(events.starts[i], events.starts[i + 1]):
            pivots = PIVOTS * np.int64(events.columns[at])
            prefetch(codes.pivots, pivots)
            prefetch(codes.pivots, pivots + PIVOTS - 1)


@hot
def ask_for_first(t, s, leaves, ordered, tested):
    """Ask for the l-nodes that are read first."""
    for j in range(min(_AHEAD_BEST if ordered else _AHEAD, leaves)):
        _ask(t, s.queue[j] if ordered else s.found[j], tested)
    for j in range(0 if ordered else min(_AGREEING, leaves)):
        if t.printed[s.found[j]]:
            note_agreeing(t, s.found[j], s, j, True)


@hot
def ask_for_next(t, s, j, leaves, ordered, tested, score):
    """Ask for l-nodes that come some steps after the j-th, of which everything is noted then."""
    if ordered:
        if j + _AHEAD_BEST < leaves and not s.queued[j + _AHEAD_BEST] < score:
            _ask(t, s.queue[j + _AHEAD_BEST], tested)
        if t.printed[s.queue[j]]:
            note_agreeing(t, s.queue[j], s, j, False)
        return
    if j + _AHEAD < leaves:
        _ask(t, s.found[j + _AHEAD], False)
    if j + _AGREEING < leaves and t.printed[s.found[j + _AGREEING]]:
        note_agreeing(t, s.found[j + _AGREEING], s, j + _AGREEING, True)
