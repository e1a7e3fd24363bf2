"""`podium send`: JSON lines to the topics of a collection."""

import enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.terminal import (
    BrokersOption,
    CollectionOption,
    ConfigOption,
    Failure,
    JsonOption,
    StackOption,
    settings_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from configs import Collection
    from podium.send.placed import PlacedSender
    from podium.send.sender import Headers


class To(enum.StrEnum):
    auto = "auto"
    subscriptions = "subscriptions"
    events = "events"
    objects = "objects"


def register(app: typer.Typer) -> None:
    app.command()(send)


def send(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON lines; .gz is unpacked.")],
    collection: CollectionOption = "ads",
    to: Annotated[
        To,
        typer.Option(
            help="auto: a line with an `id` is a subscription (the id is its key; a line with "
            "nothing else unsubscribes), any other line is an event. Where the collection has "
            "objects, a line with `x` and `y` is one, a line with a `range` a subscription.",
        ),
    ] = To.auto,
    key: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The field that is the key of an event.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", min=0, help="Matches wanted for each event (`podium-k`).")
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            help="Match events against at least these subscriptions (`podium-after`), for "
            "example 0@123,1@456 as printed after sending subscriptions.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Place subscriptions by this plan, as `podium shards plan --out FILE` writes it.",
            show_default=False,
        ),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Go on after a line that cannot be sent.")
    ] = False,
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send subscriptions and events, or objects, from a file of JSON lines.

    Stops at the first line that cannot be sent, unless --keep-going; what was sent before it stays
    sent. Ends with a count and, after subscriptions, with the token for --after.

    With --plan the key of a subscription is its id with an ending that puts it on its shard, and a
    line with nothing but an id unsubscribes it on all shards. Send such a line before one that
    changes what places a subscription.
    """
    from configs import load_collection, load_settings
    from podium.clients import KafkaClients
    from podium.send.json_lines import open_source
    from podium.send.run import SendRun
    from podium.send.sender import PRODUCER
    from topics.kinds import KINDS

    if plan is not None and to in ("events", "objects"):
        raise typer.BadParameter(f"--plan is for subscriptions, not for --to {to}")
    headers = _headers(to, k, after)
    settings = load_settings(settings_path(config, folder), {"kafka.brokers": brokers})
    declared = load_collection(collection, settings.collections)
    input = KINDS[declared.kind].input
    if to not in ("auto", "subscriptions", input):
        raise typer.BadParameter(f"collection {declared.name} has {input}, no {to}")
    if input == "objects" and (headers or key is not None or plan is not None):
        raise typer.BadParameter(
            f"--k, --after, --key and --plan go with events, and {declared.name} has objects"
        )
    placing = None if plan is None else _placing(plan, declared)
    with open_source(file) as source:
        clients = KafkaClients(settings.kafka)
        names = _topics(settings.prefix, declared.name, to, input)
        partitions = clients.require_topics(
            list(names.values()), f"podium topics create --collection {collection}"
        )
        run = SendRun(clients.producer(PRODUCER), names, headers, to, key, keep_going, input)
        if placing is not None:
            _require_shards(names["subscriptions"], partitions, declared.shards)
            # Whoever feeds a pipe may want to see each line arrive.
            run.wrap_sender(partial(placing, at_once=500 if source.size else 1))
        run.send_lines(source, file)
    run.show(as_json)
    if run.exit_code:
        raise typer.Exit(run.exit_code)


def _require_shards(topic: str, partitions: "Mapping[str, int]", shards: int) -> None:
    if partitions[topic] != shards:
        got = f"topic {topic}: got {partitions[topic]} partitions, expected {shards}"
        remedy = f"declare shards: {partitions[topic]} in the collection file, and plan again"
        raise Failure(f"{got}, one a shard of the plan", remedy)


def _placing(file: Path, declared: "Collection") -> "Callable[..., PlacedSender]":
    from podium.send.placed import PlacedSender, read_plan

    return partial(PlacedSender, plan=read_plan(file, declared), collection=declared)


def _headers(to: To, k: int | None, after: str | None) -> "Headers":
    from topics.headers import AFTER, K, parse_token

    if to in ("subscriptions", "objects") and (k is not None or after is not None):
        raise typer.BadParameter(f"--k and --after are for events, not for --to {to}")
    headers: Headers = []
    if k is not None:
        headers.append((K, str(k).encode()))
    if after is not None:
        try:
            parse_token(after)
        except ValueError as error:
            raise typer.BadParameter(f"--after: {error}") from error
        headers.append((AFTER, after.encode()))
    return headers


def _topics(prefix: str, collection: str, to: To, input: str) -> dict[str, str]:
    """Full names of the topics that the lines can go to."""
    from topics.catalogue import topic_name

    short = ("subscriptions", input) if to == "auto" else (to,)
    return {name: topic_name(prefix, collection, name) for name in short}
