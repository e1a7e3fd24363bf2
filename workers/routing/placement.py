"""Placing subscriptions by likeness, so that shards cover different regions.

A plan halves a sample of subscriptions again and again, each time at the attribute that keeps the
most (event, shard) pairs apart.  A subscription belongs to the shard of its region, and gets a key
which murmur2 puts there.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from indexes.boxes import SubscriptionBoxes
from indexes.covering import KDCover
from topics.kafka.partitioner import partitions_of


class Cut(msgspec.Struct, frozen=True, tag="cut"):
    """Subscriptions whose middle lies below or at `at` go one way, all others the other way."""

    attribute: str
    at: float
    below: "Cut | Part"
    above: "Cut | Part"


class Part(msgspec.Struct, frozen=True, tag="shard"):
    shard: int


class Plan(msgspec.Struct, frozen=True):
    collection: str
    shards: int
    attributes: tuple[str, ...]
    regions: Cut | Part

    def shard_of(self, middles: np.ndarray) -> int:
        """The shard of a subscription by the middles of its intervals, inf where it has none."""
        region = self.regions
        while isinstance(region, Cut):
            is_below = middles[self.attributes.index(region.attribute)] <= region.at
            region = region.below if is_below else region.above
        return region.shard


class Expected(NamedTuple):
    """What a plan does to the sample."""

    subscriptions: np.ndarray  # i8[shards]
    event_shares: np.ndarray  # f8[shards]  of the events that a shard sees

    @property
    def shards_an_event(self) -> float:
        return float(self.event_shares.sum())


def middles_of(boxes: SubscriptionBoxes, rows: int) -> np.ndarray:
    """f8[rows, d]: the middle of each interval; a missing end counts as the other one.

    `boxes.ids` are rows.  inf where a subscription says nothing of an attribute.
    """
    low = np.where(np.isinf(boxes.lows), boxes.highs, boxes.lows)
    high = np.where(np.isinf(boxes.highs), boxes.lows, boxes.highs)
    middles = np.full((rows, low.shape[1]), np.inf)
    asks = np.isfinite(low) & np.isfinite(high)
    box, attribute = np.nonzero(asks)
    middles[boxes.ids[box], attribute] = (low[box, attribute] + high[box, attribute]) / 2
    return middles


def make_plan(
    collection: str,
    attributes: Sequence[str],
    shards: int,
    boxes: SubscriptionBoxes,
    middles: np.ndarray,
    events: np.ndarray,
) -> Plan:
    """`events` are f8[m, d], NaN for what an event lacks."""
    planner = _Planner(tuple(attributes), boxes, middles, events)
    regions = planner.divide(np.arange(len(middles)), 0, shards)
    return Plan(collection, shards, tuple(attributes), regions)


def expected_of(
    plan: Plan, boxes: SubscriptionBoxes, middles: np.ndarray, events: np.ndarray
) -> Expected:
    homes = np.array([plan.shard_of(row) for row in middles], np.int64)
    shares = [_share(boxes, homes == shard, events) for shard in range(plan.shards)]
    return Expected(np.bincount(homes, minlength=plan.shards), np.array(shares))


def keys_on(ids: Sequence[str], homes: Sequence[int], shards: int) -> list[str]:
    """Of each id `<id>~<n>`, with the least n that murmur2 puts on its shard.

    >>> keys_on(["ad-7", "ad-8"], [1, 0], 4)
    ['ad-7~9', 'ad-8~1']
    """
    keys = [""] * len(ids)
    left, n = list(range(len(ids))), 0
    while left:
        tried = [f"{ids[i]}~{n}" for i in left]
        found = partitions_of([key.encode() for key in tried], shards).tolist()
        missed = []
        for i, key, shard in zip(left, tried, found, strict=True):
            if shard == homes[i]:
                keys[i] = key
            else:
                missed.append(i)
        left, n = missed, n + 1
    return keys


class _Planner:
    def __init__(
        self,
        attributes: tuple[str, ...],
        boxes: SubscriptionBoxes,
        middles: np.ndarray,
        events: np.ndarray,
    ) -> None:
        self._attributes, self._boxes = attributes, boxes
        self._middles, self._events = middles, events

    def divide(self, rows: np.ndarray, first: int, shards: int) -> Cut | Part:
        if shards == 1:
            return Part(first)
        below_shards = shards // 2
        cuts = [self._cut(rows, i, below_shards / shards) for i in range(len(self._attributes))]
        possible = [cut for cut in cuts if cut is not None]
        if not possible:  # all alike: there is nothing to part, and the first shard has them
            return Part(first)
        _, attribute, at = min(possible)
        is_below = self._middles[rows, attribute] <= at
        return Cut(
            self._attributes[attribute],
            at,
            self.divide(rows[is_below], first, below_shards),
            self.divide(rows[~is_below], first + below_shards, shards - below_shards),
        )

    def _cut(
        self, rows: np.ndarray, attribute: int, part: float
    ) -> tuple[float, int, float] | None:
        """What a cut costs, in shares of events, and where it would be."""
        middles = np.sort(self._middles[rows, attribute])
        finite = middles[np.isfinite(middles)]
        if not len(finite) or middles[0] == middles[-1]:
            return None
        at = float(middles[min(round(part * len(middles)), len(finite)) - 1])
        if at == middles[-1]:
            at = float(finite[finite < at].max())
        chosen = np.zeros(len(self._middles), np.bool_)
        chosen[rows] = True
        below = chosen & (self._middles[:, attribute] <= at)
        cost = sum(_share(self._boxes, some, self._events) for some in (below, chosen & ~below))
        return cost, attribute, at


def _share(boxes: SubscriptionBoxes, chosen: np.ndarray, events: np.ndarray) -> float:
    """Of the events, those that lie in a box of the chosen rows."""
    own = chosen[boxes.ids]
    if not own.any() or not len(events):
        return 0.0
    cover = KDCover(boxes.lows.shape[1])
    cover.insert_many(np.arange(own.sum()), boxes.lows[own], boxes.highs[own])
    return float(cover.stab_many(events).mean())
