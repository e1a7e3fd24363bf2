"""`podium explain EVENT SUBSCRIPTION`: why a subscription is or is not in the answer."""

from typing import TYPE_CHECKING, Annotated

import typer

from podium.terminal import (
    BrokersOption,
    CollectionOption,
    ConfigOption,
    Exit,
    Failure,
    JsonOption,
    StackOption,
    say,
    say_json,
    settings_path,
)

if TYPE_CHECKING:
    from configs import Collection, Settings
    from podium.explain.explanation import Explanation
    from podium.explain.records import Records


def register(app: typer.Typer) -> None:
    app.command()(explain)


def explain(
    event: Annotated[
        str,
        typer.Argument(
            metavar="EVENT", help="topic[partition]@offset, or partition@offset; of an object, too"
        ),
    ],
    subscription: Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="its id")],
    collection: CollectionOption = "ads",
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say why a subscription is in the answer to an event, or why it is not.

    Of a collection of lists: why an object record is in a subscriber's list. All is read from the
    topics alone. Exits 0 if it is in, 1 if it is not.
    """
    from configs import load_collection, load_settings
    from podium.clients import KafkaClients
    from podium.explain.records import Records
    from topics.kinds import KINDS

    settings = load_settings(settings_path(config, folder), {"kafka.brokers": brokers})
    declared = load_collection(collection, settings.collections)
    clients = KafkaClients(settings.kafka)
    with Records(clients, settings.prefix, declared.name) as records:
        needed = [records.topic(KINDS[declared.kind].input), records.topic("subscriptions")]
        clients.require_topics(needed, f"podium topics create --collection {collection}")
        found = _explanation(settings, declared, records, event, subscription)
    if as_json:
        say_json(found.as_json())
    else:
        for line in found.lines():
            say(line)
    if not found.in_answer:
        raise typer.Exit(Exit.WRONG)


def _explanation(
    settings: "Settings", collection: "Collection", records: "Records", event: str, id: str
) -> "Explanation":
    from podium.explain.lists import explain_list
    from podium.explain.matches import Case, event_place, explain_match
    from topics.kinds import KINDS

    kind = KINDS[collection.kind]
    try:
        place = event_place(event, records.topic(kind.input))
    except ValueError as error:
        raise typer.BadParameter(f"EVENT: {error}") from None
    explained = explain_list if kind.events is None else explain_match
    if kind.events is not None and kind.judge is None:
        raise Failure(f"kind {collection.kind} cannot be explained", exit_code=Exit.USAGE)
    partitions = records.partitions(kind.input)
    if place.partition >= partitions:
        expected = f"expected a partition from 0 to {partitions - 1}"
        raise typer.BadParameter(f"EVENT: got {event}, {expected}")
    record = records.at(kind.input, place.partition, place.offset)
    if record is None:
        low, end = records.bounds(kind.input, place.partition)
        where = f"{place.topic}[{place.partition}] has offsets {low} to {end - 1}"
        raise Failure(f"there is no record at {place.offset}: {where}")
    return explained(Case(settings, collection, records, record, id))
