"""Rows: one conjunction each, with all that evaluating it exactly needs in one place.

Layout: a row is a run of 8-byte words.  Its first half word has the number of predicates and
whether further rows have the same id; then come half words, one a predicate in the order in which
they are evaluated, that pack operator, place in the given order and column; then the weights; then
the operands, two for `between` (one if it is narrow, see `narrow`) and one for any other operator.
`meta` and `reals` are views of the same words.  The operand of `in` and `not in` is a position in
`lists`: a length, then that many ascending values.

Released rows are used again (see `indexes.row_table`); their runs are lost until `compact`.
Several rows may have the same id (alternatives); the table of ids knows the first.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import BETWEEN, IN, NOT_IN
from indexes.boolean.narrow import NARROW, is_narrow, packed, unpacked
from indexes.id_map import link
from indexes.id_map import unlink as unlink_id
from indexes.kernels.decorators import fused
from indexes.kernels.prefetch import prefetch
from indexes.row_table import give_back_row, take_row

KIND_SHIFT, PLACE_SHIFT = 28, 18
COLUMN_MASK, PLACE_MASK = (1 << 18) - 1, (1 << 10) - 1
WORDS, LISTS, DEAD, DEAD_LISTS = range(3, 7)  # fields of `state`, after those of `row_table`
SIZE_MASK, SHARED_SHIFT = (1 << 16) - 1, 16
MOST_ROWS = 1 << 28
_AHEAD = 8  # rows that are prefetched before they are copied
ALONE, FIRST, ALTERNATIVE = 0, 1, 2  # how a row shares its id


class Rows(NamedTuple):
    ids: np.ndarray  # i8[rows]
    start: np.ndarray  # i4[rows]  the first word
    meta: np.ndarray  # u4[2 * words]
    reals: np.ndarray  # f8[words]
    lists: np.ndarray  # f8[...]
    state: np.ndarray  # i8[7]


@fused
def place_of(r, row):
    """The number of predicates, and where their metas, weights and operands begin."""
    start = np.int64(r.start[row])
    size = np.int64(r.meta[2 * start] & SIZE_MASK)
    weight = start + size // 2 + 1
    return size, 2 * start + 1, weight, weight + size


@fused
def _write(r, row, shared, b, start, count):
    """Write one conjunction of a batch at the end of the words, sorted by operator."""
    word, at_list = r.state[WORDS], r.state[LISTS]
    r.start[row] = word
    r.meta[2 * word] = count | (shared << SHARED_SHIFT)
    _, p, w, o = place_of(r, row)
    kinds = np.int64(0)
    for i in range(start, start + count):
        kinds |= 1 << np.int64(b.kinds[i])
    for kind in range(9):
        if not kinds >> kind & 1:
            continue
        for i in range(start, start + count):
            if b.kinds[i] != kind:
                continue
            first, second, stored = b.firsts[i], b.seconds[i], kind
            if kind == BETWEEN and is_narrow(first, second):
                first, stored = packed(first, second), NARROW
            place = (i - start) << PLACE_SHIFT
            r.meta[p] = (stored << KIND_SHIFT) | place | np.int64(b.columns[i])
            r.reals[w] = b.weights[i]
            r.reals[o] = first
            p, w, o = p + 1, w + 1, o + 1
            if stored == BETWEEN:
                r.reals[o] = second
                o += 1
            elif kind in (IN, NOT_IN):
                r.reals[o - 1] = at_list
                size, source = int(b.seconds[i]), int(b.firsts[i])
                r.lists[at_list] = size
                for j in range(size):
                    r.lists[at_list + 1 + j] = b.lists[source + j]
                at_list += 1 + size
    r.state[WORDS], r.state[LISTS] = o, at_list


@njit(cache=True)
def append_rows(r, slots, ids, starting, b, rows):
    start = 0
    for i in range(len(ids)):
        row = take_row(r.ids, r.state)
        r.ids[row] = ids[i]
        shared = ALTERNATIVE
        if starting[i]:
            link(slots, r.ids, row)
            shared = FIRST if i + 1 < len(ids) and not starting[i + 1] else ALONE
        _write(r, row, shared, b, start, b.counts[i])
        start += b.counts[i]
        rows[i] = row


@fused
def _prefetch_lists(r, row):
    size, first, _, operand = place_of(r, row)
    for p in range(first, first + size):
        kind = r.meta[p] >> KIND_SHIFT
        if kind in (IN, NOT_IN):
            prefetch(r.lists, np.int64(r.reals[operand]))
        operand += 2 if kind == BETWEEN else 1


@njit(cache=True)
def copy_rows(old, new, rows, numbers):
    """Lay rows out anew, one after another, under other numbers."""
    for i in range(len(rows)):
        if i + 2 * _AHEAD < len(rows):
            prefetch(old.start, rows[i + 2 * _AHEAD])
        if i + _AHEAD < len(rows):
            prefetch(old.reals, old.start[rows[i + _AHEAD]])
            prefetch(old.reals, old.start[rows[i + _AHEAD]] + 8)
        if i + _AHEAD // 2 < len(rows):
            _prefetch_lists(old, rows[i + _AHEAD // 2])
        start, to = np.int64(old.start[rows[i]]), new.state[WORDS]
        size, first, _, operand = place_of(old, rows[i])
        new.start[numbers[i]] = to
        for word in range(operand - start):
            new.reals[to + word] = old.reals[start + word]
        for p in range(first, first + size):
            kind = old.meta[p] >> KIND_SHIFT
            new.reals[to + operand - start] = old.reals[operand]
            if kind == BETWEEN:
                operand += 1
                new.reals[to + operand - start] = old.reals[operand]
            elif kind in (IN, NOT_IN):
                source, at = int(old.reals[operand]), new.state[LISTS]
                length = 1 + int(old.lists[source])
                for j in range(length):
                    new.lists[at + j] = old.lists[source + j]
                new.reals[to + operand - start] = at
                new.state[LISTS] += length
            operand += 1
        new.state[WORDS] += operand - start


@njit(cache=True)
def release_rows(r, slots, rows):
    for i in range(len(rows)):
        row = rows[i]
        if r.meta[2 * np.int64(r.start[row])] >> SHARED_SHIFT != ALTERNATIVE:
            unlink_id(slots, r.ids, r.ids[row])
        size, p, _, o = place_of(r, row)
        for i in range(size):
            kind = r.meta[p + i] >> KIND_SHIFT
            if kind in (IN, NOT_IN):
                r.state[DEAD_LISTS] += 1 + int(r.lists[int(r.reals[o])])
            o += 2 if kind == BETWEEN else 1
        r.state[DEAD] += o - r.start[row]
        give_back_row(r.ids, r.state, row)


@njit(cache=True)
def export_rows(r, rows, columns, kinds, weights, firsts, seconds, lists):
    start, used = 0, 0
    for i in range(len(rows)):
        size, p, w, o = place_of(r, rows[i])
        for j in range(size):
            meta = r.meta[p + j]
            at = start + ((meta >> PLACE_SHIFT) & PLACE_MASK)
            kind = meta >> KIND_SHIFT
            columns[at], kinds[at] = meta & COLUMN_MASK, kind
            weights[at], firsts[at] = r.reals[w + j], r.reals[o]
            o += 1
            if kind == BETWEEN:
                seconds[at] = r.reals[o]
                o += 1
            elif kind == NARROW:
                kinds[at] = BETWEEN
                firsts[at], seconds[at] = unpacked(firsts[at])
            elif kind in (IN, NOT_IN):
                source = int(firsts[at])
                count = int(r.lists[source])
                firsts[at], seconds[at] = used, count
                lists[used : used + count] = r.lists[source + 1 : source + 1 + count]
                used += count
        start += size
    return used


@fused
def is_shared(r, row):
    return r.meta[2 * np.int64(r.start[row])] >> SHARED_SHIFT != ALONE
