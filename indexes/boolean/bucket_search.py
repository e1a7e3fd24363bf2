"""Matching in buckets: those of an event's values are read from end to end."""

import numpy as np
from numba import njit

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.bucket_members import slot_of
from indexes.boolean.evaluation import evaluate
from indexes.boolean.matching import close_event, spread, unspread
from indexes.boolean.row_words import is_shared
from indexes.hits import offer_distinct, sort_best_first
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused


@bare
def _bucket_at(keys, events, at, last):
    """The bucket of an event's entry; after the last entry comes bucket 0."""
    if at == last:
        return 0
    return keys.slots[slot_of(keys, events.columns[at], events.values[at])]


@fused
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
                    size = offer_distinct(ids, scores, size, r.ids[row], score, is_shared(r, row))
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
def rank(keys, m, r, events, columns, table, counted):
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
def collect(keys, m, r, events, columns, first, starts, ids, counted):
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
