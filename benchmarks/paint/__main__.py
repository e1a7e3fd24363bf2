"""Range top-k subscriptions, measured: `python -m benchmarks.paint`.

The tables and figures of the Paint paper, §V and appendices C and D, and the targets for speed.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.script import Experiment, Script, Step, run

if TYPE_CHECKING:
    from benchmarks.report import Section

NAMES = ("speed", "received", "calls", "batches", "trends", "stocks", "servers", "boxes")
PACKAGES = ("numpy", "numba")


def main(arguments: list[str] | None = None) -> int:
    return run(Script("benchmarks.paint", __doc__ or "", NAMES, PACKAGES, _open), arguments)


@contextmanager
def _open(quick: bool, step: Step) -> Iterator[Experiment]:
    from benchmarks.paint import experiments as paint_experiments
    from benchmarks.paint import lab as paint_lab
    from benchmarks.paint import speed as paint_speed

    experiments = {
        "speed": paint_speed.speed,
        "received": paint_experiments.messages,
        "calls": paint_experiments.calls,
        "batches": paint_experiments.batches,
        "trends": paint_experiments.trends,
        "stocks": paint_experiments.trace,
        "servers": paint_experiments.servers,
        "boxes": paint_experiments.boxes,
    }
    lab = paint_lab.Lab(paint_lab.QUICK if quick else paint_lab.Sizes(), step)

    def perform(name: str) -> "Section":
        return experiments[name](lab)

    yield perform


if __name__ == "__main__":
    sys.exit(main())
