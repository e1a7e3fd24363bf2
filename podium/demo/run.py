"""`podium demo` from the first process started to the last one stopped."""

from dataclasses import replace
from pathlib import Path

from podium.demo.data import write_script
from podium.demo.report import Report
from podium.demo.scene import scene
from podium.demo.screen import shown
from podium.demo.story import Options, Story
from podium.demo.table import Board, Step
from podium.demo.workplace import workplace


def run_demo(options: Options, folder: Path | None = None, keep: bool = False) -> Report:
    """Everything that this starts is stopped when it returns or raises."""
    board = _board(options)
    with workplace(folder, keep) as place, shown(board):
        try:
            report = _told(options, board, place.folder)
        finally:
            _end(board)
        place.keep = keep or not report.fine
    return replace(report, seconds=board.seconds())


def _board(options: Options) -> Board:
    first, streamed = options.ads * 3 // 4, options.visitors // 2
    matchers = "1 matcher" if options.matchers == 1 else f"{options.matchers} matchers"
    return Board(
        f"Podium demo: {options.ads:,} ads, {options.visitors:,} visitors",
        [
            Step("start", f"Kafka, Redis, 1 router, {matchers}, 1 merger"),
            Step("register", f"{first:,} ads"),
            Step("stream", f"{streamed:,} visitors, while ads come, change and go"),
            Step("rebase", "Spark builds optimal indexes, the matchers swap them in"),
            Step("kill", "a matcher, which comes back from its snapshots"),
            Step("burst", "the other visitors at full speed"),
            Step("check", f"{options.check:,} answers against a full scan"),
            Step("stop", "everything that was started"),
        ],
    )


def _told(options: Options, board: Board, folder: Path) -> Report:
    def say(text: str) -> None:
        if board.step("start").state == "running":
            board.say("start", text)

    board.begin("start", "making up ads and visitors")
    script = write_script(options.ads, options.visitors, options.seed)
    with scene(folder, options.matchers, say) as on:
        board.end("start", board.step("start").plan)
        try:
            with on.clients.reaching(on.admin), Story(options, board, script, on) as story:
                return story.told()
        finally:
            board.fail()
            board.begin("stop", "stopping")


def _end(board: Board) -> None:
    """The steps as they are when nothing runs any more."""
    stop = board.step("stop")
    if stop.state == "running":
        board.end("stop", stop.plan)
    board.fail()
