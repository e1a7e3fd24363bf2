"""The experiments of Sadoghi and Jacobsen, Relevance Matters, §VII, as tables and plots."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.boolean.lab import INDEXES, OURS, K, Lab, Measured
from benchmarks.measure import micro
from benchmarks.report import Plot, Section, Table
from benchmarks.workloads.begen import BETWEENS, EQUALITIES, MIXED, BEGen

__all__ = [
    "cardinality", "construction", "dimensions", "operators", "probability", "size", "topk",
]  # fmt: skip

_TIMES = (
    f"Times are microseconds an event for the {K} best, the best CPU time of the repetitions; the"
    " answers of all indexes were compared first. Every index is built from all subscriptions at"
    " once."
)
_OPERATORS: Mapping[str, Mapping[str, float]] = {
    "=": EQUALITIES,
    "between": BETWEENS,
    "all nine": MIXED,
    "< <= > >=": dict.fromkeys(("<", "<=", ">", ">="), 0.25),
}
_SKEWS = {"uniform": 0.0, "zipf": 1.0}


def size(lab: Lab) -> Section:
    return _sweep(
        lab, "size", "Workload size", "subscriptions", lab.sizes.sizes,
        lambda n: {"subscriptions": n}, log_x=True,
    )  # fmt: skip


def dimensions(lab: Lab) -> Section:
    return _sweep(
        lab, "dimensions", "Space dimensionality", "dimensions", lab.sizes.dimensions,
        lambda d: {"dimensions": d, "subscriptions": lab.sizes.sweep}, log_x=True,
    )  # fmt: skip


def cardinality(lab: Lab) -> Section:
    return _sweep(
        lab, "cardinality", "Dimension cardinality", "cardinality", lab.sizes.cardinalities,
        lambda c: {"cardinality": c, "subscriptions": lab.sizes.smaller, "reach": 2.0 / c},
        log_x=True,
    )  # fmt: skip


def probability(lab: Lab) -> Section:
    return _sweep(
        lab, "probability", "Match probability", "match probability", lab.sizes.probabilities,
        lambda p: {"match_probability": p, "subscriptions": lab.sizes.sweep}, log_x=True,
    )  # fmt: skip


def operators(lab: Lab) -> Section:
    """Every predicate has an operator of the mix; ranges reach a tenth of the domain."""
    taken = {
        name: lab.compare(
            lab.workload(
                dimensions=20, event_size=20, predicates=5, cardinality=1_000, clusters=0,
                match_probability=0.0, operators=mix, reach=0.1,
                subscriptions=lab.sizes.sweep,
            )
        )
        for name, mix in _OPERATORS.items()
    }  # fmt: skip
    words = (
        f"{lab.sizes.sweep:,} subscriptions of 5 predicates over 20 attributes of 1,000"
        " values, all of which an event has; nothing is derived from the events. Where there is no"
        f" equality, buckets are a scan. {_TIMES}"
    )
    return Section("boolean_operators", "Operators", words, [_table("operators", taken)])


def topk(lab: Lab) -> Section:
    """Figure 9: the best, the five best, and all matches."""
    ks, rows = (1, 5), []
    lines: dict[str, list[float]] = {"all matches": [], "top 5": [], "top 1": []}
    for p in lab.sizes.probabilities:
        workload = lab.workload(match_probability=p, subscriptions=lab.sizes.sweep)
        measured = lab.compare(workload, (OURS,), ks)[OURS]
        assert measured.all_matches is not None
        every = measured.all_matches.best
        times = [every, measured.top[5].best, measured.top[1].best]
        for line, time in zip(lines.values(), times, strict=True):
            line.append(time * 1e6)
        saved = [f"{1 - time / every:.0%}" for time in times[1:]]
        rows.append(
            [f"{p:.2%}", f"{measured.matches:,.0f}", *(micro(time) for time in times), *saved]
        )
    header = ["match probability", "matches", *lines, "saved by top 5", "saved by top 1"]
    words = (
        f"{lab.sizes.sweep:,} subscriptions, the BE*-tree alone, microseconds an event."
        " All matches are listed by id; the paper's top 1 saves 70 % and more at 9 %."
    )
    plot = Plot("boolean_topk", "match probability", "µs an event", lab.sizes.probabilities,
                lines, log_x=True)  # fmt: skip
    return Section(
        "boolean_topk", "Top k against all matches", words, [Table(header, rows)], [plot]
    )


def construction(lab: Lab) -> Section:
    """Table II(b), and memory."""
    rows = []
    for name, skew in _SKEWS.items():
        # What the workload sizes have measured already.
        workload = lab.workload(skew=skew, subscriptions=max(lab.sizes.sizes))
        for index, m in lab.compare(workload).items():
            rows.append([name, index, f"{m.built.best:.2f}", f"{m.nbytes:.0f}"])
    words = (
        f"{max(lab.sizes.sizes):,} subscriptions of 8 predicates from arrays (`from_arrays`):"
        " seconds of CPU, and bytes a subscription (`nbytes`). The paper: 2.30 s (uniform) and"
        " 2.45 s (Zipf) for a million. The k-index makes its lists when it is first asked, which"
        " is not counted here."
    )
    header = ["workload", "index", "seconds", "bytes a subscription"]
    title = "Construction time and memory"
    return Section("boolean_construction", title, words, [Table(header, rows, prose=1)])


def _sweep(
    lab: Lab,
    name: str,
    title: str,
    label: str,
    values: Sequence[Any],
    changes: Callable[[Any], dict[str, Any]],
    log_x: bool = False,
) -> Section:
    tables, plots = [], []
    for kind, skew in _SKEWS.items():
        taken = {}
        for value in values:
            workload: BEGen = lab.workload(skew=skew, **changes(value))
            taken[f"{value:,}" if value >= 1 else f"{value:.2%}"] = lab.compare(workload)
        tables.append(_table(f"{label}, {kind}", taken))
        lines = {
            index: [measured[index].top[K].best * 1e6 for measured in taken.values()]
            for index in INDEXES
        }
        where = f"boolean_{name}_{kind}"
        plots.append(Plot(where, label, "µs an event", values, lines, log_x=log_x))
    drawn = "Table III, attributes drawn evenly and by a Zipf law"
    words = f"{drawn}; {lab.sizes.sweep:,} subscriptions unless the table says otherwise. {_TIMES}"
    return Section(f"boolean_{name}", title, words, tables, plots)


def _table(label: str, taken: Mapping[str, Mapping[str, Measured]]) -> Table:
    others = [name for name in INDEXES if name != OURS]
    header = [label, "matches", *INDEXES, *(f"/ {name}" for name in others), "read"]
    rows = []
    for value, measured in taken.items():
        ours = measured[OURS]
        rows.append(
            [
                value,
                f"{ours.matches:,.1f}",
                *(micro(m.top[K].best) for m in measured.values()),
                *(f"{measured[name].top[K].best / ours.top[K].best:,.1f}x" for name in others),
                f"{ours.looked_at:,.0f}",
            ]
        )
    return Table(header, rows)
