"""Rows that keep their numbers, and a list of the free ones.

Tables of ids, in four places, are columns by row.  A row keeps its number as long as its id is
there, so others refer to rows, and nothing has to be looked up when these move.  A row that was
given back is taken again before a new one is: the free rows are chained through the column of ids,
where one has -2 - the next free row, which no id is.

The first fields of a table's `state` (i8) are the first free row, or NIL, how many rows were ever
used, and how many are live; a table may have further fields.
"""

import numpy as np

from indexes.kernels import NIL
from indexes.kernels.decorators import fused

__all__ = [
    "FREE", "LIVE", "USED", "check_rows", "give_back_row", "live_rows", "new_state", "take_row",
]  # fmt: skip

FREE, USED, LIVE = range(3)  # fields of `state`


def new_state(further: int = 0) -> np.ndarray:
    """The state of a table without rows; its further fields are 0."""
    state = np.zeros(3 + further, np.int64)
    state[FREE] = NIL
    return state


def live_rows(ids: np.ndarray, state: np.ndarray) -> np.ndarray:
    """The rows in use, ascending."""
    return np.flatnonzero(ids[: state[USED]] >= 0).astype(np.int32)


def check_rows(ids: np.ndarray, state: np.ndarray) -> None:
    """Raise `AssertionError` unless each row ever used is live or free, exactly once."""
    live = live_rows(ids, state)
    assert len(live) == state[LIVE]
    free, row = set(), int(state[FREE])
    while row != NIL:
        assert row not in free
        free.add(row)
        row = -2 - int(ids[row])
    assert free == set(range(int(state[USED]))) - set(live.tolist())


@fused
def take_row(ids, state):
    """A free row or, if there is none, a new one; the caller sets its id.  There must be room."""
    row = state[FREE]
    if row != NIL:
        state[FREE] = -2 - ids[row]
    else:
        row = state[USED]
        state[USED] += 1
    state[LIVE] += 1
    return row


@fused
def give_back_row(ids, state, row):
    """Make a row free; whatever finds it by its id has forgotten it by now."""
    ids[row] = -2 - state[FREE]
    state[FREE] = row
    state[LIVE] -= 1
