"""A server of ours, the oracle beside it, and a subscriber's list behind every subscription."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from indexes.paint import Message, TopKList
from tests.oracles import paint as oracle

INF = oracle.INF

Event = tuple[float, float | None, float | None]


class Audience:
    """Subscribers are fed with exactly the messages that reach them.

    `sparse`: the server knows the subscriptions, so no message may reach nobody.  `relaxed`:
    subscribers keep all objects of their range, and receive more than they need.
    """

    def __init__(self, server: Any, k: int, sparse: bool = False, relaxed: bool = False) -> None:
        self.server = server
        self.k = k
        self.sparse = sparse
        self.relaxed = relaxed
        self.lists: dict[int, TopKList] = {}

    def subscribe(self, expected: oracle.Server, id: int, **own_k: int) -> None:
        """Subscribe as the oracle's subscription with this id; the first list is right.

        Under `relaxed` it may be the whole range; with a smaller k, the list of the server's k.
        """
        low, high, k = expected.subscriptions[id]
        first = self.server.subscribe(id, low, high, **own_k)
        everything = oracle.ranked(expected.objects, low, high)
        assert list(first)[:k] == everything[:k]
        assert list(first) == everything[: len(first)]
        assert self.relaxed or own_k or len(first) <= k
        self.listen(expected, id)

    def listen(self, expected: oracle.Server, id: int) -> None:
        low, high, _ = expected.subscriptions[id]
        k = 1_000 if self.relaxed else self.k
        self.lists[id] = TopKList(k, oracle.ranked(expected.objects, low, high)[:k])

    def deliver(
        self, messages: Sequence[Any], expected: oracle.Server
    ) -> dict[int, list[tuple[float, float]]]:
        """What each subscriber has received, in order."""
        received: dict[int, list[tuple[float, float]]] = {id: [] for id in self.lists}
        for message in messages:
            assert type(message) is Message
            assert message.inner_low <= message.inner_high
            reached = False
            for id, items in self.lists.items():
                if oracle.reaches(message, *expected.subscriptions[id][:2]):
                    items.apply(message)
                    received[id].append((message.x, message.y))
                    reached = True
            assert reached or not self.sparse, f"{message} reaches nobody"
        return received

    def assert_lists(self, expected: oracle.Server) -> None:
        for id, items in self.lists.items():
            own_k = expected.subscriptions[id][2]
            assert list(items.items)[:own_k] == expected.list_of(id), f"subscription {id}"

    def assert_received(
        self,
        received: dict[int, list[tuple[float, float]]],
        needs: dict[int, oracle.Need],
        expected: oracle.Server,
    ) -> None:
        """Each has received exactly what it needs; under `relaxed` no object twice."""
        for id, need in needs.items():
            got = received[id]
            where = f"subscription {id}, {expected.subscriptions[id]}: {got} when {need} was needed"
            if self.relaxed:
                assert len(dict(got)) == len(got), where
            else:
                assert need.holds(got), where


def exact(k: int, **servers: Any) -> list[Audience]:
    """Audiences of servers by the names of their classes."""
    sparse, relaxed = {"PaintSparse", "Unicast"}, {"CNRelax"}
    return [
        Audience(server, k, sparse=name in sparse, relaxed=name in relaxed)
        for name, server in servers.items()
    ]


class Race:
    """The oracle and several servers of ours through one history."""

    def __init__(self, k: int, objects: dict[float, float], audiences: list[Audience]) -> None:
        self.expected = oracle.Server(k)
        self.expected.objects = dict(objects)
        self.audiences = audiences
        for audience in audiences:
            audience.server.load(list(objects.items()))

    def subscribe(self, id: int, low: float, high: float, **own_k: int) -> None:
        self.expected.subscribe(id, low, high, **own_k)
        for audience in self.audiences:
            audience.subscribe(self.expected, id, **own_k)

    def subscribe_many(self, ranges: dict[int, tuple[float, float]]) -> None:
        lows, highs = ([ends[side] for ends in ranges.values()] for side in (0, 1))
        for id, (low, high) in ranges.items():
            self.expected.subscribe(id, low, high)
        for audience in self.audiences:
            audience.server.subscribe_many(list(ranges), lows, highs)
            for id in ranges:
                audience.listen(self.expected, id)

    def unsubscribe(self, id: int) -> None:
        self.expected.unsubscribe(id)
        for audience in self.audiences:
            audience.server.unsubscribe(id)
            del audience.lists[id]

    def apply(
        self, events: Sequence[Event], messages: Callable[[Any], Sequence[Any]] | None = None
    ) -> None:
        """One step of all; `messages` asks a server for its messages, `update` unless told."""
        needs = self.expected.apply(events)
        for audience in self.audiences:
            sent = messages(audience.server) if messages else audience.server.update(*only(events))
            received = audience.deliver(sent, self.expected)
            audience.assert_received(received, needs, self.expected)
            audience.assert_lists(self.expected)
            if all(old_y == new_y for _, old_y, new_y in events):
                assert list(sent) == []

    def check(self) -> None:
        for audience in self.audiences:
            audience.server.check()


def only(events: Sequence[Event]) -> Event:
    (event,) = events
    return event


def change_of(objects: dict[float, float], x: float, y: float | None) -> list[Event]:
    """The event that gives an object another y; none if there is nothing to remove."""
    return [] if objects.get(x) is None and y is None else [(x, objects.get(x), y)]


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """The arrays of what `to_arrays` gave; fails for anything that would need pickle."""
    if isinstance(value, np.ndarray):
        assert not value.dtype.hasobject
        yield value
    else:
        assert isinstance(value, tuple | list | dict), f"got {type(value)} among arrays"
        for part in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(part)


def copied(value: Any) -> Any:
    """The same arrays elsewhere, as they come back from storage."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    parts = [copied(part) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def contents(structure: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    """All that a structure holds, to be compared."""
    arrays = arrays_in(structure.to_arrays())
    return [(array.dtype.str, array.shape, array.tobytes()) for array in arrays]


@contextmanager
def refused(
    structure: Any, error: type[Exception] | tuple[type[Exception], ...], named: str, see: Any
) -> Iterator[None]:
    """The block raises `error` with `named` in its message, and changes nothing that `see` sees."""
    before = see(structure)
    with pytest.raises(error) as caught:
        yield
    assert named in str(caught.value), f"{caught.value!r} does not name {named}"
    structure.check()
    assert see(structure) == before


def all_lists(server: Any, ranges: Iterable[tuple[float, float]], id: int = 10**6) -> list[Any]:
    """The lists of all these ranges, by subscriptions that do not stay."""
    found = []
    for low, high in ranges:
        found.append(list(server.subscribe(id, low, high)))
        server.unsubscribe(id)
    return found
