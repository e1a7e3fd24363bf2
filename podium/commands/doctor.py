"""`podium doctor`: what is in order, what is not, and what to do about it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.terminal import (
    BrokersOption,
    ConfigOption,
    Exit,
    JsonOption,
    StackOption,
    counted,
    printable,
    say,
    say_json,
    settings_path,
    stack_folder,
)

if TYPE_CHECKING:
    from configs import Settings
    from podium.checks import Check

COLOURS = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "bright_black"}


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    collection: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Check this collection only, and fail if it has no topics. [all that are found]",
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check versions, programs, Kafka, Redis, topics and workers: a line each, with the remedy.

    Exits 1 if a check failed. Programs that only a local stack needs count as failed only while
    no broker answers.
    """
    from configs import load_settings

    settings = load_settings(settings_path(config, folder), {"kafka.brokers": brokers})
    checks = all_checks(settings, collection, stack_folder(folder))
    failed = [check for check in checks if check.state == "failed"]
    if as_json:
        say_json({"ok": not failed, "checks": [check._asdict() for check in checks]})
    else:
        show(checks)
        say(f"{counted(len(failed), 'check')} failed" if failed else "no check failed")
    if failed:
        raise typer.Exit(Exit.WRONG)


def all_checks(settings: "Settings", collection: str | None, folder: Path) -> list["Check"]:
    from podium.checks import machine, services

    broker = services.check_broker(settings)
    answers = broker.state == "ok"
    return [
        *machine.check_machine(missing_is="warning" if answers else "failed"),
        broker,
        *services.check_redis(settings),
        *(services.check_collections(settings, collection) if answers else []),
        *services.check_workers(folder),
    ]


def show(checks: list["Check"]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        state = f"{check.state:8}"
        if sys.stdout.isatty():
            state = typer.style(state, fg=COLOURS[check.state])
        remedy = f"  → {check.remedy}" if check.remedy else ""
        say(f"{state} {check.name:{width}}  {printable(check.detail)}{printable(remedy)}")
