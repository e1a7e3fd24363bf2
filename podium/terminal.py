"""What every command shares: exit codes, the options' spelling, and how things are said.

Results go to stdout, everything about them to stderr, so that `--json` output can be piped.
Imports nothing heavy: `podium --help` loads this.
"""

import json
import os
import sys
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.stack import DEFAULT_FOLDER


class Exit(IntEnum):
    FINE = 0
    WRONG = 1
    USAGE = 2
    NOT_RUNNING = 3
    UNREACHABLE = 4
    INTERRUPTED = 130


EXIT_CODES = {
    Exit.FINE: "fine",
    Exit.WRONG: "a check failed or something is wrong",
    Exit.USAGE: "bad usage or configuration",
    Exit.NOT_RUNNING: "nothing is running",
    Exit.UNREACHABLE: "broker or Redis unreachable",
    Exit.INTERRUPTED: "interrupted",
}


FOLDER_VARIABLE = "PODIUM_FOLDER"


class Failure(Exception):
    """Ends a command: the message on one line of stderr, what to do on the next."""

    def __init__(self, message: str, remedy: str = "", exit_code: int = Exit.WRONG) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.exit_code = exit_code


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings file. [PODIUM_CONFIG, ./podium.yaml, ./.podium/podium.yaml]",
        show_default=False,
    ),
]
StackOption = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="DIR",
        help="Folder of a local stack, whose settings are used unless --config names others. "
        "[PODIUM_FOLDER]",
        show_default=False,
    ),
]
CollectionOption = Annotated[
    str, typer.Option("--collection", metavar="NAME|FILE", help="Which collection.")
]
BrokersOption = Annotated[
    str | None,
    typer.Option(
        "--brokers", metavar="HOST:PORT[,…]", help="Kafka's addresses.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="For programs: JSON on stdout.")]


def settings_path(config: Path | None, folder: Path | None) -> Path | None:
    """The settings file to read, by the flags --config and --folder; None: there is none.

    Without flags it is the usual one, and PODIUM_FOLDER says where the local stack's is.
    """
    from configs.settings import USUAL_FILES, settings_file
    from podium.stack.run.folder import StackFolder

    if config is not None:
        return config
    if folder is not None:
        file = StackFolder(folder).settings_path
        if not file.is_file():
            remedy = f"`podium up --folder {folder}` starts one"
            raise Failure(f"no stack was started in {folder}: no {file}", remedy, Exit.USAGE)
        return file
    usual = settings_file()
    if FOLDER_VARIABLE in os.environ and usual in (None, USUAL_FILES[-1]):  # the local stack's
        file = StackFolder(stack_folder(None)).settings_path
        return file if file.is_file() else usual
    return usual


def stack_folder(folder: Path | None) -> Path:
    """Where the local stack is, by the flag --folder, the variable, or habit."""
    return folder or Path(os.environ.get(FOLDER_VARIABLE) or DEFAULT_FOLDER)


def say(text: str = "") -> None:
    """A line of the result."""
    print(text, flush=True)


def say_json(value: Any) -> None:
    """The result for programs, on one line."""
    say(json.dumps(value, ensure_ascii=False, default=str))


def note(text: str) -> None:
    """A line about the result."""
    print(text, file=sys.stderr, flush=True)


def printable(text: str, limit: int | None = None) -> str:
    """`text` on one line, safe for a terminal: control characters escaped, cut at `limit`.

    >>> printable("a\\x1b[2Jb\\n")
    'a\\\\x1b[2Jb\\\\n'
    >>> printable("abcdef", 4)
    'abc…'
    """
    safe = text if text.isprintable() else "".join(map(_escaped, text))
    return safe if limit is None or len(safe) <= limit else safe[: limit - 1] + "…"


def _escaped(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """
    >>> counted(1, "event"), counted(2000, "event")
    ('1 event', '2,000 events')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
