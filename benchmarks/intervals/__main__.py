"""Interval indexes, measured: `python -m benchmarks.intervals`.

The experiments of Machanavajjhala et al., Scalable Ranked Publish/Subscribe, §4, and the targets
for speed and memory.  Each writes a Markdown page, with plots, that names machine and versions.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks.script import QUICK_RESULTS, RESULTS

if TYPE_CHECKING:
    from benchmarks.intervals.lab import Lab
    from benchmarks.report import Section

NAMES = ("memory", "getnext", "dimensions", "overlap", "speed")
# What the baselines and plots need beyond Podium itself.
EXTRA = {"matplotlib": ">=3.10", "ncls": ">=0.0.70", "superintervals": ">=1.0.3"}


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    screen = Console(stderr=True)
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        wanted = " ".join(f"'{name}{EXTRA[name]}'" for name in missing)
        screen.print(f"benchmarks: missing: {', '.join(missing)}", markup=False)
        command = f"{sys.executable} -m pip install {wanted}"
        screen.print(f"install with:\n  {command}", markup=False, soft_wrap=True)
        return 2

    # Imported here, so that what is missing can be named first.
    from benchmarks import measure, report
    from benchmarks.intervals.lab import QUICK, Lab, Sizes

    out = options.out or (QUICK_RESULTS if options.quick else RESULTS)
    chosen = [options.only] if options.only else NAMES
    with _steps(screen, len(chosen)) as (step, done):
        lab = Lab(QUICK if options.quick else Sizes(), step)
        for name in chosen:
            before = measure.load()
            section = _experiment(name)(lab)
            machine = measure.environment()
            machine["load average"] = f"{before} before, {measure.load()} after"
            machine["repetitions"] = f"{measure.REPETITIONS}, after a warm-up; seed 0"
            path = report.write(section, machine, out)
            screen.print(f"wrote {path}", markup=False, soft_wrap=True)
            done()
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.intervals", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that it runs; no fair figures"
    )
    parser.add_argument("--only", choices=NAMES, help="run one experiment")
    where = f"where results go (default: {RESULTS.name} beside this script; quick: {QUICK_RESULTS})"
    parser.add_argument("--out", type=Path, help=where)
    return parser.parse_args(arguments)


def _experiment(name: str) -> "Callable[[Lab], Section]":
    from benchmarks.intervals import experiments as interval_experiments
    from benchmarks.intervals import speed as interval_speed

    where = interval_speed if name == "speed" else interval_experiments
    return getattr(where, name)


@contextmanager
def _steps(
    screen: Console, experiments: int
) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """What to call at a step and after an experiment: a bar on a terminal, lines elsewhere."""
    if not screen.is_terminal:
        yield lambda what: screen.print(what, markup=False, soft_wrap=True), lambda: None
        return
    columns = (SpinnerColumn(), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    # Drawn seldom: the drawing thread's CPU time counts in what is measured.
    with Progress(*columns, console=screen, refresh_per_second=1) as progress:
        task = progress.add_task("starting", total=experiments)
        yield (
            lambda what: progress.update(task, description=what),
            lambda: progress.advance(task),
        )


if __name__ == "__main__":
    sys.exit(main())
