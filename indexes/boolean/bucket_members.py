"""Members of buckets: added, moved, dropped, and found by the hash of column and value."""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import BETWEEN, EQ
from indexes.boolean.evaluation import interval_of
from indexes.boolean.row_words import COLUMN_MASK, KIND_SHIFT, place_of
from indexes.kernels import NIL
from indexes.kernels.decorators import bare

_LEAST = 4  # members that a bucket has room for
USED_BUCKETS, USED_MEMBERS, LOST_MEMBERS = range(3)


class Keys(NamedTuple):
    """The buckets, found by column and value."""

    slots: np.ndarray  # i4[size]  open addressing; a bucket or NIL
    columns: np.ndarray  # i4[buckets]
    values: np.ndarray  # f8[buckets]
    found: np.ndarray  # i4[buckets]  predicates with this column and value
    starts: np.ndarray  # i8[buckets]
    sizes: np.ndarray  # i4[buckets]
    rooms: np.ndarray  # i4[buckets]


class Members(NamedTuple):
    rows: np.ndarray  # i4[members]
    columns: np.ndarray  # i4[members, 2]
    lows: np.ndarray  # f8[members, 2]
    highs: np.ndarray  # f8[members, 2]
    homes: np.ndarray  # i4[rows]  the bucket of each row
    state: np.ndarray  # i8[3]


@bare
def slot_of(keys, column, value):
    """The slot of a bucket, or the free one at which its search ends."""
    # Whole numbers and fractions alike: the hash mixes the digits of a scaled value.
    mixed = np.int64(abs(value) % 1e9 * 7919.0) ^ (np.int64(column) * 0x61C88647)
    slot = int((mixed & 0xFFFFFFFF) * 0x61C88647 & 0xFFFFFFFF) * len(keys.slots) >> 32
    while True:
        bucket = keys.slots[slot]
        if bucket == NIL or (keys.columns[bucket] == column and keys.values[bucket] == value):
            return slot
        slot += 1
        if slot == len(keys.slots):
            slot = 0


@njit(cache=True)
def link_all(keys, used):
    for bucket in range(1, used):
        keys.slots[slot_of(keys, keys.columns[bucket], keys.values[bucket])] = bucket


@njit(cache=True)
def count_equalities(keys, state, r, rows, step):
    for i in range(len(rows)):
        size, first, _, operand = place_of(r, rows[i])
        for j in range(size):
            meta = r.meta[first + j]
            if meta >> KIND_SHIFT != EQ:
                break
            column, value = meta & COLUMN_MASK, r.reals[operand + j]
            slot = slot_of(keys, column, value)
            bucket = keys.slots[slot]
            if bucket == NIL:
                bucket = state[USED_BUCKETS]
                state[USED_BUCKETS] += 1
                keys.slots[slot] = bucket
                keys.columns[bucket], keys.values[bucket] = column, value
                keys.found[bucket] = keys.starts[bucket] = 0
                keys.sizes[bucket] = keys.rooms[bucket] = 0
            keys.found[bucket] += step


@bare
def _rarest(keys, r, row):
    """The bucket of the rarest equality, and its place in the row; bucket 0 if there is none."""
    best, place = 0, NIL
    size, first, _, operand = place_of(r, row)
    for j in range(size):
        meta = r.meta[first + j]
        if meta >> KIND_SHIFT != EQ:
            break
        value = r.reals[operand + j]
        bucket = keys.slots[slot_of(keys, meta & COLUMN_MASK, value)]
        if best == 0 or keys.found[bucket] < keys.found[best]:
            best, place = bucket, j
    return best, place


@bare
def _set_tests(m, at, r, row, place):
    """The intervals of the first predicates other than the bucket's; the last one again if few."""
    size, first, _, operand = place_of(r, row)
    test = 0
    for j in range(size):
        kind, column = r.meta[first + j] >> KIND_SHIFT, r.meta[first + j] & COLUMN_MASK
        if j != place or size == 1:
            low, high = interval_of(kind, r.reals, operand, r.lists)
            for i in range(test, 2):
                m.columns[at, i], m.lows[at, i], m.highs[at, i] = column, low, high
            test += 1
        operand += 2 if kind == BETWEEN else 1


@njit(cache=True)
def add_members(keys, m, r, rows, start):
    """Add from position `start` on; return the position at which room ran out."""
    for i in range(start, len(rows)):
        row = rows[i]
        bucket, place = _rarest(keys, r, row)
        if keys.sizes[bucket] == keys.rooms[bucket]:
            room = max(_LEAST, keys.rooms[bucket] + keys.rooms[bucket] // 2)
            to = m.state[USED_MEMBERS]
            if to + room > len(m.rows):
                return i
            _move_run(m, keys.starts[bucket], m, to, keys.sizes[bucket])
            keys.starts[bucket], keys.rooms[bucket] = to, room
            m.state[USED_MEMBERS] += room
        at = keys.starts[bucket] + keys.sizes[bucket]
        keys.sizes[bucket] += 1
        m.rows[at], m.homes[row] = row, bucket
        _set_tests(m, at, r, row, place)
    return len(rows)


@bare
def _move_run(source, start, target, to, count):
    for i in range(count):
        target.rows[to + i] = source.rows[start + i]
        for test in range(2):
            target.columns[to + i, test] = source.columns[start + i, test]
            target.lows[to + i, test] = source.lows[start + i, test]
            target.highs[to + i, test] = source.highs[start + i, test]


@njit(cache=True)
def move_all(keys, old, new):
    to = 0
    for bucket in range(new.state[USED_BUCKETS]):
        _move_run(old, keys.starts[bucket], new, to, keys.sizes[bucket])
        keys.starts[bucket] = to
        to += keys.rooms[bucket]
    new.state[USED_MEMBERS] = to


@njit(cache=True)
def drop_members(keys, m, rows):
    for i in range(len(rows)):
        bucket = m.homes[rows[i]]
        at = keys.starts[bucket]
        while m.rows[at] != rows[i]:
            at += 1
        keys.sizes[bucket] -= 1
        _move_run(m, keys.starts[bucket] + keys.sizes[bucket], m, at, 1)
