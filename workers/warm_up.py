"""Compiles what a worker will need before it says that it is ready.

The small job below takes the way of real records: through the codecs, because arrays that are
views of received bytes are read-only, and numba compiles those apart.

    python -m workers.warm_up

does it for every kind of collection, which fills numba's cache.  Where several workers start on a
machine that has none, each of them would compile the same for minutes.
"""

from collections.abc import Mapping

import msgspec
import numpy as np
from confluent_kafka import Message

from configs.collection import Collection, Routing
from indexes import boolean, intervals
from indexes.boolean import BooleanMatcher
from topics import frames as frame_codec
from topics import matches, partials, routes
from topics.events import EventContract
from topics.packing import bundle, unbundle
from workers import key_table
from workers.changes import read_changes
from workers.framing import frames, read_events
from workers.kinds import contract_of, new_index
from workers.merging import merge
from workers.renewal import IndexChange
from workers.route_keeper import RouteKeeper
from workers.route_table import RouteTable
from workers.shard import Shard


def warm_up(collection: Collection) -> None:
    index = new_index(collection.kind, collection.attributes)
    if isinstance(index, BooleanMatcher):
        boolean.warm_up()
    else:
        intervals.warm_up(type(index), collection.attributes)
    key_table.warm_up()
    contract = contract_of(collection)
    shard = Shard(0, contract, index)
    following = _Routes(collection) if collection.routing.enabled else None
    if following is not None:
        shard.watch(following)
    records = [_record(_subscription(collection, number), number) for number in (1, 2, 3)]
    shard.apply(read_changes(records, contract, 1))
    shard.open()
    shard.apply(read_changes([_record(None, 3)], contract, 1))
    events = EventContract(
        collection.kind, collection.attributes, collection.k, collection.max_k, 2
    )
    reading = read_events([_record(b"{}", 0)], events)
    answers = []
    if following is not None:
        following.follow()
    for frame in frames(reading.accepted[0], events, 0):
        received = frame_codec.decode(unbundle(bundle([frame_codec.encode(frame)]))[0])
        answer = bundle([partials.encode(shard.answer(received))])
        answers.append(partials.decode(unbundle(answer)[0]))
    merged = merge(answers)
    matches.encode_many("warm-up", merged.partition, merged.offsets, merged.hits)


class _Routes:
    """What a shard publishes, and what the router makes of it."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._keeper = RouteKeeper(collection.kind, collection.attributes, 2)
        self._changes: list[IndexChange] = []

    def restored(self, arrays: Mapping[str, np.ndarray], live: np.ndarray) -> None:
        self._keeper.restore(arrays, live)

    def note(self, change: IndexChange) -> None:
        self._changes.append(change)

    def follow(self) -> None:
        table = RouteTable("", self._collection.attributes, 1)
        for sequence, change in enumerate(self._changes):
            changed = self._keeper.advance([change], anew=sequence == 0)
            record = routes.RouteRecord("", 0, sequence, 1, *changed[1:])
            table.take(0, routes.decode(routes.encode(record), table.dimensions))
        table.lets_through(0, np.zeros((1, table.dimensions)), np.zeros(1, np.int64))


def _subscription(collection: Collection, number: int) -> bytes:
    name = collection.attributes[0] if collection.attributes else "warm"
    if collection.kind == "boolean":
        predicate = {"attr": name, "op": "<=", "value": number}
        return msgspec.json.encode({"all": [predicate]})
    where = {"where": {name: [None, number]}}
    if collection.kind == "relaxed":
        return msgspec.json.encode({**where, "weights": {name: number}})
    return msgspec.json.encode({**where, "score": number})


def _record(value: bytes | None, number: int) -> Message:
    return Message(topic="warm-up", partition=0, offset=number, key=b"%d" % number, value=value)


def main() -> None:
    routing = Routing(enabled=True)
    some = [
        Collection(name="one", kind="ranked", attributes=("a",), routing=routing),
        Collection(name="several", kind="ranked", attributes=("a", "b"), routing=routing),
        Collection(name="relaxed", kind="relaxed", attributes=("a", "b"), routing=routing),
        Collection(name="boolean", kind="boolean", attributes=("a",), routing=routing),
    ]
    for collection in some:
        warm_up(collection)


if __name__ == "__main__":
    main()
