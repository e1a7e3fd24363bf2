"""What the experiments with Boolean expressions share: sizes, workloads, indexes side by side."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import Timing, joined, repeat
from benchmarks.workloads.begen import BEGen, Workload, generate
from indexes.boolean import BEStarTree, BETree, Buckets, EncodedEvents, KIndex, Scan
from indexes.hits import HitTable

INDEXES: dict[str, Any] = {
    "scan": Scan,
    "buckets": Buckets,
    "k-index": KIndex,
    "BE-tree": BETree,
    "BE*-tree": BEStarTree,
}
OURS = "BE*-tree"
K = 10
_COMPARED = 20  # events whose answers are compared before anything is timed
_MOST_S = 0.3  # that one repetition may take
_ALL = 0  # in place of k: all matches


@dataclass(frozen=True)
class Sizes:
    subscriptions: int = 1_000_000
    sweep: int = 200_000  # where one property after another is varied
    smaller: int = 100_000  # where the paper has 100K
    events: int = 500
    turns: int = 6  # of asking one index after another, each with all repetitions
    sizes: tuple[int, ...] = (50_000, 200_000, 1_000_000)
    dimensions: tuple[int, ...] = (50, 400, 1_400)
    cardinalities: tuple[int, ...] = (2_500, 250_000, 250_000_000)
    probabilities: tuple[float, ...] = (0.0001, 0.001, 0.01, 0.09)


QUICK = Sizes(
    subscriptions=10_000,
    sweep=10_000,
    smaller=5_000,
    events=50,
    turns=1,
    sizes=(2_000, 10_000),
    dimensions=(50, 400),
    cardinalities=(2_500, 250_000_000),
    probabilities=(0.001, 0.09),
)


@dataclass(frozen=True)
class Measured:
    """One index over one workload; times are of one event."""

    top: dict[int, Timing]  # by k
    all_matches: Timing | None
    matches: float  # an event, on average
    looked_at: float  # subscriptions an event, for the k best
    nbytes: float  # a subscription
    built: Timing


class _Built(NamedTuple):
    index: Any
    taken: Timing

    def looked_at(self, events: EncodedEvents) -> float:
        before = self.index.visited
        self.index.top_k_many(events, K)
        return float(self.index.visited - before) / (len(events.starts) - 1)

    def matches(self, events: EncodedEvents) -> float:
        starts, _ = self.index._matches(events)
        return float(starts[-1]) / (len(events.starts) - 1)


class Lab:
    """Makes workloads and keeps what was measured, so that two tables can use it."""

    def __init__(self, sizes: Sizes, step: Callable[[str], None]) -> None:
        self.sizes, self.step = sizes, step
        self._measured: dict[tuple[str, str, tuple[int, ...]], Measured] = {}
        self._workload: tuple[BEGen, Workload] | None = None
        self._answers: dict[str, HitTable] = {}  # by workload

    def workload(self, **changes: Any) -> BEGen:
        """The paper's defaults at this lab's sizes, but for `changes`."""
        return replace(
            BEGen(subscriptions=self.sizes.subscriptions, events=self.sizes.events), **changes
        )

    def data(self, workload: BEGen) -> Workload:
        if self._workload is None or self._workload[0] != workload:
            self._workload = None
            self._workload = workload, generate(workload)
        return self._workload[1]

    def compare(
        self, workload: BEGen, names: tuple[str, ...] = tuple(INDEXES), ks: tuple[int, ...] = (K,)
    ) -> dict[str, Measured]:
        """Measure indexes over one workload, after their answers were found to be the same."""
        keys = {name: (name, repr(workload), ks) for name in names}
        new = [name for name, key in keys.items() if key not in self._measured]
        if new:
            built = {name: self._built(workload, name) for name in new}
            self.step(f"asking {', '.join(new)}")
            for name, measured in self._measure(workload, built, ks).items():
                self._measured[keys[name]] = measured
        return {name: self._measured[key] for name, key in keys.items()}

    def _built(self, workload: BEGen, name: str) -> _Built:
        self.step(f"{name}, {workload.subscriptions:,} subscriptions")
        data, cls = self.data(workload), INDEXES[name]
        index = cls.from_arrays(first_rows(data, 100).arrays)  # compiles
        index.top_k_many(head(data.events, 2), K)
        made: list[Any] = []

        def build() -> None:
            made.clear()
            gc.collect()
            made.append(cls.from_arrays(data.arrays))

        slow = workload.subscriptions > 200_000
        taken = once(build) if slow else repeat(build)
        index = made.pop()
        self._require_same(workload, name, index.top_k_many(head(data.events, _COMPARED), K))
        return _Built(index, taken)

    def _measure(
        self, workload: BEGen, built: dict[str, _Built], ks: tuple[int, ...]
    ) -> dict[str, Measured]:
        """In turns: what disturbs the machine for a while is to meet all indexes."""
        events = self.data(workload).events
        ways = {name: {k: partial(_top_k, one.index, k) for k in ks} for name, one in built.items()}
        looked_at = {name: one.looked_at(head(events, _COMPARED)) for name, one in built.items()}
        matches = {name: one.matches(head(events, _COMPARED)) for name, one in built.items()}
        if OURS in built:
            ways[OURS][_ALL] = built[OURS].index._matches
        turns = [
            {
                name: {k: per_event(ask, events) for k, ask in own.items()}
                for name, own in ways.items()
            }
            for _ in range(self.sizes.turns)
        ]
        taken = {
            name: {k: joined(turn[name][k] for turn in turns) for k in own}
            for name, own in ways.items()
        }
        return {
            name: Measured(
                top={k: taken[name][k] for k in ks},
                all_matches=taken[name].get(_ALL),
                matches=matches[name],
                looked_at=looked_at[name],
                nbytes=one.index.nbytes / len(one.index),
                built=one.taken,
            )
            for name, one in built.items()
        }

    def _require_same(self, workload: BEGen, name: str, answers: HitTable) -> None:
        key = repr(workload)
        wanted = self._answers.setdefault(key, answers)
        if not (
            np.array_equal(wanted.ids, answers.ids)
            and np.array_equal(wanted.scores, answers.scores, equal_nan=True)
        ):
            raise RuntimeError(f"{name} gives other answers than what was measured before it")


def _top_k(index: Any, k: int, events: EncodedEvents) -> HitTable:
    return index.top_k_many(events, k)


def head(events: EncodedEvents, count: int) -> EncodedEvents:
    end = events.starts[min(count, len(events.starts) - 1)]
    return events._replace(
        starts=events.starts[: count + 1],
        columns=events.columns[:end],
        values=events.values[:end],
        weights=events.weights[:end],
    )


def first_rows(data: Workload, count: int) -> Workload:
    a = data.arrays
    end = int(a.counts[:count].sum())
    rows = {name: getattr(a, name)[:count] for name in ("ids", "counts")}
    names = ("columns", "kinds", "weights", "firsts", "seconds")
    predicates = {name: getattr(a, name)[:end] for name in names}
    return Workload(a._replace(**rows, **predicates), data.events)


def once(work: Callable[[], object]) -> Timing:
    """Work that takes seconds, timed a single time."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Timing((time.process_time() - cpu,), (time.perf_counter() - wall,))


def per_event(answer: Callable[[EncodedEvents], object], events: EncodedEvents) -> Timing:
    """Time one batch; of slow answers only as many events as take about `_MOST_S`."""
    few = head(events, 5)
    answer(few)
    seconds = once(lambda: answer(few)).best / (len(few.starts) - 1)
    count = min(len(events.starts) - 1, max(10, int(_MOST_S / max(seconds, 1e-9))))
    asked = head(events, count)
    return repeat(lambda: answer(asked), units=len(asked.starts) - 1)
