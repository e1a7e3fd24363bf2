"""What the small jobs are made of."""

from collections.abc import Iterator

import msgspec
from confluent_kafka import Message

from configs.collection import Collection
from topics import frames as frame_codec
from topics.codecs.columns import bundle, unbundle
from topics.events.contract import EventContract
from topics.frames import Frame
from workers.router.framing import frames, read_events

_SHARDS = 2


def received_frames(collection: Collection) -> Iterator[Frame]:
    """Of one event, as they come out of the topic."""
    events = EventContract(
        collection.kind, collection.attributes, collection.k, collection.max_k, _SHARDS
    )
    reading = read_events([record(b"{}", 0)], events)
    for frame in frames(reading.accepted[0], events, 0):
        yield frame_codec.decode(unbundle(bundle([frame_codec.encode(frame)]))[0])


def subscription(collection: Collection, number: int) -> bytes:
    name = collection.attributes[0] if collection.attributes else "warm"
    if collection.kind == "boolean":
        predicate = {"attr": name, "op": "<=", "value": number}
        return msgspec.json.encode({"all": [predicate]})
    where = {"where": {name: [None, number]}}
    if collection.kind == "relaxed":
        return msgspec.json.encode({**where, "weights": {name: number}})
    return msgspec.json.encode({**where, "score": number})


def record(value: bytes | None, number: int) -> Message:
    return Message(topic="warm-up", partition=0, offset=number, key=b"%d" % number, value=value)
