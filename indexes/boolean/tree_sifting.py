"""The first tests of members, each for all chunks of several l-nodes before the next.

So what a test reads can be prefetched while the one before it runs, and no step depends on how the
one before it ended: `list_chunks` looks at fingerprints, hints and the codes on the own column, and
notes the chunks in which members are left; `passing_first` looks at the words of these.
"""

import numpy as np

from indexes.boolean.fingerprints import fingerprint
from indexes.boolean.hints import meeting
from indexes.boolean.masks import BLOCK, CHUNK, admitting, agreeing, mask_of, passing_words
from indexes.boolean.tree_layout import COLUMN, COUNT, PNODE, SEGMENT
from indexes.boolean.tree_stab import SIFTED
from indexes.kernels import NIL
from indexes.kernels.bits import lowest_bit, popcount
from indexes.kernels.decorators import fused
from indexes.kernels.prefetch import prefetch

_MOST_AHEAD = 8 * CHUNK  # members of an l-node that are prefetched at once
_CROWD = 3  # members of a block whose words are tested together
_TRIED = 1024  # members whose hints are looked at before these are judged
_AHEAD = 8  # l-nodes that are prefetched before one is sifted
HINTED, LEFT_OVER = range(2)  # members whose hints were looked at, and those that passed
VISITED, EVALUATED, READ, PRUNED = range(4)  # counters: members, members, l-nodes, l-nodes


@fused
def own_column(t, node):
    """The column that a c-node is a bucket of, or NIL for the root."""
    pnode = t.c[node, PNODE]
    return np.int64(t.p[pnode, COLUMN]) if pnode != NIL else np.int64(NIL)


@fused
def admitted(t, node, s, at, length):
    """A mask of the members that admit the event's value on the c-node's own column."""
    column = own_column(t, node)
    if not t.printed[node]:
        return admitting(t.m_low, t.m_high, at, length, s.seen[column + 1])
    mask = agreeing(t.m_print, at, length, fingerprint(s.values[column]))
    # An event that reaches a box of one code has the code of all members.
    if mask and not t.alike[node]:
        mask &= admitting(t.m_low, t.m_high, at, length, s.seen[column + 1])
    return mask


@fused
def meets_hints(t, s, at, length):
    """A mask of the members whose hints the event meets."""
    return meeting(t.m_hint, at, length, s.asked) & meeting(t.m_other, at, length, s.asked)


@fused
def admitting_first(t, s, at, mask):
    """Of members in a mask, those whose first word the event passes.

    Where there are only a few they stay: whoever waits is tested on its own.
    """
    for block in range(0, CHUNK, BLOCK):
        some = (mask >> block) & ((1 << BLOCK) - 1)
        if popcount(some) >= _CROWD:
            mask ^= (some & ~passing_words(t.m_first, at + block, s.seen)) << block
    return mask


@fused
def prefetch_first(t, s, leaves):
    """Prefetch the l-nodes that are sifted first."""
    for j in range(min(_AHEAD, leaves)):
        _prefetch_chunks(t, s, s.found[j])


@fused
def _hints_tell(s):
    """Whether hints leave out so many members that they are worth looking at first."""
    return 2 * s.told[LEFT_OVER] <= s.told[HINTED] or s.told[HINTED] < _TRIED


@fused
def _prefetch_chunks(t, s, node):
    """Prefetch what sifting the members of an l-node begins with."""
    first, last = t.c[node, SEGMENT], t.c[node, SEGMENT] + min(t.c[node, COUNT], _MOST_AHEAD)
    prefetch(t.lost, node)
    if t.printed[node]:
        for at in range(first, last, CHUNK):
            prefetch(t.m_print, at)
    elif _hints_tell(s):
        for at in range(first, last, CHUNK):
            prefetch(t.m_hint, at)
            prefetch(t.m_other, at)
    else:
        for at in range(first, last, CHUNK):
            prefetch(t.m_low, at)
            prefetch(t.m_high, at)


