"""Rows: one conjunction each, with all that evaluating it exactly needs in one place.

Layout: a row is a run of 8-byte words.  Its first half word has the number of predicates and
whether further rows have the same id; then come half words, one a predicate in the order in which
they are evaluated, that pack operator, place in the given order and column; then the weights; then
the operands, two for `between` and one for any other operator.  `meta` and `reals` are views of
the same words.  The operand of `in` and `not in` is a position in `lists`: a length, then that
many ascending values.

A released row has id -2 - the next free row; its run is lost until `compact`.  Several rows may
have the same id (alternatives); the table of ids knows the first.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import BETWEEN, IN, NOT_IN, Batch
from indexes.id_map import check_slots, empty_slots, find_many, link, link_many
from indexes.id_map import unlink as unlink_id

NIL = -1
KIND_SHIFT, PLACE_SHIFT = 28, 18
COLUMN_MASK, PLACE_MASK = (1 << 18) - 1, (1 << 10) - 1
FREE, USED, LIVE, WORDS, LISTS, DEAD = range(6)  # fields of `state`

# A kernel that only kernels call needs no way in from Python, which takes long to compile.
inner = njit(  # type: ignore[call-overload]
    cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


# A kernel that makes no array need not count references to those it is given, which takes longer
# than most of the work.
bare = njit(  # type: ignore[call-overload]
    cache=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
# On a hot path even handing over the arrays takes too long: these become part of the caller.
hot = njit(  # type: ignore[call-overload]
    cache=True, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


SIZE_MASK, SHARED_SHIFT = (1 << 16) - 1, 16
MOST_ROWS = 1 << 28
ALONE, FIRST, ALTERNATIVE = 0, 1, 2  # how a row shares its id


class Rows(NamedTuple):
    ids: np.ndarray  # i8[rows]
    start: np.ndarray  # i4[rows]  the first word
    meta: np.ndarray  # u4[2 * words]
    reals: np.ndarray  # f8[words]
    lists: np.ndarray  # f8[...]
    state: np.ndarray  # i8[6]


def _empty() -> Rows:
    words = np.zeros(0)
    return Rows(
        ids=np.empty(0, np.int64),
        start=np.zeros(0, np.int32),
        meta=words.view(np.uint32),
        reals=words,
        lists=np.zeros(0),
        state=np.array([NIL, 0, 0, 0, 0, 0]),
    )


class RowStore:
    def __init__(self) -> None:
        self.rows = _empty()
        self._slots = empty_slots(0)

    def __len__(self) -> int:
        return int(self.rows.state[LIVE])

    @property
    def nbytes(self) -> int:
        owned = (self.rows.ids, self.rows.start, self.rows.reals, self.rows.lists, self.rows.state)
        return sum(array.nbytes for array in owned) + self._slots.nbytes

    @property
    def capacity(self) -> int:
        return len(self.rows.ids)

    def live(self) -> np.ndarray:
        """The rows in use, ascending."""
        return np.flatnonzero(self.rows.ids[: self.rows.state[USED]] >= 0).astype(np.int32)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """The first row of each id, or -1."""
        return find_many(self._slots, self.rows.ids, ids)

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """How many predicates each row has."""
        return (self.rows.meta[2 * self.rows.start[rows].astype(np.int64)] & SIZE_MASK).astype(
            np.int64
        )

    def append(self, ids: np.ndarray, batch: Batch, starting: np.ndarray) -> np.ndarray:
        """Rows for conjunctions; those not `starting` are alternatives of the id before them."""
        if len(self) + len(ids) > MOST_ROWS:
            raise ValueError(f"got {len(self) + len(ids)} rows when at most {MOST_ROWS} fit")
        self._reserve(len(ids), *_needed(batch))
        rows = np.empty(len(ids), np.int32)
        _append(self.rows, self._slots, ids, starting, batch, rows)
        return rows

    def release(self, rows: np.ndarray) -> None:
        """Forget rows; whoever asks releases all rows of an id."""
        _release(self.rows, self._slots, rows)
        state = self.rows.state
        if state[DEAD] > 4096 and 2 * state[DEAD] > state[WORDS]:
            self.compact()

    def compact(self) -> None:
        """Close the gaps that released rows left; rows keep their numbers."""
        live, old = self.live(), self.rows
        batch, shared = self.export(live), self._shared(live)
        words, lists = _needed(batch)
        reals = np.zeros(words)
        self.rows = old._replace(meta=reals.view(np.uint32), reals=reals, lists=np.zeros(lists))
        for field in (WORDS, LISTS, DEAD):
            self.rows.state[field] = 0
        _rewrite(self.rows, live, shared, batch)

    def renumber(self, rows: np.ndarray) -> np.ndarray:
        """Lay all live rows out in the order given, numbered from 0; return old number -> new.

        Rows that are read together then lie together.
        """
        batch, shared, ids = self.export(rows), self._shared(rows), self.rows.ids[rows]
        new = np.full(self.capacity, NIL, np.int32)
        new[rows] = np.arange(len(rows), dtype=np.int32)
        words, lists = _needed(batch)
        reals = np.zeros(words)
        self.rows = Rows(
            ids=np.concatenate((ids, np.zeros(self.capacity - len(ids), np.int64))),
            start=np.zeros(self.capacity, np.int32),
            meta=reals.view(np.uint32),
            reals=reals,
            lists=np.zeros(lists),
            state=np.array([NIL, len(rows), len(rows), 0, 0, 0]),
        )
        numbers = np.arange(len(rows), dtype=np.int32)
        _rewrite(self.rows, numbers, shared, batch)
        self._slots = empty_slots(len(self._slots) * 4 // 5)
        link_many(self._slots, self.rows.ids, numbers[shared != ALTERNATIVE])
        return new

    def export(self, rows: np.ndarray) -> Batch:
        """The conjunctions of rows, each in the order given."""
        counts = self.sizes(rows)
        total, most = int(counts.sum()), int(self.rows.state[LISTS])
        columns, kinds = np.empty(total, np.int32), np.empty(total, np.uint8)
        weights, firsts, seconds = np.empty(total), np.empty(total), np.zeros(total)
        lists = np.empty(most)
        used = _export(self.rows, rows, columns, kinds, weights, firsts, seconds, lists)
        return Batch(counts, columns, kinds, weights, firsts, seconds, lists[:used].copy())

    def check(self, rows_of: dict[int, list[int]]) -> None:
        """Raise `AssertionError` unless every invariant holds; `rows_of` are the alternatives."""
        live, r = self.live(), self.rows
        assert len(live) == len(self)
        assert (self.sizes(live) > 0).all()
        assert np.shares_memory(r.meta, r.reals) or not len(r.reals)
        later = {row for rows in rows_of.values() for row in rows[1:]}
        firsts = np.array([row for row in live.tolist() if row not in later], np.int32)
        check_slots(self._slots, r.ids, firsts)
        assert {row for rows in rows_of.values() for row in rows} == set(
            live[self._shared(live) != ALONE].tolist()
        )
        free, row = set(), int(r.state[FREE])
        while row != NIL:
            assert row not in free
            free.add(row)
            row = -2 - int(r.ids[row])
        assert free == set(range(int(r.state[USED]))) - set(live.tolist())
        assert r.state[WORDS] == r.state[DEAD] + _needed(self.export(live))[0]
        assert r.state[WORDS] <= len(r.reals)

    def _shared(self, rows: np.ndarray) -> np.ndarray:
        return self.rows.meta[2 * self.rows.start[rows].astype(np.int64)] >> SHARED_SHIFT

    def _reserve(self, rows: int, words: int, lists: int) -> None:
        r, state = self.rows, self.rows.state
        needed = int(state[LIVE]) + rows
        reals = grown(r.reals, state[WORDS] + words)
        self.rows = r._replace(
            ids=grown(r.ids, needed),
            start=grown(r.start, needed),
            meta=reals.view(np.uint32),
            reals=reals,
            lists=grown(r.lists, state[LISTS] + lists),
        )
        if 5 * needed > 4 * len(self._slots):
            spare = needed // 2 if state[LIVE] else 0
            self._slots = empty_slots(needed + spare)
            live = self.live()
            firsts = live[self._shared(live) != ALTERNATIVE]
            link_many(self._slots, self.rows.ids, firsts)


def _needed(batch: Batch) -> tuple[int, int]:
    """Words, and places in `lists`, that a batch takes."""
    wide = int((batch.kinds == BETWEEN).sum())
    listed = int(((batch.kinds == IN) | (batch.kinds == NOT_IN)).sum())
    words = int((batch.counts // 2 + 1).sum()) + 2 * len(batch.kinds) + wide
    return words, len(batch.lists) + listed


def grown(array: np.ndarray, needed: int) -> np.ndarray:
    """A copy with room for at least so much, or the array itself if it has that."""
    if needed <= len(array):
        return array
    size = max(int(needed), len(array) + len(array) // 8 + 8) if len(array) else int(needed)
    copy = np.zeros(size, array.dtype)
    copy[: len(array)] = array
    return copy


@hot
def place_of(r, row):
    """The number of predicates, and where their metas, weights and operands begin."""
    start = np.int64(r.start[row])
    size = np.int64(r.meta[2 * start] & SIZE_MASK)
    weight = start + size // 2 + 1
    return size, 2 * start + 1, weight, weight + size


@bare
def _write(r, row, shared, b, start, count):
    """Write one conjunction of a batch at the end of the words, sorted by operator."""
    word, at_list = r.state[WORDS], r.state[LISTS]
    r.start[row] = word
    r.meta[2 * word] = count | (shared << SHARED_SHIFT)
    _, p, w, o = place_of(r, row)
    for kind in range(9):
        for i in range(start, start + count):
            if b.kinds[i] != kind:
                continue
            r.meta[p] = (kind << KIND_SHIFT) | ((i - start) << PLACE_SHIFT) | np.int64(b.columns[i])
            r.reals[w] = b.weights[i]
            r.reals[o] = b.firsts[i]
            p, w, o = p + 1, w + 1, o + 1
            if kind == BETWEEN:
                r.reals[o] = b.seconds[i]
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
def _append(r, slots, ids, starting, b, rows):
    start = 0
    for i in range(len(ids)):
        row = r.state[FREE]
        if row != NIL:
            r.state[FREE] = -2 - r.ids[row]
        else:
            row = r.state[USED]
            r.state[USED] += 1
        r.ids[row] = ids[i]
        shared = ALTERNATIVE
        if starting[i]:
            link(slots, r.ids, row)
            shared = FIRST if i + 1 < len(ids) and not starting[i + 1] else ALONE
        _write(r, row, shared, b, start, b.counts[i])
        start += b.counts[i]
        rows[i] = row
    r.state[LIVE] += len(ids)


@njit(cache=True)
def _rewrite(r, rows, shared, b):
    start = 0
    for i in range(len(rows)):
        _write(r, rows[i], np.int64(shared[i]), b, start, b.counts[i])
        start += b.counts[i]


@njit(cache=True)
def _release(r, slots, rows):
    for i in range(len(rows)):
        row = rows[i]
        if r.meta[2 * np.int64(r.start[row])] >> SHARED_SHIFT != ALTERNATIVE:
            unlink_id(slots, r.ids, r.ids[row])
        size, p, _, o = place_of(r, row)
        for i in range(size):
            o += 2 if r.meta[p + i] >> KIND_SHIFT == BETWEEN else 1
        r.state[DEAD] += o - r.start[row]
        r.ids[row] = -2 - r.state[FREE]
        r.state[FREE] = row
    r.state[LIVE] -= len(rows)


@njit(cache=True)
def _export(r, rows, columns, kinds, weights, firsts, seconds, lists):
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
            elif kind in (IN, NOT_IN):
                source = int(firsts[at])
                count = int(r.lists[source])
                firsts[at], seconds[at] = used, count
                lists[used : used + count] = r.lists[source + 1 : source + 1 + count]
                used += count
        start += size
    return used


@hot
def is_shared(r, row):
    return r.meta[2 * np.int64(r.start[row])] >> SHARED_SHIFT != ALONE
