"""`podium top`: a live view of where the events' time goes."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.terminal import Exit, Failure, JsonOption, note, say_json, stack_folder

if TYPE_CHECKING:
    from rich.console import Group

    from podium.stack.status.flow import View, Worker

SHOWN_LAGS = 8


def register(app: typer.Typer) -> None:
    app.command()(top)


def top(
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT[,…]",
            help="Where the workers serve /metrics. [those of the local stack]",
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Between two looks.")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="End after the first view.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the stack. [PODIUM_FOLDER, .podium]", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show rates, seconds by stage, lag and load, and name the slowest stage in a sentence.

    All is from the workers' metrics between two looks. Ends on Ctrl-C; with --json each view is a
    line. Exits 1 if a worker did not answer at last, 3 if there is none.
    """
    from podium.stack.status.flow import look, view

    asked = _at(workers) if workers else _of_stack(stack_folder(folder))
    screen = None if as_json or once else _Screen()
    before = look(asked)
    try:
        while True:
            time.sleep(every)
            after = look(asked)
            shown = view(asked, before, after)
            if as_json:
                say_json(asdict(shown))
            elif screen:
                screen.show(shown)
            else:
                _print(shown)
            if once:
                break
            before = after
            if not workers:  # one that has died is back at another place
                asked = _of_stack(stack_folder(folder))
    finally:
        if screen:
            screen.end()
    if silent := [row.name for row in shown.workers if row.busy is None]:
        note(f"podium: no answer from {', '.join(silent)}")
        raise typer.Exit(Exit.WRONG)


def _at(addresses: str) -> "list[Worker]":
    from podium.stack.status.flow import Worker

    found = [address.strip() for address in addresses.split(",") if address.strip()]
    for address in found:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise typer.BadParameter(f"--workers: got {address!r}, expected HOST:PORT")
    return [Worker(address, address) for address in found]


def _of_stack(folder: Path) -> "list[Worker]":
    from podium.stack.run import ports
    from podium.stack.run.folder import StackFolder
    from podium.stack.status.flow import Worker

    record = StackFolder(folder).read()
    found = [
        Worker(process.name, f"{ports.HOST}:{process.port}")
        for process in (record.processes if record and record.running() else [])
        if process.kind == "worker" and process.port is not None
    ]
    if not found:
        remedy = "`podium up` starts one; --workers HOST:PORT,… names workers elsewhere"
        raise Failure(f"no workers run in {folder}", remedy, Exit.NOT_RUNNING)
    return found


class _Screen:
    """The view, in place."""

    def __init__(self) -> None:
        from rich.live import Live

        self._live = Live(auto_refresh=False)
        self._live.start()

    def show(self, shown: "View") -> None:
        self._live.update(_drawn(shown), refresh=True)

    def end(self) -> None:
        self._live.stop()


def _print(shown: "View") -> None:
    from rich.console import Console

    Console(highlight=False).print(_drawn(shown))


def _drawn(shown: "View") -> "Group":
    from rich.console import Group
    from rich.text import Text

    parts: list = []
    for flow in shown.flows:
        whole = "" if flow.p99_ms is None else f", p50 {flow.p50_ms:g} ms, p99 {flow.p99_ms:g} ms"
        rates = f"{flow.events_per_s:,.0f} events/s, {flow.matches_per_s:,.0f} match records/s"
        parts += [Text(f"{flow.collection}: {rates}{whole}", style="bold"), Text(flow.sentence)]
        stages = [
            (
                row.stage,
                ", ".join(row.workers),
                f"{row.events_per_s:,.0f}",
                f"{row.mean_ms:,.2f}",
                f"{row.p50_ms:g}",
                f"{row.p99_ms:g}",
                f"{row.share:.0%}",
            )
            for row in flow.stages
        ]
        if stages:
            headings = ("stage", "workers", "events/s", "mean ms", "p50 ms", "p99 ms", "share")
            parts.append(_table(headings, stages))
        behind = [
            (
                row.worker,
                f"{row.topic}[{row.partition}]",
                f"{row.records:,.0f}",
                f"{row.seconds:,.1f}",
                f"{row.per_s:+,.0f}",
            )
            for row in flow.lag[:SHOWN_LAGS]
            if row.records
        ]
        if behind:
            parts.append(_table(("behind", "topic", "records", "seconds", "records/s"), behind))
    workers = [
        (
            row.name,
            "no answer" if row.busy is None else f"{row.busy:.0%}",
            "-" if row.memory_bytes is None else f"{row.memory_bytes / 1024**2:,.0f} MiB",
        )
        for row in shown.workers
    ]
    parts.append(_table(("worker", "busy", "memory"), workers))
    return Group(*parts)


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> "Group":
    from rich.console import Group
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, heading in enumerate(headings):
        is_text = place == 0 or heading in ("workers", "topic")
        table.add_column(heading, justify="left" if is_text else "right")
    for row in rows:
        table.add_row(*row)
    return Group(table)
