"""The command `podium`.

Each module of `podium.commands` brings its commands by `register(app)`.  They import what is heavy
(Kafka, pydantic, numba, Spark) inside their functions, so that `podium --help` is quick.
"""

import signal
import sys
from importlib import metadata
from typing import Annotated

import typer

from podium.commands import (
    config,
    demo,
    doctor,
    explain,
    lag,
    schemas,
    send,
    shards,
    snapshot,
    spark,
    stack,
    tail,
    top,
    topics,
    worker,
)
from podium.terminal import EXIT_CODES, Exit, JsonOption, note, say, say_json

EPILOG = "Exit codes: " + " · ".join(f"{code:d} {text}" for code, text in EXIT_CODES.items())

app = typer.Typer(
    name="podium",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",  # flows the docstrings
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    demo,
    stack,
    worker,
    send,
    tail,
    explain,
    lag,
    top,
    doctor,
    topics,
    shards,
    snapshot,
    spark,
    schemas,
    config,
):
    command.register(app)


@app.callback(epilog=EPILOG, invoke_without_command=True)
def podium(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show versions and exit.")] = False,
    as_json: JsonOption = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show a traceback where there is one.")
    ] = False,
) -> None:
    """Ranked publish/subscribe on Kafka: the k best matching subscriptions for every event."""
    if version:
        show_versions(as_json)
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise typer.BadParameter("a command is needed; `podium --help` lists them")


def show_versions(as_json: bool) -> None:
    versions = package_versions()
    if as_json:
        say_json(versions)
    else:
        say(f"podium {versions['podium']}")
        others = [f"{name} {version}" for name, version in versions.items() if name != "podium"]
        say(", ".join(others))


def package_versions() -> dict[str, str]:
    """Podium, Python and the packages whose version decides how the fleet behaves."""
    names = (
        "podium",
        "confluent-kafka",
        "faust-streaming",
        "aiokafka",
        "numpy",
        "numba",
        "pyspark",
        "redis",
    )
    found = {name: metadata.version(name) for name in names}
    return {"podium": found.pop("podium"), "python": sys.version.split()[0], **found}


def main() -> None:
    """Run the command line; a user's mistake ends in clear lines, never in a traceback."""
    # A script that starts us in the background has made us deaf to Ctrl-C; who sends it means it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        sys.exit(report(error))


def report(error: Exception) -> int:
    """Say what went wrong on stderr; the exit code.

    An error of ours has the exit code that it ends with as `exit_code`, and perhaps a `remedy`.
    """
    for line in (str(error) or type(error).__name__).splitlines():
        note(line if line.startswith(" ") else f"podium: {line}")
    code = _exit_code(error)
    if code is None:
        note(f"podium: this is a bug ({type(error).__name__}); --debug shows where")
        return Exit.WRONG
    if remedy := getattr(error, "remedy", ""):
        note(f"podium: {remedy}")
    return code


def _exit_code(error: Exception) -> int | None:
    if (code := getattr(error, "exit_code", None)) is not None:
        return int(code)
    # Looked up by name: importing the classes would load what the command did not need.
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    if "configs.errors.ConfigError" in names:
        return Exit.USAGE
    if names & {"topics.kafka.creation.TopicsDiffer", "topics.kafka.creation.CreationFailed"}:
        return Exit.WRONG
    if names & {"topics.kafka.creation.BrokerUnreachable", "redis.exceptions.ConnectionError"}:
        return Exit.UNREACHABLE
    return Exit.WRONG if isinstance(error, OSError) else None
