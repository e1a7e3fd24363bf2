"""Interval indexes, measured: `python -m benchmarks.intervals`.

The experiments of Machanavajjhala et al., Scalable Ranked Publish/Subscribe, §4, and the targets
for speed and memory.  Each writes a Markdown page, with plots, that names machine and versions.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks import script
from benchmarks.script import Experiment, Script, Step

if TYPE_CHECKING:
    from benchmarks.report import Section

NAMES = ("memory", "getnext", "dimensions", "overlap", "speed")
PACKAGES = ("numpy", "numba", "superintervals", "ncls", "matplotlib")
# What the baselines and plots need beyond Podium itself.
EXTRA = {**script.EXTRA, "ncls": ">=0.0.70", "superintervals": ">=1.0.3"}


def main(arguments: list[str] | None = None) -> int:
    intervals = Script(
        "benchmarks.intervals", __doc__ or "", NAMES, PACKAGES, _open, EXTRA, _repetitions
    )
    return script.run(intervals, arguments)


def _repetitions(quick: bool) -> dict[str, str]:
    from benchmarks import measure

    return {"repetitions": f"{measure.REPETITIONS}, after a warm-up; seed 0"}


@contextmanager
def _open(quick: bool, step: Step) -> Iterator[Experiment]:
    from benchmarks.intervals import experiments as interval_experiments
    from benchmarks.intervals import speed as interval_speed
    from benchmarks.intervals.lab import QUICK, Lab, Sizes

    lab = Lab(QUICK if quick else Sizes(), step)

    def perform(name: str) -> "Section":
        where = interval_speed if name == "speed" else interval_experiments
        section: Section = getattr(where, name)(lab)
        return section

    yield perform


if __name__ == "__main__":
    sys.exit(main())
