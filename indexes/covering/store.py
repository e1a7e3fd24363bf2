"""Rows: the boxes that a cover holds, found by id and by their ends.

A box is kept as the point of the point-dominance form (the covering paper, §IV.A): `(-low, high)`
for each attribute in turn, so that one box covers another iff its point is at least as great
everywhere.
A row keeps its number as long as its id is stored (see `indexes.row_table`).

Equal boxes are chained, oldest to newest, and only the newest, the head of the chain, is in the
index: thousands of equal subscriptions are one point there.
"""

from typing import NamedTuple

import numpy as np

from indexes.covering.box_slots import NEWER, OLDER, PLACE, box_slot, link_boxes, unlink_box
from indexes.id_map import check_slots, empty_slots, find, find_many, link, link_many, unlink
from indexes.kernels import NIL
from indexes.kernels.decorators import inlined
from indexes.row_table import LIVE, USED, check_rows, give_back_row, live_rows, new_state, take_row

__all__ = [
    "COMPARED", "NEWER", "OLDER", "PLACE", "VISITED", "RowTable", "Store", "add_row",
    "allocate", "relabel", "remove_row", "row_count", "row_of", "take_chain",
]  # fmt: skip

VISITED, COMPARED = range(2)  # the first fields of the state of every index: work done
DISTINCT = 3  # a field of `state`, after those of `row_table`: boxes without their equals


class Store(NamedTuple):
    ids: np.ndarray  # i8[rows]
    points: np.ndarray  # f8[rows, 2d]
    bits: np.ndarray  # i8[rows, 2d]  the memory of `points`, for hashing
    links: np.ndarray  # i8[rows, 3]  OLDER and NEWER row of an equal box; a head's PLACE
    id_slots: np.ndarray  # i4[]  rows by id, see `indexes.id_map`
    box_slots: np.ndarray  # i4[]  heads by box, probed in the same way
    state: np.ndarray  # i8[4]


