"""Values as bytes: monotone codes that part what subscriptions ask for evenly.

Column c has the ascending bounds `bounds[starts[c] : starts[c + 1]]`, at most 253 of them, and a
value's code is one more than the number of bounds below it, so 1 to 254.  A predicate's interval
becomes an interval of codes: an event that satisfies it is never outside.  0 means that an event
lacks the column, 255 that an interval has no upper end.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import BETWEEN
from indexes.boolean.evaluation import interval_of
from indexes.boolean.kernels import bare, hot
from indexes.boolean.row_words import COLUMN_MASK, KIND_SHIFT, place_of
from indexes.boolean.rows import RowStore

MOST_BOUNDS = 253
NO_END = 255
_SAMPLED = 60_000  # rows looked at to learn the bounds


class Codes(NamedTuple):
    starts: np.ndarray  # i4[columns + 1]
    bounds: np.ndarray  # f8[...]


def no_codes() -> Codes:
    return Codes(np.zeros(1, np.int32), np.zeros(0))


def learn_codes(store: RowStore, live: np.ndarray, columns: int) -> Codes:
    """Bounds at the ends that subscriptions name: all, or quantiles where there are many."""
    picked = live[:: max(1, len(live) // _SAMPLED)]
    most = 2 * int(store.sizes(picked).sum())
    owners, ends = np.empty(most, np.int32), np.empty(most)
    used = _finite_ends(store.rows, picked, owners, ends)
    order = np.argsort(owners[:used], kind="stable")
    owners, ends = owners[order], ends[order]
    starts = np.zeros(columns + 1, np.int32)
    bounds = []
    for column, first, last in _runs(owners):
        own = np.sort(ends[first:last])
        distinct = np.unique(own)
        if len(distinct) > MOST_BOUNDS:
            at = np.linspace(0, len(own) - 1, MOST_BOUNDS).astype(np.int64)
            distinct = np.unique(own[at])
        bounds.append(distinct)
        starts[column + 1] = len(distinct)
    return Codes(
        np.cumsum(starts, dtype=np.int32), np.concatenate(bounds) if bounds else np.zeros(0)
    )


def extended(codes: Codes, columns: int, lines: Mapping[int, np.ndarray]) -> Codes:
    """Codes for so many columns; a new one is parted by its `lines`, or not at all."""
    known = len(codes.starts) - 1
    sizes = [len(lines.get(column, ())) for column in range(known, columns)]
    starts = np.concatenate((codes.starts, codes.starts[-1] + np.cumsum(sizes)))
    new = [lines[column] for column in range(known, columns) if column in lines]
    return Codes(starts.astype(np.int32), np.concatenate((codes.bounds, *new)))


def with_lines(codes: Codes, lines: Mapping[int, np.ndarray]) -> Codes:
    """Where subscriptions name few ends, the lines of a known domain part it as well."""
    starts, bounds = np.zeros_like(codes.starts), []
    for column in range(len(starts) - 1):
        own = codes.bounds[codes.starts[column] : codes.starts[column + 1]]
        spare = MOST_BOUNDS - len(own)
        if column in lines and spare:
            given = lines[column]
            own = np.union1d(own, given[:: -(-len(given) // spare)])
        starts[column + 1] = len(own)
        bounds.append(own)
    return Codes(
        np.cumsum(starts, dtype=np.int32), np.concatenate(bounds) if bounds else codes.bounds
    )


def _runs(owners: np.ndarray) -> list[tuple[int, int, int]]:
    if not len(owners):
        return []
    edges = np.flatnonzero(np.diff(owners)) + 1
    firsts, lasts = np.append(0, edges).tolist(), np.append(edges, len(owners)).tolist()
    return [(int(owners[a]), a, b) for a, b in zip(firsts, lasts, strict=True)]


@njit(cache=True)
def _finite_ends(r, rows, owners, ends):
    used = 0
    for i in range(len(rows)):
        size, first, _, operand = place_of(r, rows[i])
        for p in range(first, first + size):
            kind = r.meta[p] >> KIND_SHIFT
            low, high = interval_of(kind, r.reals, operand, r.lists)
            operand += 2 if kind == BETWEEN else 1
            for end in (low, high):
                if np.isfinite(end):
                    owners[used], ends[used] = r.meta[p] & COLUMN_MASK, end
                    used += 1
    return used


@hot
def code_of(starts, bounds, column, value):
    """From 1 to 254, never less for a greater value; 1 for a column that is not known yet."""
    if column + 1 >= len(starts):
        return 1
    first, size = np.int64(starts[column]), np.int64(starts[column + 1] - starts[column])
    low = first
    while size > 0:  # halved without a branch, which would be foreseen half of the time
        half = (size + 1) // 2
        low += half * (bounds[low + half - 1] < value)
        size -= half
    return low - first + 1


@hot
def cells_of(starts, column):
    """How many codes the values of a column are parted into."""
    return starts[column + 1] - starts[column] + 1 if column + 1 < len(starts) else 1


@bare
def coarse(codes, column, kind, operands, operand, lists):
    """The interval of codes of one predicate."""
    low, high = interval_of(kind, operands, operand, lists)
    first = 1 if low == -np.inf else code_of(codes.starts, codes.bounds, column, low)
    if low == high:
        return first, first
    last = NO_END if high == np.inf else code_of(codes.starts, codes.bounds, column, high)
    return first, last


@bare
def coarse_on(r, codes, row, column):
    """The interval of codes that a row has on a column: the narrowest, if it names it twice."""
    best_low, best_high = 1, NO_END + 1
    size, at, _, operand = place_of(r, row)
    for p in range(at, at + size):
        kind = r.meta[p] >> KIND_SHIFT
        if r.meta[p] & COLUMN_MASK == column:
            low, high = coarse(codes, column, kind, r.reals, operand, r.lists)
            if high - low < best_high - best_low:
                best_low, best_high = low, high
        operand += 2 if kind == BETWEEN else 1
    return best_low, best_high
