"""A shard publishes its routes, and a router follows them."""

from collections.abc import Mapping

import numpy as np

from configs.collection import Collection
from topics import routes
from workers.router.route_table import RouteTable
from workers.routing.route_set import RouteSet
from workers.shard.shard import IndexChange


class SomeRoutes:
    """What a shard publishes, and what the router makes of it."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._keeper = RouteSet(collection.kind, collection.attributes, 2)
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
