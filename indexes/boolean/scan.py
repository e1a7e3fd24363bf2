"""`Scan`: every subscription held against every event, as tightly as that can be done.

Layout: beside its row, each subscription has two tests, the intervals of the predicates that are
evaluated first (equalities if there are any); a single predicate is tested twice.  The first tests
lie one after another, and so do the second ones; only what passes both is evaluated.  A deleted
subscription's place is taken by the last one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import BETWEEN, MOST_PREDICATES
from indexes.boolean.evaluation import evaluate, interval_of
from indexes.boolean.events import EncodedEvents
from indexes.boolean.index import BooleanIndex
from indexes.boolean.matching import close_event, spread, unspread
from indexes.boolean.row_words import COLUMN_MASK, KIND_SHIFT, is_shared, place_of
from indexes.hits import HitTable, offer_distinct, sort_best_first
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused

__all__ = ["Scan"]


class Tests(NamedTuple):
    columns: np.ndarray  # i4[capacity]
    lows: np.ndarray  # f8[capacity]
    highs: np.ndarray  # f8[capacity]
    seconds: np.ndarray  # f8[capacity, 3]  column, low and high
    rows: np.ndarray  # i4[capacity]
    places: np.ndarray  # i4[rows]  where a row's test is
    used: np.ndarray  # i8[1]


class Scan(BooleanIndex):
    def __init__(self) -> None:
        super().__init__()
        self._clear_structure()

    def _clear_structure(self) -> None:
        self._tests = _new_tests(0, 0)

    def _place(self, rows: np.ndarray) -> None:
        needed = int(self._tests.used[0]) + len(rows)
        if needed > len(self._tests.rows) or self._store.capacity > len(self._tests.places):
            spare = needed // 8 if self._tests.used[0] else 0
            grown = _new_tests(needed + spare, self._store.capacity)
            for old, new in zip(self._tests, grown, strict=True):
                new[: len(old)] = old
            self._tests = grown
        _add_tests(self._tests, self._store.rows, rows)

    def _remove(self, rows: np.ndarray) -> None:
        _drop_tests(self._tests, rows)

    def _rank(self, events: EncodedEvents, table: HitTable) -> None:
        _rank(self._tests, self._store.rows, events, len(self._vocabulary), table, self._counted)

    def _collect(
        self, events: EncodedEvents, first: int, starts: np.ndarray, ids: np.ndarray
    ) -> int:
        columns = len(self._vocabulary)
        return _collect(
            self._tests, self._store.rows, events, columns, first, starts, ids, self._counted
        )

    @property
    def _structure_nbytes(self) -> int:
        return sum(array.nbytes for array in self._tests)

    def _check_structure(self) -> None:
        t, used = self._tests, int(self._tests.used[0])
        assert sorted(t.rows[:used].tolist()) == self._store.live().tolist()
        assert (t.places[t.rows[:used]] == np.arange(used)).all()


def _new_tests(capacity: int, rows: int) -> Tests:
    return Tests(
        columns=np.zeros(capacity, np.int32),
        lows=np.zeros(capacity),
        highs=np.zeros(capacity),
        seconds=np.zeros((capacity, 3)),
        rows=np.zeros(capacity, np.int32),
        places=np.full(rows, NIL, np.int32),
        used=np.zeros(1, np.int64),
    )


@njit(cache=True)
def _add_tests(t, r, rows):
    for i in range(len(rows)):
        row, at = rows[i], t.used[0]
        size, first, _, operand = place_of(r, row)
        kind = r.meta[first] >> KIND_SHIFT
        low, high = interval_of(kind, r.reals, operand, r.lists)
        t.columns[at], t.lows[at], t.highs[at] = r.meta[first] & COLUMN_MASK, low, high
        if size > 1:
            first += 1
            operand += 2 if kind == BETWEEN else 1
        low, high = interval_of(r.meta[first] >> KIND_SHIFT, r.reals, operand, r.lists)
        t.seconds[at, 0] = r.meta[first] & COLUMN_MASK
        t.seconds[at, 1], t.seconds[at, 2] = low, high
        t.rows[at], t.places[row] = row, at
        t.used[0] += 1


@njit(cache=True)
def _drop_tests(t, rows):
    for i in range(len(rows)):
        t.used[0] -= 1
        hole, last = t.places[rows[i]], t.used[0]
        t.columns[hole], t.lows[hole], t.highs[hole] = t.columns[last], t.lows[last], t.highs[last]
        t.seconds[hole, :] = t.seconds[last, :]
        t.rows[hole] = t.rows[last]
        t.places[t.rows[hole]] = hole
        t.places[rows[i]] = NIL


@fused
def _passes(t, at, values):
    value = values[t.columns[at]]
    if not (t.lows[at] <= value and value <= t.highs[at]):
        return False
    value = values[int(t.seconds[at, 0])]
    return t.seconds[at, 1] <= value and value <= t.seconds[at, 2]


@bare
def _rank_one(t, r, values, weights, parts, ids, scores, counted):
    """Keep the best of what matches one event; return how many."""
    size, used = 0, t.used[0]
    counted[0] += used
    for at in range(used):
        if _passes(t, at, values):
            row = t.rows[at]
            counted[1] += 1
            score = evaluate(r, row, values, weights, parts)
            if score >= 0.0:
                size = offer_distinct(ids, scores, size, r.ids[row], score, is_shared(r, row))
    sort_best_first(ids, scores, size)
    return size


@bare
def _list_one(t, r, values, weights, parts, ids, end, counted):
    """Append the ids of what matches one event; return where they end."""
    counted[0] += t.used[0]
    for at in range(t.used[0]):
        if _passes(t, at, values):
            row = t.rows[at]
            counted[1] += 1
            score = evaluate(r, row, values, weights, parts)
            if score >= 0.0:
                ids[end] = r.ids[row]
                end += 1
    return end


@njit(cache=True)
def _rank(t, r, events, columns, table, counted):
    values, weights = np.full(columns, np.nan), np.zeros(columns)
    parts = np.empty(MOST_PREDICATES)
    for i in range(len(events.starts) - 1):
        spread(events, i, values, weights)
        table.counts[i] = _rank_one(
            t, r, values, weights, parts, table.ids[i], table.scores[i], counted
        )
        unspread(events, i, values)


@njit(cache=True)
def _collect(t, r, events, columns, first, starts, ids, counted):
    values, weights = np.full(columns, np.nan), np.zeros(columns)
    parts = np.empty(MOST_PREDICATES)
    for i in range(first, len(events.starts) - 1):
        if starts[i] + t.used[0] > len(ids):
            return i
        spread(events, i, values, weights)
        end = _list_one(t, r, values, weights, parts, ids, starts[i], counted)
        starts[i + 1] = close_event(ids, starts[i], end)
        unspread(events, i, values)
    return len(events.starts) - 1
