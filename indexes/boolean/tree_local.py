"""Rows about to be settled in a BE*-tree, and what the tree's growth is governed by."""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.batches import BETWEEN, EQ
from indexes.boolean.codes import cells_of, coarse
from indexes.boolean.exponents import exponent_of
from indexes.boolean.fingerprints import ANY, fingerprint
from indexes.boolean.row_words import COLUMN_MASK, KIND_SHIFT, place_of
from indexes.kernels.decorators import bare, fused, inner
from indexes.kernels.prefetch import prefetch
from indexes.kernels.quantile_codes import NO_END

_AHEAD = 8  # rows whose predicates are prefetched before they are read


class Options(NamedTuple):
    """Parameters of the paper (§VII-B), and what a c-node needs to have before it is parted."""

    capacity: int  # A, members of an l-node before it is split
    alpha: float
    beta: float
    split: int
    group: int  # members that a p-node below the root is worth making for
    handful: int  # members whose tests take as long as going to an l-node
    by_size: bool  # rank p-nodes by how many share the column alone
    prune: bool  # leave out what cannot be among the k best


class Local(NamedTuple):
    """The rows to settle, with codes for all their predicates."""

    rows: np.ndarray  # i4[n]
    starts: np.ndarray  # i8[n + 1]
    columns: np.ndarray  # i4[predicates]
    lows: np.ndarray  # u1[predicates]
    highs: np.ndarray  # u1[predicates]
    prints: np.ndarray  # u1[predicates]  fingerprints of equalities, otherwise ANY
    loads: np.ndarray  # i1[predicates]  how many expect to be read with it: log2, rounded down


@inner
def new_local(rows, predicates):
    """Room for so many rows and predicates."""
    return Local(
        np.empty(rows, np.int32),
        np.zeros(rows + 1, np.int64),
        np.empty(predicates, np.int32),
        np.empty(predicates, np.uint8),
        np.empty(predicates, np.uint8),
        np.empty(predicates, np.uint8),
        np.empty(predicates, np.int8),
    )


@njit(cache=True)
def localise(r, codes, demand, live, rows, by_size):
    total = 0
    for i in range(len(rows)):
        total += place_of(r, rows[i])[0]
    local = new_local(len(rows), total)
    for i in range(len(rows)):
        local.rows[i] = rows[i]
    write_local(local, r, codes, demand, live, by_size)
    return local


@bare
def write_local(local, r, codes, demand, live, by_size):
    """Codes for all predicates of the rows, for which there is room."""
    at = 0
    for i in range(len(local.rows)):
        size, first, _, operand = place_of(r, local.rows[i])
        local.starts[i + 1] = local.starts[i] + size
        for p in range(first, first + size):
            kind, column = np.int64(r.meta[p] >> KIND_SHIFT), np.int64(r.meta[p] & COLUMN_MASK)
            low, high = coarse(codes, column, kind, r.reals, operand, r.lists)
            local.prints[at] = fingerprint(r.reals[operand]) if kind == EQ else ANY
            operand += 2 if kind == BETWEEN else 1
            cells = cells_of(codes.starts, column)
            share = (min(high, cells) - low + 1.0) / cells * demand[column] / max(live, 1)
            local.columns[at], local.lows[at], local.highs[at] = column, low, high
            local.loads[at] = 0
            if not by_size:
                local.loads[at] = exponent_of(min(max(share, 1e-12), 1.0))
            at += 1


@fused
def prefetch_local(local, order, i):
    """Prefetch the predicates of rows that come some steps after the i-th."""
    if i + 2 * _AHEAD < len(order):
        prefetch(local.starts, order[i + 2 * _AHEAD])
    if i + _AHEAD < len(order):
        first = local.starts[order[i + _AHEAD]]
        prefetch(local.columns, first)
        prefetch(local.lows, first)
        prefetch(local.highs, first)
        prefetch(local.prints, first)


@fused
def local_on(local, member, column):
    """The interval of codes that a row has on a column, and the fingerprint of an equality.

    The narrowest, if it names the column twice.
    """
    best_low, best_high, own = np.int64(1), np.int64(NO_END + 1), np.int64(ANY)
    for i in range(local.starts[member], local.starts[member + 1]):
        if local.columns[i] == column:
            low, high = np.int64(local.lows[i]), np.int64(local.highs[i])
            if high - low < best_high - best_low:
                best_low, best_high, own = low, high, np.int64(local.prints[i])
    return best_low, best_high, own
