"""The optimal part of one attribute's index: a SOPT-R-tree over rows.

Layout: that of a `PackedRTree`, with the row of each interval in place of its id and score, which
the row has; 20 bytes an interval.  A base never changes, so copies of a matcher share it.

A row is covered while the bases of all attributes that it constrains have it as it is.  An entry
is dead if its row is NIL or not covered.  Rows become covered when a base is made and at no other
time, so a row that has been given to another id since is not covered either.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import rank_order
from indexes.intervals.ir_build import Entries
from indexes.intervals.ir_layout import Rows
from indexes.intervals.packed_r_tree import PackedRTree, check_packed, pack
from indexes.intervals.scored_rows import ScoredRows, reordered
from indexes.intervals.sopt_arrange import score_optimal
from indexes.intervals.sopt_check import check_order
from indexes.kernels import NIL
from indexes.kernels.sorting import stable_order


class Base(NamedTuple):
    lows: np.ndarray  # f8[entries]  of intervals first, then of extents
    highs: np.ndarray  # f8[entries]
    rows: np.ndarray  # i4[n]  of the intervals
    levels: np.ndarray  # i8[height + 1]  where each level begins, and the end
    branching: np.ndarray  # i8[1]


def base_of(keys: Rows, entries: Entries, branching: int) -> Base:
    """A base of entries in rank order."""
    intervals = ScoredRows(entries.rows, entries.lows, entries.highs, keys.scores[entries.rows])
    arranged = score_optimal(intervals, stable_order(entries.lows))
    packed = pack(reordered(intervals, arranged.ranks), branching)
    return Base(packed.lows, packed.highs, packed.ids, packed.levels, packed.branching)


def empty_base(branching: int) -> Base:
    none = Entries(np.empty(0, np.int32), np.empty(0), np.empty(0))
    return base_of(Rows(np.empty(0, np.int64), np.empty(0)), none, branching)


def adopted(packed: PackedRTree, rows: np.ndarray, column: ScoredRows) -> tuple[Base, np.ndarray]:
    """A base of a tree that was built elsewhere, and which rows it has as they are.

    `rows` says which row has the id of each interval, or NIL, and is used up; `column` has the
    intervals and scores by row.
    """
    found = np.zeros(len(column.ids), np.bool_)
    _keep_equal(rows, packed, column, found)
    return Base(packed.lows, packed.highs, rows, packed.levels, packed.branching), found


def is_alive(base: Base, covered: np.ndarray) -> np.ndarray:
    alive = base.rows != NIL
    alive[alive] = covered[base.rows[alive]]
    return alive


def check_base(base: Base, covered: np.ndarray, column: ScoredRows, own: np.ndarray) -> None:
    """Raise `AssertionError` unless what is alive are these rows, as they are, in a right order."""
    nothing = np.empty(0)
    check_packed(PackedRTree(base.lows, base.highs, base.rows, nothing, *base[3:]))
    alive = np.flatnonzero(is_alive(base, covered))
    rows = base.rows[alive]
    assert sorted(rows.tolist()) == own.tolist()
    lows, highs = base.lows[alive], base.highs[alive]
    assert (lows == column.lows[rows]).all()
    assert (highs == column.highs[rows]).all()
    ranks = np.empty(len(rows), np.int64)
    ranks[rank_order(column.scores[rows], column.ids[rows])] = np.arange(len(rows))
    check_order(lows, highs, ranks)


@njit(cache=True, nogil=True)
def _keep_equal(rows, t, column, found):
    """Let entries keep their row only if it has the same interval and score, and keep it once."""
    lows, highs, scores = column.lows, column.highs, column.scores
    for entry in range(len(rows)):
        row = rows[entry]
        if row == NIL:
            continue
        if (
            not found[row]
            and t.lows[entry] == lows[row]
            and t.highs[entry] == highs[row]
            and t.scores[entry] == scores[row]
        ):
            found[row] = True
        else:
            rows[entry] = NIL
