"""`podium demo`: the whole of Podium in a minute, with its answers checked."""

import os
import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from podium.terminal import Exit, JsonOption, note, say, say_json

TERMINATED = 128 + signal.SIGTERM


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    ads: Annotated[int, typer.Option(min=100, help="Subscriptions to register.")] = 200_000,
    visitors: Annotated[int, typer.Option(min=100, help="Events to publish.")] = 50_000,
    check: Annotated[int, typer.Option(min=3, help="Answers to recompute.")] = 500,
    rate: Annotated[
        int, typer.Option(min=1, help="Visitors a second while latency is measured.")
    ] = 2500,
    matchers: Annotated[int, typer.Option(min=1, help="Matcher processes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the made-up ads and visitors.")] = 1,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the stack keeps its data and logs; new or empty. [a temporary one]",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the folder when done.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring up a fleet of its own, match visitors with ads, check the answers.

    A running stack is not touched. Half of the visitors come in a steady
    stream while ads come, change their bid and go, the other half all at once.
    Then a sample of the answers is recomputed by a full scan of the ads as of
    the moment that each answer names (podium-as-of), and everything is stopped.

    Meanwhile Spark builds a base that is swapped in, and a matcher is killed.

    Exits 1 unless all of them agree, those around the swap and the kill among
    them, every visitor with a match has a match record, the delta share fell
    and the matcher came back from its snapshots.
    """
    _forget_settings()
    signal.signal(signal.SIGTERM, _terminate)
    from podium.demo.run import run_demo
    from podium.demo.story import Options

    try:
        report = run_demo(Options(ads, visitors, check, seed, rate, matchers), folder, keep)
    except KeyboardInterrupt:
        note("podium: interrupted; everything is stopped")
        raise typer.Exit(Exit.INTERRUPTED) from None
    if as_json:
        say_json(report.as_json())
    else:
        say("\n".join(["", *report.lines()]))
    if not report.fine:
        raise typer.Exit(Exit.WRONG)


def _forget_settings() -> None:
    """The fleet is the demo's own: variables that name another broker must not reach it."""
    for name in [name for name in os.environ if name.startswith("PODIUM_")]:
        del os.environ[name]


def _terminate(number: int, frame: FrameType | None) -> None:
    raise SystemExit(TERMINATED)
