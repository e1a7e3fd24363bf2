"""What one would do without Paint (the Paint paper, §V): the comparisons of its evaluation.

`Unicast` finds every affected subscription and tells each by itself.  `CNRelax` tells everyone
whose range has the object, and leaves ranking to the subscribers.

`Unicast` is the paper's: subscriptions that have the object and lie in its influence interval are
candidates, and each is processed in turn.  The better objects on both sides of the object tell how
many of them a candidate has, and so whether the object is among its k best.  The paper finds what
replaces an object that drops out by one `min_y` above its old key.  That is right where it was the
k-th; a subscription with it at rank r needs the (k - r + 1)-th above, so that many are asked for.
`calls` counts one `min_y` per candidate, as the paper's Tables III and IV do.
"""

from collections.abc import Iterable, Sequence
from math import inf, nextafter

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from indexes.kernels.decorators import bare, inner
from indexes.paint.messages import Message, MessageTable
from indexes.paint.objects import first_k, is_below, least_above, put, remove, reserve
from indexes.paint.painting import COLUMNS, FIRST_K, MIN_Y
from indexes.paint.regions import LEFT, RIGHT, influence_interval
from indexes.paint.server import PaintServer, Updates, as_updates, table_of
from indexes.paint.subscriptions import SubscriptionArrays, SubscriptionIndex, points_inside

__all__ = ["CNRelax", "Unicast"]


class _KnowingServer(PaintServer):
    """A server that keeps its subscriptions, and has messages of its own.

    It is exact; an `epsilon` is taken as other servers take it, so that `from_arrays` is the same.
    """

    def __init__(self, k: int, epsilon: None = None) -> None:
        super().__init__(k, epsilon)
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


class Unicast(_KnowingServer):
    """Each affected subscription gets its own messages; equal ranges share theirs."""

    def __init__(self, k: int, epsilon: None = None) -> None:
        super().__init__(k, epsilon)
        self._twins = False  # whether two subscriptions have, or had, the same range

    def _add(self, ids: ArrayLike | Sequence[int], lows: ArrayLike, highs: ArrayLike) -> None:
        super()._add(ids, lows, highs)
        if not self._twins:
            low, high = np.asarray(lows, np.float64), np.asarray(highs, np.float64)
            there = self.subscriptions.count_many(np.column_stack([low, low, high, high]))
            self._twins = bool((there > 1).any())

    def _paint(self, updates: Updates) -> MessageTable:
        arrays, messages = _tell_each(
            self.objects.arrays, self.subscriptions.arrays, self.brush, self._twins, *updates
        )
        self.objects.adopt(arrays)
        return table_of(messages)

    def move(self, old_x: float, new_x: float, y: float) -> list[Message]:
        """Both ends at once: lists are made before and after, and their differences told."""
        if old_x == new_x:
            as_updates(self.objects, [(old_x, y, y)])
            return []
        as_updates(self.objects, [(old_x, y, None), (new_x, None, y)])
        ranges = {
            self.subscriptions.range_of(id)
            for x in (old_x, new_x)
            for id in self.subscriptions.inside((-inf, x, x, inf))
        }
        before = {ends: self.top_k(*ends) for ends in sorted(ranges)}
        self.objects.remove(old_x)
        self.objects.put(new_x, y)
        return [
            Message(low, high, nextafter(low, -inf), nextafter(high, inf), *item)
            for (low, high), items in before.items()
            for item in _differences(items, self.top_k(low, high), old_x)
        ]


def _differences(
    before: list[tuple[float, float]], after: list[tuple[float, float]], gone: float
) -> Iterable[tuple[float, float]]:
    """What brings a list up to date when an object has gone and others have not changed."""
    if any(x == gone for x, _ in before):
        yield gone, inf
    yield from (item for item in after if item not in before)


class CNRelax(_KnowingServer):
    """Every subscription whose range has the object hears of it, and keeps all of its objects."""

    def subscribe(
        self, id: int, low: float, high: float, k: int | None = None
    ) -> list[tuple[float, float]]:
        """Add a subscription; returns all objects of its range."""
        super().subscribe(id, low, high, k)
        return self.objects.top_k(low, high, len(self.objects))

    def _paint(self, updates: Updates) -> MessageTable:
        self.objects.adopt(_put_all(self.objects.arrays, updates.x, updates.new_y))
        event = np.flatnonzero(updates.old_y != updates.new_y)
        x, y = updates.x[event], updates.new_y[event]
        unbounded = np.full(len(event), inf)
        return MessageTable(event, x, x, -unbounded, unbounded, x, y)

    def move(self, old_x: float, new_x: float, y: float) -> list[Message]:
        if old_x == new_x:
            as_updates(self.objects, [(old_x, y, y)])
            return []
        updates = as_updates(self.objects, [(old_x, y, None), (new_x, None, y)])
        return list(self._paint(updates).messages())


