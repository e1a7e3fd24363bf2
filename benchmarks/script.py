"""The one runner of all benchmark scripts: options, steps on the terminal, pages."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from benchmarks.report import Section

__all__ = ["EXTRA", "Experiment", "Script", "Step", "run"]

RESULTS = Path(__file__).parent / "results"
QUICK_RESULTS = Path("build/benchmarks")
EXTRA = {"matplotlib": ">=3.10"}  # what plots need beyond Podium itself

Step = Callable[[str], None]
Experiment = Callable[[str], "Section"]  # by its name


class Script(NamedTuple):
    module: str
    description: str
    experiments: Sequence[str]
    packages: Sequence[str]  # whose versions matter
    # With or without `--quick`: what runs an experiment, for as long as the context is open.
    open: Callable[[bool, Step], AbstractContextManager[Experiment]]
    extra: Mapping[str, str] = EXTRA
    # With or without `--quick`: what every page says beside the machine.
    remarks: Callable[[bool], Mapping[str, str]] = lambda quick: {}


def run(script: Script, arguments: list[str] | None = None) -> int:
    options = _parse(script, arguments)
    screen = Console(stderr=True)
    missing = [name for name in script.extra if find_spec(name) is None]
    if missing:
        wanted = " ".join(f"'{name}{script.extra[name]}'" for name in missing)
        command = f"{sys.executable} -m pip install {wanted}"
        screen.print(f"missing: {', '.join(missing)}; install with:", markup=False)
        screen.print(f"  {command}", markup=False, soft_wrap=True)
        return 2
    from benchmarks import measure, report  # after the look at what is missing

    out = options.out or (QUICK_RESULTS if options.quick else RESULTS)
    chosen = [options.only] if options.only else script.experiments
    with _steps(screen, len(chosen)) as (step, done), script.open(options.quick, step) as perform:
        for name in chosen:
            before = measure.load()
            section = perform(name)
            machine = measure.environment(script.packages)
            machine["load average"] = f"{before} before, {measure.load()} after, our own included"
            machine |= script.remarks(options.quick)
            path = report.write(section, machine, out)
            screen.print(f"wrote {path}", markup=False, soft_wrap=True)
            done()
    return 0


def _parse(script: Script, arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(f"python -m {script.module}", description=script.description)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that it runs; no fair figures"
    )
    parser.add_argument("--only", choices=script.experiments, help="run one experiment")
    where = f"where results go (default: {RESULTS.name} beside this script; quick: {QUICK_RESULTS})"
    parser.add_argument("--out", type=Path, help=where)
    return parser.parse_args(arguments)


@contextmanager
def _steps(screen: Console, experiments: int) -> Iterator[tuple[Step, Callable[[], None]]]:
    """What to call at a step and after an experiment: a bar on a terminal, lines elsewhere."""
    if not screen.is_terminal:
        yield lambda what: screen.print(what, markup=False, soft_wrap=True), lambda: None
        return
    columns = (SpinnerColumn(), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    # Drawn seldom: the drawing thread's time counts in what is measured.
    with Progress(*columns, console=screen, refresh_per_second=1) as progress:
        task = progress.add_task("starting", total=experiments)
        yield (
            lambda what: progress.update(task, description=what),
            lambda: progress.advance(task),
        )
