"""The targets for covering, each beside what it is measured against."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.covering.lab import INDEXES, KD, PLAIN, SCAN, Z_ORDER, Lab, Sizes, head, timed
from benchmarks.covering.scan import PlainScan, empty_call
from benchmarks.intervals.targets import Row
from benchmarks.measure import micro, repeat
from benchmarks.report import Section, Table
from benchmarks.workloads.random_boxes import RandomBoxes, boxes, commands
from indexes.covering import Commands, KDCover, RelationGraph

__all__ = ["speed"]

_ATTRIBUTES = (3, 8)
_CALLS = 200  # boxes asked one by one, commands given one by one
_SMALL = (1, 30, 1_000)  # boxes of a small cover
_TURNS = 12  # of asking a small cover
_LEADS = {3: 3.0, 8: 10.0}  # over the scan, in the paper's mix of commands


def speed(lab: Lab) -> Section:
    rows: list[Row] = []
    leads: list[float] = []
    for attributes in _ATTRIBUTES:
        _ask(lab, attributes, rows, leads)
        _command(lab, attributes, rows, leads)
    _ask_few(lab, leads)
    _cross(rows)
    words = f"of those above, and of covers of {', '.join(f'{n:,}' for n in _SMALL)} boxes"
    rows.append(Row("the least lead over the scan anywhere", min(leads), least=1, words=words))
    for attributes in _ATTRIBUTES:
        _stab(lab, attributes, rows)
    words = (
        f"{lab.sizes.live:,} live subscriptions of random boxes; dimensions are those of points,"
        " two an attribute. A ratio is of the best CPU times, and of commands of the medians of"
        f" {lab.sizes.slices} slices that all are given in turn; all gave the same answers."
        " Both scans are compiled and stop at the first cover. The scan is `NaiveCover`: it goes"
        " through blocks of 64 boxes with vectors, below the same graph and behind the same checks"
        " as the k-d tree. The plain scan is the paper's: one box after the other, each left at the"
        " first side that fails; of the commands it only does the searches of those that"
        " subscribe, without a graph. By batch: `covers_many` and `apply_many`; by call: `covers`,"
        " `subscribe` and `unsubscribe`."
    )
    if lab.sizes.live != Sizes.live:
        words += f" **The targets are for {Sizes.live:,} subscriptions.**"
    table = Table(
        ["", "measured", "target", "", "in plain words"], [r.cells() for r in rows], prose=4
    )
    return Section("covering_speed", "Subscription covering: the targets", words, [table])


def _lead(rows: list[Row], leads: list[float], what: str, times: dict[str, float],
          least: float | None, other: str = SCAN) -> None:  # fmt: skip
    ratio = times[other] / times[KD]
    words = f"{micro(times[KD])} against {micro(times[other])} µs"
    rows.append(Row(f"{what}, against the {other}", ratio, least=least, words=words))
    if other == SCAN:
        leads.append(ratio)


def _ask(lab: Lab, attributes: int, rows: list[Row], leads: list[float]) -> None:
    """Boxes that nothing covers, and random ones."""
    rng = np.random.default_rng(1)
    stored = boxes(lab.sizes.live, attributes, rng)
    covers = {}
    for name, cls in INDEXES.items():
        lab.step(f"{name}, {lab.sizes.live:,} boxes, {2 * attributes} dimensions")
        covers[name] = cls(attributes)
        covers[name].insert_many(np.arange(lab.sizes.live), *stored)
    lows, highs = boxes(40 * lab.sizes.asked, attributes, rng)
    found = covers[KD].covers_many(lows, highs)
    alone = np.array([not ids for ids in found])
    plain = PlainScan(*stored, lab.sizes.live)
    uncovered = lows[alone][: lab.sizes.asked], highs[alone][: lab.sizes.asked]
    mixed = lows[: lab.sizes.asked], highs[: lab.sizes.asked]
    for name, cover in covers.items():
        if any(cover.covers_many(*uncovered)) or [
            len(ids) for ids in cover.covers_many(*mixed)
        ] != [len(ids) for ids in found[: lab.sizes.asked]]:
            raise RuntimeError(f"{name} gives other answers than the {KD}")
    if [place >= 0 for place in plain.covers_many(lows, highs)] != (~alone).tolist():
        raise RuntimeError(f"the {PLAIN} gives other answers than the {KD}")
    dimensions = f"{2 * attributes} dimensions"
    for what, asked, least in (("uncovered boxes", uncovered, 20), ("random boxes", mixed, None)):
        batch = {name: _batch(cover, asked) for name, cover in covers.items()}
        call = {name: _by_call(cover, asked) for name, cover in covers.items()}
        batch[PLAIN] = _batch(plain, asked)
        _lead(rows, leads, f"{what}, {dimensions}", batch, least)
        _lead(rows, leads, f"{what}, {dimensions}", batch, least, PLAIN)
        _lead(rows, leads, f"{what}, {dimensions}, by call", call, least)
        if attributes == 8:
            _lead(rows, leads, f"{what}, {dimensions}", batch, 2, Z_ORDER)
    memory = covers[KD].nbytes / lab.sizes.live
    rows.append(Row(f"memory a box, {dimensions}", memory, unit=" bytes"))


def _batch(cover: Any, asked: tuple[np.ndarray, np.ndarray]) -> float:
    return repeat(lambda: cover.covers_many(*asked), units=len(asked[0])).best


def _by_call(cover: Any, asked: tuple[np.ndarray, np.ndarray]) -> float:
    pairs = list(zip(asked[0].tolist(), asked[1].tolist(), strict=True))[:_CALLS]

    def ask() -> None:
        for lows, highs in pairs:
            cover.covers(lows, highs)

    return repeat(ask, units=len(pairs)).best


def _command(lab: Lab, attributes: int, rows: list[Row], leads: list[float]) -> None:
    """The paper's mix of commands, p = 15 %, once as many live as asked for."""
    sizes = lab.sizes
    count = sizes.slices * (sizes.slice + _CALLS)
    given = commands(RandomBoxes(attributes, commands=count, live=sizes.live))
    graphs = {}
    for name, cls in INDEXES.items():
        lab.step(f"{name}, commands, {2 * attributes} dimensions")
        graphs[name] = RelationGraph(cls(attributes))
        graphs[name].apply_many(head(given, 0, sizes.live))
    batch, call = _slices(graphs, given, sizes)
    if len({graph.forwarded for graph in graphs.values()}) > 1:
        raise RuntimeError("the indexes forward different subscriptions")
    what = f"commands, {2 * attributes} dimensions"
    _lead(rows, leads, what, batch, _LEADS[attributes])
    _lead(rows, leads, what, batch, _LEADS[attributes], PLAIN)
    _lead(rows, leads, f"{what}, by call", call, _LEADS[attributes])
    if attributes == 8:
        _lead(rows, leads, what, batch, 2, Z_ORDER)
    rows.append(Row(f"{what}, the {KD}", 1 / batch[KD], 50_000, unit="/s"))
    rows.append(Row(f"{what}, the {KD}, by call", 1 / call[KD], 50_000, unit="/s"))


