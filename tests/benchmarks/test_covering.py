"""The workload is what the paper says, and the script runs from end to end at tiny sizes."""

import numpy as np
import pytest

from benchmarks.covering import __main__ as covering
from benchmarks.covering import lab as covering_lab
from benchmarks.covering.lab import Sizes
from benchmarks.workloads.random_boxes import GREATEST, RandomBoxes, commands

TINY = Sizes(
    live=300, slices=1, slice=50, asked=20, events=50, routes=40, modes=(1, 2),
    mode_commands=200, commands=(200,), attributes=(3,),
)  # fmt: skip


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_a_share_of_the_commands_unsubscribes_what_is_live(share):
    given = commands(RandomBoxes(3, commands=4_000, unsubscribes=share))
    assert abs((~given.subscribes).mean() - share) < 0.03
    live = set()
    for id, subscribes in zip(given.ids.tolist(), given.subscribes.tolist(), strict=True):
        assert (id in live) != subscribes
        live ^= {id}
    assert (given.lows <= given.highs).all()


def test_the_same_seed_gives_the_same_commands():
    first, again = (commands(RandomBoxes(2, commands=500, live=50)) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert a.tobytes() == b.tobytes()
    assert first.subscribes[:50].all()


def test_segments_are_drawn_by_their_two_ends():
    given = commands(RandomBoxes(1, commands=20_000, unsubscribes=0.0))
    lengths = (given.highs - given.lows) / GREATEST
    assert abs(np.mean(lengths) - 1 / 3) < 0.01


def test_one_experiment_writes_its_page_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(covering_lab, "QUICK", TINY)
    monkeypatch.setattr("benchmarks.measure.REPETITIONS", 1)
    assert covering.main(["--quick", "--only", "modes", "--out", str(tmp_path)]) == 0
    (page,) = tmp_path.glob("*.md")
    assert page.name == "covering_modes.md"
    assert "- processor: " in page.read_text()


@pytest.mark.long
def test_a_whole_run_writes_a_page_for_every_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(covering_lab, "QUICK", TINY)
    monkeypatch.setattr("benchmarks.measure.REPETITIONS", 1)
    assert covering.main(["--quick", "--out", str(tmp_path)]) == 0
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert set(pages) == {f"covering_{name}.md" for name in covering.NAMES}
    assert all("- processor: " in page for page in pages.values())
    assert "**The targets are for 100,000 subscriptions.**" in pages["covering_speed.md"]
    for drawn in tmp_path.glob("*.svg"):
        assert any(f"({drawn.name})" in page for page in pages.values())
