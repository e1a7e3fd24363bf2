"""A matcher takes some subscriptions, loses one, publishes its routes, and answers an event."""

from collections.abc import Mapping

import numpy as np

from configs.collection import Collection
from indexes.kinds import KINDS
from topics import partials, routes
from workers.router.routes import RouteTable
from workers.router.warm_up import received_frames, record, subscription
from workers.routing.route_set import RouteSet
from workers.shard import key_table
from workers.shard.changes import read_changes
from workers.shard.shard import IndexChange, Shard


def warm_up(collection: Collection) -> None:
    KINDS[collection.kind].warm_up(collection.attributes)
    key_table.warm_up()
    shard = Shard(0, collection.kind, collection.attributes, collection.dialect)
    following = None
    if collection.routing.enabled:
        following = SomeRoutes(collection)
        shard.watch(following)
    records = [record(subscription(collection, number), number) for number in (1, 2, 3)]
    shard.apply(read_changes(records, shard.contract, 1))
    shard.open()
    shard.apply(read_changes([record(None, 3)], shard.contract, 1))
    if following is not None:
        following.follow()
    for frame in received_frames(collection):
        partials.encode(shard.answer(frame))


class SomeRoutes:
    """What a shard publishes, and what the router makes of it."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._keeper = RouteSet(collection.kind, collection.attributes, 2, collection.dialect)
        self._changes: list[IndexChange] = []

    def restored(self, arrays: Mapping[str, np.ndarray], live: np.ndarray) -> None:
        self._keeper.restore(arrays, live)

    def note(self, change: IndexChange) -> None:
        self._changes.append(change)

    def follow(self) -> None:
        collection = self._collection
        table = RouteTable("", KINDS[collection.kind].axes(collection.attributes), 1)
        for sequence, change in enumerate(self._changes):
            changed = self._keeper.advance([change], anew=sequence == 0)
            record = routes.RouteRecord("", 0, sequence, 1, *changed[1:])
            table.take(0, routes.decode(routes.encode(record), table.dimensions))
        table.lets_through(0, np.zeros((1, table.dimensions)), np.zeros(1, np.int64))
