"""Boolean expressions, measured: `python -m benchmarks.boolean`.

The experiments of Sadoghi and Jacobsen, Relevance Matters: Capitalizing on Less, §VII, and the
targets for speed and memory.  Each writes a Markdown page, with plots, that names machine and
versions.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.script import Experiment, Script, Step, run
from workers.process.latency import tune_for_latency

if TYPE_CHECKING:
    from benchmarks.boolean.lab import Sizes
    from benchmarks.report import Section

NAMES = (
    "speed", "probability", "topk", "operators", "size", "dimensions", "cardinality",
    "construction",
)  # fmt: skip
PACKAGES = ("numpy", "numba", "matplotlib")


def main(arguments: list[str] | None = None) -> int:
    script = Script(
        "benchmarks.boolean", __doc__ or "", NAMES, PACKAGES, _open, remarks=_repetitions
    )
    return run(script, arguments)


def _sizes(quick: bool) -> "Sizes":
    from benchmarks.boolean import lab as boolean_lab

    return boolean_lab.QUICK if quick else boolean_lab.Sizes()


def _repetitions(quick: bool) -> dict[str, str]:
    from benchmarks import measure

    turns = f"{measure.REPETITIONS} in each of {_sizes(quick).turns} turns"
    return {"repetitions": f"{turns} of asking every index, after a warm-up; seed 0"}


@contextmanager
def _open(quick: bool, step: Step) -> Iterator[Experiment]:
    from benchmarks.boolean import experiments as boolean_experiments
    from benchmarks.boolean import speed as boolean_speed
    from benchmarks.boolean.lab import Lab

    lab = Lab(_sizes(quick), step)

    def perform(name: str) -> "Section":
        where = boolean_speed if name == "speed" else boolean_experiments
        section: Section = getattr(where, name)(lab)
        return section

    yield perform


if __name__ == "__main__":
    tune_for_latency()  # as a matcher does: memory that was used once serves again
    sys.exit(main())
