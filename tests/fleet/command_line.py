"""Commands that are run in the test's own process, beside a fleet."""

import json
from typing import Any, NamedTuple

from typer.testing import CliRunner

from podium.cli import app
from podium.terminal import Failure
from tests.fleet.fleet import Fleet


class Ended(NamedTuple):
    code: int
    out: str
    told: Any  # what `--json` says


def podium(*arguments: object) -> Ended:
    """`podium …`; an error that is not told to people is raised."""
    ended = CliRunner().invoke(app, list(map(str, arguments)))
    if ended.exception is not None and not isinstance(ended.exception, SystemExit | Failure):
        raise ended.exception
    code = getattr(ended.exception, "exit_code", ended.exit_code)
    told = json.loads(ended.stdout) if "--json" in arguments and ended.stdout else None
    return Ended(code, ended.stdout, told)


def files_of(fleet: Fleet) -> list[object]:
    return ["--collection", fleet.collection_path, "--config", fleet.settings_path]


def explained(fleet: Fleet, event: object, subscription: str) -> Any:
    """What `podium explain` tells; the exit code says the same."""
    ended = podium("explain", event, subscription, *files_of(fleet), "--json")
    assert ended.told is not None, ended
    is_in = ended.told["verdict"] == "in_answer"
    assert (ended.code == 0) == ended.told["in_answer"] == is_in
    return ended.told
