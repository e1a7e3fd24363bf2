"""Pivotal tokens of a quadtree's nodes (§4.1): one token at least of each subscription below.

A message without any of them can leave the node alone (Lemma 1).  Those that all children have (of
what holds anything) are the node's cover set, and are looked for there alone: with one of them
everything below is a candidate, as far as its text goes.  The others are the non-cover set.

Which token stands for a subscription is a choice.  The seed's is greedy: of what is in a list, the
token that most of it has, then the same again for the rest, which makes sets small.  The other one
is the key, the rarest token, which few messages have.  A set of more than `most_pivots` tokens is
OPEN, and those above it: it would be long to go through, and almost every message has one of them.
Of an OPEN set only the cover tokens, if it had any, are still there.

New subscriptions add to sets; tokens of those that are gone stay until the tree is laid out anew.
"""

import numpy as np
from numba import njit

from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused
from indexes.spatial_text.quadtree import (
    CHILD,
    COUNT,
    COVERS,
    DEEPEST,
    DEPTH,
    HELD,
    LIST,
    OPEN,
    PARENT,
    PIVOTS,
    SET,
    SET_ROOM,
    SETS_FILLED,
    SETS_KEPT,
    set_size,
)

__all__ = [
    "ADMITTED", "COVERED", "PRUNED", "add_pivot", "has_token", "is_said", "pivots_say",
    "room_to_summarise", "summarise",
]  # fmt: skip

_MOST_WEIGHED = 4096  # tokens of a list that the greedy choice looks at; of a longer one, none
PRUNED, ADMITTED, COVERED = range(3)


@fused
def is_said(said, token):
    return said[token >> 6] >> (token & 63) & 1


@fused
def pivots_say(q, node, said):
    """What the pivotal set of a node says of a message."""
    first, covers, pivots = q.nodes[node, SET], q.nodes[node, COVERS], q.nodes[node, PIVOTS]
    for at in range(first, first + covers):
        if is_said(said, q.sets[at]):
            return COVERED
    if pivots == OPEN:
        return ADMITTED
    for at in range(first + covers, first + pivots):
        if is_said(said, q.sets[at]):
            return ADMITTED
    return PRUNED


@bare
def _place_in_set(q, node, token):
    first = q.nodes[node, SET]
    for i in range(set_size(q, node)):
        if q.sets[first + i] == token:
            return i
    return NIL


@bare
def _covering(q, node, token):
    """Whether a node above has the token in its cover set."""
    above = q.nodes[node, PARENT]
    while above != NIL:
        place = _place_in_set(q, above, token)
        if place != NIL and place < q.nodes[above, COVERS]:
            return True
        above = q.nodes[above, PARENT]
    return False


@bare
def _pivot_of(q, node, table, row, key, frequencies, rules):
    """The token that is to stand for a new row: one that does already, if there is one."""
    if rules.rarest:
        return key
    first, best = table.starts[row], NIL
    for at in range(first, first + table.sizes[row]):
        token = table.tokens[at]
        if _place_in_set(q, node, token) != NIL or _covering(q, node, token):
            return token
        if best == NIL or frequencies[token] > frequencies[best]:
            best = token
    return best


@bare
def add_pivot(q, node, table, row, key, frequencies, rules):
    """Let a token stand for a new row of a node's list; False, and nothing is done: no room."""
    grown = rules.most_pivots + rules.most_pivots // 4 + 4
    if q.state[SETS_FILLED] + (q.nodes[node, DEPTH] + 1) * grown > len(q.sets):
        return False
    if q.nodes[node, PIVOTS] == OPEN:
        return True
    token = _pivot_of(q, node, table, row, key, frequencies, rules)
    if not _covering(q, node, token):
        _add_upwards(q, node, token, rules)
    return True


@bare
def _add_upwards(q, node, token, rules):
    while node != NIL and q.nodes[node, PIVOTS] != OPEN:
        if _place_in_set(q, node, token) != NIL:
            return
        first, pivots = q.nodes[node, SET], q.nodes[node, PIVOTS]
        if pivots == rules.most_pivots:
            _open_upwards(q, node)
            return
        if pivots == q.nodes[node, SET_ROOM]:
            room, new = pivots + pivots // 4 + 4, q.state[SETS_FILLED]
            for i in range(pivots):
                q.sets[new + i] = q.sets[first + i]
            q.state[SETS_FILLED] += room
            q.state[SETS_KEPT] += room - pivots
            q.nodes[node, SET], q.nodes[node, SET_ROOM] = new, room
            first = new
        q.sets[first + pivots] = token
        q.nodes[node, PIVOTS] = pivots + 1
        node = q.nodes[node, PARENT]


@bare
def _open_upwards(q, node):
    """Forget non-cover sets.  Cover sets stay: those below do not have their tokens any more."""
    while node != NIL:
        q.nodes[node, PIVOTS] = OPEN
        node = q.nodes[node, PARENT]


