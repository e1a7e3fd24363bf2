"""Range top-k subscriptions the slow way: the definition that the suites compare with.

Nothing of ours is imported here.  An object is `x -> y`, lower y is better and ties go to the lower
x.  A subscription is a closed range of x with a k.  A message is anything with the fields
`inner_low`, `inner_high`, `outer_low`, `outer_high`, `x` and `y`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

INF = math.inf

Objects = Mapping[float, float]
Items = list[tuple[float, float]]  # (x, y), best first
Point = tuple[float, float]  # a subscription's (low, high)


def reaches(message: Any, low: float, high: float) -> bool:
    """Whether a message is for a range; an infinite outer bound is no bound."""
    holds_inner = low <= message.inner_low and message.inner_high <= high
    after_low = math.isinf(message.outer_low) or message.outer_low < low
    return (
        holds_inner and after_low and (math.isinf(message.outer_high) or high < message.outer_high)
    )


def box_reaches(box: Any, low: float, high: float, z_min: float) -> bool:
    """The same for a message of 1.5 dimensions; an infinite `z_low` is no bound either."""
    above = math.isinf(box.z_low) or box.z_low < z_min
    return reaches(box, low, high) and above and z_min <= box.z_high


def ranked(objects: Objects, low: float = -INF, high: float = INF) -> Items:
    """
    >>> ranked({1: 5, 2: 3, 0: 5, 9: 1}, 0, 2)
    [(2, 3), (0, 5), (1, 5)]
    """
    return sorted(
        ((x, y) for x, y in objects.items() if low <= x <= high), key=lambda item: item[::-1]
    )


class Need(NamedTuple):
    """What a subscriber has to receive: x -> y, with y = inf for an object that is gone."""

    must: dict[float, float]
    may: dict[float, float]  # gone, and pushed out of the list anyhow by what has to be sent

    def holds(self, received: Sequence[tuple[float, float]]) -> bool:
        """Whether this is all of it, no object twice, and nothing else."""
        got = dict(received)
        return len(got) == len(received) and self.must.items() <= got.items() <= self._all().items()

    def _all(self) -> dict[float, float]:
        return {**self.must, **self.may}


def need(before: Items, after: Items, present: Objects, k: int) -> Need:
    """The least that takes a list of at most k to another, if `present` are the objects in range.

    >>> need([(1, 4), (2, 5)], [(2, 5), (3, 6)], {1: 9, 2: 5, 3: 6}, 2).must
    {3: 6, 1: 9}
    """
    old, new = dict(before), dict(after)
    must = {x: y for x, y in after if old.get(x) != y}
    may = {}
    for x, y in before:
        # With its old y it would be worse than all of the new list: that pushes it out by itself.
        pushed_out = len(after) == k and after[-1][::-1] < (y, x)
        if x in present:
            if x not in new and present[x] > y and not pushed_out:
                must[x] = present[x]
        elif pushed_out:
            may[x] = INF
        else:
            must[x] = INF
    return Need(must, may)


class Server:
    """All objects and subscriptions; every list is sorted out of all objects of its range."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.objects: dict[float, float] = {}
        self.subscriptions: dict[int, tuple[float, float, int]] = {}

    def subscribe(self, id: int, low: float, high: float, k: int | None = None) -> Items:
        self.subscriptions[id] = (low, high, self.k if k is None else k)
        return self.list_of(id)

    def unsubscribe(self, id: int) -> None:
        del self.subscriptions[id]

    def list_of(self, id: int) -> Items:
        low, high, k = self.subscriptions[id]
        return self.top_k(low, high, k)

    def top_k(self, low: float, high: float, k: int | None = None) -> Items:
        return ranked(self.objects, low, high)[: self.k if k is None else k]

    def rank(self, x: float, low: float, high: float) -> int:
        """From 1; for an object that is not there, that of the one after the last."""
        found = [item[0] for item in ranked(self.objects, low, high)]
        return found.index(x) + 1 if x in found else len(found) + 1

    def set(self, x: float, y: float | None) -> None:
        """Insert, change or (None) remove an object."""
        if y is None:
            del self.objects[x]
        else:
            self.objects[x] = y

    def apply(self, events: Iterable[tuple[float, float | None, float | None]]) -> dict[int, Need]:
        """Apply `(x, old_y, new_y)` one after the other; what the net change asks of each list.

        Lists are those of the server's k here, also of subscriptions with a smaller one.
        """
        ranges = {id: (low, high) for id, (low, high, _) in self.subscriptions.items()}
        before = {id: self.top_k(*ends) for id, ends in ranges.items()}
        for x, old_y, new_y in events:
            assert self.objects.get(x) == old_y
            if new_y is not None or old_y is not None:
                self.set(x, new_y)
        return {
            id: need(before[id], self.top_k(*ends), dict(ranked(self.objects, *ends)), self.k)
            for id, ends in ranges.items()
        }


class Site(NamedTuple):
    """Where an object of 1.5 dimensions stands."""

    z: float
    y: float


def ranked_above(objects: Mapping[float, Site], low: float, high: float, z_min: float) -> Items:
    """The objects of a 1.5-dimensional subscription, best first."""
    return ranked({x: site.y for x, site in objects.items() if site.z >= z_min}, low, high)


def fewest_rectangles(wanted: Iterable[Point], others: Iterable[Point]) -> int:
    """The least number of rectangles with each wanted point in exactly one, and no other in any.

    >>> fewest_rectangles([(0, 5), (1, 7), (2, 5)], [])
    1
    >>> fewest_rectangles([(0, 5), (1, 7), (2, 5)], [(0, 6)])
    2
    >>> fewest_rectangles([(0, 5), (1, 7), (2, 8)], [(0, 6), (1, 8)])
    3
    """
    points = sorted(set(wanted))
    forbidden = set(others)
    assert not forbidden & set(points)
    lows, highs = sorted({p[0] for p in points}), sorted({p[1] for p in points})
    sets = set()
    for west, east in combinations_with_replacement(lows, 2):
        for south, north in combinations_with_replacement(highs, 2):

            def inside(point: Point, box: tuple[float, ...] = (west, east, south, north)) -> bool:
                return box[0] <= point[0] <= box[1] and box[2] <= point[1] <= box[3]

            if not any(map(inside, forbidden)):
                sets.add(sum(1 << i for i, point in enumerate(points) if inside(point)))

    @cache
    def fewest(left: int) -> int:
        if not left:
            return 0
        first = left & -left
        fitting = [found for found in sets if found & first and not found & ~left]
        return 1 + min(fewest(left & ~found) for found in fitting)

    return fewest((1 << len(points)) - 1)