def _slices(
    graphs: dict[str, RelationGraph], given: Commands, sizes: Sizes
) -> tuple[dict[str, float], dict[str, float]]:
    """Times a command, by batch and by call, each the median of the slices.

    Slices differ in how much there is to do, but are the same for all, and given to all in turn.
    """
    before, at = head(given, 0, sizes.live), sizes.live
    plain = PlainScan(before.lows, before.highs, len(given.ids))
    batch: dict[str, list[float]] = {name: [] for name in (*graphs, PLAIN)}
    call: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(sizes.slices):
        part, one_by_one = (
            head(given, at, at + sizes.slice),
            head(given, at + sizes.slice, at + sizes.slice + _CALLS),
        )
        for name, graph in graphs.items():
            batch[name].append(timed(partial(graph.apply_many, part)).best / sizes.slice)
        for name, graph in graphs.items():
            call[name].append(timed(_single(graph, one_by_one)).best / _CALLS)
        batch[PLAIN].append(timed(partial(plain.apply_many, part)).best / sizes.slice)
        plain.apply_many(one_by_one)
        at += sizes.slice + _CALLS
    return _medians(batch), _medians(call)


def _medians(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: float(np.median(taken)) for name, taken in times.items()}


def _single(graph: RelationGraph, part: Commands) -> Callable[[], None]:
    listed = list(zip(*(column.tolist() for column in part), strict=True))

    def give() -> None:
        for id, lows, highs, subscribes in listed:
            if subscribes:
                graph.subscribe(id, lows, highs)
            else:
                graph.unsubscribe(id)

    return give


def _ask_few(lab: Lab, leads: list[float]) -> None:
    """Covers so small that an index has little to win."""
    for attributes in _ATTRIBUTES:
        for count in _SMALL:
            rng = np.random.default_rng(2)
            stored, asked = boxes(count, attributes, rng), boxes(lab.sizes.asked, attributes, rng)
            covers = [INDEXES[name](attributes) for name in (SCAN, KD)]
            for cover in covers:
                cover.insert_many(np.arange(count), *stored)
            for ask in (_batch, _by_call):
                # By turns: what disturbs the machine for a while is to meet both.
                times = [[ask(cover, asked) for cover in covers] for _ in range(_TURNS)]
                slow, quick = np.min(times, axis=0)
                leads.append(slow / quick)


def _cross(rows: list[Row]) -> None:
    handle, ends = 2**40, bytes(16 * min(_ATTRIBUTES))

    def call() -> None:
        for id in range(_CALLS):
            empty_call(handle, id, ends)

    cost = 1e6 * repeat(call, units=_CALLS).best
    words = "on top of packing the ends of a box, and of the change that is returned"
    rows.append(Row("an empty call of a compiled kernel", cost, unit=" µs", words=words))


def _stab(lab: Lab, attributes: int, rows: list[Row]) -> None:
    """Events against routes: narrow boxes, so that many events are in none."""
    rng = np.random.default_rng(3)
    for share, what in ((0.1, "narrow"), (0.5, "wide")):
        middle = rng.random((lab.sizes.routes, attributes))
        half = share * rng.random((lab.sizes.routes, attributes))
        lows, highs = middle - half, middle + half
        free = rng.random(lows.shape) < 0.3
        lows[free], highs[free] = -np.inf, np.inf
        cover = KDCover(attributes)
        cover.insert_many(np.arange(lab.sizes.routes), lows, highs)
        events = rng.random((lab.sizes.events, attributes))
        events[rng.random(events.shape) < 0.1] = np.nan
        held = cover.stab_many(events).mean()
        seconds = repeat(partial(cover.stab_many, events), units=len(events)).best
        rows.append(
            Row(f"an event against {lab.sizes.routes:,} {what} routes, {attributes} attributes",
                seconds * 1e6, most=2, unit=" µs", words=f"{held:.0%} of the events are in one")
        )  # fmt: skip
