"""`Buckets`: each subscription under its rarest equality predicate, the rest verified.

Layout: a bucket is a run of `members`, doubled when it is full; bucket 0 is for subscriptions
without an equality, and is read for every event.  A member has, beside its row, the tests of two
further predicates, so that most are rejected without looking the row up.  `found` counts how often
an equality occurs, which says how rare it is.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import BETWEEN, EQ, MOST_PREDICATES
from indexes.boolean.evaluation import evaluate, interval_of
from indexes.boolean.events import EncodedEvents
from indexes.boolean.index import BooleanIndex
from indexes.boolean.matching import close_event, spread, unspread
from indexes.boolean.ranking import offer, sort_best_first
from indexes.boolean.rows import COLUMN_MASK, KIND_SHIFT, NIL, bare, grown, hot, is_shared, place_of
from indexes.hits import HitTable

__all__ = ["Buckets"]

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


class Buckets(BooleanIndex):
    def __init__(self) -> None:
        super().__init__()
        self._clear_structure()

    def _clear_structure(self) -> None:
        integers = (np.zeros(1, np.int32) for _ in range(2))
        self._keys = Keys(
            np.full(4, NIL, np.int32),
            np.full(1, NIL, np.int32),
            np.zeros(1),
            np.zeros(1, np.int32),
            np.zeros(1, np.int64),
            *integers,
        )
        self._members = Members(
            np.zeros(0, np.int32),
            np.zeros((0, 2), np.int32),
            np.zeros((0, 2)),
            np.zeros((0, 2)),
            np.zeros(0, np.int32),
            np.array([1, 0, 0]),
        )

    def _place(self, rows: np.ndarray) -> None:
        r, m = self._store.rows, self._members
        self._members = m._replace(homes=grown(m.homes, self._store.capacity))
        predicates = int(self._store.sizes(rows).sum())
        self._reserve_keys(int(m.state[USED_BUCKETS]) + predicates)
        _count_equalities(self._keys, self._members.state, r, rows, 1)
        done = 0
        while done < len(rows):
            done = _add_members(self._keys, self._members, r, rows, done)
            if done < len(rows):
                self._repack(len(rows) - done)
        used = int(self._members.state[USED_BUCKETS])
        if len(self._keys.columns) > 2 * used + 1024:  # fewer were new than there might have been
            short = {name: getattr(self._keys, name)[:used].copy() for name in Keys._fields[1:]}
            self._keys = Keys(np.full(2 * used, NIL, np.int32), **short)
            _link_all(self._keys, used)

    def _remove(self, rows: np.ndarray) -> None:
        _drop_members(self._keys, self._members, rows)
        _count_equalities(self._keys, self._members.state, self._store.rows, rows, -1)

    def _reserve_keys(self, buckets: int) -> None:
        keys = {name: grown(getattr(self._keys, name), buckets) for name in Keys._fields[1:]}
        slots = self._keys.slots
        if 5 * buckets > 4 * len(slots):
            slots = np.full(2 * buckets, NIL, np.int32)
        self._keys = Keys(slots, **keys)
        if slots[0] == NIL and (slots == NIL).all():
            _link_all(self._keys, int(self._members.state[USED_BUCKETS]))

    def _repack(self, more: int) -> None:
        """Lay all buckets out anew, without the runs that were outgrown, and with room."""
        used = int(self._members.state[USED_BUCKETS])
        live = int(self._keys.rooms[:used].sum())
        room = live + live // 4 + 2 * int(self._keys.rooms[:used].max()) + 2 * more + 64
        old = self._members
        runs = {
            name: np.zeros((room, *getattr(old, name).shape[1:]), getattr(old, name).dtype)
            for name in Members._fields[:4]
        }
        self._members = old._replace(**runs)
        _move_all(self._keys, old, self._members)

    def _rank(self, events: EncodedEvents, table: HitTable) -> None:
        columns = len(self._vocabulary)
        _rank(self._keys, self._members, self._store.rows, events, columns, table, self._counted)

    def _collect(
        self, events: EncodedEvents, first: int, starts: np.ndarray, ids: np.ndarray
    ) -> int:
        columns = len(self._vocabulary)
        return _collect(
            self._keys, self._members, self._store.rows, events, columns, first, starts, ids,
            self._counted,
        )  # fmt: skip

    @property
    def _structure_nbytes(self) -> int:
        return sum(array.nbytes for array in (*self._keys, *self._members))

    def _check_structure(self) -> None:
        k, m = self._keys, self._members
        used, seen = int(m.state[USED_BUCKETS]), []
        for bucket in range(used):
            assert 0 <= k.sizes[bucket] <= k.rooms[bucket]
            own = m.rows[k.starts[bucket] : k.starts[bucket] + k.sizes[bucket]]
            assert (m.homes[own] == bucket).all()
            seen += own.tolist()
        assert sorted(seen) == self._store.live().tolist()
        assert sorted(k.slots[k.slots != NIL].tolist()) == list(range(1, used))
        batch = self._store.export(self._store.live())
        equal = batch.kinds == EQ
        assert k.found[1:used].sum() == equal.sum()


@bare
def _slot_of(keys, column, value):
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
def _link_all(keys, used):
    for bucket in range(1, used):
        keys.slots[_slot_of(keys, keys.columns[bucket], keys.values[bucket])] = bucket


@njit(cache=True)
def _count_equalities(keys, state, r, rows, step):
    for i in range(len(rows)):
        size, first, _, operand = place_of(r, rows[i])
        for j in range(size):
            meta = r.meta[first + j]
            if meta >> KIND_SHIFT != EQ:
                break
            column, value = meta & COLUMN_MASK, r.reals[operand + j]
            slot = _slot_of(keys, column, value)
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
        bucket = keys.slots[_slot_of(keys, meta & COLUMN_MASK, value)]
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
def _add_members(keys, m, r, rows, start):
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
def _move_all(keys, old, new):
    to = 0
    for bucket in range(new.state[USED_BUCKETS]):
        _move_run(old, keys.starts[bucket], new, to, keys.sizes[bucket])
        keys.starts[bucket] = to
        to += keys.rooms[bucket]
    new.state[USED_MEMBERS] = to


@njit(cache=True)
def _drop_members(keys, m, rows):
    for i in range(len(rows)):
        bucket = m.homes[rows[i]]
        at = keys.starts[bucket]
        while m.rows[at] != rows[i]:
            at += 1
        keys.sizes[bucket] -= 1
        _move_run(m, keys.starts[bucket] + keys.sizes[bucket], m, at, 1)


@bare
def _bucket_at(keys, events, at, last):
    """The bucket of an event's entry; after the last entry comes bucket 0."""
    if at == last:
        return 0
    return keys.slots[_slot_of(keys, events.columns[at], events.values[at])]


