"""Everything that a painter knows: objects, subscriptions, and what each zone has to hear.

A zone is a slice of the left ends of ranges.  A message is for lows in (outer_low, inner_low], so
it goes to the zones whose slices meet that; a subscription is in the one zone that has its low.

Subscriptions are known by their keys; a life is what a number stands for that its caller gives each
time a key subscribes.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np

from indexes.paint.keys import KeyedRanges, Ranges
from indexes.paint.named import FirstLists, NamedPaint, NamedPaintArrays, ObjectStates, Painted

__all__ = ["Leaver", "World", "ZoneMessages", "quantile_bounds", "slices_of"]

_OF_OBJECTS = "objects."


class Leaver(NamedTuple):
    """A subscription that ends, or begins another life."""

    key: bytes
    life: int
    by: int  # what ends it, in the numbers of lives
    follows: bool  # another life of the key does


class Bounds(NamedTuple):
    """Of messages, as those of `Message`."""

    inner_low: np.ndarray  # f8[m]
    inner_high: np.ndarray  # f8[m]
    outer_low: np.ndarray  # f8[m]
    outer_high: np.ndarray  # f8[m]


class ZoneMessages(NamedTuple):
    """What a call has for one zone; groups that say nothing to the zone are left out."""

    numbers: np.ndarray  # i8[g]
    group: np.ndarray  # i4[m]
    state: np.ndarray  # i4[m]
    bounds: Bounds
    states: ObjectStates
    gone_group: np.ndarray  # i4[e]
    gone_ids: list[bytes]
    gone_to: np.ndarray  # f8[e]


def slices_of(bounds: Sequence[float]) -> list[tuple[float, float]]:
    """
    >>> slices_of([10.0, 20.0])
    [(-inf, 10.0), (10.0, 20.0), (20.0, inf)]
    """
    return list(pairwise([-inf, *bounds, inf]))


def quantile_bounds(lows: np.ndarray, zones: int) -> list[float]:
    """Bounds between zones of about equally many of these lows; ascending, each once.

    >>> quantile_bounds(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    [3.0]
    """
    finite = np.sort(lows[np.isfinite(lows)])
    if not len(finite):
        return [float(i) for i in range(zones - 1)]
    bounds = [float(finite[len(finite) * i // zones]) for i in range(1, zones)]
    for i in range(1, len(bounds)):
        if bounds[i] <= bounds[i - 1]:
            bounds[i] = float(np.nextafter(bounds[i - 1], inf))
    return bounds


class World:
    """`bounds` are those between zones."""

    def __init__(
        self,
        k: int,
        form: str,
        epsilon: float | None,
        bounds: Sequence[float] = (),
        paint: Any = None,
    ) -> None:
        """`paint` is what stands for a `NamedPaint` if objects are kept elsewhere."""
        self.k = k
        self.paint = NamedPaint(k, form, epsilon) if paint is None else paint
        self.bounds = list(bounds)
        self._subscribers = KeyedRanges()

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._subscribers)

    @property
    def objects(self) -> int:
        count: int = self.paint.objects
        return count

    @property
    def nbytes(self) -> int:
        count: int = self.paint.nbytes + self._subscribers.nbytes
        return count

    def zones_of(self, lows: Any) -> np.ndarray:
        return np.searchsorted(self.bounds, np.asarray(lows, np.float64), side="right")

    def lows(self) -> np.ndarray:
        return self._subscribers.lows[self._subscribers.rows()]

    def leave(
        self, gone: Sequence[tuple[bytes, int]], replaced: Sequence[tuple[bytes, int]]
    ) -> dict[int, list[Leaver]]:
        """End these keys' lives, as far as they have any; by zone, in the order of what ends them.

        Pairs of key and of what ends its life.
        """
        ended = [(*one, False) for one in gone] + [(*one, True) for one in replaced]
        ended.sort(key=lambda one: one[1])
        held = self._subscribers
        rows = held.remove([key for key, _, _ in ended])
        known = np.flatnonzero(rows >= 0)
        lives = held.lives[rows[known]]
        zones = self.zones_of(held.lows[rows[known]])
        leavers: dict[int, list[Leaver]] = {}
        columns = (known.tolist(), lives.tolist(), zones.tolist())
        for i, life, zone in zip(*columns, strict=True):
            key, by, follows = ended[i]
            leavers.setdefault(zone, []).append(Leaver(key, life, by, follows))
        if len(lives):
            self.paint.unsubscribe_many(lives)
        return leavers

    def come(
        self, keys: Sequence[bytes], lives: Any, lows: np.ndarray, highs: np.ndarray, ks: Any
    ) -> None:
        """New subscriptions; keys that had a life have left it."""
        numbers = np.asarray(lives, np.int64)
        self.paint.subscribe_many(numbers, lows, highs)
        self._subscribers.add(keys, numbers, lows, highs, ks)

    def subscribers(self, zone: int | None = None) -> Ranges:
        """All subscriptions, or those of a zone."""
        rows = None
        if zone is not None:
            rows = self._subscribers.rows()
            rows = rows[self.zones_of(self._subscribers.lows[rows]) == zone]
        return self._subscribers.by_life(rows)

    def first_lists(self, lows: np.ndarray, highs: np.ndarray) -> FirstLists:
        return self.paint.first_lists(lows, highs)

    def put(
        self, ids: Sequence[bytes], xs: Any, ys: Any, numbers: Any, at_once: bool = False
    ) -> dict[int, ZoneMessages]:
        """Objects that come, change or (y = nan) go, one after the other or as one batch.

        By zone, what it has to hear; change i has the number `numbers[i]`, a batch the last one.
        """
        named = np.asarray(numbers, np.int64)
        if at_once:
            painted, named = self.paint.put_batch(ids, xs, ys), named[-1:]
        else:
            painted = self.paint.put_many(ids, xs, ys)
        told = {}
        for zone, (low, high) in enumerate(slices_of(self.bounds)):
            mine = (painted.inner_low >= low) & (painted.outer_low < high)
            if mine.any():
                told[zone] = _for_zone(painted, mine, named)
        return told

    def load(self, changes: Mapping[bytes, tuple[float, float]]) -> None:
        """Net changes of objects that nobody is told of: x and y by id; y = nan: gone."""
        if changes:
            xs, ys = ([point[i] for point in changes.values()] for i in range(2))
            self.paint.take_in(list(changes), xs, ys)

    def to_arrays(self) -> dict[str, np.ndarray]:
        keys, lives, lows, highs, ks = self.subscribers()
        objects = {_OF_OBJECTS + n: a for n, a in self.paint.to_arrays()._asdict().items()}
        # Ranges are here already, as they are.
        for name in ("subscriptions", "lows", "highs"):
            objects.pop(_OF_OBJECTS + name, None)
        return objects | {
            "bounds": np.array(self.bounds, np.float64),
            "key_lengths": np.array([len(key) for key in keys], np.int32),
            "key_data": np.frombuffer(b"".join(keys), np.uint8),
            "lives": lives,
            "lows": lows,
            "highs": highs,
            "ks": ks,
        }

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, np.ndarray],
        restored: Callable[[dict[str, np.ndarray]], Any] | None = None,
    ) -> Self:
        """`restored` makes of its arrays what stands for a `NamedPaint`."""
        of_objects = {
            name.removeprefix(_OF_OBJECTS): array
            for name, array in arrays.items()
            if name.startswith(_OF_OBJECTS)
        }
        paint = (restored or _named_paint)(of_objects)
        world = cls(paint.k, paint.form, paint.epsilon, arrays["bounds"].tolist(), paint)
        data, ends = arrays["key_data"].tobytes(), np.cumsum(arrays["key_lengths"]).tolist()
        keys = [data[start:end] for start, end in pairwise([0, *ends])]
        columns = (arrays[name] for name in ("lives", "lows", "highs", "ks"))
        world.come(keys, *columns)
        return world

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self.paint.check()
        self._subscribers.check()
        assert len(self.paint) == len(self._subscribers)
        assert self.bounds == sorted(set(self.bounds))


def _named_paint(of_objects: dict[str, np.ndarray]) -> NamedPaint:
    none = {"subscriptions": np.empty(0, np.int64), "lows": np.empty(0), "highs": np.empty(0)}
    return NamedPaint.from_arrays(NamedPaintArrays(**of_objects, **none))


def _for_zone(painted: Painted, mine: np.ndarray, numbers: np.ndarray) -> ZoneMessages:
    groups, group = np.unique(painted.group[mine], return_inverse=True)
    rows, state = np.unique(painted.state[mine], return_inverse=True)
    states = painted.states
    gone = np.isin(painted.gone_group, groups)
    gone_group = np.searchsorted(groups, painted.gone_group[gone]).astype(np.int32)
    return ZoneMessages(
        numbers[groups],
        group.astype(np.int32),
        state.astype(np.int32),
        Bounds(
            painted.inner_low[mine],
            painted.inner_high[mine],
            painted.outer_low[mine],
            painted.outer_high[mine],
        ),
        ObjectStates(
            [states.ids[row] for row in rows.tolist()],
            states.x[rows],
            states.y[rows],
        ),
        gone_group,
        [painted.gone_ids[i] for i in np.flatnonzero(gone).tolist()],
        painted.gone_to[gone],
    )
