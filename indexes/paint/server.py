"""`PaintDense` and `PaintSparse`: servers that turn updates of objects into few messages.

`PaintDense` knows the objects alone, and its messages are the fewest for subscriptions that are
everywhere; its time has nothing to do with their number.  `PaintSparse` knows the subscriptions
too: it sends nothing that reaches nobody, and at most twice the messages that are needed.
"""

from collections.abc import Iterable, Sequence
from math import ceil, inf
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from indexes.id_map import IdMap
from indexes.kernels.sorting import stable_order
from indexes.paint.messages import Message, MessageTable
from indexes.paint.objects import ObjectIndex, as_coordinate, as_range
from indexes.paint.painting import (
    FIRST_K,
    MIN_Y,
    RULED_OUT,
    SNAP,
    first_bad_update,
    new_brush,
    paint_batch,
    paint_many,
)
from indexes.paint.subscriptions import SubscriptionArrays, SubscriptionIndex, Subscriptions
from indexes.validation import (
    as_bound_array,
    as_count,
    as_id,
    as_id_array,
    as_number_array,
    require_finite,
    require_ordered,
    require_same_length,
)

__all__ = [
    "Calls",
    "PaintDense",
    "PaintSparse",
    "ServerArrays",
    "SubscriberIds",
    "Updates",
    "as_updates",
    "table_of",
]

Update = tuple[float, float | None, float | None]  # x, old y, new y; None: absent


class Calls(NamedTuple):
    """Index calls since the server was made, counted as in the paper's Tables III and IV.

    That is, one `snap` per tile that is to be sent.  Those that look for the next exposed object
    are not counted, and all tiles of an object are snapped in one search.  Where these find that no
    subscription is left, the sweep is over: PaintSparse makes no `min_y`, and counts it as one that
    is ruled out.  The paper counts it as a `min_y`.
    """

    first_k: int
    min_y: int
    snap: int
    ruled_out: int


class Updates(NamedTuple):
    """Updates as columns; inf: absent."""

    x: np.ndarray  # f8[m]
    old_y: np.ndarray  # f8[m]
    new_y: np.ndarray  # f8[m]


class ServerArrays(NamedTuple):
    settings: np.ndarray  # f8[2]  k, epsilon (0: exact); of `PaintServers`: the boundaries, too
    x: np.ndarray  # f8[n]  the objects, ascending
    y: np.ndarray  # f8[n]
    ids: np.ndarray  # i8[s]  the subscriptions, ascending
    lows: np.ndarray  # f8[s]  PaintSparse only
    highs: np.ndarray  # f8[s]


class SubscriberIds:
    """The ids of subscriptions of which a server keeps nothing else."""

    def __init__(self) -> None:
        self._ids = IdMap(np.int32)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        return self._ids.nbytes

    def add(self, ids: np.ndarray) -> None:
        """Add ids that are all new, or none."""
        known = self._ids.get_many(ids) != -1
        if known.any():
            raise KeyError(f"id {ids[known][0]} is already subscribed; unsubscribe it first")
        self._ids.put_many(ids, np.zeros(len(ids), np.int64))

    def remove(self, ids: np.ndarray) -> None:
        """Forget ids that are all known, or none."""
        unknown = self._ids.get_many(ids) == -1
        if unknown.any():
            raise KeyError(f"id {ids[unknown][0]} is not subscribed; a known one was expected")
        self._ids.remove_many(ids)

    def to_array(self) -> np.ndarray:
        """All ids, ascending."""
        return np.sort(self._ids.table.keys[: len(self)])

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self._ids.check()


