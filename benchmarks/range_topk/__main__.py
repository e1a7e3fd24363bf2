"""Range top-k lists, measured: `python -m benchmarks.range_topk`.

The painter and a zone by themselves, batches, a fleet, and the Spark job, on a Kafka and a Redis of
their own.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.script import Experiment, Script, Step, run

if TYPE_CHECKING:
    from benchmarks.report import Section

NAMES = ("speed", "batches", "latency", "job")
PACKAGES = ("numpy", "numba", "confluent-kafka", "faust-streaming", "pyspark")


def main(arguments: list[str] | None = None) -> int:
    return run(Script("benchmarks.range_topk", __doc__ or "", NAMES, PACKAGES, _open), arguments)


@contextmanager
def _open(quick: bool, step: Step) -> Iterator[Experiment]:
    from benchmarks.range_topk import batches, job, latency, speed
    from benchmarks.range_topk.lab import QUICK, Lab, Sizes

    experiments = {
        "speed": speed.speed,
        "batches": batches.batches,
        "latency": latency.latency,
        "job": job.job,
    }
    lab = Lab(QUICK if quick else Sizes(), step)

    def perform(name: str) -> "Section":
        return experiments[name](lab)

    yield perform


if __name__ == "__main__":
    sys.exit(main())
