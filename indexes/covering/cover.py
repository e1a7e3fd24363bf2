"""What the three covers have in common: everything but the index itself."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.covering.batches import add_many, cover_many, remove_many
from indexes.covering.by_call import ASK, NONE, UNDONE, packer, scratch_for
from indexes.covering.dispatch import Index, is_ready
from indexes.covering.points import MOST_DIMENSIONS, box_point, box_points, many_ids, one_id
from indexes.covering.store import COMPARED, NEWER, VISITED, RowTable
from indexes.kernels import NIL
from indexes.kernels.borrowed import Handle

__all__ = ["Cover"]

_TABLE_CELLS = 1 << 20  # ids that one call may write


class Cover(ABC):
    """Boxes of up to 32 attributes, closed, with ends that may be infinite."""

    index: Index  # the arrays that kernels take; replaced when they grow

    def __init__(self, dimensions: int) -> None:
        self.dimensions = validation.as_count("dimensions", dimensions, least=1)
        if dimensions > MOST_DIMENSIONS:
            raise ValueError(
                f"dimensions: got {dimensions} when at most {MOST_DIMENSIONS} was expected"
            )
        self.rows = RowTable(2 * self.dimensions)
        self.packed = packer(self.dimensions)
        self._scratch = scratch_for(2 * self.dimensions, np.zeros(1, np.int64))
        self._handle = Handle((), ())

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + sum(array.nbytes for array in self.index)

    @property
    def visited(self) -> int:
        """Nodes (or blocks, or runs) that all queries so far have looked at."""
        return int(self.index.state[VISITED])

    @property
    def compared(self) -> int:
        """Points that all queries so far have been compared with."""
        return int(self.index.state[COMPARED])

    def make_ready(self) -> None:
        """Grow the index, or put it in order, unless it can take the next change as it is."""
        if not is_ready(self.index):
            self._put_in_order()

    @abstractmethod
    def _put_in_order(self) -> None:
        """What an index needs that is not ready."""

    @abstractmethod
    def _check_index(self, heads: np.ndarray) -> None:
        """Raise `AssertionError` unless the index holds exactly these rows."""

    def insert(self, id: int, lows: ArrayLike, highs: ArrayLike) -> None:
        point = box_point(lows, highs, self.dimensions)
        self._insert(one_id(id), point)

    def insert_many(self, ids: ArrayLike, lows: ArrayLike, highs: ArrayLike) -> None:
        """Add new ids, all of them or, where one argument is refused, none."""
        new = many_ids(ids)
        points = box_points(lows, highs, self.dimensions)
        validation.require_same_length(ids=new, lows=points)
        self._insert(new, points)

    def _insert(self, ids: np.ndarray, points: np.ndarray) -> None:
        self.rows.require_new(ids)
        self.reserve(len(ids))
        done = add_many(self.index, self.rows.store, ids, points, 0)
        while done < len(ids):
            self.make_ready()
            done = add_many(self.index, self.rows.store, ids, points, done)

    def reserve(self, more: int) -> None:
        """Make room for so many rows; the index asks for its own as it grows."""
        self.rows.reserve(more)

    def delete(self, id: int) -> None:
        self._delete(one_id(id))

    def delete_many(self, ids: ArrayLike) -> None:
        """Forget ids, all of them or, where one is not stored, none."""
        self._delete(many_ids(ids))

    def _delete(self, ids: np.ndarray) -> None:
        rows = self.rows.find(ids)
        done = remove_many(self.index, self.rows.store, rows, 0)
        while done < len(rows):
            self.make_ready()
            done = remove_many(self.index, self.rows.store, rows, done)

    def covers(self, lows: ArrayLike, highs: ArrayLike, k: int = 1) -> list[int]:
        """Up to k stored ids whose box contains the given one, in any order."""
        if type(k) is int and k == 1 and (ends := self.packed(lows, highs)) is not None:
            id = self._ask(ends)
            if id != UNDONE:
                return [] if id == NONE else [id]
        point = box_point(lows, highs, self.dimensions)
        k = min(validation.as_count("k", k), len(self))
        counts, ids = np.empty(1, np.int64), np.empty((1, k), np.int64)
        cover_many(self.index, self.rows.store, point, k, counts, ids)
        return ids[0, : counts[0]].tolist()

    def _ask(self, ends: bytes) -> int:
        index, store = self.index, self.rows.store
        handle = self._handle
        if handle.parts[0] is not index or handle.parts[1] is not store:
            handle = self._handle = Handle(index, store, self._scratch)
        return ASK[type(index)](handle.address, ends)

    def covers_many(self, lows: ArrayLike, highs: ArrayLike, k: int = 1) -> list[list[int]]:
        """As `covers`, one answer a box, in compiled code for all of them."""
        points = box_points(lows, highs, self.dimensions)
        k = min(validation.as_count("k", k), len(self))
        answers: list[list[int]] = []
        step = max(1, _TABLE_CELLS // max(k, 1))
        for first in range(0, len(points), step):
            asked = points[first : first + step]
            counts, ids = np.empty(len(asked), np.int64), np.empty((len(asked), k), np.int64)
            cover_many(self.index, self.rows.store, asked, k, counts, ids)
            table = zip(ids.tolist(), counts.tolist(), strict=True)
            answers += [row[:count] for row, count in table]
        return answers

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self.rows.check()
        self._handle.check()
        live = self.rows.live()
        self._check_index(live[self.rows.store.links[live, NEWER] == NIL])
