"""`RelationGraph`: which subscriptions a router forwards (the covering paper, §III)."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.covering.by_call import COMMAND, LEAVE, UNDONE, scratch_for
from indexes.covering.commands import (
    Change,
    Commands,
    checked_points,
    commands_of,
    net_change,
    require_order,
)
from indexes.covering.cover import Cover
from indexes.covering.edges import (
    CALLS,
    COMPARISONS,
    FORWARDED,
    LOGGED,
    MIRROR_SHORT,
    SHORT,
    VISITS,
    allocate,
    resized,
)
from indexes.covering.graph_check import check_graph, check_mirror
from indexes.covering.graph_kernels import REFUSED, apply
from indexes.covering.graph_prune import apply_pruned
from indexes.covering.kd_cover import KDCover
from indexes.covering.points import MOST_ID, box_point, one_id
from indexes.kernels.borrowed import Handle

__all__ = ["RelationGraph", "Work"]

_new_tuple = tuple.__new__
_SUBSCRIBE, _UNSUBSCRIBE = np.array([True]), np.array([False])


class Work(NamedTuple):
    """What the index was asked, and did, for one kind of command."""

    calls: int
    visited: int
    compared: int


class RelationGraph:
    """G_k over an empty cover, which belongs to the graph from then on.

    >>> graph = RelationGraph(KDCover(1))
    >>> graph.subscribe(1, [0], [5])
    Change(forward=[1], withdraw=[])
    >>> graph.subscribe(2, [1], [2])
    Change(forward=[], withdraw=[])
    >>> graph.unsubscribe(1)
    Change(forward=[2], withdraw=[1])
    """

    def __init__(self, cover: Cover, k: int = 1, prune: bool = False) -> None:
        if len(cover):
            raise ValueError(f"cover: got one of {len(cover)} boxes when an empty one was expected")
        self._cover, self._k = cover, validation.as_count("k", k, least=1)
        # Forwarded subscriptions by their negated points, where they are to be withdrawn again.
        self._mirror = KDCover(cover.dimensions) if prune else None
        self._graph = allocate(0, 0, 0)
        self._found = np.empty(0, np.int64)
        self._covered = np.empty(0, np.int64)
        self._negated = np.empty(2 * cover.dimensions)
        self._no_point = np.empty((1, 2 * cover.dimensions))  # of one that unsubscribes
        self._handle = Handle((), (), (), ())

    def __len__(self) -> int:
        return len(self._cover)

    @property
    def nbytes(self) -> int:
        scratch = (self._found, self._covered, self._negated, self._no_point)
        own = sum(array.nbytes for array in (*self._graph, *scratch))
        return own + self._cover.nbytes + (self._mirror.nbytes if self._mirror else 0)

    @property
    def forwarded(self) -> frozenset[int]:
        live = self._cover.rows.live()
        rows = live[self._graph.nodes[live, FORWARDED] == 1]
        return frozenset(self._cover.rows.store.ids[rows].tolist())

    @property
    def cover_calls(self) -> int:
        """How often the index was asked, for subscribing and unsubscribing (§III.D)."""
        return self.subscribing.calls + self.unsubscribing.calls

    @property
    def subscribing(self) -> Work:
        return self._work(0)

    @property
    def unsubscribing(self) -> Work:
        return self._work(1)

    def _work(self, kind: int) -> Work:
        state = self._graph.state
        return Work(*(int(state[field + kind]) for field in (CALLS, VISITS, COMPARISONS)))

    def subscribe(self, id: int, lows: ArrayLike, highs: ArrayLike) -> Change:
        ends = self._cover.packed(lows, highs)
        logged = UNDONE if ends is None else self._command(id, ends)
        if logged == 0:  # as most do; less than half the time of `Change([], [])`
            return _new_tuple(Change, ([], []))
        if logged != UNDONE:
            return _change(self._graph.log, logged)
        point = box_point(lows, highs, self._cover.dimensions)
        log = self._apply(one_id(id), point, _SUBSCRIBE, 1)
        return _change(log, len(log))

    def unsubscribe(self, id: int) -> Change:
        logged = self._command(id, LEAVE)
        if logged == 0:
            return _new_tuple(Change, ([], []))
        if logged != UNDONE:
            return _change(self._graph.log, logged)
        log = self._apply(one_id(id), self._no_point, _UNSUBSCRIBE, 0)
        return _change(log, len(log))

    def _command(self, id: int, ends: bytes) -> int:
        """How many entries of the log say what the command changed, or UNDONE."""
        if type(id) is not int or not 0 <= id <= MOST_ID or self._mirror is not None:
            return UNDONE
        cover, handle = self._cover, self._handle
        index, store, graph = cover.index, cover.rows.store, self._graph
        own_index, own_store, _, own_graph = handle.parts
        if own_index is not index or own_store is not store or own_graph is not graph:
            scratch = scratch_for(2 * cover.dimensions, self._found)
            handle = self._handle = Handle(index, store, scratch, graph)
        return COMMAND[type(index)](handle.address, id, ends)

    def apply_many(self, commands: Commands | Iterable[Sequence[Any]]) -> Change:
        """Carry out commands in their order, all of them or, where one is refused, none.

        The change is the net one; an id that came back, perhaps with another box, is in both lists.
        """
        dimensions = self._cover.dimensions
        if not isinstance(commands, Commands):
            commands = commands_of(commands, dimensions)
        ids, points, subscribes = checked_points(commands, dimensions)
        require_order(ids, subscribes, self._cover.rows.rows_of(ids))
        return net_change(self._apply(ids, points, subscribes, int(np.count_nonzero(subscribes))))

    def _apply(
        self, ids: np.ndarray, points: np.ndarray, subscribes: np.ndarray, more: int
    ) -> np.ndarray:
        """The log of what became of which id; `more` of the commands subscribe."""
        self._graph.state[LOGGED] = 0
        if len(self._cover) + more > len(self._graph.nodes):
            # A single command is only looked at by the kernel; none that is refused grows anything.
            require_order(ids, subscribes, self._cover.rows.rows_of(ids))
            self._reserve(more)
        done = self._go_on(ids, points, subscribes, 0)
        while done < len(ids):
            if done == REFUSED:
                require_order(ids, subscribes, self._cover.rows.rows_of(ids))
            self._make_ready()
            done = self._go_on(ids, points, subscribes, done)
        return self._graph.log[: self._graph.state[LOGGED]]

    def _go_on(self, ids: np.ndarray, points: np.ndarray, subscribes: np.ndarray, done: int) -> int:
        cover, found = self._cover, self._found
        both = (self._graph, cover.index, cover.rows.store)
        if self._mirror is None:
            return apply(*both, ids, points, subscribes, found, done)
        mirror = (self._mirror.index, self._mirror.rows.store)
        scratch = (found, self._covered, self._negated)
        return apply_pruned(*both, *mirror, ids, points, subscribes, *scratch, done)

    def _reserve(self, more: int) -> None:
        self._cover.reserve(more)
        rows = self._cover.rows.capacity
        if rows > len(self._graph.nodes):
            self._graph = resized(self._graph, rows, rows, 0)
        if len(self._found) < min(self._k, rows):
            self._found = np.empty(min(self._k, rows), np.int64)
        if self._mirror is not None and self._mirror.rows.capacity < rows:
            self._mirror.reserve(rows - len(self._mirror))
            self._covered = np.empty(self._mirror.rows.capacity, np.int64)

    def _make_ready(self) -> None:
        """Whatever the next command lacks."""
        short, mirror_short = (int(self._graph.state[field]) for field in (SHORT, MIRROR_SHORT))
        if short:
            edges, log = len(self._graph.edges), len(self._graph.log)
            more = max(short, edges // 2)
            self._graph = resized(self._graph, 0, edges + more, log + more)
        self._cover.make_ready()
        if self._mirror is not None:
            self._mirror.make_ready()
            if mirror_short:
                self._mirror.grow(2 * mirror_short)

    def check(self) -> None:
        """Raise `AssertionError` unless every invariant holds."""
        self._cover.check()
        self._handle.check()
        check_graph(self._graph, self._cover.rows, self._k)
        if self._mirror is not None:
            self._mirror.check()
            check_mirror(self._graph, self._cover, self._mirror)


def _change(log: np.ndarray, logged: int) -> Change:
    """What so many entries of the log say, all of one command."""
    change = Change([], [])
    for id, what in log[:logged].tolist():
        change[what < 0].append(id)
    change.forward.sort()
    change.withdraw.sort()
    return change
