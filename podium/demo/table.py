"""The live table: which step the demo is at, how fast it goes, and how far each stage is behind."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from podium.demo.monitor import Figures

TEXT_WIDTH = 57  # with the other columns, 80
MARKS = {
    "waiting": ("·", "dim"),
    "running": ("●", "cyan"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
}


@dataclass
class Step:
    name: str
    plan: str  # what it will do
    progress: Callable[[], str] = lambda: ""
    state: str = "waiting"
    began: float = 0.0
    seconds: float = 0.0

    def text(self) -> str:
        return self.plan if self.state == "waiting" else self.progress()

    def elapsed_s(self) -> float:
        return time.monotonic() - self.began if self.state == "running" else self.seconds


@dataclass
class Board:
    """What there is to show; the story writes it, a screen reads it."""

    title: str
    steps: list[Step]
    figures: Callable[[], Figures] | None = field(default=None)  # None: nothing flows

    def begin(self, name: str, progress: str | Callable[[], str]) -> None:
        step = self.step(name)
        step.state, step.began = "running", time.monotonic()
        self.say(name, progress)

    def say(self, name: str, progress: str | Callable[[], str]) -> None:
        self.step(name).progress = progress if callable(progress) else lambda: progress

    def end(self, name: str, result: str, state: str = "done") -> None:
        step = self.step(name)
        step.seconds, step.state = step.elapsed_s(), state
        self.say(name, result)

    def fail(self) -> None:
        """A step that is still running has not come to its end."""
        if (step := self.running()) is not None:
            self.end(step.name, step.text(), "failed")

    def running(self) -> Step | None:
        return next((step for step in self.steps if step.state == "running"), None)

    def seconds(self) -> dict[str, float]:
        return {step.name: round(step.elapsed_s(), 2) for step in self.steps}

    def step(self, name: str) -> Step:
        return next(step for step in self.steps if step.name == name)


def render(board: Board) -> RenderableType:
    parts: list[RenderableType] = [Text(board.title, style="bold"), Text(), _steps(board)]
    if board.figures is not None:
        parts += [Text(), _figures(board.figures())]
    return Group(*parts)


def _steps(board: Board) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column()
    table.add_column(width=TEXT_WIDTH, overflow="fold")
    table.add_column(width=7, justify="right")
    for step in board.steps:
        mark, style = MARKS[step.state]
        faint = "dim" if step.state == "waiting" else ""
        seconds = "" if step.state == "waiting" else f"{step.elapsed_s():.1f} s"
        table.add_row(
            Text(mark, style),
            Text(step.name, "bold" if step.state == "running" else faint),
            Text(step.text(), faint),
            Text(seconds, "dim"),
        )
    return table


def _figures(figures: Figures) -> Table:
    """Two rows of numbers, each under its own headings; fits 80 columns."""
    table = Table(box=box.SIMPLE_HEAD, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(width=8, style="bold")
    for width in (15, 10, 11, 10, 9):
        table.add_column(width=width, justify="right")
    latency, lag = figures.latency, figures.lag
    rates = ("subscriptions/s", "events/s", "matches/s", "p50", "p99")
    table.add_row("", *(Text(head, "dim") for head in rates))
    table.add_row(
        "now",
        f"{figures.ads_per_s:,.0f}",
        f"{figures.visitors_per_s:,.0f}",
        f"{figures.matches_per_s:,.0f}",
        milliseconds(latency.p50_ms if latency else None),
        milliseconds(latency.p99_ms if latency else None),
        end_section=True,
    )
    stages = ("ads to index", "to route", "to match", "to merge")
    table.add_row("", *(Text(head, "dim") for head in stages))
    table.add_row("behind", *(f"{records:,}" for records in lag))
    return table


def line(board: Board, step: Step) -> str:
    """The same on one line, for a log."""
    if step.state != "running":
        return f"podium demo: {step.name} {step.state} in {step.seconds:.1f} s: {step.text()}"
    text = f"podium demo: {step.name}: {step.text()}"
    if board.figures is None:
        return text
    figures = board.figures()
    rates = (
        f"{figures.ads_per_s:,.0f} subscriptions/s, {figures.visitors_per_s:,.0f} events/s, "
        f"{figures.matches_per_s:,.0f} matches/s"
    )
    if figures.latency:
        rates += f", p50 {milliseconds(figures.latency.p50_ms)}"
        rates += f", p99 {milliseconds(figures.latency.p99_ms)}"
    lags = zip(figures.lag._fields, figures.lag.texts(), strict=True)
    return f"{text}; {rates}; behind: {', '.join(f'{name} {lag}' for name, lag in lags)}"


def milliseconds(value: float | None) -> str:
    """
    >>> milliseconds(12.4), milliseconds(1234.5), milliseconds(None)
    ('12 ms', '1,234 ms', '-')
    """
    return "-" if value is None else f"{value:,.0f} ms"
