"""What the experiments with interval indexes share: sizes, workloads, and matchers beside scans."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.baselines import Baseline, NumbaScan, RankedScan, columns_of
from benchmarks.measure import Timing, per_query
from benchmarks.scans import Answers
from benchmarks.workloads.zipf_intervals import Intervals, Zipf, generate
from indexes.intervals import (
    ExactMatcher,
    IRTree,
    ScoredIntervalTree,
    ScoredRTree,
    ScoredSegmentTree,
    SOPTRTree,
)
from indexes.intervals.intersection import intersect_many
from indexes.intervals.live import LiveSOPT
from indexes.intervals.relaxed import RelaxedMatcher

STRUCTURES: dict[str, Any] = {
    "interval tree": ScoredIntervalTree,
    "segment tree": ScoredSegmentTree,
    "R-tree": ScoredRTree,
    "IR-tree": IRTree,
    "SOPT-R-tree": SOPTRTree,
    "LiveSOPT": LiveSOPT,
}
_COMPARED = 20  # queries whose answers are compared before anything is timed


@dataclass(frozen=True)
class Sizes:
    subscriptions: int = 1_000_000
    queries: int = 1_000
    memory: tuple[int, ...] = (100_000, 200_000, 500_000, 1_000_000)
    getnext: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
    dimensions: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    skews: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
    seconds_of_latency: float = 8.0


QUICK = Sizes(
    subscriptions=20_000,
    queries=200,
    memory=(5_000, 10_000, 20_000),
    getnext=(1, 10, 100),
    dimensions=(1, 2, 3),
    skews=(0.0, 0.75, 1.5),
    seconds_of_latency=0.5,
)


@dataclass(frozen=True)
class Matching:
    """Exact and relaxed matching over one workload, each beside the quickest numba scan."""

    matched: float  # the share of subscriptions that an event matches exactly, on average
    exact: Timing
    exact_scan: Timing
    ranked_scan: Timing
    intersection: Timing
    relaxed: Timing
    relaxed_scan: Timing
    exact_bytes: float  # a subscription
    relaxed_bytes: float


class Lab:
    """Makes workloads and keeps what was measured, so that two tables can use it."""

    def __init__(self, sizes: Sizes, step: Callable[[str], None]) -> None:
        self.sizes, self.step = sizes, step
        self._matching: dict[tuple[int, float], Matching] = {}

    def workload(self, **changes: Any) -> Intervals:
        """The paper's defaults at this lab's sizes, but for `changes`."""
        sizes = {"subscriptions": self.sizes.subscriptions, "queries": self.sizes.queries}
        return generate(Zipf(**(sizes | changes)))

    def matching(self, dimensions: int, skew_length: float) -> Matching:
        key = dimensions, skew_length
        if key not in self._matching:
            self.step(f"matching, d = {dimensions}, skew of lengths {skew_length}")
            data = self.workload(dimensions=dimensions, skew_length=skew_length)
            self._matching[key] = measure_matching(data)
        return self._matching[key]


def build(structure: Any, data: Intervals) -> Any:
    """A structure over the first dimension; ids are row numbers."""
    columns = (table[:, 0].copy() for table in (data.lows, data.highs, data.scores))
    return structure.build(np.arange(len(data.lows)), *columns)


def measure_matching(data: Intervals, k: int = Zipf.k) -> Matching:
    columns = columns_of(data.lows, data.highs, data.scores)
    names, ids = [f"a{j}" for j in range(data.lows.shape[1])], np.arange(len(data.lows))
    exact, relaxed = ExactMatcher(names), RelaxedMatcher(names)
    exact.insert_many(ids, data.lows, data.highs, columns.scores)
    relaxed.insert_many(ids, data.lows, data.highs, data.scores)
    exact_scans = [NumbaScan(columns, "exact", blocked) for blocked in (False, True)]
    relaxed_scans = [NumbaScan(columns, "relaxed", blocked) for blocked in (False, True)]
    ranked = RankedScan(columns)
    require_same_answers(exact, [*exact_scans, ranked, _intersection(exact)], data.queries, k)
    require_same_answers(relaxed, relaxed_scans, data.queries, k)

    def timed(answer: Callable[[np.ndarray, int], object]) -> Timing:
        return per_query(lambda asked: answer(asked, k), data.queries, data.warm_up)

    return Matching(
        matched=_share_matched(data),
        exact=timed(exact.top_k_many),
        exact_scan=quickest(timed(scan) for scan in exact_scans),
        ranked_scan=timed(ranked),
        intersection=timed(_intersection(exact)),
        relaxed=timed(relaxed.top_k_many),
        relaxed_scan=quickest(timed(scan) for scan in relaxed_scans),
        exact_bytes=exact.nbytes / len(exact),
        relaxed_bytes=relaxed.nbytes / len(relaxed),
    )


def _intersection(matcher: ExactMatcher) -> Baseline:
    def answer(asked: np.ndarray, k: int) -> Answers:
        table = intersect_many(matcher, asked, k).table
        return Answers(table.ids, table.scores)

    return answer


def quickest(timings: Iterable[Timing]) -> Timing:
    return min(timings, key=lambda timing: timing.best)


def require_same_answers(
    index: Any, baselines: Sequence[Baseline], queries: np.ndarray, k: int
) -> None:
    """A ratio means something only if both do the same work."""
    asked = queries[:_COMPARED].copy()
    values = asked if hasattr(index, "attributes") else asked[:, 0].copy()
    table = index.top_k_many(values, k)
    for baseline in baselines:
        answers = baseline(asked, k)
        if not np.array_equal(table.ids, answers.ids):
            names = type(index).__name__, type(baseline).__name__
            raise RuntimeError("{} and {} give different answers".format(*names))


def _share_matched(data: Intervals) -> float:
    asked = data.queries[:_COMPARED]
    held = [((data.lows <= q) & (q <= data.highs)).all(axis=1).mean() for q in asked]
    return float(np.mean(held))
