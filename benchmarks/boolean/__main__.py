"""Boolean expressions, measured: `python -m benchmarks.boolean`.

The experiments of Sadoghi and Jacobsen, Relevance Matters: Capitalizing on Less, §VII, and the
targets for speed and memory.  Each writes a Markdown page, with plots, that names machine and
versions.
"""

import argparse
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.script import QUICK_RESULTS, RESULTS
from workers.process.latency import keep_calm

if TYPE_CHECKING:
    from benchmarks.boolean.lab import Lab
    from benchmarks.report import Section

NAMES = (
    "speed", "probability", "topk", "operators", "size", "dimensions", "cardinality",
    "construction",
)  # fmt: skip
EXTRA = {"matplotlib": ">=3.10"}  # what the plots need beyond Podium itself


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    screen = Console(stderr=True)
    missing = [f"'{name}{version}'" for name, version in EXTRA.items() if find_spec(name) is None]
    if missing:
        command = f"{sys.executable} -m pip install {' '.join(missing)}"
        screen.print(f"benchmarks: missing packages; install with:\n  {command}", markup=False)
        return 2

    # Imported here, so that what is missing can be named first.
    from benchmarks import measure, report
    from benchmarks.boolean.lab import QUICK, Lab, Sizes

    out = options.out or (QUICK_RESULTS if options.quick else RESULTS)
    sizes = QUICK if options.quick else Sizes()
    lab = Lab(sizes, lambda what: screen.print(what, markup=False, soft_wrap=True))
    for name in [options.only] if options.only else NAMES:
        before = measure.load()
        section = _experiment(name)(lab)
        machine = measure.environment()
        machine["load average"] = f"{before} before, {measure.load()} after"
        machine["repetitions"] = (
            f"{measure.REPETITIONS} in each of {sizes.turns} turns of asking every index, after a"
            " warm-up; seed 0"
        )
        path = report.write(section, machine, out)
        screen.print(f"wrote {path}", markup=False, soft_wrap=True)
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.boolean", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that it runs; no fair figures"
    )
    parser.add_argument("--only", choices=NAMES, help="run one experiment")
    where = f"where results go (default: {RESULTS.name} beside this script; quick: {QUICK_RESULTS})"
    parser.add_argument("--out", type=Path, help=where)
    return parser.parse_args(arguments)


def _experiment(name: str) -> "Callable[[Lab], Section]":
    from benchmarks.boolean import experiments as boolean_experiments
    from benchmarks.boolean import speed as boolean_speed

    return getattr(boolean_speed if name == "speed" else boolean_experiments, name)


if __name__ == "__main__":
    keep_calm()  # as a matcher does: memory that was used once serves again
    sys.exit(main())