def room_to_summarise(rules):
    """Places in `sets` without which `summarise` stops."""
    return rules.most_pivots + (DEEPEST + 1) * 6 * (rules.most_pivots * 5 // 4 + 4)


@njit(cache=True, nogil=True)
def summarise(q, table, rules, nodes, start, tops, needed):
    """Sum up lists and children of nodes, those below first: counts, score bounds, pivotal sets.

    From nodes[start] on; returns where it stopped because there was less room than `needed`.  The
    last `tops` nodes are not children of others here: what is above them is told.
    """
    most = rules.most_pivots
    found = np.empty(most, np.int32)
    scratch = np.full((4, 4 * _MOST_WEIGHED), NIL, np.int32)
    for i in range(start, len(nodes)):
        node = nodes[i]
        if q.state[SETS_FILLED] + needed > len(q.sets):
            return i
        _sum_up(q, table, node)
        size = _own_pivots(q, table, rules, node, found, scratch)
        child = q.nodes[node, CHILD]
        if child != NIL:
            for side in range(4):
                size = _with_set(q, child + side, found, size)
        q.state[SETS_KEPT] -= q.nodes[node, SET_ROOM]
        q.nodes[node, COVERS] = q.nodes[node, SET_ROOM] = 0
        if size == OPEN:
            _open_upwards(q, node)
            continue
        first = q.state[SETS_FILLED]
        covers = 0
        for j in range(size):
            if child != NIL and _all_have(q, child, found[j]):
                found[j], found[covers] = found[covers], found[j]
                covers += 1
        for j in range(size):
            q.sets[first + j] = found[j]
        for j in range(covers):
            for side in range(4):
                _take_out(q, child + side, found[j])
        q.nodes[node, SET], q.nodes[node, COVERS] = first, covers
        q.nodes[node, PIVOTS] = q.nodes[node, SET_ROOM] = size
        q.state[SETS_FILLED] += size
        q.state[SETS_KEPT] += size
        if i >= len(nodes) - tops:
            for j in range(size):
                if not _covering(q, node, found[j]):
                    _add_upwards(q, q.nodes[node, PARENT], found[j], rules)
    return len(nodes)


@bare
def _sum_up(q, table, node):
    first, count = q.nodes[node, LIST], q.nodes[node, COUNT]
    bound = -np.inf
    for at in range(first, first + count):
        bound = max(bound, table.scores[q.entries[at, 0]])
    q.bounds[node, 1] = bound
    child = q.nodes[node, CHILD]
    if child != NIL:
        for side in range(4):
            count += q.nodes[child + side, HELD]
            bound = max(bound, q.bounds[child + side, 0])
    q.bounds[node, 0] = bound
    more = count - q.nodes[node, HELD]
    while node != NIL:
        q.nodes[node, HELD] += more
        node = q.nodes[node, PARENT]


@bare
def _with(found, size, token):
    """Add a token to a set; the size is OPEN when it has become too large."""
    for i in range(size):
        if found[i] == token:
            return size
    if size == len(found):
        return OPEN
    found[size] = token
    return size + 1


@bare
def _with_set(q, node, found, size):
    if q.nodes[node, PIVOTS] == OPEN:
        return OPEN
    first = q.nodes[node, SET]
    for at in range(first, first + q.nodes[node, PIVOTS]):
        if size != OPEN:
            size = _with(found, size, q.sets[at])
    return size


@bare
def _all_have(q, child, token):
    """Whether all of four siblings that hold anything have a token in their sets."""
    for side in range(4):
        if q.nodes[child + side, HELD] and _place_in_set(q, child + side, token) == NIL:
            return False
    return True


@bare
def _take_out(q, node, token):
    """Forget a token of a set, and keep the order: cover set first."""
    place = _place_in_set(q, node, token)
    if place == NIL:
        return
    first = q.nodes[node, SET]
    for at in range(first + place, first + q.nodes[node, PIVOTS] - 1):
        q.sets[at] = q.sets[at + 1]
    q.nodes[node, PIVOTS] -= 1
    if place < q.nodes[node, COVERS]:
        q.nodes[node, COVERS] -= 1


@bare
def _own_pivots(q, table, rules, node, found, scratch):
    """Tokens that stand for the entries of a node's list, into `found`; how many, or OPEN."""
    first, count = q.nodes[node, LIST], q.nodes[node, COUNT]
    if not rules.rarest:
        return _greedy_pivots(q, table, first, count, found, scratch)
    size = 0
    for at in range(first, first + count):
        if size != OPEN:
            size = _with(found, size, q.entries[at, 1])
    return size


@bare
def _slot_of(tokens, token):
    slot = (token * 40_503) & (len(tokens) - 1)
    while tokens[slot] != NIL and tokens[slot] != token:
        slot = (slot + 1) & (len(tokens) - 1)
    return slot


@bare
def _greedy_pivots(q, table, first, count, found, scratch):
    """The token that most rows have, then the one that most of the other rows have, and so on."""
    total = 0
    for at in range(first, first + count):
        total += table.sizes[q.entries[at, 0]]
    if total > _MOST_WEIGHED:
        return OPEN
    # A table of tokens by open addressing, rows not yet stood for that have each, slots in use;
    # whether a row of the list is stood for.
    tokens, having, slots, done = scratch
    distinct = 0
    for i in range(count):
        done[i] = 0
        row = q.entries[first + i, 0]
        for place in range(table.starts[row], table.starts[row] + table.sizes[row]):
            slot = _slot_of(tokens, table.tokens[place])
            if tokens[slot] == NIL:
                tokens[slot], having[slot] = table.tokens[place], 0
                slots[distinct] = slot
                distinct += 1
            having[slot] += 1
    size, left = 0, count
    while left and size != OPEN:
        best = slots[0]
        for i in range(1, distinct):
            slot = slots[i]
            if having[slot] > having[best] or (
                having[slot] == having[best] and tokens[slot] < tokens[best]
            ):
                best = slot
        size = _with(found, size, tokens[best])
        for i in range(count):
            row = q.entries[first + i, 0]
            if done[i] or not has_token(table, row, tokens[best]):
                continue
            done[i] = 1
            left -= 1
            for place in range(table.starts[row], table.starts[row] + table.sizes[row]):
                having[_slot_of(tokens, table.tokens[place])] -= 1
    for i in range(distinct):
        tokens[slots[i]] = NIL
    return size


@bare
def has_token(table, row, token):
    for place in range(table.starts[row], table.starts[row] + table.sizes[row]):
        if table.tokens[place] == token:
            return True
    return False
