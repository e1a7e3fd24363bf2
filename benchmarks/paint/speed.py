"""The targets for Paint, each beside what it is measured against."""

from functools import partial
from typing import Any

import numpy as np
from numba import njit

from benchmarks.intervals.targets import Row
from benchmarks.measure import micro, repeat
from benchmarks.paint.lab import Lab, Sizes, World, received, rectangles, seconds
from benchmarks.paint.sorted_sets import SortedSets
from benchmarks.report import Plot, Section, Table
from benchmarks.workloads.paint_objects import Ranges, back, later
from indexes.paint import ObjectIndex, PaintDense, PaintSparse, Unicast
from indexes.paint.subscriptions import points_inside

__all__ = ["speed"]

_K = 10
_CALLS = 200  # updates given one by one
_TURNS = 8  # of PaintDense with few and many subscriptions
DENSE, SPARSE, UNICAST = "PaintDense", "PaintSparse", "Unicast"
_CLASSES: dict[str, Any] = {DENSE: PaintDense, SPARSE: PaintSparse, UNICAST: Unicast}


def speed(lab: Lab) -> Section:
    sizes, rows = lab.sizes, []
    lines: dict[str, list[float]] = {name: [] for name in _CLASSES}
    table = []
    extremes = {}
    for count in sizes.speed:
        world = _world(lab, count)
        if count in (sizes.speed[0], sizes.speed[-1]):
            extremes[count] = world
        times = _times(lab, world)
        for name, line in lines.items():
            line.append(1e6 * times[name])
        table.append([f"{count:,}", *(micro(times[name]) for name in _CLASSES)])
        if count == sizes.speed_at:
            rows += _against_unicast(lab, world, times)
    rows = [_dense_growth(lab, extremes), *_sparse_growth(sizes, lines[SPARSE]), *rows]
    for count in sizes.sorted_sets:
        rows.append(_sorted_sets(lab, count))
    words = (
        f"k = {_K}, {sizes.objects:,} uniform objects, uniform subscriptions. Each figure is of the"
        f" same {sizes.speed_events:,} events, from the middle of the paper's {sizes.events:,}, in"
        " one `update_many`; objects are set back before each turn. CPU time, the best of five"
        " turns after one to warm up, of Unicast the best of two. On the first"
        f" {sizes.checked} events all servers reached the same subscriptions. Unicast is compiled"
        " as the others are, and its candidates come from the same tree. It is the paper's: each"
        " candidate in turn, and for one that loses the object the next ones of its range by"
        " `min_y`. Tiles whose subscriptions are looked up are the quickest that we know for"
        " telling each subscription by itself: PaintDense, and then all that are inside its tiles"
        " (the paper's footnote 8). A sorted set per range is what one would keep in Redis, here"
        " compiled and without a network (`benchmarks/paint/sorted_sets.py`), by the first events"
        " and the same ones taken back; it fits in memory for few ranges only."
    )
    if sizes.speed_at != Sizes.speed_at:
        words += f" **The targets are for {Sizes.speed_at:,} subscriptions.**"
    header = ["", "measured", "target", "", "in plain words"]
    tables = [
        Table(header, [row.cells() for row in rows], prose=4),
        Table(["subscriptions", *(f"{name}, µs" for name in _CLASSES)], table,
              "CPU time per update."),
    ]  # fmt: skip
    plot = Plot("paint_speed", "subscriptions", "µs per update", sizes.speed, lines, log_x=True)
    return Section("paint_speed", "Range top-k subscriptions: the targets", words, tables, [plot])


def _world(lab: Lab, count: int) -> World:
    whole = lab.world(lab.index(count))
    lab.check(whole, _K)
    middle, wanted = len(whole.events.x) // 2, lab.sizes.speed_events
    return World(*later(whole.objects, whole.events, middle, wanted), whole.index)


def _server(world: World, name: str) -> Any:
    server = world.server(_CLASSES[name], _K)
    if name == DENSE:
        count = len(world.index)
        server.subscribe_many(np.arange(count), np.zeros(count), np.ones(count))
    return server


def _set_back(server: Any, world: World) -> None:
    server.objects.adopt(ObjectIndex.build(world.objects.pairs).arrays)


def _times(lab: Lab, world: World) -> dict[str, float]:
    """Seconds per update of each server."""
    times = {}
    for name in _CLASSES:
        lab.step(f"{name}, {len(world.index):,} subscriptions")
        server = _server(world, name)
        work = partial(server.update_many, *world.events)
        before = partial(_set_back, server, world)
        whole = seconds(work, 2, before) if name == UNICAST else repeat(work, before=before).best
        times[name] = whole / len(world.events.x)
    return times


def _dense_growth(lab: Lab, worlds: dict[int, World]) -> Row:
    """PaintDense with the most subscriptions against that with the fewest, by turns."""
    lab.step(f"{DENSE}, by turns")
    servers = {count: _server(world, DENSE) for count, world in worlds.items()}
    best = dict.fromkeys(worlds, np.inf)
    for _ in range(_TURNS):
        for count, world in worlds.items():
            work = partial(servers[count].update_many, *world.events)
            taken = seconds(work, 1, partial(_set_back, servers[count], world))
            best[count] = min(best[count], taken / len(world.events.x))
    few, many = min(worlds), max(worlds)
    return Row(f"{DENSE}, {many:,} against {few:,} subscriptions", best[many] / best[few],
               most=1.3, words=f"{micro(best[many])} against {micro(best[few])} µs, the best of"
               f" {_TURNS} turns each")  # fmt: skip


