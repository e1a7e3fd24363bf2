"""The targets for interval indexes, each beside what it is measured against."""

from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.baselines import (
    Baseline,
    Ncls,
    NumbaScan,
    NumpyScan,
    RankedScan,
    SuperIntervals,
    columns_of,
)
from benchmarks.intervals.experiments import SPREAD, spread
from benchmarks.intervals.lab import Lab, build, quickest, require_same_answers
from benchmarks.intervals.latency import BATCH, BATCHES_S, TURNS, measure_latencies
from benchmarks.intervals.targets import Bench, Row
from benchmarks.measure import Timing, micro
from benchmarks.report import Section, Table
from benchmarks.workloads.zipf_intervals import Zipf
from indexes.intervals import IRTree, SOPTRTree
from indexes.intervals.live import LiveSOPT

__all__ = ["speed"]

_BATCH = 10_000  # subscriptions an insertion or a score update in bulk
_BATCHES = 10
_FRAME = 100  # events a query, for latencies


def speed(lab: Lab) -> Section:
    bench = Bench(lab)
    sopt = build(SOPTRTree, bench.million)
    sopt_time = bench.query("SOPT-R-tree, a query", sopt)
    _against_baselines(bench, sopt, sopt_time)
    ir_tree = build(IRTree, bench.million)
    ir_time = bench.query("IR-tree, a query", ir_tree)
    bench.slower("IR-tree against SOPT, a query", ir_time, sopt_time, most=3)
    live_time = bench.query("LiveSOPT, a query", _aged(bench))
    bench.slower("LiveSOPT, 1 % delta, 1 % tombstones, against SOPT", live_time, sopt_time, most=2)
    _memory(bench, sopt, ir_tree)
    _builds(bench)
    _updates(bench, ir_tree)
    _matching(bench)
    _latency(bench)
    n, m = lab.sizes.subscriptions, lab.sizes.queries
    words = (
        f"{n:,} subscriptions, up to {m:,} queries in one call, k = {Zipf.k}, the paper's defaults."
        " A ratio is of the best CPU times of its repetitions; the answers of both sides were"
        " compared first. Latencies are wall time, which other work on the machine lengthens."
    )
    if n != Zipf.subscriptions:
        words += f" **The targets are for {Zipf.subscriptions:,} subscriptions, not for {n:,}.**"
    header = ["", "measured", "target", "", "in plain words"]
    rows = [[name, *spread(timing)] for name, timing in bench.timings.items()]
    details = Table(SPREAD, rows, "Best, and mean ± standard deviation, in microseconds:")
    table = Table(header, [row.cells() for row in bench.rows], prose=4)
    return Section("intervals_speed", "Interval indexes: the targets", words, [table, details])


def _against_baselines(bench: Bench, sopt: SOPTRTree, sopt_time: Timing) -> None:
    columns = columns_of(bench.million.lows, bench.million.highs, bench.million.scores)
    plain, blocked = (NumbaScan(columns, "exact", blocked) for blocked in (False, True))
    others: dict[str, tuple[Baseline, float | None]] = {
        "numpy scan + argpartition": (NumpyScan(columns), 2_000),
        "superintervals + numpy top-k": (SuperIntervals(columns), 50),
        "ncls + numpy top-k": (Ncls(columns), 50),
        "numba scan by rank, stopped at the k-th match": (RankedScan(columns), None),
    }
    compared: list[Baseline] = [plain, blocked, *(baseline for baseline, _ in others.values())]
    require_same_answers(sopt, compared, bench.data.queries, Zipf.k)
    scan = quickest(
        bench.baseline(f"{name} numba scan with a heap, a query", baseline)
        for name, baseline in (("plain", plain), ("blocked", blocked))
    )
    bench.faster("SOPT against the quicker numba scan with a heap", scan, sopt_time, least=800)
    for name, (baseline, least) in others.items():
        time = bench.baseline(f"{name}, a query", baseline)
        bench.faster(f"SOPT against {name}", time, sopt_time, least)
    _with_other_scores(bench)


def _with_other_scores(bench: Bench) -> None:
    """The case that suits a scan by rank best: long intervals are among the best, too."""
    scores = np.random.default_rng(4).random(bench.million.scores.shape)
    data = replace(bench.million, scores=scores)
    scan, sopt = RankedScan(columns_of(data.lows, data.highs, scores)), build(SOPTRTree, data)
    require_same_answers(sopt, [scan], data.queries, Zipf.k)
    quick = bench.query("SOPT-R-tree, random scores, a query", sopt)
    slow = bench.baseline("numba scan by rank, random scores, a query", scan)
    bench.faster("SOPT against a numba scan by rank, random scores", slow, quick)


