"""What a server says, and what a subscriber makes of it (the Paint paper, §II-A).

A message carries one object to a rectangle of the subscription space: to every subscription whose
range contains `[inner_low, inner_high]` and lies inside the open `(outer_low, outer_high)`.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from indexes.validation import as_count

__all__ = ["Carried", "Message", "MessageTable", "Named", "NamedTopKList", "TopKList", "reaches"]


class Message(NamedTuple):
    """An object for the subscriptions of a rectangle; an infinite outer bound is no bound."""

    inner_low: float
    inner_high: float
    outer_low: float
    outer_high: float
    x: float
    y: float  # inf: the object is gone


class MessageTable(NamedTuple):
    """The messages of many updates as columns, in the order in which they are to be applied."""

    event: np.ndarray  # i8[m]  the update that a message comes from, by its place in the call
    inner_low: np.ndarray  # f8[m]
    inner_high: np.ndarray  # f8[m]
    outer_low: np.ndarray  # f8[m]
    outer_high: np.ndarray  # f8[m]
    x: np.ndarray  # f8[m]
    y: np.ndarray  # f8[m]

    def messages(self) -> Iterator[Message]:
        columns = (column.tolist() for column in self[1:])
        return (Message(*row) for row in zip(*columns, strict=True))


class Carried(Protocol):
    """Whatever carries an object: a `Message`, or a `Box` of the 1.5-dimensional form."""

    @property
    def x(self) -> float: ...
    @property
    def y(self) -> float: ...


class Named(Protocol):
    """Whatever carries an object with an id, of which several may share an x."""

    @property
    def id(self) -> str: ...
    @property
    def x(self) -> float: ...
    @property
    def y(self) -> float: ...


def reaches(message: Message, low: float, high: float) -> bool:
    """Whether a message is for the subscription `[low, high]`.

    >>> reaches(Message(3.0, 5.0, 1.0, inf, 4.0, 0.5), 2.0, 6.0)
    True
    >>> reaches(Message(3.0, 5.0, 1.0, inf, 4.0, 0.5), 1.0, 6.0)
    False
    """
    return (
        low <= message.inner_low
        and high >= message.inner_high
        and (low > message.outer_low or message.outer_low == -inf)
        and (high < message.outer_high or message.outer_high == inf)
    )


class TopKList:
    """A subscriber's k best objects, kept right by the messages that reach the subscriber.

    An object that the list has gets the message's y; another one is taken in, and the worst goes
    if there are more than k.  A subscriber that wants fewer objects than its server's k keeps the
    server's k all the same, because nobody sends it what it is supposed to have, and says with
    `own_k` how many of them it shows.

    >>> best = TopKList(2, [(1.0, 10.0), (7.0, 30.0)])
    >>> best.apply(Message(4.0, 4.0, -inf, inf, 4.0, 20.0))
    >>> best.items
    [(1.0, 10.0), (4.0, 20.0)]
    """

    def __init__(
        self, k: int, items: Iterable[tuple[float, float]] = (), own_k: int | None = None
    ) -> None:
        self._k = as_count("k", k, least=1)
        self._own_k = self._k if own_k is None else as_count("own_k", own_k, least=1)
        if self._own_k > self._k:
            raise ValueError(f"own_k: got {own_k} when at most k = {k} was expected")
        self._y: dict[float, float] = {}  # by x
        self._keys: list[tuple[float, float]] = []  # (y, x), best first
        for x, y in items:
            self._take_in(float(x), float(y))

    @property
    def items(self) -> list[tuple[float, float]]:
        """Pairs (x, y), best first."""
        return [(x, y) for y, x in self._keys[: self._own_k]]

    def apply(self, message: Carried) -> None:
        known = self._y.pop(message.x, None)
        if known is not None:
            del self._keys[bisect_left(self._keys, (known, message.x))]
        if message.y != inf:
            self._take_in(message.x, message.y)

    def _take_in(self, x: float, y: float) -> None:
        self._y[x] = y
        insort(self._keys, (y, x))
        if len(self._keys) > self._k:
            del self._y[self._keys.pop()[1]]


class NamedTopKList:
    """A `TopKList` of objects with ids: by y, then x, then id.

    >>> best = NamedTopKList(2, [("a", 1.0, 0.5), ("b", 1.0, 0.5)], own_k=1)
    >>> best.items
    [('a', 1.0, 0.5)]
    """

    def __init__(
        self,
        k: int,
        items: Iterable[tuple[str, float, float]] = (),
        own_k: int | None = None,
    ) -> None:
        self._k, self._own_k = k, k if own_k is None else own_k
        self._keys = sorted((y, x, id) for id, x, y in items)[:k]

    @property
    def items(self) -> list[tuple[str, float, float]]:
        """Id, x and y, best first."""
        return [(id, x, y) for y, x, id in self._keys[: self._own_k]]

    def apply(self, message: Named) -> None:
        self._keys = [key for key in self._keys if key[2] != message.id]
        if message.y != inf:
            insort(self._keys, (message.y, message.x, message.id))
            del self._keys[self._k :]
