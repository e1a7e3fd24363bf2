"""The objects of a `NamedPaint` in slices of the x axis, each where there is room for it.

A `NamedSlice` knows the objects of its slice alone.  Slices paint a batch together, as the servers
of the Paint paper's appendix C do (see `PaintShare`): each tells of its own objects, and asks its
neighbours for what lies on the way.  What they say, put together by `in_one`, is what one server
says that has all objects; what they list, by `best_of`, what that one lists.

Boundaries lie between cells of the axis, so that objects which share an x are in one slice.
"""

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Any

import numpy as np

from indexes.paint.axis import cell_size, floors, ranks
from indexes.paint.batch import PaintBatch
from indexes.paint.named import (
    FirstLists,
    Key,
    NamedPaint,
    NamedPaintArrays,
    ObjectStates,
    Painted,
    Painting,
    Update,
    columns_of,
    joined,
)
from indexes.paint.objects import ObjectIndex
from indexes.paint.servers import Neighbour, Others, PaintShare

__all__ = ["NamedSlice", "best_of", "boundaries_for", "in_one", "part_of"]

_ROUND = 1 << 40  # more than the messages of any round


class NamedSlice(NamedPaint):
    """Slice `number` of those that the boundaries make.

    >>> here, there = (NamedSlice(1, None, boundaries_for([4.0], 1), i) for i in range(2))
    >>> for one in (here, there):
    ...     one.take_in([b"a", b"b"], [3, 5], [2, 1])
    >>> best_of([one.first_lists([0], [9]) for one in (here, there)], k=1).objects.ids
    [b'b']
    """

    def __init__(
        self, k: int, epsilon: float | None, boundaries: Sequence[float], number: int
    ) -> None:
        super().__init__(k, "dense", epsilon)
        self._boundaries, self._number = list(boundaries), number
        cells = (ranks(np.array(self._boundaries, np.float64)) // self._size).tolist()
        self._first = cells[number - 1] if number else None
        self._behind = cells[number] if number < len(cells) else None

    @property
    def held(self) -> ObjectIndex:
        """What the other slices ask."""
        return self.server.objects

    def restore(self, arrays: NamedPaintArrays) -> None:
        """Add the objects of a slice that was cut in the same way, or of a part of it."""
        self._restore(arrays)

    def take_in(self, ids: Sequence[bytes], xs: Any, ys: Any) -> None:
        painting = _InSilence(self)
        for change in self._changes(ids, xs, ys):
            painting.add(self._change(*change, painting))
        painting.finish()

    def put_together(
        self,
        ids: Sequence[bytes],
        xs: Any,
        ys: Any,
        slices: Sequence[Neighbour],
        others: Others,
    ) -> Painted:
        """Its part of a batch that all slices are given at the same time.

        `slices` answer for all of them; instead of its own this one takes itself.  A message's
        group is its place among the messages of all.
        """
        asked = [*slices[: self._number], self.held, *slices[self._number + 1 :]]
        share = PaintShare(self.k, self._boundaries, self.epsilon, self._number, asked, others)
        painting = _Together(self, share, others)
        net = {change[0]: change for change in self._changes(ids, xs, ys)}
        stays = {id: change for id, change in net.items() if id in self._objects}
        for change in sorted(stays.values(), key=lambda change: self._is_here(change[3])):
            painting.add(self._change(*change, painting))
        painting.await_all()
        for change in net.values():
            if change[0] not in stays:
                painting.add(self._change(*change, painting))
        return painting.finish()

    def _is_here(self, cell: int) -> bool:
        return (self._first is None or cell >= self._first) and (
            self._behind is None or cell < self._behind
        )

    def _change(self, id: bytes, x: float, y: float, cell: int, painting: Painting) -> list[Update]:
        if y != y or self._is_here(cell):
            return super()._change(id, x, y, cell, painting)
        if id not in self._objects:
            return []
        updates = super()._change(id, x, np.nan, cell, painting)
        painting.gone[-1] = painting.group, id, x  # it has moved there
        return updates


class _InSilence(Painting):
    """Updates of objects, of which nobody hears."""

    def add(self, updates: list[Update]) -> None:
        held = self._owner.server.objects
        for x, _, new in zip(*(c.tolist() for c in columns_of(updates)), strict=True):
            if new == new:
                held.put(x, new)
            else:
                held.remove(x)

    def flush(self) -> None:
        """Nothing waits here."""


class _Together(Painting):
    """As many rounds as the slice needs that needs the most.

    Usually that is one.  An object that goes to another slice must not be told to be gone in a
    later round than it is told to be there: so what slices have comes first, what comes to them
    afterwards, and if one slice has needed a round by then, all have it behind them.
    """

    def __init__(self, owner: NamedPaint, share: PaintShare, others: Others) -> None:
        super().__init__(owner)
        self._batch, self._share, self._others = PaintBatch(share), share, others
        self._rounds, self._may_come = 0, False

    def add(self, updates: list[Update]) -> None:
        self._updates += updates

    def await_all(self) -> None:
        """All slices have dealt with what they had."""
        while any(map(any, self._others.gather(b"\0"))):
            self._paint_added()
        self._may_come = True

    def flush(self) -> None:
        if not self._may_come:
            self._others.gather(b"\1")
        self._paint_added()

    def _paint_added(self) -> None:
        updates, self._updates = self._updates, []
        self._round(updates)

    def finish(self) -> Painted:
        self._share.is_done = True
        self.flush()
        while not self._share.all_done:
            self._round([])
        self._owner.forget_left()
        return joined(self._parts, self.gone)

    def _round(self, updates: list[Update]) -> None:
        table = self._batch.update_many(*columns_of(updates))
        group = self._share.places + self._rounds * _ROUND
        self._parts.append(self._owner.painted(table, group))
        self._rounds += 1


def boundaries_for(cuts: Any, k: int) -> list[float]:
    """Boundaries near these x, between cells; ascending, each once.

    >>> boundaries_for([5.0, 7.0, 5.0], 10)
    [5.0, 7.0]
    """
    return np.unique(floors(np.asarray(cuts, np.float64), cell_size(k))).tolist()


def part_of(arrays: NamedPaintArrays, boundaries: Sequence[float], number: int) -> NamedPaintArrays:
    """The objects of some slice that are in slice `number` by other boundaries."""
    mine = np.searchsorted(boundaries, arrays.x, side="right") == number
    ends = np.cumsum(arrays.id_lengths)
    of_bytes = np.repeat(mine, arrays.id_lengths)
    assert len(of_bytes) == (ends[-1] if len(ends) else 0)
    return arrays._replace(
        id_lengths=arrays.id_lengths[mine],
        id_data=arrays.id_data[of_bytes],
        x=arrays.x[mine],
        y=arrays.y[mine],
        rank=arrays.rank[mine],
    )


def in_one(parts: Sequence[Painted]) -> Painted:
    """What the slices say of a batch, in the order in which one server says it."""
    gone = [
        (0, id, to)
        for part in parts
        for id, to in zip(part.gone_ids, part.gone_to.tolist(), strict=True)
    ]
    said = joined(parts, gone)
    order = np.argsort(said.group, kind="stable")
    place, state = said.group[order], said.state[order]
    runs = np.append(True, (place[1:] != place[:-1]) | (state[1:] != state[:-1]))[: len(order)]
    rows, states = state[runs], said.states
    return said._replace(
        group=np.zeros(len(order), np.int64),
        state=(np.cumsum(runs) - 1).astype(np.int32),
        inner_low=said.inner_low[order],
        inner_high=said.inner_high[order],
        outer_low=said.outer_low[order],
        outer_high=said.outer_high[order],
        states=ObjectStates(
            [states.ids[row] for row in rows.tolist()], states.x[rows], states.y[rows]
        ),
    )


def best_of(parts: Sequence[FirstLists], k: int) -> FirstLists:
    """The k best objects of each range, by the lists that the slices have for it."""
    lists = [_listed(part) for part in parts]
    counts, entries = [], []
    rows: dict[Key, int] = {}
    for of_range in zip(*lists, strict=True):
        best = list(islice(merge(*of_range), k))
        counts.append(len(best))
        entries += [rows.setdefault(key, len(rows)) for key in best]
    return FirstLists(
        np.array(counts, np.int64),
        np.array(entries, np.int32),
        ObjectStates(
            [id for _, _, id in rows],
            np.array([x for _, x, _ in rows], np.float64),
            np.array([y for y, _, _ in rows], np.float64),
        ),
    )


def _listed(lists: FirstLists) -> Iterator[list[Key]]:
    """The keys of each list, best first."""
    of = lists.objects
    keys = list(zip(of.y.tolist(), of.x.tolist(), of.ids, strict=True))
    start = 0
    for count in lists.counts.tolist():
        yield [keys[row] for row in lists.states[start : start + count].tolist()]
        start += count
