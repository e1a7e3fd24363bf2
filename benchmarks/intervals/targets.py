"""Rows of the table of targets, and the timings behind them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.baselines import Baseline
from benchmarks.intervals.lab import Lab
from benchmarks.measure import Timing, micro, per_query, repeat
from benchmarks.workloads.zipf_intervals import Zipf

__all__ = ["Bench", "Row"]


@dataclass(frozen=True)
class Row:
    what: str
    measured: float
    least: float | None = None  # targets
    most: float | None = None
    words: str = ""
    unit: str = "x"
    unclear: bool = False  # measured under too much disturbance to judge

    def cells(self) -> list[str]:
        target, met = "-", "-"
        if self.least is not None:
            target, met = f"≥ {self.least:,g}{self.unit}", _met(self.measured >= self.least)
        elif self.most is not None:
            target, met = f"≤ {self.most:,g}{self.unit}", _met(self.measured <= self.most)
        if self.unclear:
            met = "unclear"
        digits = 0 if self.measured >= 100 else 2
        return [self.what, f"{self.measured:,.{digits}f}{self.unit}", target, met, self.words]


def _met(held: bool) -> str:
    return "met" if held else "**missed**"


class Bench:
    """Collects rows, and the timings behind them."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.rows: list[Row] = []
        self.timings: dict[str, Timing] = {}
        self.data = lab.workload(subscriptions=lab.sizes.subscriptions * 101 // 100)
        n = lab.sizes.subscriptions
        first = {name: getattr(self.data, name)[:n].copy() for name in ("lows", "highs", "scores")}
        self.million = replace(self.data, **first)

    def query(self, name: str, index: Any) -> Timing:
        self.lab.step(f"speed, {name}")
        queries, warm_up = self.data.queries[:, 0].copy(), self.data.warm_up[:, 0].copy()
        return self._keep(name, per_query(lambda v: index.top_k_many(v, Zipf.k), queries, warm_up))

    def baseline(self, name: str, baseline: Baseline) -> Timing:
        self.lab.step(f"speed, {name}")
        asked, warm_up = self.data.queries, self.data.warm_up
        return self._keep(name, per_query(lambda q: baseline(q, Zipf.k), asked, warm_up))

    def work(
        self,
        name: str,
        work: Callable[[], object],
        units: int = 1,
        before: Callable[[], object] | None = None,
    ) -> Timing:
        self.lab.step(f"speed, {name}")
        return self._keep(name, repeat(work, units, before))

    def _keep(self, name: str, timing: Timing) -> Timing:
        self.timings[name] = timing
        return timing

    def faster(self, what: str, slow: Timing, quick: Timing, least: float | None = None) -> None:
        words = f"{micro(quick.best)} against {micro(slow.best)} µs"
        self.rows.append(Row(what, slow.best / quick.best, least=least, words=words))

    def slower(self, what: str, slow: Timing, quick: Timing, most: float) -> None:
        words = f"{micro(slow.best)} against {micro(quick.best)} µs"
        self.rows.append(Row(what, slow.best / quick.best, most=most, words=words))
