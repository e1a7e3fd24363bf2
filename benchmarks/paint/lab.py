"""What the experiments with Paint share: sizes, servers of one workload, and who receives what."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workloads.paint_objects import Events, Objects, Ranges, events, objects, ranges
from indexes.paint import (
    CNRelax,
    MessageTable,
    PaintBatch,
    PaintDense,
    PaintSparse,
    SubscriptionIndex,
    Unicast,
)

__all__ = [
    "QUICK", "Lab", "Received", "Sizes", "World", "candidates", "received", "rectangles", "seconds",
]  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    objects: int = 10_000
    subscriptions: int = 2_000_000
    events: int = 50_000
    runs: int = 32  # of objects and events anew, because single ones differ much in Table I
    checked: int = 300  # events through all servers, whose answers have to agree
    ks: tuple[int, ...] = (1, 2, 5, 10, 15, 20)
    table_iv: tuple[int, ...] = (200_000, 800_000, 2_000_000, 4_000_000, 10_000_000)
    stock_subscriptions: int = 400_000
    stock_events: int = 60_000
    trend_events: int = 5_000
    many: int = 10_000_000  # subscriptions that are nearly dense
    batches: tuple[int, ...] = (10, 100, 1_000, 10_000, 50_000)
    batch_ks: tuple[int, ...] = (1, 5, 10, 20)
    servers: int = 100
    server_objects: int = 100_000
    server_events: int = 400
    server_ks: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100)
    boxes: int = 50_000  # updates in 1.5 dimensions
    box_ks: tuple[int, ...] = (1, 2, 5, 10, 15)
    speed: tuple[int, ...] = (10_000, 100_000, 1_000_000, 2_000_000, 4_000_000)
    speed_at: int = 1_000_000
    speed_events: int = 2_000
    sorted_sets: tuple[int, ...] = (1_000, 10_000)
    sorted_events: int = 50


QUICK = Sizes(
    objects=1_000, subscriptions=20_000, events=500, runs=2, checked=50,
    ks=(1, 5), table_iv=(2_000, 20_000), stock_subscriptions=4_000, stock_events=500,
    trend_events=200, many=40_000, batches=(10, 100), batch_ks=(1, 5), servers=10,
    server_objects=1_000, server_events=10, server_ks=(1, 10), boxes=20, box_ks=(1, 2),
    speed=(1_000, 10_000), speed_at=10_000, speed_events=50, sorted_sets=(100,), sorted_events=10,
)  # fmt: skip


class Received(NamedTuple):
    """Messages received by subscriptions, all events together."""

    updated: int  # with the object that the event updates: affected subscriptions, once each
    all: int  # with exposed objects, too


@dataclass(frozen=True)
class World:
    """Objects, the updates that they go through, and the subscriptions."""

    objects: Objects
    events: Events
    index: SubscriptionIndex

    def server(self, cls: Any, k: int, epsilon: float | None = None) -> Any:
        """A server that has the objects, and shares the index if it keeps one."""
        server = cls(k, epsilon)
        server.load(self.objects.pairs)
        if hasattr(server, "subscriptions"):
            server.subscriptions = self.index  # to build millions of them anew takes seconds
        return server

    def run(self, cls: Any, k: int, epsilon: float | None = None, count: int = -1) -> Any:
        """A server after the updates, or the first so many, and its messages."""
        server = self.server(cls, k, epsilon)
        asked = self.events if count < 0 else self.events.head(count)
        return server, server.update_many(*asked)


class Lab:
    def __init__(self, sizes: Sizes, step: Callable[[str], None]) -> None:
        self.sizes, self.step = sizes, step
        self._indexes: dict[tuple[int, str, float], SubscriptionIndex] = {}
        _exercise()  # compiled, or loaded, before anything is timed

    def index(self, count: int, kind: str = "uniform", spread: float = 1.0) -> SubscriptionIndex:
        """So many subscriptions; the last index is kept."""
        asked = (count, kind, spread)
        if asked not in self._indexes:
            self.step(f"{count:,} {kind} subscriptions")
            self._indexes = {asked: indexed(ranges(count, np.random.default_rng(1), kind, spread))}
        return self._indexes[asked]

    def world(self, index: SubscriptionIndex, seed: int = 0, clustered: bool = False) -> World:
        rng = np.random.default_rng([2, seed])
        start = objects(self.sizes.objects, rng, clustered)
        return World(start, events(start, self.sizes.events, rng), index)

    def check(self, world: World, k: int) -> None:
        """All exact servers have to reach the same subscriptions by the first events."""
        count, (xs, _, _) = self.sizes.checked, world.events
        told = world.run(PaintDense, k, count=count)[1]
        sparse = world.run(PaintSparse, k, count=count)[1]
        unicast, alone = world.run(Unicast, k, count=count)
        found = [received(world.index, table, xs) for table in (told, sparse)]
        found.append(Received(int((alone.x == xs[alone.event]).sum()), len(alone.x)))
        if len(set(found)) > 1:
            raise RuntimeError(f"k = {k}: got {found} received when the same were expected")
        counted = int(candidates(world.index, told, xs[:count]).sum())
        if unicast.calls.min_y != counted:
            raise RuntimeError(f"k = {k}: {unicast.calls} when {counted} candidates were expected")


def indexed(asked: Ranges) -> SubscriptionIndex:
    index = SubscriptionIndex()
    index.insert_many(np.arange(len(asked.lows)), *asked)
    return index


def rectangles(table: MessageTable) -> np.ndarray:
    """The closed rectangles of messages, f8[m, 4]; an infinite outer bound is none."""
    low, high = table.outer_low, table.outer_high
    low = np.where(np.isinf(low), low, np.nextafter(low, np.inf))
    high = np.where(np.isinf(high), high, np.nextafter(high, -np.inf))
    return np.column_stack([low, table.inner_low, table.inner_high, high])


def received(index: SubscriptionIndex, table: MessageTable, xs: np.ndarray) -> Received:
    """How many messages subscriptions receive; `xs` has the updated object of each event."""
    counts = index.count_many(rectangles(table))
    return Received(int(counts[table.x == xs[table.event]].sum()), int(counts.sum()))


def candidates(index: SubscriptionIndex, dense: MessageTable, xs: np.ndarray) -> np.ndarray:
    """The subscriptions that `Unicast` processes for each event, from the messages of PaintDense.

    The influence interval is as wide as the tiles of the updated object together.
    """
    own = dense.x == xs[dense.event]
    low, high = np.full(len(xs), np.inf), np.full(len(xs), -np.inf)
    np.minimum.at(low, dense.event[own], dense.outer_low[own])
    np.maximum.at(high, dense.event[own], dense.outer_high[own])
    told = low <= high  # others changed nothing
    x, nobody = xs[told], np.zeros(int(told.sum()))
    event = np.flatnonzero(told)
    table = MessageTable(event, x, x, low[told], high[told], x, nobody)
    return index.count_many(rectangles(table))


def seconds(
    work: Callable[[], object], turns: int, before: Callable[[], object] = lambda: None
) -> float:
    """The best CPU time of so many turns."""
    best = np.inf
    for _ in range(turns):
        before()
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def _exercise() -> None:
    rng = np.random.default_rng(0)
    start = objects(50, rng)
    small = World(start, events(start, 20, rng), indexed(ranges(100, rng)))
    for cls in (PaintDense, PaintSparse, Unicast, CNRelax):
        small.run(cls, 2)
    for cls in (PaintDense, PaintSparse):
        PaintBatch(small.server(cls, 2)).update_many(*small.events)
