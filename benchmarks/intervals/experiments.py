"""Experiments 1 to 4 of Machanavajjhala et al., Scalable Ranked Publish/Subscribe, §4."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.intervals.lab import STRUCTURES, Lab, Matching, build
from benchmarks.measure import Timing, micro, per_query
from benchmarks.report import Plot, Section, Table
from benchmarks.workloads.zipf_intervals import Zipf

__all__ = ["dimensions", "getnext", "memory", "overlap"]

_PAPER_MB = {"interval tree": "8.3", "segment tree": "429", "R-tree": "12", "IR-tree": "16.5"}
_TIMES = (
    "Times are microseconds a query: the best CPU time of the repetitions, each over as many of"
    " the queries as take about 0.3 s, and at least 10."
)

Taken = Mapping[str, Mapping[Any, Timing]]


def memory(lab: Lab) -> Section:
    sizes = lab.sizes.memory
    megabytes: dict[str, list[float]] = {name: [] for name in STRUCTURES}
    for n in sizes:
        lab.step(f"memory, {n:,} subscriptions")
        data = lab.workload(subscriptions=n, queries=1)
        for name, structure in STRUCTURES.items():
            megabytes[name].append(build(structure, data).nbytes / 1e6)
    header = ["MB", *(f"{n:,}" for n in sizes), "bytes a subscription", "the paper's, 1,000,000"]
    rows = [
        [name, *(f"{size:.1f}" for size in used), _bytes(used, sizes), _PAPER_MB.get(name, "-")]
        for name, used in megabytes.items()
    ]
    words = (
        "Every array that a structure owns (`nbytes`), one dimension. An interval itself is 32"
        " bytes here: two ends, a score and an id of 8 bytes each. The paper's figures, the growth"
        " of a Java heap, come to 8 to 17 bytes for all but the segment tree, less than that: they"
        " are there to compare structures with each other."
    )
    plot = Plot("intervals_memory", "subscriptions", "MB", sizes, {**megabytes}, log_x=True)
    return Section("intervals_memory", "Experiment 1: memory", words, [Table(header, rows)], [plot])


def getnext(lab: Lab) -> Section:
    data = lab.workload()
    values, warm_up = data.queries[:, 0].copy(), data.warm_up[:, 0].copy()
    indexes = {}
    for name, structure in STRUCTURES.items():
        lab.step(f"getnext, building the {name}")
        indexes[name] = build(structure, data)
    taken: dict[str, dict[int, Timing]] = {name: {} for name in STRUCTURES}
    for k in lab.sizes.getnext:
        lab.step(f"getnext, k = {k:,}")
        for name, index in indexes.items():
            answer = _top_k(index, k)
            taken[name][k] = per_query(answer, values, warm_up)
    words = (
        f"{len(data.lows):,} subscriptions, one dimension, {len(values):,} queries by one"
        f" `top_k_many` with k from {lab.sizes.getnext[0]} to {lab.sizes.getnext[-1]:,}: so many"
        f" getnext() calls a query. {_TIMES}"
    )
    table = _matrix("getnext() calls", taken, lab.sizes.getnext)
    plot = _plot("intervals_getnext", "getnext() calls", lab.sizes.getnext, taken, log_x=True)
    title = "Experiment 2: number of getnext() calls"
    return Section("intervals_getnext", title, words, [table, _spread(taken)], [plot])


def dimensions(lab: Lab) -> Section:
    measured = {d: lab.matching(d, Zipf.skew_length) for d in lab.sizes.dimensions}
    words = (
        f"{lab.sizes.subscriptions:,} subscriptions, k = {Zipf.k}, beside the quicker of two tight"
        f" numba scans (plain and blocked). {_TIMES} A `scan by rank` reads subscriptions that are"
        " kept in rank order and stops at the k-th match: quick where much matches, but it takes"
        " no updates. `intersection` is the paper's way: the IR-trees of all attributes, read in"
        " score order and intersected."
    )
    return _matching_section("dimensions", "d", "Experiment 3: dimensions", words, measured)


def overlap(lab: Lab) -> Section:
    d = min(4, max(lab.sizes.dimensions))
    measured = {skew: lab.matching(d, skew) for skew in lab.sizes.skews}
    taken: dict[str, dict[float, Timing]] = {name: {} for name in STRUCTURES}
    for skew in lab.sizes.skews:
        lab.step(f"overlap in one dimension, skew of lengths {skew}")
        data = lab.workload(skew_length=skew)
        for name, structure in STRUCTURES.items():
            answer = _top_k(build(structure, data), Zipf.k)
            queries, warm_up = data.queries[:, 0].copy(), data.warm_up[:, 0].copy()
            taken[name][skew] = per_query(answer, queries, warm_up)
    words = (
        f"{lab.sizes.subscriptions:,} subscriptions, k = {Zipf.k}, d = {d}, then every structure"
        f" in one dimension. The greater the skew, the shorter the intervals. {_TIMES}"
    )
    name = "skew of lengths"
    section = _matching_section("overlap", name, "Experiment 4: overlap", words, measured)
    table = _matrix(name, taken, lab.sizes.skews, "In one dimension:")
    plot = _plot("intervals_overlap_structures", name, lab.sizes.skews, taken)
    return Section(
        section.name,
        section.title,
        words,
        [section.tables[0], table, section.tables[1], _spread(taken)],
        [*section.plots, plot],
    )


def _bytes(megabytes: list[float], sizes: tuple[int, ...]) -> str:
    return f"{megabytes[-1] * 1e6 / sizes[-1]:.1f}"


def _top_k(index: Any, k: int) -> Callable[[np.ndarray], object]:
    return lambda values: index.top_k_many(values, k)


def _matrix(
    what: str,
    taken: Taken,
    keys: tuple[float, ...],
    caption: str = "",
) -> Table:
    rows = [[f"{key:,}", *(micro(times[key].best) for times in taken.values())] for key in keys]
    return Table([what, *taken], rows, caption)


def _plot(
    name: str,
    what: str,
    keys: tuple[float, ...],
    taken: Taken,
    log_x: bool = False,
) -> Plot:
    lines = {label: [t.best * 1e6 for t in times.values()] for label, times in taken.items()}
    return Plot(name, what, "microseconds a query", keys, lines, log_x)


def _matching_section(
    short: str, what: str, title: str, words: str, measured: Mapping[Any, Matching]
) -> Section:
    header = [what, "matched", "exact", "scan", "faster", "scan by rank", "intersection"]
    header += ["relaxed", "scan", "faster", "bytes exact", "bytes relaxed"]
    rows = [[f"{key:,}", *_cells(m)] for key, m in measured.items()]
    taken = {
        "exact matcher": {key: m.exact for key, m in measured.items()},
        "exact, numba scan": {key: m.exact_scan for key, m in measured.items()},
        "exact, scan by rank": {key: m.ranked_scan for key, m in measured.items()},
        "exact, intersection": {key: m.intersection for key, m in measured.items()},
        "relaxed matcher": {key: m.relaxed for key, m in measured.items()},
        "relaxed, numba scan": {key: m.relaxed_scan for key, m in measured.items()},
    }
    plot = _plot(f"intervals_{short}", what, tuple(measured), taken)
    tables = [Table(header, rows), _spread(taken)]
    return Section(f"intervals_{short}", title, words, tables, [plot])


def _cells(m: Matching) -> list[str]:
    exact = m.exact_scan.best / m.exact.best
    relaxed = m.relaxed_scan.best / m.relaxed.best
    return [
        f"{100 * m.matched:.1f} %",
        micro(m.exact.best),
        micro(m.exact_scan.best),
        f"{exact:,.1f}x",
        micro(m.ranked_scan.best),
        micro(m.intersection.best),
        micro(m.relaxed.best),
        micro(m.relaxed_scan.best),
        f"{relaxed:,.1f}x",
        f"{m.exact_bytes:.0f}",
        f"{m.relaxed_bytes:.0f}",
    ]


def _spread(taken: Taken) -> Table:
    """All of what was timed: the best, and how much repetitions differ."""
    rows = [
        [f"{name}, {key:,}", *spread(timing)]
        for name, times in taken.items()
        for key, timing in times.items()
    ]
    return Table(SPREAD, rows, "Best, and mean ± standard deviation, in microseconds:")


SPREAD = ["", "CPU", "CPU mean", "wall", "wall mean"]


def spread(timing: Timing) -> list[str]:
    cells = []
    for seconds in (timing.cpu, timing.wall):
        mean, deviation = np.mean(seconds), np.std(seconds, ddof=1)
        cells += [micro(min(seconds)), f"{micro(float(mean))} ± {micro(float(deviation))}"]
    return cells
