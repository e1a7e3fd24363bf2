"""The script from end to end at tiny sizes; its figures mean nothing then, its pages do."""

import pytest

from benchmarks.intervals import __main__ as intervals
from benchmarks.intervals import lab as interval_lab
from benchmarks.intervals.lab import Sizes
from benchmarks.intervals.targets import Row
from benchmarks.measure import REPETITIONS, micro, repeat

TINY = Sizes(
    subscriptions=2_000,
    queries=20,
    memory=(500, 2_000),
    getnext=(1, 5),
    dimensions=(1, 2),
    skews=(0.0, 1.5),
    seconds_of_latency=0.1,
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(interval_lab, "QUICK", TINY)


@pytest.mark.long
def test_a_whole_run_writes_a_page_and_plots_for_every_experiment(tmp_path):
    assert intervals.main(["--quick", "--out", str(tmp_path)]) == 0
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert set(pages) == {f"intervals_{name}.md" for name in intervals.NAMES}
    for page in pages.values():
        assert "- processor: " in page
        assert "- load average: " in page
        assert "numba " in page
        assert "nan" not in page
    assert "| SOPT-R-tree | 0.0 | 0.1 | 4" in pages["intervals_memory.md"]
    assert "**The targets are for 1,000,000 subscriptions" in pages["intervals_speed.md"]
    linked = {path.name for path in tmp_path.glob("*.svg")}
    assert linked == {f"intervals_{name}.svg" for name in intervals.NAMES if name != "speed"} | {
        "intervals_overlap_structures.svg"
    }
    assert all(any(f"({name})" in page for page in pages.values()) for name in linked)


def test_the_same_figures_give_the_same_bytes(tmp_path):
    drawn = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        intervals.main(["--quick", "--only", "memory", "--out", str(folder)])
        assert [path.name for path in folder.glob("*.md")] == ["intervals_memory.md"]
        drawn.append((folder / "intervals_memory.svg").read_bytes())
    assert drawn[0] == drawn[1]


def test_what_is_missing_is_named_with_the_command_that_installs_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(intervals.EXTRA, "no_such_package", ">=1.2")
    assert intervals.main(["--quick", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "missing: no_such_package" in said
    assert "-m pip install 'no_such_package>=1.2'" in said
    assert not list(tmp_path.iterdir())


def test_an_unknown_experiment_is_refused(capsys):
    with pytest.raises(SystemExit) as exit:
        intervals.main(["--only", "taste"])
    assert exit.value.code == 2
    assert "taste" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "target", "verdict"),
    [
        (Row("a", 50.0, least=50), "≥ 50x", "met"),
        (Row("a", 49.9, least=50), "≥ 50x", "**missed**"),
        (Row("a", 3.0, most=3), "≤ 3x", "met"),
        (Row("a", 3.1, most=3), "≤ 3x", "**missed**"),
        (Row("a", 2.9, most=3, unclear=True), "≤ 3x", "unclear"),
        (Row("a", 3.1), "-", "-"),
    ],
)
def test_a_row_says_whether_its_target_is_met(row, target, verdict):
    assert row.cells()[2:4] == [target, verdict]


def test_work_is_timed_by_unit_over_several_repetitions():
    calls, cleared = [], []
    timing = repeat(lambda: calls.append(1), units=4, before=lambda: cleared.append(1))
    assert len(timing.cpu) == len(timing.wall) == REPETITIONS
    assert len(calls) == len(cleared) == REPETITIONS + 1  # one to warm up
    assert timing.best == min(timing.cpu)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(3.5714e-7, "0.357"), (1e-6, "1.00"), (0.0123456, "12,300"), (0, "0")]
)
def test_times_are_shown_to_three_digits(seconds, shown):
    assert micro(seconds) == shown
