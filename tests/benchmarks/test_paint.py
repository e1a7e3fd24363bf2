"""Who receives a message is counted right, and the script runs from end to end at tiny sizes."""

import numpy as np
import pytest

from benchmarks.paint import __main__ as paint
from benchmarks.paint import lab as paint_lab
from benchmarks.paint.experiments import _COUNTED, _calls
from benchmarks.paint.lab import Lab, Sizes, World, candidates, indexed, received
from benchmarks.paint.paper import Printed, deviation
from benchmarks.paint.sorted_sets import SortedSets
from benchmarks.workloads.paint_objects import Ranges, back, events, objects, ranges
from indexes.paint import CNRelax, PaintDense, PaintSparse, Unicast, reaches

TINY = Sizes(
    objects=100, subscriptions=200, events=40, runs=2, checked=20, ks=(1, 3),
    table_iv=(50, 200), stock_subscriptions=50, stock_events=40, trend_events=20, many=300,
    batches=(10, 40), batch_ks=(1, 3), servers=4, server_objects=100, server_events=5,
    server_ks=(1, 4), boxes=5, box_ks=(1, 2), speed=(50, 200), speed_at=200, speed_events=20,
    sorted_sets=(20,), sorted_events=10,
)  # fmt: skip


@pytest.fixture
def world():
    rng = np.random.default_rng(1)
    start = objects(60, rng)
    return World(start, events(start, 30, rng), indexed(ranges(80, rng)))


@pytest.mark.parametrize("cls", [PaintDense, PaintSparse, CNRelax])
def test_received_is_what_messages_reach(world, cls):
    _, table = world.run(cls, 3)
    subscribed = world.index.to_arrays()
    expected = updated = 0
    for message, event in zip(table.messages(), table.event.tolist(), strict=True):
        reached = sum(reaches(message, *ends) for ends in zip(*subscribed[1:], strict=True))
        expected += reached
        updated += reached * (message.x == world.events.x[event])
    assert received(world.index, table, world.events.x) == (updated, expected)
    assert 0 < updated <= expected


def test_candidates_are_those_that_unicast_processes(world):
    table = world.run(PaintDense, 3)[1]
    unicast, told = world.run(Unicast, 3)
    found = candidates(world.index, table, world.events.x)
    assert found.sum() == unicast.calls.min_y
    assert (told.x == world.events.x[told.event]).sum() <= found.sum()


def test_min_y_of_the_sparse_server_stands_beside_the_papers_with_those_ruled_out(world):
    sparse, merged = world.run(PaintSparse, 1)
    printed = Printed(1.0, 0.5, 1.0, 10.0)
    cells = _calls(Lab(TINY, lambda what: None), world, 1, printed)
    made, asked = sparse.calls.min_y, sparse.calls.min_y + sparse.calls.ruled_out
    count = len(world.events.x)
    assert cells[1] == f"{asked / count:.2f} (0.5; {deviation(asked / count, 0.5)})"
    assert cells[2] == f"{made / count:.2f}"
    assert made < asked
    assert len(cells) == len(_COUNTED)
    assert cells[-1] == f"{len(merged.x) / count:.2f}"


def test_servers_that_reach_different_subscriptions_are_refused(world, monkeypatch):
    lab = Lab(TINY, lambda what: None)
    lab.check(world, 2)
    monkeypatch.setattr(paint_lab, "PaintSparse", lambda k, epsilon: PaintSparse(k + 1, epsilon))
    with pytest.raises(RuntimeError, match="k = 2"):
        lab.check(world, 2)


def test_sorted_sets_change_for_the_affected_ranges():
    rng = np.random.default_rng(2)
    start, asked = objects(50, rng), ranges(30, rng)
    there = back(events(start, 40, rng))
    world = World(start, there, indexed(asked))
    sets = SortedSets(3, start, Ranges(*asked))
    affected = sets.update_many(there)
    table = world.run(Unicast, 3)[1]
    own = table.event[table.x == there.x[table.event]]
    assert affected.tolist() == np.bincount(own, minlength=len(there.x)).tolist()
    # There and back: everything is as it was.
    assert sets.update_many(there).tolist() == affected.tolist()


def test_one_experiment_writes_its_page_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(paint_lab, "QUICK", TINY)
    monkeypatch.setattr("benchmarks.measure.REPETITIONS", 1)
    assert paint.main(["--quick", "--only", "received", "--out", str(tmp_path)]) == 0
    (page,) = tmp_path.glob("*.md")
    assert page.name == "paint_received.md"
    assert "444.141" in page.read_text()
    assert "- processor: " in page.read_text()


@pytest.mark.long
def test_a_whole_run_writes_a_page_for_every_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(paint_lab, "QUICK", TINY)
    monkeypatch.setattr("benchmarks.measure.REPETITIONS", 1)
    assert paint.main(["--quick", "--out", str(tmp_path)]) == 0
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert set(pages) == {f"paint_{name}.md" for name in paint.NAMES}
    assert all("- processor: " in page for page in pages.values())
    assert "**The targets are for 1,000,000 subscriptions.**" in pages["paint_speed.md"]
    for drawn in tmp_path.glob("*.svg"):
        assert any(f"({drawn.name})" in page for page in pages.values())
