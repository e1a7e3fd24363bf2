"""A router packs an event; with routing it holds it against routes, too."""

from collections.abc import Iterator

import msgspec
from confluent_kafka import Message

from configs.collection import Collection
from topics import frames as frame_codec
from topics.codecs.columns import bundle, unbundle
from topics.frames import Frame
from topics.kinds import event_contract
from workers.kinds import KINDS
from workers.router.framing import frames, read_events

_SHARDS = 2


def warm_up(collection: Collection) -> None:
    list(received_frames(collection))
    if collection.routing.enabled:
        from workers.matcher import warm_up  # whose subscriptions the routes are made of

        warm_up.warm_up(collection)


def received_frames(collection: Collection) -> Iterator[Frame]:
    """Of one event, as they come out of the topic."""
    events = event_contract(
        collection.kind,
        collection.attributes,
        collection.k,
        collection.max_k,
        _SHARDS,
        collection.dialect,
    )
    event = msgspec.json.encode(KINDS[collection.kind].event)
    reading = read_events([record(event, 0)], events)
    for frame in frames(reading.accepted[0], events, 0):
        yield frame_codec.decode(unbundle(bundle([frame_codec.encode(frame)]))[0])


def subscription(collection: Collection, number: int) -> bytes:
    name = collection.attributes[0] if collection.attributes else "warm"
    return msgspec.json.encode(KINDS[collection.kind].sample(name, number))


def record(value: bytes | None, number: int) -> Message:
    return Message(topic="warm-up", partition=0, offset=number, key=b"%d" % number, value=value)
