"""What one would do without Paint (the Paint paper, §V): the comparisons of its evaluation.

`Unicast` finds every affected subscription and tells each by itself.  `CNRelax` tells everyone
whose range has the object, and leaves ranking to the subscribers.
"""

from collections.abc import Iterable, Sequence
from math import inf, nextafter

from numpy.typing import ArrayLike

from indexes.paint.messages import Message
from indexes.paint.server import PaintServer, Update, as_updates
from indexes.paint.subscriptions import SubscriptionArrays, SubscriptionIndex

__all__ = ["CNRelax", "Unicast"]


class _Told(PaintServer):
    """A server that keeps its subscriptions and has messages of its own."""

    def __init__(self, k: int) -> None:
        super().__init__(k)
        self.subscriptions = SubscriptionIndex()

    def __len__(self) -> int:
        return len(self.subscriptions)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.subscriptions.nbytes

    def unsubscribe_many(self, ids: ArrayLike | Sequence[int]) -> None:
        self.subscriptions.delete_many(ids)

    def _add(self, ids: ArrayLike | Sequence[int], lows: ArrayLike, highs: ArrayLike) -> None:
        self.subscriptions.insert_many(ids, lows, highs)

    def _saved_subscriptions(self) -> SubscriptionArrays:
        return self.subscriptions.to_arrays()

    def check(self) -> None:
        super().check()
        self.subscriptions.check()

    def _put(self, x: float, y: float | None) -> None:
        if y is None:
            self.objects.remove(x)
        else:
            self.objects.put(x, y)


class Unicast(_Told):
    """Each affected subscription gets its own messages; equal ranges share theirs."""

    def update(self, x: float, old_y: float | None, new_y: float | None) -> list[Message]:
        return self._tell([(x, old_y, new_y)])

    def move(self, old_x: float, new_x: float, y: float) -> list[Message]:
        if old_x == new_x:
            as_updates(self.objects, [(old_x, y, y)])
            return []
        return self._tell([(old_x, y, None), (new_x, None, y)])

    def _tell(self, events: Iterable[Update]) -> list[Message]:
        updates = list(events)
        as_updates(self.objects, updates)
        ranges: dict[tuple[float, float], list[tuple[float, float]]] = {}
        for x, _, _ in updates:
            for id in self.subscriptions.inside((-inf, x, x, inf)):
                low, high = self.subscriptions.range_of(id)
                ranges[low, high] = self.top_k(low, high)
        for x, _, y in updates:
            if y is not None or x in self.objects:
                self._put(x, y)
        gone = [x for x, _, y in updates if y is None]
        return [
            Message(low, high, nextafter(low, -inf), nextafter(high, inf), x, y)
            for (low, high), before in ranges.items()
            for x, y in _changes(before, self.top_k(low, high), dict(self._now(before)), gone)
        ]

    def _now(self, before: list[tuple[float, float]]) -> Iterable[tuple[float, float]]:
        return ((x, self.objects.y_of(x)) for x, _ in before if x in self.objects)


def _changes(
    before: list[tuple[float, float]],
    after: list[tuple[float, float]],
    now: dict[float, float],
    gone: list[float],
) -> list[tuple[float, float]]:
    """What brings a list up to date: what has gone or worsened first."""
    worse = [(x, now.get(x, inf)) for x, y in before if x in gone or now.get(x, inf) > y]
    return worse + [item for item in after if item not in before and item not in worse]


class CNRelax(_Told):
    """Every subscription whose range has the object hears of it, and keeps all of its objects."""

    def subscribe(
        self, id: int, low: float, high: float, k: int | None = None
    ) -> list[tuple[float, float]]:
        """Add a subscription; returns all objects of its range."""
        super().subscribe(id, low, high, k)
        return self.objects.top_k(low, high, len(self.objects))

    def update(self, x: float, old_y: float | None, new_y: float | None) -> list[Message]:
        updates = as_updates(self.objects, [(x, old_y, new_y)])
        if old_y == new_y:
            return []
        self._put(x, new_y)
        at, y = float(updates.x[0]), float(updates.new_y[0])
        return [Message(at, at, -inf, inf, at, y)]

    def move(self, old_x: float, new_x: float, y: float) -> list[Message]:
        if old_x == new_x:
            as_updates(self.objects, [(old_x, y, y)])
            return []
        as_updates(self.objects, [(old_x, y, None), (new_x, None, y)])
        return [*self.update(old_x, y, None), *self.update(new_x, None, y)]
