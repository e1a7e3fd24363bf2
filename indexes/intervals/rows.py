"""Rows: the ids and scores that the trees of one index rank, found by id.

A row keeps its number as long as its id is indexed, so trees refer to rows and nothing has to
be looked up when their blocks split or merge (see `indexes.row_table`).
"""

import numpy as np
from numba import njit

from indexes.hits import rank_order
from indexes.id_map import check_slots, empty_slots, find_many, link, link_many, unlink
from indexes.intervals.ir_layout import Rows
from indexes.kernels import NIL
from indexes.row_table import LIVE, check_rows, give_back_row, live_rows, new_state, take_row


class RowTable:
    def __init__(self, spare: int = 8) -> None:
        """A table that grows gets at least so much room to spare."""
        self._spare = spare
        self._clear(0)

    def _clear(self, capacity: int) -> None:
        self.keys = Rows(np.empty(capacity, np.int64), np.empty(capacity))
        self._slots = empty_slots(capacity)
        self._state = new_state()

    def __len__(self) -> int:
        return int(self._state[LIVE])

    @property
    def capacity(self) -> int:
        return len(self.keys.ids)

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (*self.keys, self._slots, self._state))

    def live(self) -> np.ndarray:
        """The rows in use, ascending."""
        return live_rows(self.keys.ids, self._state)

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """The row of each id, or NIL."""
        return find_many(self._slots, self.keys.ids, ids)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """The row of each id; one that is not indexed: `KeyError`."""
        rows = self.rows_of(ids)
        unknown = rows == NIL
        if unknown.any():
            raise KeyError(f"id {ids[unknown][0]} is not indexed; an indexed id was expected")
        return rows

    def require_new(self, ids: np.ndarray) -> None:
        known = self.rows_of(ids) != NIL
        if known.any():
            raise KeyError(f"id {ids[known][0]} is already indexed; delete it first")

    def reserve(self, more: int) -> None:
        """Make room for that many further rows."""
        needed = len(self) + more
        if needed > self.capacity:
            grown = max(needed, self.capacity + self.capacity // 8 + self._spare)
            keys = Rows(np.empty(grown, np.int64), np.empty(grown))
            for old, new in zip(self.keys, keys, strict=True):
                new[: len(old)] = old
            self.keys = keys
        if 5 * needed > 4 * len(self._slots):
            self._slots = empty_slots(needed + needed // 2)
            link_many(self._slots, self.keys.ids, self.live())

    def take(self, ids: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Rows for new ids; there must be room."""
        rows = np.empty(len(ids), np.int32)
        _take(self.keys, self._slots, self._state, ids, scores, rows)
        return rows

    def release(self, rows: np.ndarray) -> None:
        _release(self.keys, self._slots, self._state, rows)

    def refill(self, ids: np.ndarray, scores: np.ndarray) -> None:
        """Start anew with rows 0..n-1, in this order, and no room to spare."""
        self._clear(len(ids))
        self.take(ids, scores)

    def check(self) -> None:
        live = self.live()
        check_rows(self.keys.ids, self._state)
        check_slots(self._slots, self.keys.ids, live)
        assert np.isfinite(self.keys.scores[live]).all()


def by_rank(keys: Rows, rows: np.ndarray) -> np.ndarray:
    """The rows in rank order."""
    return rows[rank_order(keys.scores[rows], keys.ids[rows])]


@njit(cache=True, nogil=True)
def _take(keys, slots, state, ids, scores, rows):
    for i in range(len(ids)):
        row = take_row(keys.ids, state)
        keys.ids[row] = ids[i]
        keys.scores[row] = scores[i]
        link(slots, keys.ids, row)
        rows[i] = row


@njit(cache=True, nogil=True)
def _release(keys, slots, state, rows):
    for i in range(len(rows)):
        row = rows[i]
        unlink(slots, keys.ids, keys.ids[row])
        give_back_row(keys.ids, state, row)
