"""`Records`: the subscriptions by row, which all structures of one index refer to.

A row keeps its number as long as its id is there (see `indexes.row_table`), unless all rows are
laid out anew: `rearrange` numbers them in an order given, so that those that are read together lie
together.

The tokens of all rows are in one array; those of a row that is gone leave a gap.  When gaps are
more than a part of the array, the tokens of live rows are moved together.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.id_map import check_slots, empty_slots, find_many, link, link_many, unlink
from indexes.kernels import NIL
from indexes.kernels.decorators import fused
from indexes.row_table import LIVE, check_rows, give_back_row, live_rows, new_state, take_row

__all__ = ["Columns", "Records", "Table", "boxes_meet"]

FILLED, HELD = 3, 4  # of `state`: places of `tokens` in front of the room; those of live rows
_FEW_GAPS = 4096  # places of tokens that are not worth moving anything for


class Table(NamedTuple):
    """What kernels read; by row, with room behind."""

    ids: np.ndarray  # i8[rows]
    boxes: np.ndarray  # f8[rows, 4]  x_low, y_low, x_high, y_high
    scores: np.ndarray  # f8[rows]
    starts: np.ndarray  # i4[rows]  the place of the row's first token
    sizes: np.ndarray  # i4[rows]  how many it has
    tokens: np.ndarray  # i4[...]  numbers of the dictionary, in an order that structures may choose
    state: np.ndarray  # i8[5]


class Columns(NamedTuple):
    """Subscriptions side by side; the tokens of i are `tokens[starts[i] : starts[i + 1]]`."""

    ids: np.ndarray  # i8[n]
    boxes: np.ndarray  # f8[n, 4]
    tokens: np.ndarray  # i4[t]
    starts: np.ndarray  # i8[n + 1]
    scores: np.ndarray  # f8[n]


class Records:
    def __init__(self, spare: int = 8, few_gaps: int = _FEW_GAPS) -> None:
        """A column that grows gets at least so much room to spare."""
        self._spare = spare
        self._few_gaps = few_gaps
        self.table = _allocate(0, 0)
        self._slots = empty_slots(0)

    def __len__(self) -> int:
        return int(self.table.state[LIVE])

    @property
    def capacity(self) -> int:
        return len(self.table.ids)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.table) + self._slots.nbytes

    def live(self) -> np.ndarray:
        """The rows in use, ascending."""
        return live_rows(self.table.ids, self.table.state)

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """The row of each id, or NIL."""
        return find_many(self._slots, self.table.ids, ids)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """The row of each id; one that is not indexed: `KeyError`."""
        rows = self.rows_of(ids)
        unknown = ids[rows == NIL]
        if len(unknown):
            raise KeyError(f"id {unknown[0]} is not indexed; an indexed id was expected")
        return rows

    def require_new(self, ids: np.ndarray) -> None:
        known = ids[self.rows_of(ids) != NIL]
        if len(known):
            raise KeyError(f"id {known[0]} is already indexed; delete it first")

    def add(self, columns: Columns) -> np.ndarray:
        """Rows for new ids."""
        self._reserve(len(columns.ids), len(columns.tokens))
        rows = np.empty(len(columns.ids), np.int32)
        _add(self.table, self._slots, columns, rows)
        return rows

    def release(self, rows: np.ndarray) -> None:
        """Forget rows; no structure may refer to them any more."""
        _release(self.table, self._slots, rows)
        state = self.table.state
        gaps = state[FILLED] - state[HELD]
        if gaps > self._few_gaps and 2 * gaps > state[FILLED]:
            self._move_tokens(int(state[HELD]))

    def tokens_of(self, rows: np.ndarray) -> np.ndarray:
        """The tokens of all these rows."""
        return self.export(rows).tokens

    def export(self, rows: np.ndarray) -> Columns:
        """Copies of these rows, in the order given."""
        t = self.table
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(t.sizes[rows], out=starts[1:])
        tokens = np.empty(starts[-1], np.int32)
        _copy_tokens(t, rows, tokens, starts)
        return Columns(t.ids[rows], t.boxes[rows], tokens, starts, t.scores[rows])

    def rearrange(self, rows: np.ndarray) -> None:
        """Number all live rows anew, in the order given, without room; structures start anew."""
        columns = self.export(rows)
        self.table, self._slots = _allocate(0, 0), empty_slots(0)
        self.add(columns)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        t, live = self.table, self.live()
        check_rows(t.ids, t.state)
        check_slots(self._slots, t.ids, live)
        assert (t.boxes[live, :2] <= t.boxes[live, 2:]).all()
        assert np.isfinite(t.scores[live]).all()
        assert t.state[HELD] == t.sizes[live].sum()
        taken: set[int] = set()
        for row in live.tolist():
            places = range(int(t.starts[row]), int(t.starts[row] + t.sizes[row]))
            assert len(places) > 0
            assert places.stop <= t.state[FILLED]
            assert taken.isdisjoint(places)
            assert len(set(t.tokens[places].tolist())) == len(places)
            taken.update(places)

    def _reserve(self, more: int, more_tokens: int) -> None:
        t = self.table
        needed = len(self) + more
        if needed > self.capacity:
            grown = _grown(len(self), needed, self._spare)
            wider = _allocate(grown, 0)
            for old, new in zip(t[:5], wider[:5], strict=True):
                new[: len(old)] = old
            self.table = t = wider._replace(tokens=t.tokens, state=t.state)
        if 5 * needed > 4 * len(self._slots):
            self._slots = empty_slots(_grown(len(self), needed, self._spare))
            link_many(self._slots, t.ids, self.live())
        filled = int(t.state[FILLED])
        if filled + more_tokens > len(t.tokens):
            self._move_tokens(_grown(int(t.state[HELD]), int(t.state[HELD]) + more_tokens, 8))

    def _move_tokens(self, room: int) -> None:
        """Close all gaps between tokens, and have room for so many in all."""
        if room > np.iinfo(np.int32).max:
            raise ValueError(f"got {room} tokens in all when fewer than 2**31 were expected")
        live, t = self.live(), self.table
        starts = np.zeros(len(live) + 1, np.int64)
        np.cumsum(t.sizes[live], out=starts[1:])
        tokens = np.empty(room, np.int32)
        _copy_tokens(t, live, tokens, starts)
        t.starts[live] = starts[:-1]
        t.state[FILLED] = t.state[HELD]
        self.table = t._replace(tokens=tokens)


def _grown(held: int, needed: int, spare: int) -> int:
    """Exactly what is needed at first, later with room to spare."""
    return needed if not held else max(needed, held + held // 8 + spare)


def _allocate(rows: int, tokens: int) -> Table:
    return Table(
        ids=np.empty(rows, np.int64),
        boxes=np.empty((rows, 4)),
        scores=np.empty(rows),
        starts=np.empty(rows, np.int32),
        sizes=np.empty(rows, np.int32),
        tokens=np.empty(tokens, np.int32),
        state=new_state(further=2),
    )


@fused
def boxes_meet(boxes, row, box):
    """Whether a closed box and that of a row have a point in common."""
    return (
        boxes[row, 0] <= box[2]
        and boxes[row, 2] >= box[0]
        and boxes[row, 1] <= box[3]
        and boxes[row, 3] >= box[1]
    )


@njit(cache=True, nogil=True)
def _add(table, slots, columns, rows):
    t = table
    for i in range(len(rows)):
        row = take_row(t.ids, t.state)
        t.ids[row] = columns.ids[i]
        for side in range(4):
            t.boxes[row, side] = columns.boxes[i, side]
        t.scores[row] = columns.scores[i]
        first, size = columns.starts[i], columns.starts[i + 1] - columns.starts[i]
        filled = t.state[FILLED]
        t.starts[row], t.sizes[row] = filled, size
        for j in range(size):
            t.tokens[filled + j] = columns.tokens[first + j]
        t.state[FILLED] = filled + size
        t.state[HELD] += size
        link(slots, t.ids, row)
        rows[i] = row


@njit(cache=True, nogil=True)
def _release(table, slots, rows):
    for row in rows:
        table.state[HELD] -= table.sizes[row]
        unlink(slots, table.ids, table.ids[row])
        give_back_row(table.ids, table.state, row)


@njit(cache=True, nogil=True)
def _copy_tokens(table, rows, tokens, starts):
    for i in range(len(rows)):
        first = table.starts[rows[i]]
        for j in range(table.sizes[rows[i]]):
            tokens[starts[i] + j] = table.tokens[first + j]
