"""The posting lists of a k-index: by number of columns, column and code (see `k_index`)."""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.codes import Codes, coarse_on
from indexes.boolean.row_words import COLUMN_MASK, place_of
from indexes.boolean.rows import RowStore
from indexes.kernels.decorators import bare, fused

ANY_VALUE = 0  # the code of the list for all values of a column
_WIDE = 32  # codes that are worth enumerating


class Postings(NamedTuple):
    keys: np.ndarray  # i8[lists]  (K, column, code) as one number, ascending
    starts: np.ndarray  # i8[lists + 1]
    rows: np.ndarray  # i4[postings]
    weights: np.ndarray  # f8[lists]  the greatest sum of weights of a row on the column
    sizes: np.ndarray  # i8[...]  each K that occurs, descending


def no_postings() -> Postings:
    return Postings(
        np.zeros(0, np.int64),
        np.zeros(1, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0),
        np.zeros(0, np.int64),
    )


def make_postings(store: RowStore, codes: Codes, live: np.ndarray) -> Postings:
    count = int(_list_rows(store.rows, codes, live, *_columns(0), False))
    columns = _columns(count)
    _list_rows(store.rows, codes, live, *columns, True)
    keys, rows, weights = columns
    order = np.lexsort((rows, keys))
    keys, starts = np.unique(keys[order], return_index=True)
    return Postings(
        keys,
        np.append(starts, count),
        rows[order],
        np.maximum.reduceat(weights[order], starts) if count else np.zeros(0),
        np.unique(keys >> 32)[::-1].copy(),
    )


def _columns(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros(count, np.int64), np.zeros(count, np.int32), np.zeros(count)


@fused
def posting_key(size, column, code):
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
                low = high = ANY_VALUE
            for code in range(low, high + 1):
                if write:
                    keys[at], rows[at] = posting_key(distinct, column, code), row
                    weights[at] = weight
                at += 1
    return at
