"""Subscription covering, measured: `python -m benchmarks.covering`.

The experiments of the covering paper, §V, and the targets for speed.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.script import Experiment, Script, Step, run

if TYPE_CHECKING:
    from benchmarks.report import Section

NAMES = ("speed", "routing", "modes", "indexes")
PACKAGES = ("numpy", "numba")


def main(arguments: list[str] | None = None) -> int:
    return run(Script("benchmarks.covering", __doc__ or "", NAMES, PACKAGES, _open), arguments)


@contextmanager
def _open(quick: bool, step: Step) -> Iterator[Experiment]:
    from benchmarks.covering import experiments as covering_experiments
    from benchmarks.covering import lab as covering_lab
    from benchmarks.covering import routing as covering_routing
    from benchmarks.covering import speed as covering_speed

    experiments = {
        "speed": covering_speed.speed,
        "routing": covering_routing.routing,
        "modes": covering_experiments.modes,
        "indexes": covering_experiments.indexes,
    }
    lab = covering_lab.Lab(covering_lab.QUICK if quick else covering_lab.Sizes(), step)

    def perform(name: str) -> "Section":
        return experiments[name](lab)

    yield perform


if __name__ == "__main__":
    sys.exit(main())