@njit(cache=True)
def _put_all(o, xs, news):
    """Give objects their new y, one after the other; inf: absent.  Returns the arrays."""
    for i in range(len(xs)):
        if news[i] == np.inf:
            remove(o, xs[i])
        else:
            o = reserve(o, 1)
            put(o, xs[i], news[i])
    return o


@njit(cache=True, nogil=True)
def _tell_each(o, s, brush, twins, xs, olds, news):
    """Do updates one after the other; returns the objects' arrays and the messages.

    Absent is inf.  `twins`: some of the subscriptions have equal ranges.
    """
    messages, used, stairs = np.empty((64, COLUMNS)), 0, brush.stairs
    k = len(stairs.left)
    for event in range(len(xs)):
        x, old, new = xs[event], olds[event], news[event]
        if old == new:
            continue
        better_y = min(old, new)  # of the two influence intervals that has the other
        brush.calls[FIRST_K] += 2
        stairs.counts[LEFT] = first_k(o, x, better_y, x, k, False, stairs.left)
        stairs.counts[RIGHT] = first_k(o, x, better_y, x, k, True, stairs.right)
        lows, highs = _candidates(s, stairs, x)
        brush.calls[MIN_Y] += len(lows)
        if twins:
            lows, highs = _distinct(lows, highs)
        if used + 2 * len(lows) > len(messages):
            larger = np.empty((2 * (used + len(lows)), COLUMNS))
            larger[:used] = messages[:used]
            messages = larger
        for i in range(len(lows)):
            better = _better_inside(stairs, lows[i], highs[i])
            if better >= k:
                continue
            _write(messages[used], event, lows[i], highs[i], x, new)
            used += 1
            if new > old:
                next_x, next_y = _replacement(o, lows[i], highs[i], x, old, new, k - better)
                if next_y != np.inf:
                    _write(messages[used], event, lows[i], highs[i], next_x, next_y)
                    used += 1
        if new == np.inf:
            remove(o, x)
        else:
            o = reserve(o, 1)
            put(o, x, new)
    return o, messages[:used]


@inner
def _candidates(s, stairs, x):
    """The ranges of the subscriptions that have x and lie inside its influence interval."""
    low, high = influence_interval(stairs)
    if low != -np.inf:
        low = np.nextafter(low, np.inf)
    if high != np.inf:
        high = np.nextafter(high, -np.inf)
    return points_inside(s, low, x, x, high)


@inner
def _distinct(lows, highs):
    """Each pair once."""
    order = np.argsort(highs, kind="mergesort")
    order = order[np.argsort(lows[order], kind="mergesort")]
    kept = 0
    for i in range(len(order)):
        at, before = order[i], order[i - 1]
        if i == 0 or lows[at] != lows[before] or highs[at] != highs[before]:
            order[kept] = at
            kept += 1
    return lows[order[:kept]], highs[order[:kept]]


@bare
def _better_inside(stairs, low, high):
    """How many of the better objects a range has; of those on one side the first k count."""
    on_left, on_right = 0, 0
    while on_left < stairs.counts[LEFT] and stairs.left[on_left] >= low:
        on_left += 1
    while on_right < stairs.counts[RIGHT] and stairs.right[on_right] <= high:
        on_right += 1
    return on_left + on_right


@inner
def _replacement(o, low, high, x, old, new, place):
    """The `place`-th object of a range above the old key; y = inf: the new key is before it."""
    key_y, key_x = old, x
    for _ in range(place):
        key_x, key_y = least_above(o, low, high, key_y, key_x)
        if not is_below(key_y, key_x, new, x):
            return np.inf, np.inf
    return key_x, key_y


@bare
def _write(row, event, low, high, x, y):
    """A message for one range."""
    row[0] = event
    row[1], row[2] = low, high
    row[3], row[4] = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    row[5], row[6] = x, y
