"""What the experiments with lists share: sizes, and a world with its zone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from configs.collection import Collection
from indexes.paint.world import World
from topics import messages as codec
from topics.messages import BEGIN, LAST, LISTS, ZoneRecord
from topics.zones.steps import NewSubscriptions, coming, most_coming
from workers.zones.lists import ZoneLists

__all__ = ["QUICK", "Changes", "Crowd", "Lab", "Sizes"]

K = 10
AT_ONCE = 1_000  # updates that a painter takes together under load


@dataclass(frozen=True)
class Sizes:
    objects: int = 100_000
    subscriptions: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    affected: int = 10_000  # subscribers near the updates whose cost must not grow
    width: float = 0.01  # of a range; the axis is 1 long
    updates: int = 5_000
    turns: int = 5
    batches: tuple[int, ...] = (10, 100, 1_000, 10_000, 100_000)
    # On a broker: subscriptions, objects, and updates that go as quickly as they can, fewer where
    # each changes more lists.
    live: tuple[tuple[int, int, int], ...] = (
        (10_000, 100_000, 20_000), (100_000, 100_000, 20_000), (1_000_000, 100_000, 2_000),
        (100_000, 20_000, 5_000),
    )  # fmt: skip
    targeted: tuple[int, int] = (100_000, 100_000)  # what the targets are for
    rate: int = 500  # updates a second, or half of what goes if that is less
    seconds: int = 20
    warm_seconds: int = 40  # of the same updates: the broker compiles itself meanwhile
    job_subscriptions: int = 100_000


QUICK = Sizes(
    objects=2_000, subscriptions=(200, 2_000), affected=200, updates=300, turns=1,
    batches=(10, 100), live=((300, 500, 300),), targeted=(300, 500), rate=50, seconds=2,
    warm_seconds=2, job_subscriptions=300,
)  # fmt: skip


@dataclass(frozen=True)
class Changes:
    ids: list[bytes]
    xs: np.ndarray
    ys: np.ndarray


class Lab:
    def __init__(self, sizes: Sizes, step: Callable[[str], None]) -> None:
        self.sizes, self.step = sizes, step


class Crowd:
    """Uniform objects, and subscribers whose low ends are uniform in a part of the axis."""

    def __init__(self, lab: Lab, form: str = "sparse", seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._width, count = lab.sizes.width, lab.sizes.objects
        self.world = World(K, form, None)
        self.ids = [b"o-%d" % i for i in range(count)]
        self.xs = self._rng.random(count)
        points = zip(self.xs.tolist(), self._rng.random(count).tolist(), strict=True)
        self.world.load(dict(zip(self.ids, points, strict=True)))
        collection = Collection(name="lists", kind="range_topk", k=K, shards=1, zones=1)
        self.zone = ZoneLists(0, collection, "podium.lists.objects", "podium.lists.subscriptions")
        self._number = 0

    def subscribe(self, count: int, low: float = 0.0, high: float = 1.0) -> None:
        first = len(self.world)
        keys = [b"s-%d" % i for i in range(first, first + count)]
        lows = self._rng.uniform(low, high - self._width, count)
        lives = np.arange(first, first + count)
        self.world.come(keys, lives, lows, lows + self._width, np.full(count, K))

    def open_zone(self) -> None:
        """Give the zone all its lists, as after a reset."""
        self._tell(self.header()._replace(reset=1, phase=BEGIN))
        new = NewSubscriptions(*self.world.subscribers(0))
        starts = range(0, len(new.keys), most_coming(K))
        for start in starts:
            rows = np.arange(start, min(start + most_coming(K), len(new.keys)))
            part = new.part(rows)
            came, states = coming(part, self.world.first_lists(part.lows, part.highs))
            phase = LAST if start == starts[-1] else LISTS
            self._tell(self.header()._replace(coming=came, states=states, reset=1, phase=phase))
        if not self.zone.is_live or len(self.zone) != len(self.world):
            raise RuntimeError(f"got {len(self.zone)} lists, expected {len(self.world)}")

    def _tell(self, record: ZoneRecord) -> None:
        self.zone.take(codec.decode(codec.encode(record)))

    def header(self) -> ZoneRecord:
        at = np.array([len(self.world)])
        return ZoneRecord(0, 1, -np.inf, np.inf, 1, 0, self._number, at, at, as_of=self._number - 1)

    def changes(self, count: int, most_x: float = 1.0) -> Changes:
        """Objects that get another y; those up to an x only."""
        chosen = self._rng.choice(np.flatnonzero(self.xs <= most_x), count)
        ids = [self.ids[i] for i in chosen.tolist()]
        return Changes(ids, self.xs[chosen], self._rng.random(count))

    def numbers(self, count: int) -> np.ndarray:
        self._number += count
        return np.arange(self._number - count, self._number)
