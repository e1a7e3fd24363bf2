"""Writing a member of an l-node: what it is tested with, and what bounds its score."""

import numpy as np

from indexes.boolean.fingerprints import ANY
from indexes.boolean.hints import ANYTHING, hint_of
from indexes.boolean.row_words import place_of
from indexes.boolean.tree_layout import (
    FOLDS,
    MORE_COLUMNS,
    NOTHING,
    ROW,
    SECOND,
    SHARES,
    THIRD,
    TOLD,
    word_of,
)
from indexes.boolean.tree_local import local_on
from indexes.boolean.tree_weights import weigh_member
from indexes.kernels import NIL
from indexes.kernels.decorators import fused


@fused
def on_path(path, depth, column):
    found = False
    for level in range(depth):
        found |= path[level] == column
    return found


@fused
def _parts_of(weight, total):
    """So many 255ths of the whole, never too few."""
    return min(255, int(weight * (255.0 / np.float64(total))) + 1) if weight > 0.0 else 0


@fused
def _tell_others(t, r, at, local, member, own, first, second, third):
    """Columns and shares of the predicates that are neither on the own column nor tested."""
    first = first if t.m_first[at] != NOTHING else NIL
    second = second if t.m_record[at, SECOND] != NOTHING else NIL
    third = third if t.m_record[at, THIRD] != NOTHING else NIL
    start, w = local.starts[member], place_of(r, local.rows[member])[2]
    total, told, last, fold = np.float64(t.m_sum[at]), 0, 0.0, 0
    t.m_told[at] = 0
    for i in range(start, local.starts[member + 1]):
        if local.columns[i] == own or i in (first, second, third):
            continue
        weight = r.reals[w + i - start]
        fold = int(local.columns[i]) % FOLDS
        if told < TOLD - 1:
            t.m_told[at, told] = np.uint16(fold << 8 | _parts_of(weight, total))
        else:
            last += weight
        told += 1
    if told >= TOLD:
        fold = fold if told == TOLD else MORE_COLUMNS
        t.m_told[at, TOLD - 1] = np.uint16(fold << 8 | _parts_of(last, total))


@fused
def _write_tests(t, r, at, local, member, path, depth):
    """The tests that reject most, of predicates that the way to the l-node does not test."""
    first, second, third = NIL, NIL, NIL
    start, w, own = local.starts[member], place_of(r, local.rows[member])[2], 0.0
    for i in range(start, local.starts[member + 1]):
        if on_path(path, depth, local.columns[i]):
            if local.columns[i] == path[depth - 1]:
                own += r.reals[w + i - start]
        elif first == NIL or local.loads[i] < local.loads[first]:
            first, second, third = i, first, second
        elif second == NIL or local.loads[i] < local.loads[second]:
            second, third = i, second
        elif third == NIL or local.loads[i] < local.loads[third]:
            third = i
    total = np.float64(t.m_sum[at])
    shares = _parts_of(own, total)
    for place, i in enumerate((first, second, third)):
        word = NOTHING
        if i != NIL:
            low, high = np.int64(local.lows[i]), np.int64(local.highs[i])
            word = word_of(np.int64(local.columns[i]), low, high)
            if word != NOTHING:
                shares |= _parts_of(r.reals[w + i - start], total) << (8 * (place + 1))
        hint = ANYTHING
        if i != NIL:
            hint = hint_of(np.int64(local.columns[i]), np.int64(local.prints[i]))
        if place == 0:
            t.m_first[at], t.m_hint[at] = np.uint32(word), hint
        else:
            if place == 1:
                t.m_other[at] = hint
            t.m_record[at, SECOND + place - 1] = np.uint32(word)
    t.m_record[at, SHARES] = np.uint32(shares)
    _tell_others(t, r, at, local, member, path[depth - 1] if depth else NIL, first, second, third)


@fused
def write_member(t, r, local, member, node, at, low, high, own, path, depth, parts):
    """Put a member into a place of an l-node's run, and widen the l-node's box and bounds."""
    row = local.rows[member]
    t.m_low[at], t.m_high[at], t.m_print[at] = low, high, own
    t.printed[node] |= own != ANY
    weigh_member(t, r, node, at, row, parts)
    _write_tests(t, r, at, local, member, path, depth)
    t.m_record[at, ROW] = np.uint32(row)
    t.where[row] = node
    for level in range(depth):
        if level < depth - 1:
            low, high, _ = local_on(local, member, path[level])
        else:
            low, high = np.int64(t.m_low[at]), np.int64(t.m_high[at])
        t.own[node, level, 0] = min(np.int64(t.own[node, level, 0]), low)
        t.own[node, level, 1] = max(np.int64(t.own[node, level, 1]), high)
