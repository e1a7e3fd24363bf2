"""What a subscriber makes of messages that name objects, and a log that the oracle reads, too."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from indexes.paint.named import NamedPaint, Painted
from tests.oracles import range_topk as oracle
from tests.oracles.paint import reaches

INF = math.inf
NAN = math.nan
FORMS = ["dense", "sparse"]

Put = tuple[str, float, float | None]  # id, x, y; None: removed

# Few places and values, and more ids than any k: ties of y, of x and of both are common.
IDS = ["A", "a", "aa", "b", "z", "é", "日", "10", "9", "~"]
XS = [-1.0, -0.0, 0.0, 1.0, 2.0]
ENDS = [-INF, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, INF]
EVERY_RANGE = [(low, high) for low in ENDS for high in ENDS if low <= high]

ks = st.integers(1, 4)
forms = st.sampled_from([(form, epsilon) for form in FORMS for epsilon in (None, None, 0.5, 1.0)])
ids = st.sampled_from(IDS)
xs = st.sampled_from(XS)
ys = st.sampled_from([-0.0, 0.0, 1.0, 2.0, 3.0, None])
puts = st.lists(st.tuples(ids, xs, ys), min_size=1, max_size=8)
crowds = st.builds(  # all of them at one x
    lambda x, rows: [(id, x, y) for id, y in rows],
    xs,
    st.lists(st.tuples(ids, ys), min_size=4, max_size=16),
)
ranges = st.sampled_from(EVERY_RANGE)


def columns(changes: Sequence[Put]) -> tuple[list[bytes], list[float], list[float]]:
    return (
        [id.encode() for id, _, _ in changes],
        [x for _, x, _ in changes],
        [NAN if y is None else y for _, _, y in changes],
    )


def value_of(x: float, y: float | None) -> dict[str, float] | None:
    return None if y is None else {"x": x, "y": y}


class Message:
    """One of `Painted`, with the names that the oracle of messages asks for."""

    def __init__(self, painted: Painted, at: int) -> None:
        self.inner_low, self.inner_high, self.outer_low, self.outer_high = (
            float(column[at]) for column in painted[2:6]
        )
        states, row = painted.states, int(painted.state[at])
        self.id = states.ids[row].decode()
        self.x, self.y = float(states.x[row]), float(states.y[row])


def messages(painted: Painted, group: int) -> list[Message]:
    assert (np.diff(painted.group) >= 0).all()
    return [Message(painted, at) for at in np.flatnonzero(painted.group == group)]


class Listener:
    """The k best of what it has been told, by y, x and id."""

    def __init__(self, low: float, high: float, k: int) -> None:
        self.low, self.high, self.k = low, high, k
        self.held: dict[str, tuple[float, float, bytes]] = {}  # y, x, id by id

    def begin(self, server: NamedPaint) -> None:
        counts, states, objects = server.first_lists([self.low], [self.high])
        assert counts.tolist() == [len(states)]
        for row in states.tolist():
            known = float(objects.y[row]), float(objects.x[row]), objects.ids[row]
            self.held[known[2].decode()] = known

    def hears(self, message: Message) -> bool:
        if not reaches(message, self.low, self.high):
            return False
        if message.y == INF:
            self.held.pop(message.id, None)
        else:
            self.held[message.id] = message.y, message.x, message.id.encode()
        while len(self.held) > self.k:
            del self.held[max(self.held, key=lambda id: self.held[id])]
        return True

    @property
    def list(self) -> list[dict[str, Any]]:
        by_rank = sorted(self.held, key=lambda id: self.held[id])
        return [{"id": id, "x": self.held[id][1], "y": self.held[id][0]} for id in by_rank]


class Room:
    """A server, the log that it was given, and listeners."""

    def __init__(self, k: int, form: str = "dense", epsilon: float | None = None) -> None:
        self.k, self.form = k, form
        self.server = NamedPaint(k, form, epsilon)
        self.objects: dict[str, oracle.Place] = {}
        self.listeners: dict[int, Listener] = {}

    def subscribe(self, ranges: dict[int, tuple[float, float]]) -> None:
        lows, highs = ([ends[side] for ends in ranges.values()] for side in (0, 1))
        self.server.subscribe_many(list(ranges), lows, highs)
        for id, ends in ranges.items():
            self.listeners[id] = Listener(*ends, self.k)
            self.listeners[id].begin(self.server)
            assert self.listeners[id].list == self.list(*ends)

    def unsubscribe(self, ids: Sequence[int]) -> None:
        self.server.unsubscribe_many(ids)
        for id in ids:
            del self.listeners[id]

    def put_many(self, changes: Sequence[Put]) -> Painted:
        painted = self.server.put_many(*columns(changes))
        for group, change in enumerate(changes):
            self.hear(painted, group, [change])
        return painted

    def put_batch(self, changes: Sequence[Put]) -> Painted:
        painted = self.server.put_batch(*columns(changes))
        self.hear(painted, 0, changes)
        assert not painted.group.any()
        return painted

    def hear(self, painted: Painted, group: int, changes: Sequence[Put]) -> None:
        """Deliver a group; every list is right, and what changes nothing is told to nobody."""
        before = dict(self.objects)
        for id, x, y in changes:
            self.objects.pop(id, None)
            if y is not None:
                self.objects[id] = x, y
        told = messages(painted, group)
        assert not told or self.objects != before
        for message in told:
            reached = [one.hears(message) for one in self.listeners.values()]
            assert any(reached) or self.form == "dense", "a message that reaches nobody"
        for id, one in self.listeners.items():
            assert one.list == self.list(one.low, one.high), f"{id}: {one.low}, {one.high}"
        self.check_gone(painted, group, before)

    def check_gone(self, painted: Painted, group: int, before: dict[str, oracle.Place]) -> None:
        """Whoever goes, or goes elsewhere, is named with where it goes."""
        for at in np.flatnonzero(painted.gone_group == group).tolist():
            id, to = painted.gone_ids[at].decode(), float(painted.gone_to[at])
            assert id in before
            if math.isnan(to):
                assert id not in self.objects
            else:
                assert self.objects[id][0] == to != before[id][0]

    def list(self, low: float, high: float) -> list[dict[str, Any]]:
        return oracle.top_k(self.objects, low, high, self.k)

    def check(self) -> None:
        self.server.check()
        assert self.server.objects == len(self.objects)
        assert len(self.server) == len(self.listeners)
