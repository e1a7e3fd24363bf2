"""The parts of the Spark benchmark that need no Spark: pages from runs, and the work beside it."""

import json
from dataclasses import asdict

import pytest

from benchmarks.report import write
from benchmarks.spark import __main__ as spark
from benchmarks.spark import batches as spark_batches
from benchmarks.spark import rebuild as spark_rebuild
from benchmarks.spark.baselines import Baseline
from benchmarks.spark.lab import Case, Sizes
from benchmarks.spark.run import Batch, Run, subscription_id

PARTS = {"addBatch": 1.5, "latestOffset": 0.1, "walCommit": 0.05}
RUN = Run(
    session_s=4.0,
    first=Batch(1000, 5.0, PARTS, {"0": 1000}),
    later=[Batch(10, 3.0, PARTS, {"0": 1010}), Batch(10, 2.0, PARTS, {"0": 1020})],
    alone=[Baseline(read_s=0.3, build_s=0.5), Baseline(read_s=0.5, build_s=0.7)],
)
SIZES = Sizes(
    cases=(Case(1000, 1, ("local[1]",)), Case(1000, 2, ("local[2]",))),
    small=100,
    small_masters=("local[2]",),
)


class CannedLab:
    """Runs that were measured before."""

    sizes = SIZES
    settings = None

    def __init__(self) -> None:
        self.asked: list[tuple] = []

    def step(self, what: str) -> None:
        pass

    def collection(self, name: str, subscriptions: int, shards: int) -> "CannedCollection":
        return CannedCollection(name)

    def run(self, collection, master, subscriptions, changes, repetitions) -> Run:
        self.asked.append((collection.name, master, subscriptions, changes, repetitions))
        return RUN


class CannedCollection:
    def __init__(self, name: str) -> None:
        self.name = name


def test_a_run_comes_back_from_its_process_as_it_was():
    assert Run.parse(json.dumps(asdict(RUN))) == RUN


def test_a_rebase_is_held_against_the_same_work_without_spark(monkeypatch, tmp_path):
    monkeypatch.setattr(spark_rebuild, "measure_from_topic", lambda *_: Baseline(2.0, 0.5))
    lab = CannedLab()
    page = write(spark_rebuild.rebuild(lab), {"processor": "any"}, tmp_path).read_text()
    assert (
        "| a shard rebased, of 1,000 in one shard, local[1] | 2.50x | ≤ 2x | **missed** |" in page
    )
    assert "| the first base of 1,000 in one shard, local[1] | 2.00x | - | - |" in page
    assert "| 1,000 | 2 | `local[2]` | 4.0 | 5.0 | 200 | 2.00 | 3.00 | 1.50 |" in page
    assert lab.asked == [
        ("rebuild-1-of-1000", "local[1]", 1000, 10, SIZES.repetitions),
        ("rebuild-2-of-1000", "local[2]", 1000, 10, SIZES.repetitions),
    ]


def test_the_fixed_cost_of_a_batch_is_that_of_one_change(tmp_path):
    lab = CannedLab()
    page = write(spark_batches.batches(lab), {"processor": "any"}, tmp_path).read_text()
    assert (
        "| `local[2]` | 4.0 | 5.0 | 2.00 | 2.50 | 3.00 | 0.10 | 0.00 | 0.00 | 0.05 | 1.50 |" in page
    )
    assert lab.asked == [("batches", "local[2]", 100, 1, SIZES.small_repetitions)]


def test_ids_are_distinct_and_of_one_length():
    ids = {subscription_id(number) for number in (0, 7, 9_999_999)}
    assert len(ids) == 3
    assert {len(name) for name in ids} == {11}


def test_an_unknown_experiment_is_refused(capsys):
    with pytest.raises(SystemExit) as exit:
        spark.main(["--only", "taste"])
    assert exit.value.code == 2
    assert "taste" in capsys.readouterr().err