@fused
def _note_chunks(t, s, node, first, last, hinted, count):
    """Note the chunks from `first` on with members that fingerprints, hints or codes leave."""
    printed, column = t.printed[node], own_column(t, node)
    own = fingerprint(s.values[column]) if printed else np.int64(0)
    for at in range(first, last, CHUNK):
        length = min(CHUNK, last - at)
        if printed:
            mask = agreeing(t.m_print, at, length, own)
        elif hinted:
            mask = meets_hints(t, s, at, length)
            s.told[HINTED] += length
            s.told[LEFT_OVER] += popcount(mask)
        else:
            mask = admitting(t.m_low, t.m_high, at, length, s.seen[column + 1])
        s.chunks[count], s.owners[count], s.left[count] = at, node, np.uint64(mask)
        count += mask != 0
    return count


@fused
def _prefetch_others(t, s, hinted, count):
    """Prefetch what noted chunks are tested by next."""
    for i in range(count):
        at, node = s.chunks[i], s.owners[i]
        if t.printed[node]:
            prefetch(t.m_hint, at)
            prefetch(t.m_other, at)
        if (hinted or t.printed[node]) and not t.alike[node]:
            prefetch(t.m_low, at)
            prefetch(t.m_high, at)


@fused
def _thin_out(t, s, hinted, count):
    """Keep the chunks in which members pass the other test, too, and prefetch their words."""
    kept = 0
    for i in range(count):
        at, node, mask = s.chunks[i], s.owners[i], mask_of(s.left[i])
        if t.printed[node]:
            mask &= meets_hints(t, s, at, CHUNK)
        # An event that reaches a box of one code has the code of all members.
        if (hinted or t.printed[node]) and not t.alike[node]:
            mask &= admitting(t.m_low, t.m_high, at, CHUNK, s.seen[own_column(t, node) + 1])
        s.chunks[kept], s.owners[kept], s.left[kept] = at, node, np.uint64(mask)
        kept += mask != 0
        while mask:
            word = at + lowest_bit(mask)
            prefetch(t.m_first, word)
            last = int(min((word | (BLOCK - 1)) - at, CHUNK - 1))  # member with a word in the line
            mask &= -2 << last
    return kept


@fused
def list_chunks(t, s, j, done, stop, leaves, counted):
    """Note chunks of the l-nodes found[j:stop], without the first `done` members of the j-th.

    Returns how many there are, and the j and `done` to go on with: there is room for `SIFTED`.
    The l-nodes after these, up to `leaves`, are prefetched.
    """
    count, hinted = 0, _hints_tell(s)
    while j < stop and count < SIFTED:
        if j + _AHEAD < leaves:
            _prefetch_chunks(t, s, s.found[j + _AHEAD])
        node = s.found[j]
        first, size = np.int64(t.c[node, SEGMENT]), np.int64(t.c[node, COUNT])
        end = min(size, done + CHUNK * (SIFTED - count))
        if done == 0:
            counted[VISITED] += size
            counted[READ] += 1
            t.lost[node] += size  # see `passing_first`
        count = _note_chunks(t, s, node, first + done, first + end, hinted, count)
        if end < size:
            done = end
        else:
            j, done = j + 1, 0
    _prefetch_others(t, s, hinted, count)
    return _thin_out(t, s, hinted, count), j, done


@fused
def passing_first(t, s, i):
    """A mask of the members of the i-th chunk noted that pass their first tests."""
    mask = admitting_first(t, s, s.chunks[i], mask_of(s.left[i]))
    # Those that are left are no false candidates, as the paper calls them.
    t.lost[s.owners[i]] -= popcount(mask)
    return mask


@fused
def forgive(t, s, i):
    """What is left of the i-th chunk noted is left out for its score: that is no loss, either."""
    t.lost[s.owners[i]] -= popcount(mask_of(s.left[i]))


@fused
def let_wait(t, node, s, at, mask, waiting):
    """Let the members in a mask wait for tests of their own; return how many wait."""
    while mask:
        s.kept[waiting], s.homes[waiting] = at + lowest_bit(mask), node
        prefetch(t.m_first, s.kept[waiting])
        waiting += 1
        mask &= mask - 1
    return waiting
