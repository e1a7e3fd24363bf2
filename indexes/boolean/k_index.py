"""`KIndex`: posting lists by number of columns, for comparison (Whang et al., Indexing Boolean
Expressions).

A conjunction over K columns is in one list for each of them and each value that it admits there; K
lists of an event that agree on a row make it a candidate.  Values are codes (see `codes`), or a
continuous domain could not be enumerated; a predicate that admits most codes is in the column's
list for any value instead, and candidates are evaluated.  The best k are found with one bound for
each list, the greatest weight in it, which is all that a flat structure knows.

Layout: list j of `keys`, ascending, is rows[starts[j] : starts[j + 1]].  All subscriptions are
known in advance: after a change the lists are made anew when they are next asked.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.codes import coarse_on, code_of, learn_codes, no_codes
from indexes.boolean.evaluation import evaluate
from indexes.boolean.events import EncodedEvents
from indexes.boolean.index import BooleanIndex
from indexes.boolean.matching import close_event, spread, unspread
from indexes.boolean.ranking import offer, sort_best_first
from indexes.boolean.rows import COLUMN_MASK, bare, hot, is_shared, place_of
from indexes.hits import HitTable

__all__ = ["KIndex"]

_ANY = 0  # the code of the list for all values of a column
_WIDE = 32  # codes that are worth enumerating
_END = np.iinfo(np.int32).max


class Postings(NamedTuple):
    keys: np.ndarray  # i8[lists]  (K, column, code) as one number, ascending
    starts: np.ndarray  # i8[lists + 1]
    rows: np.ndarray  # i4[postings]
    weights: np.ndarray  # f8[lists]  the greatest sum of weights of a row on the column
    sizes: np.ndarray  # i8[...]  each K that occurs, descending


class KIndex(BooleanIndex):
    def __init__(self) -> None:
        super().__init__()
        self._clear_structure()

    def _clear_structure(self) -> None:
        self._codes = no_codes()
        self._postings = _no_postings()
        self._stale = False

    def _place(self, rows: np.ndarray) -> None:
        self._stale = True

    def _remove(self, rows: np.ndarray) -> None:
        self._stale = True

    def _rank(self, events: EncodedEvents, table: HitTable) -> None:
        self._refresh()
        _rank(
            self._postings, self._codes, self._store.rows, events, len(self._vocabulary), table,
            self._counted,
        )  # fmt: skip

    def _collect(
        self, events: EncodedEvents, first: int, starts: np.ndarray, ids: np.ndarray
    ) -> int:
        self._refresh()
        return _collect(
            self._postings, self._codes, self._store.rows, events, len(self._vocabulary), first,
            starts, ids, self._counted,
        )  # fmt: skip

    @property
    def _structure_nbytes(self) -> int:
        return sum(array.nbytes for array in (*self._postings, *self._codes))

    def _refresh(self) -> None:
        if not self._stale:
            return
        live = self._store.live()
        self._codes = learn_codes(self._store, live, len(self._vocabulary))
        count = int(_list_rows(self._store.rows, self._codes, live, *_columns(0), False))
        columns = _columns(count)
        _list_rows(self._store.rows, self._codes, live, *columns, True)
        keys, rows, weights = columns
        order = np.lexsort((rows, keys))
        keys, starts = np.unique(keys[order], return_index=True)
        self._postings = Postings(
            keys,
            np.append(starts, count),
            rows[order],
            np.maximum.reduceat(weights[order], starts) if count else np.zeros(0),
            np.unique(keys >> 32)[::-1].copy(),
        )
        self._stale = False

    def _check_structure(self) -> None:
        if self._stale:
            return
        p = self._postings
        assert (np.diff(p.keys) > 0).all()
        assert len(p.starts) == len(p.keys) + 1
        assert set(p.rows.tolist()) == set(self._store.live().tolist())
        for first, last in zip(p.starts[:-1].tolist(), p.starts[1:].tolist(), strict=True):
            assert (np.diff(p.rows[first:last]) > 0).all()


def _no_postings() -> Postings:
    return Postings(
        np.zeros(0, np.int64),
        np.zeros(1, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0),
        np.zeros(0, np.int64),
    )


def _columns(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros(count, np.int64), np.zeros(count, np.int32), np.zeros(count)


@hot
def _key(size, column, code):
    return (np.int64(size) << 32) | (np.int64(column) << 8) | np.int64(code)


@bare
def _first_with(r, first, i):
    """Whether predicate i is the first of its row on its column."""
    column, earlier = r.meta[first + i] & COLUMN_MASK, 0
    for j in range(i):
        earlier += r.meta[first + j] & COLUMN_MASK == column
    return earlier == 0


@njit(cache=True)
def _list_rows(r, codes, live, keys, rows, weights, write):
    """Write, or merely count, the postings of all rows."""
    at = 0
    for row in live:
        size, first, w, _ = place_of(r, row)
        distinct = 0
        for i in range(size):
            distinct += _first_with(r, first, i)
        for i in range(size):
            if not _first_with(r, first, i):
                continue
            column, weight = np.int64(r.meta[first + i] & COLUMN_MASK), 0.0
            for j in range(i, size):
                if r.meta[first + j] & COLUMN_MASK == column:
                    weight += r.reals[w + j]
            low, high = coarse_on(r, codes, row, column)
            if high - low >= _WIDE:
                low = high = _ANY
            for code in range(low, high + 1):
                if write:
                    keys[at], rows[at] = _key(distinct, column, code), row
                    weights[at] = weight
                at += 1
    return at


@bare
def _list_at(keys, key):
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@bare
def _open_lists(p, codes, events, i, size, cursors, ends, bounds):
    """The lists of one K that an event meets; returns how many."""
    count = 0
    for at in range(events.starts[i], events.starts[i + 1]):
        column = events.columns[at]
        code = code_of(codes.starts, codes.bounds, column, events.values[at])
        for wanted in (code, _ANY):
            j = _list_at(p.keys, _key(size, column, wanted))
            if j >= 0:
                cursors[count], ends[count] = p.starts[j], p.starts[j + 1]
                bounds[count] = p.weights[j] * events.weights[at]
                count += 1
    return count


@bare
def _bound(bounds, count, size, order):
    """At most the sum of the `size` greatest bounds."""
    for i in range(count):
        at = i
        while at > 0 and bounds[order[at - 1]] < bounds[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    total = 0.0
    for i in range(min(size, count)):
        total += bounds[order[i]]
    return total * (1.0 + 1e-9)


@hot
def _row_at(p, cursors, ends, j):
    return p.rows[cursors[j]] if cursors[j] < ends[j] else _END


@bare
def _sort(p, cursors, ends, order, count):
    """Order the lists by their current row."""
    for i in range(1, count):
        item, at = order[i], i
        row = _row_at(p, cursors, ends, item)
        while at > 0 and _row_at(p, cursors, ends, order[at - 1]) > row:
            order[at] = order[at - 1]
            at -= 1
        order[at] = item


@bare
def _skip(p, cursors, ends, j, row):
    """Move a list on to the first row that is not less."""
    low, high = cursors[j], ends[j]
    step = 1
    while low + step < high and p.rows[low + step] < row:
        step *= 2
    high = min(high, low + step + 1)
    while low < high:
        middle = (low + high) // 2
        if p.rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    cursors[j] = low


@bare
def _next_candidate(p, cursors, ends, order, count, size):
    """The next row that `size` lists agree on; _END if there is none."""
    while True:
        _sort(p, cursors, ends, order, count)
        last = _row_at(p, cursors, ends, order[size - 1])
        if last == _END or _row_at(p, cursors, ends, order[0]) == last:
            return last
        for i in range(size - 1):
            if _row_at(p, cursors, ends, order[i]) < last:
                _skip(p, cursors, ends, order[i], last)


@bare
def _rank_one(p, codes, r, events, i, values, weights, parts, lists, bounds, ids, scores, counted):
    cursors, ends, order = lists[0], lists[1], lists[2]
    found = 0
    for size in p.sizes:
        count = _open_lists(p, codes, events, i, size, cursors, ends, bounds)
        if count < size:
            continue
        if found == len(ids) and _bound(bounds, count, size, order) < scores[0]:
            continue
        for j in range(count):
            order[j] = j
        while True:
            row = _next_candidate(p, cursors, ends, order, count, size)
            if row == _END:
                break
            counted[0] += 1
            counted[1] += 1
            score = evaluate(r, row, values, weights, parts)
            if score >= 0.0:
                found = offer(ids, scores, found, r.ids[row], score, is_shared(r, row))
            for j in range(count):
                _skip(p, cursors, ends, j, row + 1)
    sort_best_first(ids, scores, found)
    return found


@njit(cache=True)
def _rank(p, codes, r, events, columns, table, counted):
    values, weights = np.full(columns, np.nan), np.zeros(columns)
    parts, lists = np.empty(MOST_PREDICATES), np.empty((3, 2 * columns + 2), np.int64)
    bounds = np.empty(2 * columns + 2)
    for i in range(len(events.starts) - 1):
        spread(events, i, values, weights)
        ids, scores = table.ids[i], table.scores[i]
        table.counts[i] = _rank_one(
            p, codes, r, events, i, values, weights, parts, lists, bounds, ids, scores, counted
        )
        unspread(events, i, values)


@bare
def _list_one(p, codes, r, events, i, values, weights, parts, lists, bounds, ids, end, counted):
    """Append the ids of what matches event i; return where they end, or -1 without room."""
    cursors, ends, order = lists[0], lists[1], lists[2]
    for size in p.sizes:
        count = _open_lists(p, codes, events, i, size, cursors, ends, bounds)
        for j in range(count):
            order[j] = j
        while count >= size:
            row = _next_candidate(p, cursors, ends, order, count, size)
            if row == _END:
                break
            if end == len(ids):
                return -1
            counted[0] += 1
            counted[1] += 1
            if evaluate(r, row, values, weights, parts) >= 0.0:
                ids[end] = r.ids[row]
                end += 1
            for j in range(count):
                _skip(p, cursors, ends, j, row + 1)
    return end


@njit(cache=True)
def _collect(p, codes, r, events, columns, first, starts, ids, counted):
    values, weights = np.full(columns, np.nan), np.zeros(columns)
    parts, lists = np.empty(MOST_PREDICATES), np.empty((3, 2 * columns + 2), np.int64)
    bounds = np.empty(2 * columns + 2)
    for i in range(first, len(events.starts) - 1):
        spread(events, i, values, weights)
        end = _list_one(
            p, codes, r, events, i, values, weights, parts, lists, bounds, ids, starts[i], counted
        )
        unspread(events, i, values)
        if end == -1:
            return i
        starts[i + 1] = close_event(ids, starts[i], end)
    return len(events.starts) - 1
