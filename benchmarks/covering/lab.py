"""What the experiments with covering share: sizes, and the three indexes side by side."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import Timing
from benchmarks.workloads.random_boxes import RandomBoxes, commands
from indexes.covering import Commands, KDCover, NaiveCover, RelationGraph, ZOrderCover

__all__ = [
    "INDEXES", "KD", "PLAIN", "QUICK", "SCAN", "Z_ORDER", "Lab", "Run", "Sizes", "head", "timed",
]  # fmt: skip

SCAN, PLAIN, Z_ORDER, KD = "scan", "plain scan", "Z-order", "k-d tree"
INDEXES: dict[str, Any] = {SCAN: NaiveCover, Z_ORDER: ZOrderCover, KD: KDCover}


@dataclass(frozen=True)
class Sizes:
    live: int = 100_000
    slices: int = 30  # of the commands that are timed
    slice: int = 1_000  # commands
    asked: int = 500  # boxes
    events: int = 10_000
    routes: int = 4_000
    modes: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    mode_commands: int = 60_000
    commands: tuple[int, ...] = (10_000, 30_000, 100_000)
    attributes: tuple[int, ...] = (3, 5, 8)


QUICK = Sizes(
    live=5_000, slices=5, slice=300, asked=100, events=1_000, routes=500, modes=(1, 2, 3),
    mode_commands=2_000, commands=(1_000, 2_000), attributes=(3, 8),
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """All commands of a workload through one graph."""

    seconds: float  # of CPU
    graph: RelationGraph


class Lab:
    def __init__(self, sizes: Sizes, step: Callable[[str], None]) -> None:
        self.sizes, self.step = sizes, step
        for cls in INDEXES.values():  # compiled, or loaded, before anything is timed
            _exercise(cls)

    def run(self, name: str, workload: RandomBoxes, k: int = 1) -> Run:
        self.step(
            f"{name}, {workload.commands:,} commands, {2 * workload.attributes} dimensions, k = {k}"
        )
        given = commands(workload)
        graph = RelationGraph(INDEXES[name](workload.attributes), k)
        return Run(timed(lambda: graph.apply_many(given)).best, graph)

    def compare(self, workload: RandomBoxes, k: int = 1) -> dict[str, Run]:
        """Run all indexes; what they forward in the end has to be the same."""
        runs = {name: self.run(name, workload, k) for name in INDEXES}
        if len({run.graph.forwarded for run in runs.values()}) > 1:
            raise RuntimeError(f"the indexes forward different subscriptions of {workload}")
        return runs


def timed(work: Callable[[], object]) -> Timing:
    """Work that changes what it works on, timed a single time."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Timing((time.process_time() - cpu,), (time.perf_counter() - wall,))


def head(given: Commands, first: int, end: int) -> Commands:
    return Commands(*(column[first:end] for column in given))


def _exercise(cls: Any) -> None:
    """Everything that is timed later, on few boxes; ever greater ones have a subtree rebuilt."""
    given = commands(RandomBoxes(2, commands=500, unsubscribes=0.4))
    graph = RelationGraph(cls(2))
    graph.apply_many(given)
    graph.subscribe(10_000, [0.0, 0.0], [1.0, 1.0])
    graph.unsubscribe(10_000)
    cover = cls(2)
    highs = np.repeat(np.arange(600.0), 2).reshape(-1, 2)
    cover.insert_many(np.arange(600), -highs, highs)
    cover.covers([0.0, 0.0], [1.0, 1.0])
    cover.covers_many(-highs, highs)
    cover.delete_many(np.arange(300))
    if isinstance(cover, KDCover):
        cover.stab_many(highs)
