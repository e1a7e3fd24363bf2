"""Publishes the routes of one shard, from the side of its matcher."""

import asyncio
import logging
import secrets
from collections.abc import Mapping

import numpy as np

from topics.kafka.producer import Outbox
from topics.routes import RouteRecord, encode, key_of
from workers.process import metrics
from workers.process.context import Context
from workers.routing.route_set import RouteChange, RouteSet
from workers.shard.shard import IndexChange, Shard

log = logging.getLogger(__name__)

# After so many changes all routes are published again: a router that starts reads no more of them.
_MOST_CHANGES = 256


class RoutePublisher:
    """Notes every change of the shard, and now and then publishes what follows for the routes."""

    def __init__(
        self, context: Context, shard: Shard, outbox: Outbox, most_changes: int = _MOST_CHANGES
    ) -> None:
        collection = context.collection
        self._shard, self._outbox = shard, outbox
        self._topic = context.names.topic("routes")
        self._labels = (collection.name, str(shard.number))
        self._keeper = RouteSet(
            collection.kind, collection.attributes, collection.routing.most_boxes
        )
        self._changes: list[IndexChange] = []
        self._restored: tuple[Mapping[str, np.ndarray], np.ndarray] | None = None
        self._most_changes = most_changes
        self._generation, self._sequence = 0, most_changes
        self._told = -1  # up to which offset the router knows
        shard.watch(self)

    def restored(self, arrays: Mapping[str, np.ndarray], live: np.ndarray) -> None:
        """The shard begins with an index that has these arrays and ids."""
        self._restored = arrays, live

    def note(self, change: IndexChange) -> None:
        self._changes.append(change)

    async def step(self, topic_id: str) -> None:
        """Publish what has come since the last time, if anything has."""
        changes, next_offset = self._changes, self._shard.next_offset
        if next_offset == self._told:
            return
        self._changes = []
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._publish, changes, next_offset, topic_id)
        self._told = next_offset

    def _publish(self, changes: list[IndexChange], next_offset: int, topic_id: str) -> None:
        if self._restored is not None:
            self._keeper.restore(*self._restored)
            self._restored = None
        changed = self._keeper.advance(changes, anew=self._sequence == self._most_changes)
        if changed.anew:
            self._generation, self._sequence = secrets.randbits(62), 0
        else:
            self._sequence += 1
        record = RouteRecord(
            topic_id,
            self._generation,
            self._sequence,
            next_offset,
            changed.removed,
            changed.ids,
            changed.lows,
            changed.highs,
        )
        key = key_of(self._shard.number, self._sequence)
        self._outbox.send(self._topic, encode(record), key=key, partition=self._shard.number)
        self._outbox.settle()
        self._measure(changed)

    def _measure(self, changed: RouteChange) -> None:
        metrics.ROUTES.labels(*self._labels).set(self._keeper.routes)
        if changed.anew:
            log.info("shard %d: %d routes published", self._shard.number, self._keeper.routes)
