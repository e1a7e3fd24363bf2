"""The routes of one shard: what the router has to know of it (the covering paper, §III).

The relation graph forwards boxes that no other box covers.  As long as they are few they are the
routes; beyond that routes are boxes around groups of them: more than needed passes, never less.
"""

import asyncio
import itertools
import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from indexes.boxes import SubscriptionBoxes
from indexes.covering import Commands, KDCover, RelationGraph
from indexes.covering.boxes import Boxes, boxes_of, is_stored, stored_boxes
from indexes.kinds import KINDS
from topics.kafka.producer import Outbox
from topics.kinds import NO_DIALECT, Dialect
from topics.routes import RouteRecord, encode, key_of
from workers.process import metrics
from workers.process.context import Context
from workers.shard.shard import IndexChange, Shard

log = logging.getLogger(__name__)

# After so many changes all routes are published again: a router that starts reads no more of them.
_MOST_CHANGES = 256


class RouteChange(NamedTuple):
    """What changes in the routes; with `anew` these are all that there are."""

    anew: bool
    removed: np.ndarray  # i8[r]
    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n, d]
    highs: np.ndarray  # f8[n, d]


class RouteSet:
    """Works in one thread at a time, which need not be the one that applies the changes."""

    def __init__(
        self, kind: str, attributes: Sequence[str], most: int, dialect: Dialect = NO_DIALECT
    ) -> None:
        self._kind, self._attributes, self._most = KINDS[kind], tuple(attributes), most
        self._dialect = dialect
        self._dimensions = len(self._kind.axes(self._attributes))
        self._each = self._kind.most_boxes(self._dimensions)
        self._boxes = KDCover(self._dimensions)  # of all subscriptions
        self._graph = RelationGraph(self._boxes, prune=True)
        self._routes = KDCover(self._dimensions)  # as the router has them, or will
        self._forwarded = 0
        self._is_grouped = False
        self._withdrawn = 0  # since the groups were made: they may be larger than they need be
        self._next_group = 0

    @property
    def routes(self) -> int:
        return len(self._routes)

    def restore(self, arrays: Mapping[str, np.ndarray], live: np.ndarray) -> None:
        """Begin with an index that came from a snapshot."""
        boxes = self._kind.boxes_of_arrays(self._attributes, arrays, live, **self._dialect)
        self._follow([self._subscriptions(boxes)])

    def advance(self, changes: Sequence[IndexChange], anew: bool = False) -> RouteChange:
        """Follow these changes; what changes in the routes, or with `anew` all of them."""
        commands = []
        for change in changes:
            commands.append(self._unsubscriptions(change.gone))
            if len(change.ids):
                boxes = self._kind.boxes_of_columns(
                    self._attributes, change.ids, change.columns, **self._dialect
                )
                commands.append(self._subscriptions(boxes))
        changed = self._follow(commands)
        return self._all() if anew else changed

    def check(self) -> None:
        """Raise `AssertionError` unless a route covers every live box."""
        self._graph.check()
        self._routes.check()
        _, lows, highs = stored_boxes(self._boxes)
        assert all(self._routes.covers_many(lows, highs))

    def _subscriptions(self, boxes: SubscriptionBoxes) -> Commands:
        ids = boxes.ids * self._each + boxes.places
        return Commands(ids, boxes.lows, boxes.highs, np.ones(len(ids), np.bool_))

    def _unsubscriptions(self, gone: np.ndarray) -> Commands:
        """Of all boxes that these subscriptions may have."""
        ids = (gone[:, np.newaxis] * self._each + np.arange(self._each)).ravel()
        ends = np.zeros((len(ids), self._dimensions))
        return Commands(ids, ends, ends, np.zeros(len(ids), np.bool_))

    def _follow(self, commands: list[Commands]) -> RouteChange:
        if not commands:
            return self._change([], *self._boxes_of([]))
        ids, lows, highs, subscribes = (
            np.concatenate(column) for column in zip(*commands, strict=True)
        )
        # What never had a box, and a place that a subscription does not use, cannot leave.
        known = subscribes | is_stored(self._boxes, ids) | np.isin(ids, ids[subscribes])
        changed = self._graph.apply_many(
            Commands(ids[known], lows[known], highs[known], subscribes[known])
        )
        self._forwarded += len(changed.forward) - len(changed.withdraw)
        if self._is_grouped or self._forwarded > self._most:
            return self._follow_in_groups(changed.forward, len(changed.withdraw))
        return self._change(changed.withdraw, *self._boxes_of(changed.forward))

    def _follow_in_groups(self, forward: list[int], withdrawn: int) -> RouteChange:
        """A box that no route covers becomes one itself, until there are too many of them."""
        self._withdrawn += withdrawn
        _, lows, highs = self._boxes_of(forward)
        uncovered = np.array([not found for found in self._routes.covers_many(lows, highs)], bool)
        too_many = len(self._routes) + uncovered.sum() > self._most
        if not self._is_grouped or too_many or 2 * self._withdrawn > self._forwarded:
            return self._group()
        first, self._next_group = self._next_group, self._next_group + int(uncovered.sum())
        ids = np.arange(first, self._next_group)
        return self._change([], ids, lows[uncovered], highs[uncovered])

    def _group(self) -> RouteChange:
        """Routes anew: groups that leave room for others, or the boxes themselves if they fit."""
        ids, lows, highs = self._boxes_of(sorted(self._graph.forwarded))
        self._is_grouped, self._withdrawn = 2 * len(ids) > self._most, 0
        if self._is_grouped:
            lows, highs = grouped(lows, highs, max(1, self._most // 2))
            ids, self._next_group = np.arange(len(lows)), len(lows)
        self._routes = KDCover(self._dimensions)
        self._routes.insert_many(ids, lows, highs)
        return self._all()

    def _boxes_of(self, ids: list[int]) -> Boxes:
        return boxes_of(self._boxes, np.array(ids, np.int64))

    def _change(
        self, removed: list[int], ids: np.ndarray, lows: np.ndarray, highs: np.ndarray
    ) -> RouteChange:
        gone = np.array(removed, np.int64)
        self._routes.delete_many(gone)
        self._routes.insert_many(ids, lows, highs)
        return RouteChange(False, gone, ids, lows, highs)

    def _all(self) -> RouteChange:
        return RouteChange(True, np.empty(0, np.int64), *stored_boxes(self._routes))


def grouped(lows: np.ndarray, highs: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of at most so many boxes; each given box is inside one of them.

    Groups are halved where the centres of their boxes lie farthest apart, measured in ranks, which
    neither units nor infinite ends disturb.
    """
    if len(lows) <= most:
        return lows, highs
    ranks = np.stack([_ranks(lows[:, i], highs[:, i]) for i in range(lows.shape[1])], axis=1)
    order = np.arange(len(lows))
    edges = [0, len(lows)]
    while 2 * (len(edges) - 1) <= most:
        middles = []
        for start, end in itertools.pairwise(edges):
            own = order[start:end]
            widest = int(np.ptp(ranks[own], axis=0).argmax())
            middle = len(own) // 2
            order[start:end] = own[np.argpartition(ranks[own, widest], middle)]
            middles.append(start + middle)
        edges = sorted({*edges, *middles})
    starts = np.array(edges[:-1])
    return np.minimum.reduceat(lows[order], starts), np.maximum.reduceat(highs[order], starts)


def _ranks(lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    """Of the middles of intervals; one without a lower end comes first, without any in between."""
    finite = np.concatenate((lows[np.isfinite(lows)], highs[np.isfinite(highs)], [0.0]))
    middles = (np.clip(lows, finite.min(), None) + np.clip(highs, None, finite.max())) / 2
    ranks = np.empty(len(lows), np.int64)
    ranks[np.argsort(middles, kind="stable")] = np.arange(len(lows))
    return ranks


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
            collection.kind,
            collection.attributes,
            collection.routing.most_boxes,
            collection.dialect,
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
