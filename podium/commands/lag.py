"""`podium lag`: how far the groups of a collection are behind, and whether that grows."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from podium.terminal import (
    BrokersOption,
    CollectionOption,
    ConfigOption,
    Exit,
    JsonOption,
    StackOption,
    note,
    say,
    say_json,
    settings_path,
)

if TYPE_CHECKING:
    from podium.stack.status.lag import LagRow


def register(app: typer.Typer) -> None:
    app.command()(lag)


def lag(
    collection: CollectionOption = "ads",
    every: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Between the two looks at the trend.")
    ] = 3.0,
    most: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="More than this is too late.")
    ] = 10.0,
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show each group and partition: records and seconds behind, and the trend.

    What is committed counts, and workers commit once a second. Exits 1 if something is late by more
    than --most and does not catch up, 3 if no group has committed anything.
    """
    from configs import kafka_client_config, load_collection, load_settings
    from podium.clients import KafkaClients
    from podium.stack.status.lag import lag_rows
    from topics.catalogue import group_name
    from workers.kinds import roles_of

    settings = load_settings(settings_path(config, folder), {"kafka.brokers": brokers})
    declared = load_collection(collection, settings.collections)
    groups = [
        group_name(settings.prefix, declared.name, group)
        for role in roles_of(declared)
        for group in role.groups
    ]
    clients = KafkaClients(settings.kafka)
    with clients.reaching(clients.admin()):
        rows = lag_rows(kafka_client_config(settings.kafka), groups, every)
    late = [row for row in rows if row.is_late(most)]
    if as_json:
        told = [asdict(row) | {"trend": row.trend} for row in rows]
        say_json({"collection": declared.name, "late": len(late), "partitions": told})
    elif rows:
        _show(rows)
    silent = sorted(set(groups) - {row.group for row in rows})
    if silent and rows:
        note(f"podium: nothing committed yet: {', '.join(silent)}")
    if not rows:
        note(f"podium: no group of {declared.name} has committed anything")
        raise typer.Exit(Exit.NOT_RUNNING)
    if late:
        raise typer.Exit(Exit.WRONG)


def _show(rows: "list[LagRow]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("group", "topic", "partition", "records", "seconds", "trend"):
        is_number = heading in ("partition", "records", "seconds")
        table.add_column(heading, justify="right" if is_number else "left")
    for row in rows:
        cells = (str(row.partition), f"{row.behind:,}", f"{row.behind_s:,.1f}", row.trend)
        table.add_row(row.group, row.topic, *cells)
    Console(highlight=False).print(table)
    worst = max(rows, key=lambda row: row.behind_s)
    if worst.behind:
        say(f"{worst.group} is last: {worst.behind_s:,.1f} s behind, {worst.trend}")
    else:
        say("nothing is behind")