def _aged(bench: Bench) -> LiveSOPT:
    """One in a hundred deleted, and as many inserted, since the base was built."""
    index, n = build(LiveSOPT, bench.million), bench.lab.sizes.subscriptions
    gone = np.random.default_rng(1).choice(n, n // 100, replace=False)
    data, new = bench.data, np.arange(n, len(bench.data.lows))
    index.delete_many(gone)
    index.insert_many(new, data.lows[new, 0], data.highs[new, 0], data.scores[new, 0])
    kept = np.setdiff1d(np.arange(len(data.lows)), gone)
    columns = (table[kept, 0] for table in (data.lows, data.highs, data.scores))
    wanted = SOPTRTree.build(kept, *columns).top_k_many(data.queries[:, 0], Zipf.k)
    if not np.array_equal(wanted.ids, index.top_k_many(data.queries[:, 0], Zipf.k).ids):
        raise RuntimeError("LiveSOPT and a SOPT-R-tree of the same give different answers")
    return index


def _memory(bench: Bench, sopt: SOPTRTree, ir_tree: IRTree) -> None:
    for name, index, most in (("SOPT", sopt, 48), ("IR-tree", ir_tree, 64)):
        size = index.nbytes / len(index)
        row = Row(f"{name}, memory a subscription", size, most=most, unit=" bytes")
        bench.rows.append(row)


def _builds(bench: Bench) -> None:
    data, scores = bench.million, bench.million.scores[:, 0].copy()
    sort = bench.work("stable argsort of the scores", lambda: np.argsort(scores, kind="stable"))
    for name, structure in (("SOPT", SOPTRTree), ("IR-tree", IRTree)):
        time = bench.work(f"{name}, built", partial(build, structure, data))
        bench.slower(f"{name} built, against a stable argsort of the scores", time, sort, most=12)


def _updates(bench: Bench, tree: IRTree) -> None:
    n, rng = len(tree), np.random.default_rng(2)
    size = min(_BATCH, n // 20)
    count = size * _BATCHES
    fresh = bench.lab.workload(subscriptions=count, seed=3)
    batches = [np.arange(i, i + size) for i in range(0, count, size)]
    columns = [table[:, 0].copy() for table in (fresh.lows, fresh.highs, fresh.scores)]

    def insert() -> None:
        for rows in batches:
            tree.insert_many(n + rows, *(column[rows] for column in columns))

    def clear() -> None:
        if len(tree) > n:
            tree.delete_many(np.arange(n, n + count))

    chosen = rng.choice(n, count, replace=False)

    def update() -> None:
        for rows in batches:
            tree.update_scores(chosen[rows], columns[2][rows])

    def shuffle() -> None:
        clear()
        rng.shuffle(columns[2])

    for name, least, work, before in (
        ("inserts", 300_000, insert, clear),
        ("score updates", 200_000, update, shuffle),
    ):
        time = bench.work(f"IR-tree, {name}", work, count, before)
        words = f"{_BATCHES} batches of {size:,} into a tree of {n:,}"
        bench.rows.append(Row(f"IR-tree, {name}", 1 / time.best, least, words=words, unit="/s"))


def _matching(bench: Bench) -> None:
    lab = bench.lab
    measured = {d: lab.matching(d, Zipf.skew_length) for d in lab.sizes.dimensions}
    for d in (2, 3, 4):
        if d in measured:
            m = measured[d]
            what = f"exact matching, d = {d}, against the quicker numba scan"
            bench.faster(what, m.exact_scan, m.exact, least=50)
    for kind in ("exact", "relaxed"):
        ratios = {
            d: getattr(m, f"{kind}_scan").best / getattr(m, kind).best for d, m in measured.items()
        }
        worst = min(ratios, key=lambda d: ratios[d])
        what = f"{kind} matching, the least lead over the numba scan at any d"
        words = f"at d = {worst}, of d = {min(ratios)} to {max(ratios)}"
        bench.rows.append(Row(what, ratios[worst], least=1, words=words))


def _latency(bench: Bench) -> None:
    for events in (1, _FRAME):
        bench.lab.step(f"latency of {events} events while another thread inserts")
        seconds = bench.lab.sizes.seconds_of_latency
        taken = measure_latencies(bench.million, events, seconds)
        words = (
            f"p99 {micro(taken.busy_p99)} against {micro(taken.idle_p99)} µs idle (p50"
            f" {micro(taken.busy_p50)} and {micro(taken.idle_p50)}), beside"
            f" {taken.inserted_s:,.0f} inserts/s ({BATCHES_S} batches of {BATCH} a second), each in"
            f" the quietest of {TURNS} turns"
        )
        if taken.noisy:
            words += "; the machine held up idle queries as well, so this says little"
        what = f"p99 of a query of {events} event{'s' * (events > 1)} while a thread inserts"
        bench.rows.append(Row(what, taken.ratio, most=3, words=words, unclear=taken.noisy))
