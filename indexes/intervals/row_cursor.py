"""Answering queries on one attribute's base and delta together, in rank order.

The base is read ahead in runs.  The delta is asked only for rows that may go before the next one
of the base, so that little of it is looked at where the base has the best.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import better
from indexes.intervals.ir_cursor import NO_BAR, next_rows, open_cursors
from indexes.intervals.ir_heap import Cursors, new_cursors
from indexes.intervals.ir_layout import Tree
from indexes.intervals.packed_r_tree import Cursor, new_cursor, open_cursor, take
from indexes.intervals.row_base import Base
from indexes.kernels import NIL
from indexes.kernels.decorators import fused

_MOST_AHEAD = 256  # rows
_MORE = 4  # in `Reader.state`


class BaseAndDelta(NamedTuple):
    """The trees of one attribute."""

    base: Base
    covered: np.ndarray  # b1[rows]
    delta: Tree
    visited: np.ndarray  # i8[1]  entries of bases that queries have looked at


class Reader(NamedTuple):
    """Where a query stands."""

    base: Cursor
    delta: Cursors
    entries: np.ndarray  # i8[ahead]  of the base
    early: np.ndarray  # i4[ahead]  rows of the base that were read ahead
    late: np.ndarray  # i4[ahead]  rows of the delta
    state: np.ndarray  # i8[5]  next and end of `early` and of `late`; whether the base has more


class Lists(NamedTuple):
    """The best rows of every attribute for some events; one shorter than `depth` is complete."""

    rows: np.ndarray  # i4[events, d, depth]
    counts: np.ndarray  # i8[events, d]


@njit(cache=True)
def new_reader(base, delta, ahead):
    size = max(1, min(ahead, _MOST_AHEAD))
    return Reader(
        new_cursor(base),
        new_cursors(delta),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.zeros(5, np.int64),
    )


@fused
def open_reader(base, delta, keys, r, lower, upper, visited):
    r.state[:] = 0
    if len(base.rows):
        open_cursor(base, r.base, lower, upper, visited)
        r.state[_MORE] = 1
    open_cursors(delta, keys, r.delta, lower, upper, NO_BAR)


@fused
def _read_ahead(base, covered, r, lower, upper, visited):
    """Find the next rows of the base; how many, 0 at its end."""
    found, wanted = 0, len(r.entries)
    while found == 0 and r.state[_MORE]:
        taken = take(base, r.base, lower, upper, r.entries, wanted, visited)
        r.state[_MORE] = taken == wanted
        for i in range(taken):
            row = base.rows[r.entries[i]]
            r.early[found] = row
            found += row != NIL and covered[row]
    return found


@fused
def _goes_before(keys, row, other):
    return better(keys.scores[row], keys.ids[row], keys.scores[other], keys.ids[other])


@fused
def _copy(rows, start, stop, out, found):
    """Move as many rows as fit; how many."""
    count = min(stop - start, len(out) - found)
    for i in range(count):
        out[found + i] = rows[start + i]
    return count


@fused
def read(base, covered, delta, keys, r, lower, upper, out, visited):
    """Fill `out` with the best rows not yet returned; how many there were."""
    early, early_end, late, late_end = r.state[0], r.state[1], r.state[2], r.state[3]
    found = 0
    while found < len(out):
        if early == early_end:
            early, early_end = 0, _read_ahead(base, covered, r, lower, upper, visited)
        if late == late_end and r.delta.size[0] > 0:
            bar = keys.scores[r.early[early]] if early < early_end else NO_BAR
            if r.delta.score[0] >= bar:
                late, late_end = 0, next_rows(delta, keys, r.delta, lower, upper, bar, r.late)
        if early == early_end:
            copied = _copy(r.late, late, late_end, out, found)
            if copied == 0:
                break
            late, found = late + copied, found + copied
        elif late == late_end and r.delta.size[0] == 0:
            copied = _copy(r.early, early, early_end, out, found)
            early, found = early + copied, found + copied
        else:
            row = r.early[early]
            if late < late_end and _goes_before(keys, r.late[late], row):
                row, late = r.late[late], late + 1
            else:
                early += 1
            out[found] = row
            found += 1
    r.state[0], r.state[1], r.state[2], r.state[3] = early, early_end, late, late_end
    return found


@njit(cache=True)
def list_rows(trees, keys, lowers, uppers, chosen, attribute, lists):
    """Fill one attribute's lists; an event of NaN gets an empty one."""
    base, covered, delta, visited = trees
    r = new_reader(base, delta, lists.rows.shape[2])
    for i in range(len(chosen)):
        lower, upper = lowers[chosen[i], attribute], uppers[chosen[i], attribute]
        lists.counts[i, attribute] = 0
        if lower == lower:
            open_reader(base, delta, keys, r, lower, upper, visited)
            rows = lists.rows[i, attribute]
            lists.counts[i, attribute] = read(
                base, covered, delta, keys, r, lower, upper, rows, visited
            )