@hot
def _passes(m, at, test, values):
    value = values[m.columns[at, test]]
    return m.lows[at, test] <= value and value <= m.highs[at, test]


@bare
def _rank_one(keys, m, r, events, i, values, weights, parts, ids, scores, counted):
    """Keep the best of what matches event i; return how many."""
    size, last = 0, events.starts[i + 1]
    for entry in range(events.starts[i], last + 1):
        bucket = _bucket_at(keys, events, entry, last)
        if bucket == NIL:
            continue
        start, end = keys.starts[bucket], keys.starts[bucket] + keys.sizes[bucket]
        counted[0] += end - start
        for at in range(start, end):
            if _passes(m, at, 0, values) and _passes(m, at, 1, values):
                row = m.rows[at]
                counted[1] += 1
                score = evaluate(r, row, values, weights, parts)
                if score >= 0.0:
                    size = offer(ids, scores, size, r.ids[row], score, is_shared(r, row))
    sort_best_first(ids, scores, size)
    return size


@bare
def _list_one(keys, m, r, events, i, values, weights, parts, ids, end, counted):
    """Append the ids of what matches event i; return where they end, or NIL without room."""
    last = events.starts[i + 1]
    for entry in range(events.starts[i], last + 1):
        bucket = _bucket_at(keys, events, entry, last)
        if bucket == NIL:
            continue
        start, stop = keys.starts[bucket], keys.starts[bucket] + keys.sizes[bucket]
        if end + stop - start > len(ids):
            return NIL
        counted[0] += stop - start
        for at in range(start, stop):
            if _passes(m, at, 0, values) and _passes(m, at, 1, values):
                row = m.rows[at]
                counted[1] += 1
                score = evaluate(r, row, values, weights, parts)
                if score >= 0.0:
                    ids[end] = r.ids[row]
                    end += 1
    return end


@njit(cache=True)
def _rank(keys, m, r, events, columns, table, counted):
    values, weights = np.full(columns, np.nan), np.zeros(columns)
    parts = np.empty(MOST_PREDICATES)
    for i in range(len(events.starts) - 1):
        spread(events, i, values, weights)
        ids, scores = table.ids[i], table.scores[i]
        table.counts[i] = _rank_one(
            keys, m, r, events, i, values, weights, parts, ids, scores, counted
        )
        unspread(events, i, values)


@njit(cache=True)
def _collect(keys, m, r, events, columns, first, starts, ids, counted):
    values, weights = np.full(columns, np.nan), np.zeros(columns)
    parts = np.empty(MOST_PREDICATES)
    for i in range(first, len(events.starts) - 1):
        spread(events, i, values, weights)
        end = _list_one(keys, m, r, events, i, values, weights, parts, ids, starts[i], counted)
        unspread(events, i, values)
        if end == NIL:
            return i
        starts[i + 1] = close_event(ids, starts[i], end)
    return len(events.starts) - 1
