"""`podium up`, `podium down`, `podium status`: the local stack."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from podium.stack import DEFAULT_FOLDER
from podium.terminal import (
    FOLDER_VARIABLE,
    Exit,
    JsonOption,
    note,
    say,
    say_json,
)

if TYPE_CHECKING:
    from configs import Collection
    from podium.stack.run.folder import Record, StackFolder
    from podium.stack.run.stack import Stack

FolderOption = Annotated[
    Path,
    typer.Option(
        "--folder",
        metavar="DIR",
        envvar=FOLDER_VARIABLE,
        show_envvar=False,
        help="Where the stack keeps its data, logs and addresses. [PODIUM_FOLDER]",
    ),
]
# Settings that must not reach the workers of a stack, by the start of their names, and why.
FOREIGN_VARIABLES = {
    "PODIUM_KAFKA__": "the stack has its own Kafka",
    "PODIUM_REDIS__": "the stack has its own Redis",
    "PODIUM_MATCHER__INSTANCE_ID": "an id is for one matcher alone",
}
WATCH_S = 0.2


def register(app: typer.Typer) -> None:
    app.command()(up)
    app.command()(down)
    app.command()(status)


def up(
    collection: Annotated[
        list[str] | None,
        typer.Option(
            "--collection",
            metavar="NAME|FILE",
            help="Create its topics and run its workers; may be given several times.",
            show_default=False,
        ),
    ] = None,
    matchers: Annotated[
        int,
        typer.Option(min=1, max=64, metavar="N", help="Matchers, or zones, for each collection."),
    ] = 1,
    folder: FolderOption = DEFAULT_FOLDER,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return when all is ready; `podium down` stops it.")
    ] = False,
    as_json: JsonOption = False,
    background: Annotated[bool, typer.Option("--background", hidden=True)] = False,
) -> None:
    """Run Kafka, Redis and the workers of collections on this machine.

    Stays until Ctrl-C and then stops everything that it has started; the data stay in the folder,
    and the next start there goes on with them. Exits 1 if Kafka or Redis dies, 2 if something is
    not installed or a stack runs in the folder already.
    """
    names = collection or []
    _drop_foreign_settings()
    declared = _declared(names)  # a misspelt name is refused before anything starts
    if detach:
        arguments = ["up", "--background", "--folder", str(folder), "--matchers", str(matchers)]
        for name in names:
            arguments += ["--collection", name]
        _detach(folder, arguments, declared, as_json)
        return
    if not background:
        from podium.stack.run.control import stop_when_parent_ends

        threading.Thread(target=stop_when_parent_ends, daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    _run(folder, declared, matchers, None if background else as_json)


def _interrupt(number: int, frame: object) -> NoReturn:
    """Stop as on Ctrl-C, and let nothing but a second Ctrl-C cut that short."""
    for further in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(further, signal.SIG_IGN)
    raise KeyboardInterrupt


def _run(
    folder: Path, declared: "dict[str, Collection]", matchers: int, as_json: bool | None
) -> None:
    """`as_json` is None where nobody looks: the process that detached this one tells the rest."""
    from podium.stack.run.stack import Stack
    from podium.stack.status.display import Progress

    step = Progress()
    stack = Stack(folder, say=step)
    started = False
    try:
        stack.start()
        _serve(stack, declared, matchers, step)
        started = True
        step.end()
        if as_json is not None:
            _show_started(stack.folder, stack.folder.read(), declared, as_json)
            note("running; Ctrl-C stops everything")
        stack.mark_ready()
        while True:
            stack.check()
            threading.Event().wait(WATCH_S)
    except KeyboardInterrupt:
        step("stopping")
        if not started:
            raise typer.Exit(Exit.INTERRUPTED) from None
    finally:
        stack.stop()
        step.end()
    note("stopped")


def _serve(
    stack: "Stack",
    declared: "dict[str, Collection]",
    matchers: int,
    step: Callable[[str], None],
) -> None:
    from configs import load_settings
    from podium.stack.run import fleet
    from podium.topics_setup import ensure_topics

    settings = load_settings(stack.settings_path)
    for each in declared.values():
        step(f"creating the topics of {each.name}")
        ensure_topics(settings, each)
    served = [fleet.Served(each, reference) for reference, each in declared.items()]
    fleet.start(stack, fleet.plan(stack, served, matchers, settings.prefix), step)


def _declared(names: list[str]) -> "dict[str, Collection]":
    """The collections by what the workers will find them by: a name or an absolute path."""
    from configs import load_collection, load_settings

    # Of the settings only the environment's count: a file would be that of another cluster.
    folder = load_settings(os.devnull).collections
    found = {}
    for name in names:
        is_path = "/" in name or name.endswith((".yaml", ".yml"))
        found[str(Path(name).absolute()) if is_path else name] = load_collection(name, folder)
    return found


def _drop_foreign_settings() -> None:
    for start, why in FOREIGN_VARIABLES.items():
        for name in [name for name in os.environ if name.upper().startswith(start)]:
            note(f"{name} is ignored: {why}")
            del os.environ[name]


def _show_started(
    folder: "StackFolder",
    record: "Record | None",
    declared: "dict[str, Collection]",
    as_json: bool,
) -> None:
    from podium.stack.status.display import addresses, show_addresses
    from podium.stack.status.layouts import sharded_collections
    from workers.kinds import left_out

    assert record is not None, "a running stack has a record"
    for collection in declared.values():
        for role, reason in left_out(collection).items():
            note(f"{collection.name} has no {role}: {reason}")
    for layout in sharded_collections(record.processes):
        if layout.fits:
            note(layout.line)
    told = addresses(folder, record)
    if as_json:
        say_json(told)
    else:
        show_addresses(told, DEFAULT_FOLDER)


def _detach(
    folder: Path, arguments: list[str], declared: "dict[str, Collection]", as_json: bool
) -> None:
    from podium.stack.run.control import detach
    from podium.stack.run.folder import StackFolder
    from podium.stack.status.display import Progress

    step = Progress()
    try:
        record = detach(StackFolder(folder), arguments, step)
    finally:
        step.end()
    _show_started(StackFolder(folder), record, declared, as_json)


def down(folder: FolderOption = DEFAULT_FOLDER, as_json: JsonOption = False) -> None:
    """Stop the stack of a folder, from any shell, and see to it that no process is left."""
    from podium.stack.run.control import take_down
    from podium.stack.run.folder import StackFolder
    from podium.stack.status.display import Progress

    step = Progress()
    try:
        stopped = take_down(StackFolder(folder), step)
    finally:
        step.end()
    if as_json:
        say_json(
            {
                "folder": str(folder.absolute()),
                "was_running": stopped is not None,
                "supervisor_pid": stopped.supervisor_pid if stopped else None,
                "stopped": stopped.processes if stopped else {},
            }
        )
    elif stopped is None:
        say(f"no stack runs in {folder}")
    else:
        names = ", ".join(f"{name} ({pid})" for name, pid in stopped.processes.items())
        say(f"stopped {names or 'the supervisor'}; no process is left")


def status(folder: FolderOption = DEFAULT_FOLDER, as_json: JsonOption = False) -> None:
    """Show each process of the stack with its port, uptime and memory, the groups' lag, the bases.

    Of the Spark jobs it shows rows/s, the time of the last batch, offsets behind and the age of the
    last base. Jobs that use the stack are found by themselves, others by the setting spark.metrics.

    Exits 1 if a process is dead, 3 if no stack runs in the folder.
    """
    from podium.stack.run.folder import StackFolder
    from podium.stack.status.display import show_report
    from podium.stack.status.report import examine

    report = examine(StackFolder(folder))
    if as_json:
        nothing = {"folder": str(folder.absolute()), "state": "stopped", "processes": []}
        say_json(report.as_json() if report else nothing)
    elif report:
        show_report(report)
    else:
        say(f"no stack runs in {folder}; `podium up` starts one")
    if report is None:
        raise typer.Exit(Exit.NOT_RUNNING)
    if not report.healthy:
        raise typer.Exit(Exit.WRONG)
