"""`podium worker ROLE`: one process of the fleet."""

import enum
from typing import Annotated

import typer

from podium.terminal import (
    BrokersOption,
    CollectionOption,
    ConfigOption,
    Exit,
    Failure,
    StackOption,
    settings_path,
)
from workers.kinds import refusal, roles

Role = enum.StrEnum("Role", {name: name for name in roles()})  # type: ignore[misc]


def register(app: typer.Typer) -> None:
    app.command()(worker)


def worker(
    role: Annotated[Role, typer.Argument(help="what this process does")],
    collection: CollectionOption = "ads",
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    http_port: Annotated[
        int | None, typer.Option(help="of /livez, /readyz and /metrics; 0: any free one")
    ] = None,
    instance_id: Annotated[
        str | None,
        typer.Option(help="of this worker alone; back soon after a crash, it keeps its share"),
    ] = None,
) -> None:
    """Run one worker of the fleet until it is told to stop."""
    if instance_id is not None and not roles()[role].holds_shards:
        holders = ", ".join(name for name, one in roles().items() if one.holds_shards)
        raise typer.BadParameter(f"--instance-id is for {holders}; got a {role}")
    from configs.collection import load_collection
    from configs.settings import load_settings
    from workers.main import run_worker

    flags = {"kafka.brokers": brokers, "http.port": http_port, "matcher.instance_id": instance_id}
    settings = load_settings(settings_path(config, folder), flags)
    declared = load_collection(collection, settings.collections)
    if reason := refusal(declared, role):
        raise Failure(f"collection {declared.name}: {reason}", exit_code=Exit.USAGE)
    raise typer.Exit(run_worker(role, settings, declared))
