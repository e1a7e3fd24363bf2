"""The generator makes what it says, and the script runs from end to end at tiny sizes."""

import numpy as np
import pytest

from benchmarks.boolean import __main__ as boolean
from benchmarks.boolean import lab as boolean_lab
from benchmarks.boolean.lab import Sizes, head
from benchmarks.workloads.begen import MIXED, BEGen, generate
from indexes.boolean import BEStarTree, Scan
from indexes.boolean.predicates import OPERATORS

TINY = Sizes(
    subscriptions=1_000,
    sweep=1_000,
    smaller=500,
    events=20,
    sizes=(1_000,),
    dimensions=(50,),
    cardinalities=(1_000_000,),
    probabilities=(0.09,),
)


@pytest.mark.parametrize("skew", [0.0, 1.0], ids=["uniform", "zipf"])
def test_the_share_of_matches_is_what_was_asked_for(skew):
    wanted = BEGen(
        subscriptions=2_000, events=50, match_probability=0.02, operators=MIXED, skew=skew
    )
    data = generate(wanted)
    index = Scan.from_arrays(data.arrays)
    matches = [len(ids) for ids in index.match_many(data.events)]
    assert 0.015 < np.mean(matches) / 2_000 < 0.04
    assert set(np.unique(data.arrays.kinds)) == set(range(len(OPERATORS)))


def test_the_same_seed_gives_the_same_workload():
    wanted = BEGen(subscriptions=300, events=10, operators=MIXED)
    first, again = generate(wanted), generate(wanted)
    for a, b in zip(first.arrays, again.arrays, strict=True):
        assert a.tobytes() == b.tobytes()
    assert first.events.weights.tobytes() == again.events.weights.tobytes()


def test_predicates_are_on_different_attributes_with_weights_in_bounds():
    arrays = generate(BEGen(subscriptions=500, events=10, skew=1.0)).arrays
    columns = arrays.columns.reshape(500, 8)
    assert all(len(set(row)) == 8 for row in columns.tolist())
    assert (arrays.weights >= 0).all()
    assert (arrays.weights <= 1).all()


def test_a_part_of_a_batch_is_answered_as_in_the_whole():
    data = generate(BEGen(subscriptions=500, events=10, match_probability=0.1))
    tree = BEStarTree.from_arrays(data.arrays)
    assert tree.match_many(head(data.events, 4)) == tree.match_many(data.events)[:4]


def test_one_experiment_writes_its_page_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(boolean_lab, "QUICK", TINY)
    monkeypatch.setattr("benchmarks.measure.REPETITIONS", 1)
    assert boolean.main(["--quick", "--only", "topk", "--out", str(tmp_path)]) == 0
    (page,) = tmp_path.glob("*.md")
    assert page.name == "boolean_topk.md"
    assert "- processor: " in page.read_text()


@pytest.mark.long
def test_a_whole_run_writes_a_page_for_every_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(boolean_lab, "QUICK", TINY)
    monkeypatch.setattr("benchmarks.measure.REPETITIONS", 1)
    assert boolean.main(["--quick", "--out", str(tmp_path)]) == 0
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert set(pages) == {f"boolean_{name}.md" for name in boolean.NAMES}
    assert all("- processor: " in page for page in pages.values())
    assert "**The targets are for 1,000,000 subscriptions.**" in pages["boolean_speed.md"]
    for drawn in tmp_path.glob("*.svg"):
        assert any(f"({drawn.name})" in page for page in pages.values())
