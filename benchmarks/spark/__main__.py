"""The Spark job that builds bases, measured: `python -m benchmarks.spark`.

How long it takes by subscriptions, shards and executors, beside the same work without Spark, and
what a micro-batch costs that has next to nothing to do.  Starts a Kafka and a Redis of its own.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.script import Experiment, Script, Step, run

if TYPE_CHECKING:
    from benchmarks.report import Section

NAMES = ("rebuild", "batches")
PACKAGES = ("numpy", "numba", "pyspark", "pyarrow", "confluent-kafka", "redis")


def main(arguments: list[str] | None = None) -> int:
    return run(Script("benchmarks.spark", __doc__ or "", NAMES, PACKAGES, _open), arguments)


@contextmanager
def _open(quick: bool, step: Step) -> Iterator[Experiment]:
    from benchmarks.spark import batches as spark_batches
    from benchmarks.spark import rebuild as spark_rebuild
    from benchmarks.spark.lab import QUICK, Lab, Sizes
    from podium.stack import Stack

    experiments = {"rebuild": spark_rebuild.rebuild, "batches": spark_batches.batches}
    with (
        tempfile.TemporaryDirectory(prefix="podium-benchmark-") as folder,
        Stack(Path(folder), say=step) as stack,
    ):
        lab = Lab(QUICK if quick else Sizes(), step, stack)

        def perform(name: str) -> "Section":
            return experiments[name](lab)

        yield perform


if __name__ == "__main__":
    sys.exit(main())
