"""Groups of columns, for which an l-node knows bounds of weights, and marks, which members bear.

There are many columns and few groups, so that several columns share one; what is known of a group
then holds for all of them, and says less.  But the members of one l-node have few columns: each
l-node spreads columns over the groups in a way of its own, one of those in which its columns meet
least.  Any way is right, also for columns that come later; it is chosen when an l-node is filled,
and members that come from another one are marked anew.
"""

import numpy as np

from indexes.boolean.tree_layout import CARD_LEVELS, GROUPS, SPREAD
from indexes.kernels import NIL
from indexes.kernels.decorators import fused, inner

MARKS = 32  # bits of a member's word; two groups share one
_TRIES = 48  # ways of spreading columns
_LOW_BITS = (1 << 32) - 1
_GOLDEN = 0x9E3779B1  # 2^32 / golden ratio: multiples of it lie far apart
_SHIFT = 32 - (GROUPS.bit_length() - 1)
_SLOTS = 128  # of the table that finds an l-node's columns


@fused
def factor_of(way):
    """By which columns are multiplied for one way of spreading them."""
    return (2 * np.int64(way) + 1) * _GOLDEN & _LOW_BITS


@fused
def group_of(factor, column):
    return (np.int64(column) * factor & _LOW_BITS) >> _SHIFT


@fused
def mark_of(group):
    return 1 << (group // 2)


@fused
def spread_of(t, node):
    return factor_of(t.cards[node, SPREAD])


@inner
def _columns_of(t, local, node, order):
    """The columns of some rows beside an l-node's path, each once; how many, or `MARKS` + 1."""
    table = np.full(_SLOTS, -1, np.int32)
    found, count, path = np.empty(MARKS, np.int32), 0, path_of_card(t, node)
    for member in order:
        for i in range(local.starts[member], local.starts[member + 1]):
            column = local.columns[i]
            slot = column & (_SLOTS - 1)
            while table[slot] != -1 and table[slot] != column:
                slot = (slot + 1) & (_SLOTS - 1)
            if table[slot] == -1 and level_of(path, column) == NIL:
                if count == MARKS:
                    return found, count + 1
                table[slot] = found[count] = column
                count += 1
    return found, count


@inner
def choose_spread(t, local, node, order):
    """Let the columns of an l-node's members to be meet as little as they can."""
    found, count = _columns_of(t, local, node, order)
    if count > MARKS:
        return
    most = 0
    for way in range(_TRIES):
        marks, different = np.int64(0), 0
        factor = factor_of(way)
        for i in range(count):
            mark = mark_of(group_of(factor, found[i]))
            different += marks & mark == 0
            marks |= mark
        if different > most:
            most, t.cards[node, SPREAD] = different, way
        if different == count:
            break


@fused
def path_of_card(t, node):
    """The columns, each plus 1, on an l-node's card; by value, so that they are read once."""
    return t.paths[node, 0], t.paths[node, 1], t.paths[node, 2], t.paths[node, 3]


@fused
def level_of(path, column):
    """Where a column is on the card, or NIL."""
    found, wanted = NIL, np.int64(column) + 1
    for level in range(CARD_LEVELS):
        found = level if path[level] == wanted else found
    return found
