"""Values as bytes: monotone codes that part what subscriptions ask for evenly.

The codes are those of `quantile_codes`: column c has the ascending bounds
`bounds[starts[c] : starts[c + 1]]`.  A predicate's interval becomes an interval of codes: an event
that satisfies it is never outside.  0 means that an event lacks the column, `NO_END` that an
interval has no upper end.

Bounds are counted block by block: `pivots` has the last bound of each block of a column, which
says where the only block begins that has to be looked at.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import BETWEEN
from indexes.boolean.bound_counts import BLOCK, count_below
from indexes.boolean.evaluation import interval_of
from indexes.boolean.row_words import COLUMN_MASK, KIND_SHIFT, place_of
from indexes.boolean.rows import RowStore
from indexes.kernels.decorators import bare, fused
from indexes.kernels.prefetch import prefetch
from indexes.kernels.quantile_codes import MOST_BOUNDS, NO_END, evenly

_SAMPLED = 60_000  # rows looked at to learn the bounds


class Codes(NamedTuple):
    starts: np.ndarray  # i4[columns + 1]
    bounds: np.ndarray  # f8[... + BLOCK]
    pivots: np.ndarray  # f8[BLOCK * columns]  inf where there is no whole block


def codes_of(own: Sequence[np.ndarray]) -> Codes:
    """Codes for columns with these bounds, ascending, each once."""
    starts = np.zeros(len(own) + 1, np.int32)
    np.cumsum([len(bounds) for bounds in own], out=starts[1:])
    pivots = np.full((len(own), BLOCK), np.inf)
    for column, bounds in enumerate(own):
        ends = bounds[BLOCK - 1 :: BLOCK]
        pivots[column, : len(ends)] = ends
    return Codes(starts, np.concatenate((*own, np.full(BLOCK, np.inf))), pivots.ravel())


def no_codes() -> Codes:
    return codes_of([])


def bounds_of(codes: Codes) -> list[np.ndarray]:
    """The bounds of each column."""
    return [codes.bounds[a:b] for a, b in itertools.pairwise(codes.starts)]


def learn_codes(store: RowStore, live: np.ndarray, columns: int) -> Codes:
    """Bounds at the ends that subscriptions name: all, or quantiles where there are many."""
    picked = live[:: max(1, len(live) // _SAMPLED)]
    most = 2 * int(store.sizes(picked).sum())
    owners, ends = np.empty(most, np.int32), np.empty(most)
    used = _finite_ends(store.rows, picked, owners, ends)
    order = np.argsort(owners[:used], kind="stable")
    owners, ends = owners[order], ends[order]
    bounds = [np.zeros(0)] * columns
    for column, first, last in _runs(owners):
        own = np.sort(ends[first:last])
        distinct = np.unique(own)
        if len(distinct) > MOST_BOUNDS:
            distinct = np.unique(evenly(own))
        bounds[column] = distinct
    return codes_of(bounds)


def extended(codes: Codes, columns: int, lines: Mapping[int, np.ndarray]) -> Codes:
    """Codes for so many columns; a new one is parted by its `lines`, or not at all."""
    known = len(codes.starts) - 1
    new = codes_of([lines.get(column, np.zeros(0)) for column in range(known, columns)])
    return Codes(
        np.concatenate((codes.starts, codes.starts[-1] + new.starts[1:])),
        np.concatenate((codes.bounds[:-BLOCK], new.bounds)),
        np.concatenate((codes.pivots, new.pivots)),
    )


def with_lines(codes: Codes, lines: Mapping[int, np.ndarray]) -> Codes:
    """Where subscriptions name few ends, the lines of a known domain part it as well."""
    bounds = bounds_of(codes)
    for column, given in lines.items():
        spare = MOST_BOUNDS - len(bounds[column])
        if spare:
            bounds[column] = np.union1d(bounds[column], given[:: -(-len(given) // spare)])
    return codes_of(bounds)


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


@fused
def code_of(codes, column, value):
    """From 1 to 254, never less for a greater value; 1 for a column that is not known yet."""
    return code_after(codes, column, value, first_after(codes, column, value))


@fused
def first_after(codes, column, value):
    """Where the bounds are, the last ones below a value among them, that tell its code."""
    if column + 1 >= len(codes.starts):
        return np.int64(codes.starts[-1])
    below = BLOCK * count_below(codes.pivots, BLOCK * np.int64(column), BLOCK, value)
    return np.int64(codes.starts[column]) + below


@fused
def code_after(codes, column, value, first):
    """The code of a value, by the bounds from `first` on."""
    if column + 1 >= len(codes.starts):
        return 1
    left = np.int64(codes.starts[column + 1]) - first
    below = first - np.int64(codes.starts[column])
    return below + count_below(codes.bounds, first, min(left, BLOCK), value) + 1


@fused
def prefetch_codes(codes, events, i):
    """Prefetch what the codes of an event, if there is one, are found by."""
    if i + 1 < len(events.starts):
        for at in range(events.starts[i], events.starts[i + 1]):
            pivots = BLOCK * np.int64(events.columns[at])
            prefetch(codes.pivots, pivots)
            prefetch(codes.pivots, pivots + BLOCK - 1)


@fused
def cells_of(starts, column):
    """How many codes the values of a column are parted into."""
    return starts[column + 1] - starts[column] + 1 if column + 1 < len(starts) else 1


@fused
def coarse(codes, column, kind, operands, operand, lists):
    """The interval of codes of one predicate."""
    low, high = interval_of(kind, operands, operand, lists)
    first = 1 if low == -np.inf else code_of(codes, column, low)
    if low == high:
        return first, first
    last = NO_END if high == np.inf else code_of(codes, column, high)
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
