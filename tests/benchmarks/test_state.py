"""The script from end to end at tiny sizes; its figures mean nothing then, its pages do."""

import os
import threading

import numpy as np
import pytest

from benchmarks.script import EXTRA
from benchmarks.state import __main__ as state
from benchmarks.state import lab as state_lab
from benchmarks.state.disturbances import Updates, received
from benchmarks.state.lab import Sizes, Subscriptions, collection_of, encoded_frames, shard_of
from benchmarks.state.loop import Disturbance, Latencies, Loop, measure_latencies
from topics import frames, partials
from topics.subscriptions.ranked import RankedColumns
from workers.shard.changes import read_changes
from workers.shard.shard import Shard

TINY = Sizes(
    snapshots=(500, 2_000),
    attributes=(1,),
    target=2_000,
    all_starts=False,
    turns=1,
    seconds_a_turn=0.1,
    patience_s=0.0,
    queries=1_000,
    merged_shards=(1, 2),
)


def test_one_experiment_writes_its_page_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(state_lab, "QUICK", TINY)
    assert state.main(["--quick", "--only", "merging", "--out", str(tmp_path)]) == 0
    (page,) = tmp_path.glob("*.md")
    assert page.name == "state_merging.md"
    assert "- processor: " in page.read_text()


@pytest.mark.long
def test_a_whole_run_writes_a_page_for_every_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(state_lab, "QUICK", TINY)
    assert state.main(["--quick", "--out", str(tmp_path)]) == 0
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert set(pages) == {f"state_{name}.md" for name in state.NAMES}
    for page in pages.values():
        assert "- processor: " in page
        assert "- load average: " in page
        assert "numba " in page
        assert "nan" not in page
    assert "| 1 | 2,000 | " in pages["state_snapshots.md"]
    assert (tmp_path / "state_snapshots.svg").exists()
    replay = pages["state_replay.md"]
    assert "| replay, no snapshot yet | 1 | " in replay
    (row,) = (row for row in replay.splitlines() if "| from the snapshot |" in row)
    cells = row.strip("| ").split(" | ")
    assert cells[5] == "0"  # nothing was left to replay
    assert 0 <= float(cells[-1]) <= os.cpu_count()  # cores that others used
    assert "| 2 | " in pages["state_merging.md"]
    for disturbance in ("snapshots are", "a new base is", "the index rebases", "20,000 changes/s"):
        assert f"p99 while {disturbance}" in pages["state_latency.md"]


def test_what_is_missing_is_named_with_the_command_that_installs_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(EXTRA, "no_such_package", ">=1.2")
    assert state.main(["--quick", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "missing: no_such_package" in said
    assert "-m pip install 'no_such_package>=1.2'" in said
    assert not list(tmp_path.iterdir())


def test_an_unknown_experiment_is_refused(capsys):
    with pytest.raises(SystemExit) as exit:
        state.main(["--only", "taste"])
    assert exit.value.code == 2
    assert "taste" in capsys.readouterr().err


@pytest.fixture(scope="module")
def data() -> Subscriptions:
    rng = np.random.default_rng(1)
    lows = rng.random((300, 1))
    columns = RankedColumns(lows, lows + 0.1, rng.random(300))
    return Subscriptions([b"ad-%d" % i for i in range(300)], columns, rng.random((400, 1)))


@pytest.fixture
def loop(data: Subscriptions) -> Loop:
    shard = shard_of(collection_of(1), [data.as_changes()])
    return Loop(shard, encoded_frames(data.queries))


def test_the_loop_answers_as_the_shard_does(data, loop):
    shard = shard_of(collection_of(1), [data.as_changes()])
    expected = shard.answer(frames.decode(encoded_frames(data.queries)[0]))
    assert loop.answer(0) == partials.encode(expected)
    taken, answers = loop.run(0.1)
    assert len(taken) == len(answers) == 10
    assert answers == (loop.answers() * 3)[:10]


class Counting(Disturbance):
    name = "somebody counts"

    def __init__(self) -> None:
        self.prepared = 0
        self.threads: set[threading.Thread] = set()

    def prepare(self) -> None:
        self.prepared += 1

    def once(self, loop: Loop) -> float:
        self.threads.add(loop.call(threading.current_thread))
        return 0.0


def test_what_threads_post_is_done_on_the_thread_of_the_frames(loop):
    counting = Counting()
    taken = measure_latencies(loop, [counting], turns=2, seconds=0.05)
    assert counting.prepared == taken.turns == 2
    assert counting.threads == {threading.current_thread()}
    assert taken.times_s > 0


class Failing(Disturbance):
    name = "something fails"

    def once(self, loop: Loop) -> float:
        return loop.call(lambda: 1 / 0)


def test_a_failure_beside_the_frames_is_not_lost(loop):
    with pytest.raises(ZeroDivisionError):
        measure_latencies(loop, [Failing()], turns=1, seconds=0.05)


class Wrong(Disturbance):
    """Applies changes, and says that answers stay."""

    name = "answers become wrong"

    def __init__(self, data: Subscriptions, shard: Shard) -> None:
        self._data, self._shard = data, shard

    def once(self, loop: Loop) -> float:
        drawn = Updates.draw(self._data, self._shard.next_offset, 300, seed=1)
        changes = read_changes(received(drawn.records(self._data)), self._shard.contract, 1)
        loop.call(lambda: self._shard.apply(changes))
        return 0.0


def test_answers_that_change_beside_upkeep_are_found(data):
    shard = shard_of(collection_of(1), [data.as_changes()])
    loop = Loop(shard, encoded_frames(data.queries))
    with pytest.raises(RuntimeError, match="answers become wrong"):
        measure_latencies(loop, [Wrong(data, shard)], turns=1, seconds=0.2)


def test_the_state_after_updates_is_what_a_shard_has_after_them(data):
    drawn = Updates.draw(data, len(data.keys), 50, seed=2)
    shard = shard_of(collection_of(1), [data.as_changes()])
    shard.apply(read_changes(received(drawn.records(data)[:30]), shard.contract, 1))
    state = drawn.state(data, 30)
    assert state.ids.tolist() == sorted(state.ids.tolist())
    arrays = shard.to_arrays()
    texts = arrays["ids.texts"].tobytes().decode()
    assert texts == "".join(f'"{key.decode()}"' for key in state.keys.to_pylist())
    low, high, score = (column[-1] for column in state.columns)
    assert (arrays["index.delta_lows"][-1], arrays["index.delta_highs"][-1]) == (low, high)
    assert arrays["index.delta_scores"][-1] == score


def test_latencies_are_judged_by_their_ratio_unless_idle_ones_are_disturbed():
    quiet = Latencies(1.0, 2.0, 1.0, 3.0, 9.0, 1.0, 1)
    assert quiet.ratio == 1.5
    assert not quiet.noisy
    assert Latencies(1.0, 3.1, 1.0, 6.0, 9.0, 1.0, 1).noisy