class PaintServer:
    """What both have in common; their subscriptions are kept by themselves."""

    def __init__(self, k: int, epsilon: float | None = None) -> None:
        self.k = as_count("k", k, least=1)
        self.epsilon = None if epsilon is None else as_epsilon(epsilon)
        # How many adjacent tiles may become one; the product is taken as what it is meant to be.
        self.group = 1 if self.epsilon is None else ceil(self.epsilon * k - 1e-9)
        self.objects = ObjectIndex()
        self.brush = new_brush(self.k)

    def load(self, objects: ArrayLike | Iterable[tuple[float, float]]) -> None:
        """Add objects that nobody is told of: pairs (x, y), before anyone subscribes."""
        if len(self):
            raise ValueError(
                f"load: got objects when {len(self)} have subscribed; insert each by update()"
            )
        self.objects.put_many(objects)

    def __len__(self) -> int:
        """The number of subscriptions."""
        raise NotImplementedError

    @property
    def known_subscriptions(self) -> Subscriptions | None:
        """What kernels may know of subscriptions."""
        return None

    @property
    def calls(self) -> Calls:
        counted = self.brush.calls.tolist()
        return Calls(counted[FIRST_K], counted[MIN_Y], counted[SNAP], counted[RULED_OUT])

    def subscribe(
        self, id: int, low: float, high: float, k: int | None = None
    ) -> list[tuple[float, float]]:
        """Add a subscription; returns its first list, the server's k best objects of the range.

        A subscriber may want fewer, `k`: it keeps the whole list and shows its first k (see
        `TopKList`).
        """
        if k is not None and as_count("k", k, least=1) > self.k:
            raise ValueError(f"k: got {k} when at most the server's {self.k} was expected")
        low, high = as_range(low, high)
        self._add([as_id(id)], [low], [high])
        return self.objects.top_k(low, high, self.k)

    def subscribe_many(
        self, ids: ArrayLike | Sequence[int], lows: ArrayLike, highs: ArrayLike
    ) -> None:
        """Add many subscriptions, all or none; their lists can be had by `top_k`."""
        self._add(ids, lows, highs)

    def top_k(self, low: float, high: float) -> list[tuple[float, float]]:
        """The k best objects of a range, as a subscriber's list has them."""
        return self.objects.top_k(low, high, self.k)

    def unsubscribe(self, id: int) -> None:
        self.unsubscribe_many([id])

    def unsubscribe_many(self, ids: ArrayLike | Sequence[int]) -> None:
        raise NotImplementedError

    def _add(self, ids: ArrayLike | Sequence[int], lows: ArrayLike, highs: ArrayLike) -> None:
        raise NotImplementedError

    def update(self, x: float, old_y: float | None, new_y: float | None) -> list[Message]:
        """Change an object's y; `None` is absent, so that objects come and go."""
        return list(self._paint(as_updates(self.objects, [(x, old_y, new_y)])).messages())

    def update_many(self, xs: ArrayLike, old_ys: ArrayLike, new_ys: ArrayLike) -> MessageTable:
        """Many updates, one after the other, all or none; nan is absent."""
        columns = [as_number_array(name, values) for name, values in
                   (("xs", xs), ("old_ys", old_ys), ("new_ys", new_ys))]  # fmt: skip
        return self._paint(checked(self.objects, *columns))

    def _paint(self, updates: Updates) -> MessageTable:
        arrays, messages = paint_many(
            self.objects.arrays, self.known_subscriptions, self.brush, self.group, *updates
        )
        self.objects.adopt(arrays)
        return table_of(messages)

    def paint_batch(
        self, net: Updates, updated: ObjectIndex, worsened: np.ndarray, improved: np.ndarray
    ) -> MessageTable:
        """Do updates at once: what `PaintBatch` asks its server for, see there.

        `net` has one update per object, by x; `updated` those objects with their old y.  The other
        two are places in `net`, the former in descending order of the new key.
        """
        arrays, messages = paint_batch(
            self.objects.arrays,
            self.known_subscriptions,
            self.brush,
            self.group,
            updated.arrays,
            *net,
            worsened,
            improved,
        )
        self.objects.adopt(arrays)
        return table_of(messages)

    def move(self, old_x: float, new_x: float, y: float) -> list[Message]:
        """Move an object along the x axis: both ends at once, so that nobody hears too much."""
        from indexes.paint.batch import PaintBatch  # which is made of servers

        if as_coordinate("new_x", new_x) == as_coordinate("old_x", old_x):
            as_updates(self.objects, [(old_x, y, y)])
            return []
        return PaintBatch(self).update([(old_x, y, None), (new_x, None, y)])

    @property
    def nbytes(self) -> int:
        arrays = [*self.brush.stairs, *self.brush.before, *self.brush.stale, *self.brush.more,
                  *self.brush[4:]]  # fmt: skip
        return self.objects.nbytes + sum(array.nbytes for array in arrays)

    def to_arrays(self) -> ServerArrays:
        settings = np.array([self.k, self.epsilon or 0.0])
        return ServerArrays(settings, *self.objects.to_arrays(), *self._saved_subscriptions())

    def _saved_subscriptions(self) -> SubscriptionArrays:
        raise NotImplementedError

    @classmethod
    def from_arrays(cls, arrays: ServerArrays) -> Self:
        server = cls._from_settings(arrays.settings.tolist())
        server.load(np.column_stack([arrays.x, arrays.y]))
        server._restore(SubscriptionArrays(arrays.ids, arrays.lows, arrays.highs))
        return server

    @classmethod
    def _from_settings(cls, settings: list[float]) -> Self:
        k, epsilon = settings
        return cls(int(k), epsilon or None)

    def _restore(self, saved: SubscriptionArrays) -> None:
        self._add(*saved)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self.objects.check()


