"""A Paint server for objects with ids, of which several may share an x.

The order of objects is total: y, then x, then id.  Inside, objects that share an x lie side by side
in one cell of the axis (see `axis`), in the order of their ids, and the server knows the k best of
each cell: whoever's range has one of a cell has all, so the others are in no list.

What comes out is real again.  A message's bounds are the edges of cells, so that they say of a
range [low, high] what they say inside; its object is an id, an x and a y.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import nan
from typing import Any, NamedTuple, Self

import numpy as np

from indexes.paint.axis import ceilings, cell_size, floats, floors, ranks
from indexes.paint.batch import PaintBatch
from indexes.paint.messages import MessageTable
from indexes.paint.objects import top_k_many
from indexes.paint.server import PaintDense, PaintServer, PaintSparse
from indexes.validation import as_bound_array

__all__ = [
    "FORMS",
    "FirstLists",
    "Key",
    "NamedPaint",
    "NamedPaintArrays",
    "ObjectStates",
    "Painted",
    "Painting",
    "Update",
    "columns_of",
    "joined",
]

FORMS: dict[str, Any] = {"dense": PaintDense, "sparse": PaintSparse}

_NOWHERE = np.iinfo(np.int64).min  # the rank of an object that the server does not know

Key = tuple[float, float, bytes]  # y, x, id: the order of objects
Update = tuple[int, float, float]  # rank, old y, new y; nan: absent


class ObjectStates(NamedTuple):
    """What objects are like: a row for each that a message or a list carries."""

    ids: list[bytes]
    x: np.ndarray  # f8[n]
    y: np.ndarray  # f8[n]  inf: gone


class Painted(NamedTuple):
    """Messages in the order in which they are to be applied, group by group."""

    group: np.ndarray  # i8[m]  ascending
    state: np.ndarray  # i4[m]  a row of `states`
    inner_low: np.ndarray  # f8[m]  the four bounds of `Message`
    inner_high: np.ndarray  # f8[m]
    outer_low: np.ndarray  # f8[m]
    outer_high: np.ndarray  # f8[m]
    states: ObjectStates
    # Objects that were removed, or moved to another x, whether a message says so or not.
    gone_group: np.ndarray  # i8[g]
    gone_ids: list[bytes]
    gone_to: np.ndarray  # f8[g]  the new x; nan: removed


class FirstLists(NamedTuple):
    counts: np.ndarray  # i8[n]
    states: np.ndarray  # i4[sum of counts]  rows of `objects`, best first
    objects: ObjectStates


class NamedPaintArrays(NamedTuple):
    settings: np.ndarray  # f8[3]  k, epsilon (0: exact), which of FORMS
    id_lengths: np.ndarray  # i4[n]
    id_data: np.ndarray  # u1[...]
    x: np.ndarray  # f8[n]
    y: np.ndarray  # f8[n]
    rank: np.ndarray  # i8[n]  where the server has it
    subscriptions: np.ndarray  # i8[s]
    lows: np.ndarray  # f8[s]  the sparse form only
    highs: np.ndarray  # f8[s]


class _Object:
    __slots__ = ("cell", "rank", "x", "y")

    def __init__(self, x: float, y: float, cell: int) -> None:
        self.x, self.y, self.cell, self.rank = x, y, cell, _NOWHERE


class NamedPaint:
    """
    >>> server = NamedPaint(k=1)
    >>> painted = server.put_many([b"a", b"b"], [4, 4], [2, 1])
    >>> [painted.states.ids[i] for i in painted.state], painted.group.tolist()
    ([b'a', b'a', b'b'], [0, 1, 1])
    >>> server.first_lists([3], [5]).objects.ids
    [b'b']
    """

    def __init__(self, k: int, form: str = "dense", epsilon: float | None = None) -> None:
        self._start(k, form, epsilon, FORMS[form](k, epsilon))

    def _start(self, k: int, form: str, epsilon: float | None, server: PaintServer) -> None:
        self.k, self.form, self.epsilon, self.server = k, form, epsilon, server
        self._size = cell_size(k)
        self._objects: dict[bytes, _Object] = {}
        self._cells: dict[int, list[Key]] = {}
        self._at: dict[int, tuple[bytes, float]] = {}  # id and x, by rank
        # By cell, the ranks that objects have left in this group: lists hold them until its
        # messages are applied.  Those left in groups before are free; but there may be updates that
        # wait, and their messages name them.  So where objects stand has nothing to do with how
        # groups are cut into calls: a log that comes again is cut elsewhere.
        self._left: dict[int, set[int]] = {}
        self._left_before: set[int] = set()

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self.server)

    @property
    def objects(self) -> int:
        return len(self._objects)

    @property
    def nbytes(self) -> int:
        """Of the server; what is kept by id are objects of Python, about half a kilobyte each."""
        return self.server.nbytes + 500 * len(self._objects)

    def subscribe_many(self, ids: Any, lows: Any, highs: Any) -> None:
        self.server.subscribe_many(ids, *self._ends(lows, highs))

    def unsubscribe_many(self, ids: Any) -> None:
        self.server.unsubscribe_many(ids)

    def first_lists(self, lows: Any, highs: Any) -> FirstLists:
        """The k best objects of each range."""
        counts, x, _ = top_k_many(self.server.objects.arrays, *self._ends(lows, highs), self.k)
        known, states = np.unique(ranks(x), return_inverse=True)
        return FirstLists(counts, states.astype(np.int32), self._states_at(known))

    def load(self, ids: Sequence[bytes], xs: Any, ys: Any) -> None:
        """The objects of a server that has none, each once; nobody is told."""
        if self._objects:
            raise ValueError(f"load: got objects when {len(self._objects)} are there already")
        x, y = np.asarray(xs, np.float64), np.asarray(ys, np.float64)
        cells = (ranks(x) // self._size).tolist()
        for id, at, value, cell in zip(ids, x.tolist(), y.tolist(), cells, strict=True):
            self._objects[id] = _Object(at, value, cell)
            self._cells.setdefault(cell, []).append((value, at, id))
        updates: list[Update] = []
        for cell, keys in self._cells.items():
            keys.sort()
            self._lay_out(cell, [id for _, _, id in keys[: self.k]], updates)
        if updates:
            at_ranks, _, new = columns_of(updates)
            self.server.objects.put_many(np.column_stack([at_ranks, new]))

    def take_in(self, ids: Sequence[bytes], xs: Any, ys: Any) -> None:
        """Objects that have come, changed or (y = nan) gone, each once; nobody is told."""
        if self._objects:
            self.put_batch(ids, xs, ys)
            return
        there = [i for i, y in enumerate(ys) if y == y]
        self.load(*([column[i] for i in there] for column in (ids, xs, ys)))

    def put_many(self, ids: Sequence[bytes], xs: Any, ys: Any) -> Painted:
        """Objects that come, change or (y = nan) go, one after the other: each is a group.

        What changes nothing has no messages.
        """
        painting = _OneByOne(self)
        for group, change in enumerate(self._changes(ids, xs, ys)):
            painting.group = group
            painting.add(self._change(*change, painting))
            if self._left:
                self._left_before.update(*self._left.values())
                self._left.clear()
        return painting.finish()

    def put_batch(self, ids: Sequence[bytes], xs: Any, ys: Any) -> Painted:
        """The same at once, as one group: each subscriber hears of the net effect only."""
        painting = _AtOnce(self)
        net = {change[0]: change for change in self._changes(ids, xs, ys)}
        for change in net.values():
            painting.add(self._change(*change, painting))
        return painting.finish()

    def _changes(
        self, ids: Sequence[bytes], xs: Any, ys: Any
    ) -> Iterable[tuple[bytes, float, float, int]]:
        x, y = np.asarray(xs, np.float64), np.asarray(ys, np.float64)
        cells = ranks(np.where(np.isnan(y), 0.0, x)) // self._size
        return zip(ids, x.tolist(), y.tolist(), cells.tolist(), strict=True)

    def _change(
        self, id: bytes, x: float, y: float, cell: int, painting: "Painting"
    ) -> list[Update]:
        """Give an object another x and y (nan: none), and say what the server has to be told."""
        known = self._objects.get(id)
        if known is not None and known.x == x and known.y == y:
            return []
        if known is None:
            if y != y:
                return []
            self._objects[id] = _Object(x, y, cell)
            cells = {cell: self._best(cell)}
            insort(self._cells.setdefault(cell, []), (y, x, id))
            return self._settled(cells, id, None, nan, painting)
        before, keys = known.y, self._cells[known.cell]
        if known.x == x and y == y and len(keys) == 1:
            known.y, keys[0] = y, (y, x, id)
            return [(known.rank, before, y)]
        cells = {known.cell: self._best(known.cell)}
        del keys[bisect_left(keys, (before, known.x, id))]
        if not keys:
            del self._cells[known.cell]
        if y != y:
            painting.gone.append((painting.group, id, nan))
            del self._objects[id]
            return self._settled(cells, id, known, before, painting)
        cells.setdefault(cell, self._best(cell))
        insort(self._cells.setdefault(cell, []), (y, x, id))
        if x == known.x:
            known.y = y
        else:
            painting.gone.append((painting.group, id, x))
            self._objects[id] = _Object(x, y, cell)
        return self._settled(cells, id, known, before, painting)

    def _best(self, cell: int) -> list[bytes]:
        return [id for _, _, id in self._cells.get(cell, ())[: self.k]]

    def _settled(
        self,
        cells: dict[int, list[bytes]],
        id: bytes,
        old: _Object | None,
        old_y: float,
        painting: "Painting",
    ) -> list[Update]:
        """What the server has to be told after an object has changed.

        `cells` has the ids that the server knew of, by cell; `old` is what the object was, with
        `old_y`, or still is, if its x is the same.
        """
        updates: list[Update] = []
        arriving: list[tuple[int, list[bytes], list[bytes]]] = []
        for cell, before in cells.items():
            after = self._best(cell)
            for one in before:
                held = self._objects.get(one)
                if one == id and old is not None:
                    if held is old and one in after:
                        updates.append((old.rank, old_y, old.y))
                    else:
                        self._leave(old, old_y, updates)
                elif held is not None and one not in after:
                    self._leave(held, held.y, updates)
            coming = [one for one in after if self._objects[one].rank == _NOWHERE]
            if coming:
                arriving.append((cell, after, coming))
        crowded = [one for one in arriving if not self._find_room(*one, updates, painting)]
        if not crowded:
            return updates
        # All leave, and nobody holds on to them, before one gets another's place.
        for _, after, _ in crowded:
            for held in (self._objects[one] for one in after):
                if held.rank != _NOWHERE:
                    self._leave(held, held.y, updates)
        painting.add(updates)
        painting.flush()
        self.forget_left()
        laid_out: list[Update] = []
        for cell, after, _ in crowded:
            self._lay_out(cell, after, laid_out)
        return laid_out

    def _lay_out(self, cell: int, ids: list[bytes], updates: list[Update]) -> None:
        """Give all objects of a cell that the server knows a place, evenly, by x and id."""
        step = (self._size - 1) / (len(ids) + 1)
        in_order = sorted(ids, key=lambda one: (self._objects[one].x, one))
        for place, one in enumerate(in_order, 1):
            self._take(one, cell * self._size + int(place * step), updates)

    def _find_room(
        self,
        cell: int,
        after: list[bytes],
        coming: list[bytes],
        updates: list[Update],
        painting: "Painting",
    ) -> bool:
        """Put those that come between their neighbours in the cell, or (False) nobody."""
        first, behind = cell * self._size, (cell + 1) * self._size - 1
        held = [one for one in after if self._objects[one].rank != _NOWHERE]
        taken = [(self._objects[one].x, one, self._objects[one].rank) for one in held]
        for rank in self._left.get(cell, ()):
            id, x = self._at[rank]
            taken.append((x, id, rank))
        taken.sort()
        chosen: list[tuple[bytes, int]] = []
        for one in coming:
            x = self._objects[one].x
            at = bisect_left(taken, (x, one, _NOWHERE))
            low = taken[at - 1][2] if at else first
            high = taken[at][2] if at < len(taken) else behind
            rank = (low + high) // 2
            if rank <= low:
                return False
            taken.insert(at, (x, one, rank))
            chosen.append((one, rank))
        if any(rank in self._left_before for _, rank in chosen):
            painting.flush()
            self._forget_left_before()
        for one, rank in chosen:
            self._take(one, rank, updates)
        return True

    def _take(self, id: bytes, rank: int, updates: list[Update]) -> None:
        held = self._objects[id]
        held.rank = rank
        self._at[rank] = (id, held.x)
        updates.append((rank, nan, held.y))

    def _leave(self, held: _Object, y: float, updates: list[Update]) -> None:
        updates.append((held.rank, y, nan))
        self._left.setdefault(held.cell, set()).add(held.rank)
        held.rank = _NOWHERE

    def forget_left(self) -> None:
        """What was left is free: all messages that name it are written."""
        self._left_before.update(*self._left.values())
        self._left.clear()
        self._forget_left_before()

    def _forget_left_before(self) -> None:
        for rank in self._left_before:
            del self._at[rank]
        self._left_before.clear()

    def _ends(self, lows: Any, highs: Any) -> tuple[np.ndarray, np.ndarray]:
        low, high = as_bound_array("lows", lows), as_bound_array("highs", highs)
        return floors(low, self._size), ceilings(high, self._size)

    def _states_at(self, at: np.ndarray, y: np.ndarray | None = None) -> ObjectStates:
        """Of the objects with these ranks; without `y`, as they are now."""
        known = [self._at[rank] for rank in at.tolist()]
        ids = [id for id, _ in known]
        if y is None:
            y = np.array([self._objects[id].y for id in ids], np.float64)
        return ObjectStates(ids, np.array([x for _, x in known], np.float64), y)

    def painted(self, table: MessageTable, group: np.ndarray) -> Painted:
        """What the server says, in the words of those who know no cells."""
        at = ranks(table.x)
        # Messages of one object follow each other: a row for each run of them.
        runs = np.ones(len(at), np.bool_)
        runs[1:] = (at[1:] != at[:-1]) | (table.y[1:] != table.y[:-1]) | (group[1:] != group[:-1])
        first = np.flatnonzero(runs)
        return Painted(
            group,
            (np.cumsum(runs) - 1).astype(np.int32),
            ceilings(table.inner_low, self._size),
            floors(table.inner_high, self._size),
            ceilings(table.outer_low, self._size),
            floors(table.outer_high, self._size),
            self._states_at(at[first], table.y[first]),
            np.empty(0, np.int64),
            [],
            np.empty(0),
        )

    def to_arrays(self) -> NamedPaintArrays:
        held = self._objects.values()
        ids = list(self._objects)
        saved = self.server.to_arrays()
        form = list(FORMS).index(self.form)
        return NamedPaintArrays(
            np.array([self.k, self.epsilon or 0.0, form]),
            np.array([len(id) for id in ids], np.int32),
            np.frombuffer(b"".join(ids), np.uint8),
            np.array([one.x for one in held], np.float64),
            np.array([one.y for one in held], np.float64),
            np.array([one.rank for one in held], np.int64),
            saved.ids,
            saved.lows,
            saved.highs,
        )

    @classmethod
    def from_arrays(cls, arrays: NamedPaintArrays) -> Self:
        k, epsilon, form = arrays.settings.tolist()
        server = cls(int(k), list(FORMS)[int(form)], epsilon or None)
        server._restore(arrays)
        return server

    def _restore(self, arrays: NamedPaintArrays) -> None:
        data, ends = arrays.id_data.tobytes(), np.cumsum(arrays.id_lengths).tolist()
        ids = [data[start:end] for start, end in pairwise([0, *ends])]
        cells = (ranks(arrays.x) // self._size).tolist()
        columns = (arrays.x.tolist(), arrays.y.tolist(), cells, arrays.rank.tolist())
        for id, x, y, cell, rank in zip(ids, *columns, strict=True):
            self._objects[id] = held = _Object(x, y, cell)
            self._cells.setdefault(cell, []).append((y, x, id))
            if rank != _NOWHERE:
                held.rank = rank
                self._at[rank] = (id, x)
        for keys in self._cells.values():
            keys.sort()
        known = arrays.rank != _NOWHERE
        self.server.load(np.column_stack([floats(arrays.rank[known]), arrays.y[known]]))
        if len(arrays.lows):
            self.server.subscribe_many(arrays.subscriptions, arrays.lows, arrays.highs)
        else:
            none = np.zeros(len(arrays.subscriptions))
            self.server.subscribe_many(arrays.subscriptions, none, none)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self.server.check()
        assert not self._left
        assert not self._left_before
        by_cell: dict[int, list[Key]] = {}
        for id, held in self._objects.items():
            assert held.cell == int(ranks(np.array([held.x]))[0]) // self._size
            by_cell.setdefault(held.cell, []).append((held.y, held.x, id))
        assert self._cells == {cell: sorted(keys) for cell, keys in by_cell.items()}
        placed = {}
        for cell, keys in self._cells.items():
            best = sorted((x, id, self._objects[id].rank, y) for y, x, id in keys[: self.k])
            for x, id, rank, y in best:
                assert cell * self._size < rank < (cell + 1) * self._size - 1
                assert self._at[rank] == (id, x)
                placed[float(floats(np.array([rank]))[0])] = y
            assert all(one[2] < other[2] for one, other in pairwise(best)), "by x, then id"
            assert all(self._objects[id].rank == _NOWHERE for _, _, id in keys[self.k :])
        assert len(self._at) == len(placed)
        inside = self.server.objects.to_arrays()
        assert dict(zip(inside.x.tolist(), inside.y.tolist(), strict=True)) == placed


class Painting:
    """Updates on their way to the server, and what it has said."""

    def __init__(self, owner: NamedPaint) -> None:
        self.group = 0  # of what is added now
        self.gone: list[tuple[int, bytes, float]] = []  # group, id, new x
        self._owner = owner
        self._batch = PaintBatch(owner.server)
        self._updates: list[Update] = []
        self._parts: list[Painted] = []

    def add(self, updates: list[Update]) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        """Nothing waits any more."""
        raise NotImplementedError

    def finish(self) -> Painted:
        self.flush()
        self._owner.forget_left()
        return joined(self._parts, self.gone)

    def _at_once(self, updates: list[Update]) -> None:
        if updates:
            table = self._batch.update_many(*columns_of(updates))
            group = np.full(len(table.x), self.group, np.int64)
            self._parts.append(self._owner.painted(table, group))


class _OneByOne(Painting):
    """An object that changes by one update waits for others, which are given together."""

    def __init__(self, owner: NamedPaint) -> None:
        super().__init__(owner)
        self._groups: list[int] = []

    def add(self, updates: list[Update]) -> None:
        if len(updates) == 1:
            self._groups.append(self.group)
            self._updates += updates
        else:
            self.flush()
            self._at_once(updates)

    def flush(self) -> None:
        if self._updates:
            table = self._owner.server.update_many(*columns_of(self._updates))
            group = np.array(self._groups, np.int64)[table.event]
            self._parts.append(self._owner.painted(table, group))
            self._groups, self._updates = [], []


class _AtOnce(Painting):
    def add(self, updates: list[Update]) -> None:
        self._updates += updates

    def flush(self) -> None:
        self._at_once(self._updates)
        self._updates = []


def columns_of(updates: list[Update]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, old y and new y, as servers want them."""
    ranked, old, new = zip(*updates, strict=True) if updates else ((), (), ())
    return floats(np.array(ranked, np.int64)), np.array(old, float), np.array(new, float)


def joined(parts: Sequence[Painted], gone: Sequence[tuple[int, bytes, float]]) -> Painted:
    """One after the other."""
    starts = np.cumsum([0, *(len(part.states.ids) for part in parts)])[:-1]

    def column(name: str) -> np.ndarray:
        return np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)])

    def of_states(name: str) -> np.ndarray:
        return np.concatenate([np.empty(0), *(getattr(part.states, name) for part in parts)])

    shifted = [part.state + start for part, start in zip(parts, starts.tolist(), strict=True)]
    return Painted(
        column("group").astype(np.int64),
        np.concatenate([np.empty(0, np.int32), *shifted]).astype(np.int32),
        column("inner_low"),
        column("inner_high"),
        column("outer_low"),
        column("outer_high"),
        ObjectStates(
            [id for part in parts for id in part.states.ids],
            of_states("x"),
            of_states("y"),
        ),
        np.array([group for group, _, _ in gone], np.int64),
        [id for _, id, _ in gone],
        np.array([to for _, _, to in gone], np.float64),
    )
