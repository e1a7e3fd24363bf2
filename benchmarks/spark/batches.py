"""What a micro-batch costs that has next to nothing to do."""

import statistics

from benchmarks.report import Section, Table
from benchmarks.spark.lab import Lab
from benchmarks.spark.run import Run

__all__ = ["batches"]

_SHARDS = 2
# In the order in which a trigger goes through them.
_PARTS = (
    "latestOffset",
    "getBatch",
    "queryPlanning",
    "walCommit",
    "addBatch",
    "commitBatch",
    "commitOffsets",
)


def batches(lab: Lab) -> Section:
    sizes = lab.sizes
    collection = lab.collection("batches", sizes.small, _SHARDS)
    runs = {
        master: lab.run(collection, master, sizes.small, 1, sizes.small_repetitions)
        for master in sizes.small_masters
    }
    header = ["master", "session, s", "first batch, s", "a batch with 1 change, s", "median, s"]
    header += ["at worst, s", *_PARTS]
    words = (
        f"A collection of {sizes.small:,} subscriptions in {_SHARDS} shards, of which one changes a"
        f" batch, {sizes.small_repetitions} times: what is left is the fixed cost of a batch, which"
        " a job that stays pays whatever has changed. The"
        " parts are Spark's own, in seconds, of the quickest batch; `addBatch` is the task that"
        " builds and stores the base, its announcement on `bases` included. The first batch starts"
        " the Python processes and, in `local-cluster`, compiles the kernels."
    )
    rows = [_cells(master, run) for master, run in runs.items()]
    return Section("spark_batches", "The cost of a micro-batch", words, [Table(header, rows)])


def _cells(master: str, run: Run) -> list[str]:
    ones = run.later
    best = min(ones, key=lambda batch: batch.seconds)
    seconds = [batch.seconds for batch in ones]
    return [
        f"`{master}`",
        f"{run.session_s:.1f}",
        f"{run.first.seconds:.1f}",
        f"{best.seconds:.2f}",
        f"{statistics.median(seconds):.2f}",
        f"{max(seconds):.2f}",
        *(f"{best.parts.get(part, 0.0):.2f}" for part in _PARTS),
    ]
