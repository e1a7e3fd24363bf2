"""Asking for l-nodes before they are read: memory takes longer to answer than their tests take."""

from indexes.boolean.fingerprints import fingerprint
from indexes.boolean.kernels import hot
from indexes.boolean.masks import BLOCK, CHUNK, agreeing, lowest
from indexes.boolean.tree_layout import COLUMN, COUNT, DEPTH, GROUPS, PNODE, SEGMENT
from indexes.prefetching import prefetch

_AHEAD = 6  # l-nodes that are asked for before one is read,
_AGREEING = 3  # ... and of which it is known which members have the event's fingerprint
_AHEAD_BEST = 2  # ... once they are read by their bounds
_MOST_ASKED = 1024  # members of one l-node


@hot
def _ask_for_scores(t, node):
    """What tells whether members reach a score."""
    first, count = t.c[node, SEGMENT], min(t.c[node, COUNT], 2 * CHUNK)
    prefetch(t.floors, GROUPS * node)
    for at in range(first, first + count, BLOCK):
        prefetch(t.m_beside, at)
        prefetch(t.m_sum, at)


@hot
def _ask(t, node, tested):
    """What reading an l-node begins with."""
    first, count = t.c[node, SEGMENT], t.c[node, COUNT]
    if t.printed[node]:
        for at in range(first, first + min(count, _MOST_ASKED), CHUNK):
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
def _ask_for_agreeing(t, node, s):
    """What the tests of members with the event's fingerprint, often few, go on with."""
    first, count = t.c[node, SEGMENT], min(t.c[node, COUNT], _MOST_ASKED)
    own = fingerprint(s.values[t.p[t.c[node, PNODE], COLUMN]])
    level = t.c[node, DEPTH] - 1
    wide = t.own[node, level, 0] != t.own[node, level, 1]
    for at in range(first, first + count, CHUNK):
        mask = agreeing(t.m_print, at, min(CHUNK, first + count - at), own)
        if mask and wide:
            prefetch(t.m_low, at)
            prefetch(t.m_high, at)
        while mask:
            block = lowest(mask) & -BLOCK
            prefetch(t.m_first, at + block)
            prefetch(t.m_first, at + block + BLOCK - 1)
            mask &= ~(((1 << BLOCK) - 1) << block)


@hot
def ask_for_first(t, s, leaves, ordered, tested):
    """Ask for the l-nodes that are read first."""
    for j in range(min(_AHEAD_BEST if ordered else _AHEAD, leaves)):
        _ask(t, s.queue[j] if ordered else s.found[j], tested)


@hot
def ask_for_next(t, s, j, leaves, ordered, tested, score):
    """Ask for l-nodes that come some steps after the j-th."""
    if ordered:
        if j + _AHEAD_BEST < leaves and not s.queued[j + _AHEAD_BEST] < score:
            _ask(t, s.queue[j + _AHEAD_BEST], tested)
        return
    if j + _AHEAD < leaves:
        _ask(t, s.found[j + _AHEAD], False)
    if j + _AGREEING < leaves and t.printed[s.found[j + _AGREEING]]:
        _ask_for_agreeing(t, s.found[j + _AGREEING], s)