class RowTable:
    """Owns the arrays of a `Store` and their growth."""

    def __init__(self, width: int, spare: int = 8) -> None:
        """A table that grows gets at least so much room to spare."""
        self.store = allocate(0, width)
        self._spare = spare

    def __deepcopy__(self, memo: dict[int, object]) -> "RowTable":
        """A copy whose bits are, again, a view of its points."""
        twin = RowTable(self.store.points.shape[1], self._spare)
        copied = Store(*(array.copy() for array in self.store))
        twin.store = copied._replace(bits=copied.points.view(np.int64))
        return twin

    def __len__(self) -> int:
        return int(self.store.state[LIVE])

    @property
    def capacity(self) -> int:
        return len(self.store.ids)

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in self.store) - self.store.bits.nbytes

    def live(self) -> np.ndarray:
        """The rows in use, ascending."""
        return live_rows(self.store.ids, self.store.state).astype(np.int64)

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """The row of each id, or NIL."""
        return find_many(self.store.id_slots, self.store.ids, ids).astype(np.int64)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """The row of each id; one that is not stored: `KeyError`."""
        rows = self.rows_of(ids)
        if NIL in rows:
            unknown = rows == NIL
            raise KeyError(f"id {ids[unknown][0]} is not stored; a stored id was expected")
        return rows

    def require_new(self, ids: np.ndarray) -> None:
        known = self.rows_of(ids) != NIL
        if True in known:
            raise KeyError(f"id {ids[known][0]} is already stored; delete it first")

    def reserve(self, more: int) -> None:
        """Make room for that many further rows."""
        needed = len(self) + more
        if needed > self.capacity:
            self._resize(max(needed, self.capacity + self.capacity // 2 + self._spare))

    def _resize(self, capacity: int) -> None:
        old, used = self.store, int(self.store.state[USED])
        new = allocate(capacity, old.points.shape[1])
        for name in ("ids", "points", "links"):
            getattr(new, name)[:used] = getattr(old, name)[:used]
        new.state[:] = old.state
        live = live_rows(new.ids, new.state).astype(np.int64)
        link_many(new.id_slots, new.ids, live)
        link_boxes(new, live)
        self.store = new

    def check(self) -> None:
        s, live = self.store, self.live()
        check_rows(s.ids, s.state)
        assert np.shares_memory(s.bits, s.points) or not len(s.ids)
        assert not np.isnan(s.points[live]).any()
        check_slots(s.id_slots, s.ids, live)
        self._check_chains(live)

    def _check_chains(self, live: np.ndarray) -> None:
        """Equal boxes are in one chain, and its head is what the slots of boxes know."""
        s = self.store
        by_box: dict[bytes, set[int]] = {}
        for row in live.tolist():
            by_box.setdefault(s.points[row].tobytes(), set()).add(row)
        heads = [row for row in live.tolist() if s.links[row, NEWER] == NIL]
        assert len(heads) == len(by_box) == s.state[DISTINCT]
        assert sorted(s.box_slots[s.box_slots != NIL].tolist()) == heads
        for head in heads:
            assert s.box_slots[box_slot(s, head)] == head
            chain, row = [head], int(s.links[head, OLDER])
            while row != NIL:
                assert s.links[row, NEWER] == chain[-1]
                chain.append(row)
                row = int(s.links[row, OLDER])
            assert set(chain) == by_box[s.points[head].tobytes()]


def allocate(capacity: int, width: int) -> Store:
    points = np.empty((capacity, width))
    return Store(
        ids=np.empty(capacity, np.int64),
        points=points,
        bits=points.view(np.int64),
        links=np.empty((capacity, 3), np.int64),
        id_slots=empty_slots(capacity),
        box_slots=empty_slots(capacity),
        state=new_state(further=1),
    )


@inlined
def row_of(s, id):
    """The row of an id, or NIL."""
    return np.int64(find(s.id_slots, s.ids, id))


@inlined
def row_count(s):
    return s.state[LIVE]


@inlined
def add_row(s, id, point):
    """Store a new id; there must be room.  The row becomes the head of its chain.

    A box that is new has no place yet: the caller puts it into the index.
    """
    row = take_row(s.ids, s.state)
    s.ids[row] = id
    for j in range(len(point)):
        s.points[row, j] = point[j]
    link(s.id_slots, s.ids, row)
    slot = box_slot(s, row)
    head = np.int64(s.box_slots[slot])
    s.box_slots[slot] = row
    s.links[row, OLDER] = head
    s.links[row, NEWER] = NIL
    s.links[row, PLACE] = NIL
    if head == NIL:
        s.state[DISTINCT] += 1
    else:
        s.links[head, NEWER] = row
        s.links[row, PLACE] = s.links[head, PLACE]
        s.links[head, PLACE] = NIL
    return row


@inlined
def remove_row(s, row):
    """Forget a row; where its box goes with it, it must be out of the index by now."""
    older, newer = s.links[row, OLDER], s.links[row, NEWER]
    if older != NIL:
        s.links[older, NEWER] = newer
    if newer != NIL:
        s.links[newer, OLDER] = older
    elif older != NIL:
        s.links[older, PLACE] = s.links[row, PLACE]
        s.box_slots[box_slot(s, row)] = older
    else:
        unlink_box(s, row)
        s.state[DISTINCT] -= 1
    unlink(s.id_slots, s.ids, s.ids[row])
    give_back_row(s.ids, s.state, row)


@inlined
def relabel(index, place, row, head):
    """Let `row`, whose box is equal, stand in the place of `head`: all that most indexes need."""
    index.members[place] = row


@inlined
def take_chain(s, head, point, k, strict, found, count):
    """Add the rows of a box that covers `point` to those found, newest first, up to k in all.

    With `strict`, a box that is equal to the point is left out.
    """
    if strict:
        equal = True
        for j in range(len(point)):
            equal = equal and s.points[head, j] == point[j]
        if equal:
            return count
    row = head
    while row != NIL and count < k:
        found[count] = row
        count += 1
        row = s.links[row, OLDER]
    return count
