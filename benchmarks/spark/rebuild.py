"""How long the job takes to build bases, by subscriptions, shards and executors."""

from dataclasses import dataclass

from benchmarks.intervals.targets import Row
from benchmarks.report import Section, Table
from benchmarks.spark.baselines import Baseline, measure_from_topic
from benchmarks.spark.lab import Case, Lab
from benchmarks.spark.run import Batch, Run
from configs import Collection

__all__ = ["rebuild"]


@dataclass(frozen=True)
class Measured:
    case: Case
    master: str
    run: Run

    @property
    def best(self) -> Batch:
        return min(self.run.later, key=lambda batch: batch.seconds)


def rebuild(lab: Lab) -> Section:
    measured: list[Measured] = []
    rows: list[Row] = []
    for case in lab.sizes.cases:
        collection = lab.collection(
            f"rebuild-{case.shards}-of-{case.subscriptions}", case.subscriptions, case.shards
        )
        runs = [_measured(lab, collection, case, master) for master in case.masters]
        measured += runs
        if case.shards == 1:
            lab.step(f"{collection.name}, without Spark")
            rows += _rows(runs, measure_from_topic(lab.settings, collection))
    header = ["subscriptions", "shards", "master", "session, s", "first base, s", "records/s"]
    header += ["later batch, s", "at worst, s", "of which the build, s"]
    words = (
        "`sopt-bases` as a job that stays, one attribute, JSON on a broker and bases in a Redis on"
        " the same two cores. The first base is a batch of everything in the topic; a later one"
        f" takes the base before it and changes of {100 * lab.sizes.changed:g} % of the"
        f" subscriptions, the best of {lab.sizes.repetitions}. Seconds are those of Spark's"
        " trigger, from the look at the topic to the commit, without the start of the session,"
        " which has its own column. Executors that are processes (`local-cluster`) compile the"
        " kernels once, in their first batch. `addBatch` is the part of a trigger that runs our"
        " code. A rebased shard stands beside the same work without Spark, done after each of its"
        " batches: reading the stored state and `SOPTRTree.build`, the best as well. The fixed cost"
        " of a batch, whatever is in it, is in [spark_batches](spark_batches.md)."
    )
    targets = Table(
        ["", "measured", "target", "", "in plain words"], [row.cells() for row in rows], prose=4
    )
    details = Table(header, [_cells(one) for one in measured])
    return Section("spark_rebuild", "Bases built by Spark", words, [targets, details])


def _measured(lab: Lab, collection: Collection, case: Case, master: str) -> Measured:
    changes = max(1, int(lab.sizes.changed * case.subscriptions))
    run = lab.run(collection, master, case.subscriptions, changes, lab.sizes.repetitions)
    return Measured(case, master, run)


def _rows(runs: list[Measured], from_topic: Baseline) -> list[Row]:
    rows = []
    for one in runs:
        which = f"of {one.case.subscriptions:,} in one shard, {one.master}"
        alone = min(one.run.alone, key=lambda baseline: baseline.seconds)
        for what, batch, baseline, most in (
            ("a shard rebased,", one.best, alone, 2.0),
            ("the first base", one.run.first, from_topic, None),
        ):
            words = (
                f"{batch.seconds:.2f} s, of which {batch.parts['addBatch']:.2f} in our code,"
                f" against {baseline.seconds:.2f} s in one thread without Spark"
                f" ({baseline.read_s:.2f} reading, {baseline.build_s:.2f} building)"
            )
            ratio = batch.seconds / baseline.seconds
            rows.append(Row(f"{what} {which}", ratio, most=most, words=words))
    return rows


def _cells(one: Measured) -> list[str]:
    first, later = one.run.first, one.run.later
    return [
        f"{one.case.subscriptions:,}",
        f"{one.case.shards}",
        f"`{one.master}`",
        f"{one.run.session_s:.1f}",
        f"{first.seconds:.1f}",
        f"{first.records / first.seconds:,.0f}",
        f"{one.best.seconds:.2f}",
        f"{max(batch.seconds for batch in later):.2f}",
        f"{one.best.parts['addBatch']:.2f}",
    ]