def _sparse_growth(sizes: Sizes, line: list[float]) -> list[Row]:
    few, many = sizes.speed[0], sizes.speed[-1]
    ratio = line[-1] / line[0]
    exponent = float(np.log(ratio) / np.log(many / few))
    return [
        Row(f"{SPARSE}, {many:,} against {few:,} subscriptions", ratio,
            words=f"{line[-1]:.1f} against {line[0]:.1f} µs"),
        Row(f"{SPARSE}, the power of the number of subscriptions that its time grows with",
            exponent, most=1, unit="", words="below 1 is sublinear"),
    ]  # fmt: skip


def _against_unicast(lab: Lab, world: World, times: dict[str, float]) -> list[Row]:
    rows = []
    count, xs = len(world.index), world.events.x
    sent = {}
    for name in _CLASSES:
        lab.step(f"{name}, messages")
        sent[name] = len(world.run(_CLASSES[name], _K)[1].x) / len(xs)
    for name in (DENSE, SPARSE):
        rows.append(
            Row(f"{name}, updates, {count:,} subscriptions", 1 / times[name], least=20_000,
                unit="/s", words=f"by batch; {micro(times[name])} µs each")
        )  # fmt: skip
        rows.append(
            Row(f"{name}, updates by call", 1 / _by_call(world, name), unit="/s",
                words="one `update` each, its messages as Python objects")
        )  # fmt: skip
    for name in (DENSE, SPARSE):
        words = f"{micro(times[name])} against {micro(times[UNICAST])} µs"
        rows.append(
            Row(f"{name} against {UNICAST}, {count:,} subscriptions", times[UNICAST] / times[name],
                least=50, words=words)
        )  # fmt: skip
    looked_up = _looked_up(lab, world)
    for name in (DENSE, SPARSE):
        rows.append(
            Row(f"{name} against tiles whose subscriptions are looked up", looked_up / times[name],
                words=f"{micro(times[name])} against {micro(looked_up)} µs")
        )  # fmt: skip
    for name in _CLASSES:
        rows.append(Row(f"{name}, messages per event", sent[name], unit=""))
    for name in (DENSE, SPARSE):
        memory = _server(world, name).nbytes / count
        rows.append(Row(f"{name}, memory per subscription", memory, unit=" bytes"))
    return rows


def _by_call(world: World, name: str) -> float:
    server = _server(world, name)
    listed = list(zip(*(column[:_CALLS].tolist() for column in world.events), strict=True))

    def update() -> None:
        for event in listed:
            server.update(*event)

    return repeat(update, units=len(listed), before=partial(_set_back, server, world)).best


def _looked_up(lab: Lab, world: World) -> float:
    """Seconds per update for PaintDense and a message for each subscription of each tile."""
    lab.step("tiles whose subscriptions are looked up")
    server = _server(world, DENSE)

    def update() -> np.ndarray:
        table = server.update_many(*world.events)
        return _tell_tiles(world.index.arrays, rectangles(table), *table)

    expected = received(world.index, world.run(PaintDense, _K)[1], world.events.x).all
    if (told := len(update())) != expected:
        raise RuntimeError(f"{told} told by tiles when {expected} were expected")
    return seconds(update, 3, partial(_set_back, server, world)) / len(world.events.x)


@njit(cache=True)
def _tell_tiles(s, boxes, event, inner_low, inner_high, outer_low, outer_high, x, y):
    """A row for each subscription inside each rectangle: event, low, high, x, y."""
    rows, used = np.empty((16, 5)), 0
    for i in range(len(boxes)):
        lows, highs = points_inside(s, boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3])
        if used + len(lows) > len(rows):
            larger = np.empty((2 * (used + len(lows)), 5))
            larger[:used] = rows[:used]
            rows = larger
        for j in range(len(lows)):
            row = rows[used]
            row[0], row[1], row[2], row[3], row[4] = event[i], lows[j], highs[j], x[i], y[i]
            used += 1
    return rows[:used]


def _sorted_sets(lab: Lab, count: int) -> Row:
    """PaintSparse beside a sorted set per range."""
    lab.step(f"{count:,} sorted sets")
    whole = lab.world(lab.index(count))
    # There and back, because setting the sets back would take longer than the updates.
    there = back(whole.events.head(lab.sizes.sorted_events))
    world = World(whole.objects, there, whole.index)
    saved = world.index.to_arrays()
    sets = SortedSets(_K, world.objects, Ranges(saved.lows, saved.highs))
    table = world.run(PaintSparse, _K)[1]
    expected = received(world.index, table, there.x).updated
    if (found := int(sets.update_many(there).sum())) != expected:
        raise RuntimeError(f"the sorted sets changed for {found} when {expected} was expected")
    slow = seconds(partial(sets.update_many, there), 3) / len(there.x)
    quick = repeat(partial(_server(world, SPARSE).update_many, *there), units=len(there.x)).best
    words = (
        f"{micro(quick)} against {micro(slow)} µs; {sets.nbytes / count / 1000:,.0f} KB per"
        f" subscription against {world.index.nbytes / count:,.0f} bytes"
    )
    return Row(f"{SPARSE} against a sorted set per range, {count:,} subscriptions", slow / quick,
               words=words)  # fmt: skip
