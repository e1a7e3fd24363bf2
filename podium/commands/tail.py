"""`podium tail`: records of a topic as they come."""

import enum
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.terminal import (
    BrokersOption,
    CollectionOption,
    ConfigOption,
    Exit,
    JsonOption,
    StackOption,
    counted,
    note,
    say,
    settings_path,
)

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

    from podium.clients import KafkaClients
    from podium.rendering import Received

POLL_S = 0.2
BATCH = 500

CONSUMER = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "fetch.queue.backoff.ms": 5,
}


class Topic(enum.StrEnum):
    matches = "matches"
    events = "events"
    objects = "objects"
    subscriptions = "subscriptions"
    progress = "progress"
    events_dlq = "events.dlq"
    objects_dlq = "objects.dlq"
    subscriptions_dlq = "subscriptions.dlq"


def register(app: typer.Typer) -> None:
    app.command()(tail)


def tail(
    topic: Annotated[Topic, typer.Argument()],
    collection: CollectionOption = "ads",
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="From the oldest record, not the next one.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="End after N records.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="End after so long without a record."),
    ] = None,
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show records of a topic, one a line.

    Ends on Ctrl-C, after --limit records or after --timeout seconds without one; the exit code is
    1 if the time is up before --limit is reached.
    """
    from configs import load_collection, load_settings
    from podium.clients import KafkaClients
    from podium.rendering import as_json as json_line
    from podium.rendering import as_line
    from topics.catalogue import NO_GROUP, topic_name
    from topics.kinds import KINDS

    settings = load_settings(settings_path(config, folder), {"kafka.brokers": brokers})
    declared = load_collection(collection, settings.collections)
    if topic not in (known := KINDS[declared.kind].topics):
        had = ", ".join(one for one in Topic if one in known)
        raise typer.BadParameter(f"collection {declared.name} has no {topic}, it has {had}")
    name = topic_name(settings.prefix, declared.name, topic)
    clients = KafkaClients(settings.kafka)
    clients.require_topics([name], f"podium topics create --collection {collection}")
    consumer = clients.consumer({"group.id": NO_GROUP, **CONSUMER})
    try:
        consumer.assign(_start(clients, consumer, name, from_beginning))
        if not as_json and sys.stderr.isatty():
            start = "from its beginning" if from_beginning else "from now on"
            note(f"{name} {start}; Ctrl-C ends")
        shown = 0
        for record in records(consumer, limit, timeout):
            say(json_line(record).decode() if as_json else as_line(record))
            shown += 1
    finally:
        consumer.close()
    if limit is not None and shown < limit:
        note(f"podium: {counted(shown, 'record')} of {limit} within the time")
        raise typer.Exit(Exit.WRONG)


def records(
    consumer: "Consumer", limit: int | None, timeout_s: float | None
) -> Iterator["Received"]:
    """What arrives, until `limit` records or `timeout_s` without one."""
    left = limit
    last = time.monotonic()
    while left is None or left > 0:
        batch = consumer.consume(BATCH if left is None else min(left, BATCH), POLL_S)
        for message in batch:
            error = message.error()
            if error is None:
                yield received(message)
                left = None if left is None else left - 1
            elif not error.retriable():
                note(f"podium: {error.str()}")
        if batch:
            last = time.monotonic()
        elif timeout_s is not None and time.monotonic() - last > timeout_s:
            return


def received(message: "Message") -> "Received":
    from confluent_kafka import TIMESTAMP_NOT_AVAILABLE

    from podium.rendering import Received
    from topics.codecs.json_record import BadRecord
    from topics.headers import headers_of

    kind, at = message.timestamp()
    headers: Any  # typed as str or bytes, but read as bytes
    try:
        headers = headers_of(message)
    except BadRecord as bad:
        headers = [("?", str(bad).encode())]
    return Received(
        topic=str(message.topic()),
        partition=int(message.partition() or 0),
        offset=int(message.offset() or 0),
        timestamp_ms=None if kind == TIMESTAMP_NOT_AVAILABLE else at,
        key=message.key(),
        value=message.value(),
        headers=dict(headers),
    )


def _start(
    clients: "KafkaClients", consumer: "Consumer", name: str, from_beginning: bool
) -> list["TopicPartition"]:
    """Where to begin in each partition.

    The end is asked for now, by its number: "the end" would be looked up by the first fetch, and
    what is written until then would be missed.
    """
    from confluent_kafka import TopicPartition

    from topics.kafka.creation import ANSWER_S

    with clients.reaching(consumer):
        partitions = consumer.list_topics(name, timeout=ANSWER_S).topics[name].partitions
        starts = []
        for number in partitions:
            low, high = _bounds(consumer, TopicPartition(name, number), ANSWER_S)
            starts.append(TopicPartition(name, number, low if from_beginning else high))
        return starts


def _bounds(consumer: "Consumer", partition: "TopicPartition", timeout_s: float) -> tuple[int, int]:
    """The first and the next offset; asks again while a new leader takes over."""
    from confluent_kafka import KafkaException

    from topics.kafka.creation import NO_LEADER_YET

    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return consumer.get_watermark_offsets(partition, timeout=timeout_s)
        except KafkaException as error:
            if error.args[0].code() not in NO_LEADER_YET or time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)
