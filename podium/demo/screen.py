"""Shows the board on stderr while the demo runs: a live table on a terminal, lines elsewhere."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live

from podium.demo.table import Board, line, render
from podium.terminal import note

LINE_EVERY_S = 2.0
LOOK_EVERY_S = 0.1
REDRAWS_PER_S = 4


@contextmanager
def shown(board: Board) -> Iterator[None]:
    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal:
        with Live(
            console=console,
            get_renderable=lambda: render(board),
            refresh_per_second=REDRAWS_PER_S,
            vertical_overflow="visible",
        ):
            yield
        return
    printer = _Lines(board)
    printer.start()
    try:
        yield
    finally:
        printer.stop()


class _Lines(threading.Thread):
    """A line every couple of seconds about the running step, and one for each that has ended."""

    def __init__(self, board: Board) -> None:
        super().__init__(name="lines", daemon=True)
        self._board = board
        self._told: set[str] = set()
        self._stopping = threading.Event()

    def run(self) -> None:
        next_line_at = 0.0
        while not self._stopping.wait(LOOK_EVERY_S):
            self._tell_ended()
            running = self._board.running()
            if running is not None and time.monotonic() >= next_line_at:
                note(line(self._board, running))
                next_line_at = time.monotonic() + LINE_EVERY_S

    def _tell_ended(self) -> None:
        for step in self._board.steps:
            if step.state in ("done", "failed") and step.name not in self._told:
                self._told.add(step.name)
                note(line(self._board, step))

    def stop(self) -> None:
        self._stopping.set()
        self.join()
        self._tell_ended()
