"""`podium worker router|matcher|merger`: one process of the fleet."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from podium.terminal import StackOption, settings_path


class Role(enum.StrEnum):
    router = "router"
    matcher = "matcher"
    merger = "merger"


def register(app: typer.Typer) -> None:
    app.command()(worker)


def worker(
    role: Annotated[Role, typer.Argument(help="what this process does")],
    collection: Annotated[str, typer.Option(help="name or file of a collection")] = "ads",
    config: Annotated[Path | None, typer.Option(help="settings file")] = None,
    folder: StackOption = None,
    brokers: Annotated[str | None, typer.Option(help="host:port[,host:port…]")] = None,
    http_port: Annotated[
        int | None, typer.Option(help="of /livez, /readyz and /metrics; 0: any free one")
    ] = None,
    instance_id: Annotated[
        str | None,
        typer.Option(help="of this matcher alone; back soon after a crash, it keeps its shards"),
    ] = None,
) -> None:
    """Run one worker of the fleet until it is told to stop."""
    if instance_id is not None and role != Role.matcher:
        raise typer.BadParameter(f"--instance-id is for a matcher, got a {role}")
    from configs.collection import load_collection
    from configs.settings import load_settings
    from workers.main import run_worker

    flags = {"kafka.brokers": brokers, "http.port": http_port, "matcher.instance_id": instance_id}
    settings = load_settings(settings_path(config, folder), flags)
    raise typer.Exit(run_worker(role, settings, load_collection(collection, settings.collections)))
