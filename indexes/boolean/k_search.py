"""Matching in a k-index: K lists that agree on a row make it a candidate."""

import numpy as np
from numba import njit

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.codes import code_of
from indexes.boolean.evaluation import evaluate
from indexes.boolean.k_postings import ANY_VALUE, posting_key
from indexes.boolean.matching import close_event, spread, unspread
from indexes.boolean.row_words import is_shared
from indexes.hits import offer_distinct, sort_best_first
from indexes.kernels.decorators import bare, fused

_END = np.iinfo(np.int32).max


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
        code = code_of(codes, column, events.values[at])
        for wanted in (code, ANY_VALUE):
            j = _list_at(p.keys, posting_key(size, column, wanted))
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


@fused
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
                found = offer_distinct(ids, scores, found, r.ids[row], score, is_shared(r, row))
            for j in range(count):
                _skip(p, cursors, ends, j, row + 1)
    sort_best_first(ids, scores, found)
    return found


@njit(cache=True)
def rank(p, codes, r, events, columns, table, counted):
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
def collect(p, codes, r, events, columns, first, starts, ids, counted):
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