class PaintDense(PaintServer):
    """Subscription-oblivious (§III-A): of subscriptions it keeps the ids alone.

    >>> server = PaintDense(k=1)
    >>> server.load([(1, 10), (2, 20), (3, 30)])
    >>> server.subscribe(7, 2, 5)
    [(2.0, 20.0)]
    >>> server.update(3, 30, 15)
    [Message(inner_low=3.0, inner_high=3.0, outer_low=1.0, outer_high=inf, x=3.0, y=15.0)]
    """

    def __init__(self, k: int, epsilon: float | None = None) -> None:
        super().__init__(k, epsilon)
        self._ids = SubscriberIds()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._ids.nbytes

    def unsubscribe_many(self, ids: ArrayLike | Sequence[int]) -> None:
        self._ids.remove(as_id_array(ids))

    def _add(self, ids: ArrayLike | Sequence[int], lows: ArrayLike, highs: ArrayLike) -> None:
        new = as_id_array(ids)
        low, high = as_bound_array("lows", lows), as_bound_array("highs", highs)
        require_same_length(ids=new, lows=low, highs=high)
        require_ordered(low, high, "range")
        self._ids.add(new)

    def _saved_subscriptions(self) -> SubscriptionArrays:
        return SubscriptionArrays(self._ids.to_array(), np.empty(0), np.empty(0))

    def _restore(self, saved: SubscriptionArrays) -> None:
        self._ids.add(saved.ids)

    def check(self) -> None:
        super().check()
        self._ids.check()


class PaintSparse(PaintServer):
    """Subscription-aware (§III-B).

    >>> server = PaintSparse(k=1)
    >>> server.load([(1, 10), (2, 20), (3, 30)])
    >>> server.subscribe(7, 2, 5)
    [(2.0, 20.0)]
    >>> [(m.inner_low, m.inner_high, m.x) for m in server.update(3, 30, 15)]
    [(2.0, 5.0, 3.0)]
    """

    def __init__(self, k: int, epsilon: float | None = None) -> None:
        super().__init__(k, epsilon)
        self.subscriptions = SubscriptionIndex()

    def __len__(self) -> int:
        return len(self.subscriptions)

    @property
    def known_subscriptions(self) -> Subscriptions:
        return self.subscriptions.arrays

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


def as_epsilon(epsilon: float) -> float:
    value = float(as_number_array("epsilon", [epsilon])[0])
    if not 0 < value <= 1:
        raise ValueError(f"epsilon: got {epsilon} when 0 < epsilon <= 1 was expected")
    return value


def as_updates(objects: ObjectIndex, events: Iterable[Update]) -> Updates:
    """Updates as columns; `ValueError` or `KeyError` unless each fits the objects by then."""
    rows = list(events)
    for row in rows:
        for name, y in zip(("old_y", "new_y"), row[1:], strict=True):
            if y is not None:
                as_coordinate(name, y)
    values: list[Any] = [[np.nan if y is None else y for y in column]
                         for column in zip(*rows, strict=True)] or [[], [], []]  # fmt: skip
    return checked(objects, *(as_number_array("update", column) for column in values))


def checked(objects: ObjectIndex, x: np.ndarray, old: np.ndarray, new: np.ndarray) -> Updates:
    """Columns in which nan is absent, as `Updates`, if each fits the objects by then."""
    require_same_length(xs=x, old_ys=old, new_ys=new)
    require_finite("x", x)
    for name, values in (("old_y", old), ("new_y", new)):
        require_finite(name, values[~np.isnan(values)])
    updates = Updates(x, np.where(np.isnan(old), inf, old), np.where(np.isnan(new), inf, new))
    found = objects.find_many(x)
    bad = first_bad_update(found, *updates, stable_order(x))
    if bad >= 0:
        _refuse(float(found[bad]), updates, int(bad))
    return updates


def _refuse(known: float, updates: Updates, bad: int) -> None:
    x, old = float(updates.x[bad]), float(updates.old_y[bad])
    before = np.flatnonzero(updates.x[:bad] == x)
    if len(before):
        known = float(updates.new_y[before[-1]])
    if known == inf:
        raise KeyError(f"x: got {x}, which no object has, when a known one was expected")
    if old == inf:
        raise KeyError(f"x: got {x}, which an object has, when a new one was expected")
    raise ValueError(f"old_y: got {old} when the object at {x} has {known}")


def table_of(messages: np.ndarray) -> MessageTable:
    columns = messages.T.copy()
    return MessageTable(columns[0].astype(np.int64), *columns[1:])
