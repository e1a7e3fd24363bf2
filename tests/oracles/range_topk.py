"""Range top-k lists the slow way: the definition that the suites compare with.

Nothing of ours is imported here.  An object has an id, x and y; the order is y, then x, then the
bytes of the id.  A subscription is a closed range of x with a k, its list the k best objects in it.
Lists and changes are what `matches` has in JSON:

    list        [{"id", "x", "y"}, ...]                  best first
    changes     {"op": "leave", "id", "from", "why"}     why: displaced, removed, left
                {"op": "enter", "id", "x", "y", "to"}
                {"op": "move", "id", "x", "y", "from", "to"}
                {"op": "update", "id", "x", "y", "to"}
"""

import math
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

INF = math.inf

Place = tuple[float, float]  # x, y
Record = dict[str, Any]
Log = Iterable[tuple[int, str, Any]]  # offset, key, value; None: removed


class Subscription(NamedTuple):
    key: str
    low: float
    high: float
    k: int


class Ask(NamedTuple):
    """The list of a range as of an object record; None: before the first one."""

    objects: int | None
    low: float
    high: float
    k: int


def rank(id: str, place: Place) -> tuple[float, float, bytes]:
    x, y = place
    return y, x, id.encode()


def top_k(objects: Mapping[str, Place], low: float, high: float, k: int) -> list[Record]:
    """
    >>> objects = {"b": (1, 5), "a": (1, 5), "c": (2, 3), "d": (9, 1)}
    >>> [item["id"] for item in top_k(objects, low=0, high=2, k=2)]
    ['c', 'a']
    """
    found = sorted(rank(id, place) for id, place in objects.items() if low <= place[0] <= high)
    return [_item(id.decode(), x, y) for y, x, id in found[:k]]


def _item(id: str, x: float, y: float) -> Record:
    return {"id": id, "x": x, "y": y}


def apply_changes(listed: Sequence[Record], changes: Iterable[Record]) -> list[Record]:
    """The list that a subscriber makes of the one before.

    Take out all that leave or move, then insert what enters or moves by ascending `to`, then set x
    and y of updates.

    >>> apply_changes([{"id": "a", "x": 1, "y": 2}, {"id": "b", "x": 3, "y": 4}],
    ...     [{"op": "move", "id": "b", "x": 3, "y": 1, "from": 1, "to": 0}])
    [{'id': 'b', 'x': 3, 'y': 1}, {'id': 'a', 'x': 1, 'y': 2}]
    """
    by_op: dict[str, list[Record]] = {"leave": [], "enter": [], "move": [], "update": []}
    for change in changes:
        by_op[change["op"]].append(change)
    taken = by_op["leave"] + by_op["move"]
    for change in taken:
        assert listed[change["from"]]["id"] == change["id"], f"{change} is not what stands there"
    places = {change["from"] for change in taken}
    assert len(places) == len(taken), "each object is taken out once"
    made = [item for place, item in enumerate(listed) if place not in places]
    for change in sorted(by_op["enter"] + by_op["move"], key=lambda change: change["to"]):
        assert 0 <= change["to"] <= len(made), f"{change} is behind the end"
        made.insert(change["to"], _item(change["id"], change["x"], change["y"]))
    for change in by_op["update"]:
        assert made[change["to"]]["id"] == change["id"], f"{change} is not what stands there"
        made[change["to"]] = _item(change["id"], change["x"], change["y"])
    return made


def changes_between(
    before: Sequence[Record], after: Sequence[Record], why: Mapping[str, str]
) -> list[Record]:
    """The changes from a list to the next: what leaves by its place, then the others by theirs.

    A changed object is an update if it keeps its order among the unchanged ones and the updates
    before it, otherwise a move.
    """
    old = {item["id"]: place for place, item in enumerate(before)}
    new = {item["id"]: place for place, item in enumerate(after)}
    kept = {id for id in old.keys() & new.keys() if before[old[id]] == after[new[id]]}
    changes = [
        {"op": "leave", "id": id, "from": place, "why": why[id]}
        for id, place in old.items()
        if id not in new
    ]
    for id, to in new.items():
        if id in kept:
            continue
        if id not in old:
            changes.append({"op": "enter", **after[to], "to": to})
        elif all((old[other] < old[id]) == (new[other] < to) for other in kept):
            changes.append({"op": "update", **after[to], "to": to})
            kept.add(id)
        else:
            changes.append({"op": "move", **after[to], "from": old[id], "to": to})
    return changes


class History:
    """The logs of objects and subscriptions, and all that was so as of an object record.

    >>> history = History(k=3)
    >>> history.put(7, "a", {"x": 4, "y": 1})
    >>> history.put(9, "a", None)
    >>> history.as_of(None), history.as_of(8), history.as_of(9)
    ({}, {'a': (4, 1)}, {})
    >>> history.subscribe(1, 5, "watch", {"range": [None, 4]})
    >>> history.subscriptions[1, 5]
    Subscription(key='watch', low=-inf, high=4, k=3)
    """

    def __init__(
        self, k: int, objects: Log = (), subscriptions: Mapping[int, Log] | None = None
    ) -> None:
        """Logs have good records alone: those of the dead letters are left out."""
        self.k = k
        self.log: list[tuple[int, str, Place | None]] = []
        self.subscriptions: dict[tuple[int, int], Subscription] = {}  # by partition and offset
        self.last_of: dict[str, tuple[int, int]] = {}  # by key; whatever its value was
        self._versions: dict[str, list[tuple[int, Place | None]]] = {}
        for offset, id, value in objects:
            self.put(offset, id, value)
        for partition, records in (subscriptions or {}).items():
            for offset, key, value in records:
                self.subscribe(partition, offset, key, value)

    def put(self, offset: int, id: str, value: Mapping[str, float] | None) -> None:
        assert not self.log or self.log[-1][0] < offset
        place = None if value is None else (value["x"], value["y"])
        self.log.append((offset, id, place))
        self._versions.setdefault(id, []).append((offset, place))

    def subscribe(
        self, partition: int, offset: int, key: str, value: Mapping[str, Any] | None
    ) -> None:
        assert self.last_of.get(key, (partition, -1)) < (partition, offset)
        self.last_of[key] = partition, offset
        if value is not None:
            low, high = value["range"]
            self.subscriptions[partition, offset] = Subscription(
                key,
                -INF if low is None else low,
                INF if high is None else high,
                value.get("k", self.k),
            )

    def place(self, id: str, offset: int | None) -> Place | None:
        versions = self._versions.get(id, [])
        found = 0 if offset is None else bisect_right(versions, offset, key=lambda one: one[0])
        return versions[found - 1][1] if found else None

    def changes_of(self, id: str, after: int, until: int) -> list[int]:
        """The records of an object after one, up to another."""
        return [offset for offset, _ in self._versions.get(id, []) if after < offset <= until]

    def as_of(self, offset: int | None) -> dict[str, Place]:
        there = {id: self.place(id, offset) for id in self._versions}
        return {id: place for id, place in there.items() if place is not None}

    def lists(self, asks: Iterable[Ask]) -> dict[Ask, list[Record]]:
        """All of them in one pass over the log; the objects are kept in their order."""
        found: dict[Ask, list[Record]] = {}
        ranked: list[tuple[float, float, bytes]] = []
        places: dict[str, Place] = {}
        at = 0
        for ask in sorted(set(asks), key=lambda ask: -1 if ask.objects is None else ask.objects):
            while ask.objects is not None and at < len(self.log) and self.log[at][0] <= ask.objects:
                _, id, place = self.log[at]
                if id in places:
                    ranked.remove(rank(id, places.pop(id)))
                if place is not None:
                    places[id] = place
                    insort(ranked, rank(id, place))
                at += 1
            found[ask] = []
            for y, x, text in ranked:
                if len(found[ask]) == ask.k:
                    break
                if ask.low <= x <= ask.high:
                    found[ask].append(_item(text.decode(), x, y))
        return found

    def touching(self, life: Subscription, after: int, until: int) -> Iterator[int]:
        """Object records after one, up to another, from or to an x in a subscription's range."""
        first = bisect_right(self.log, after, key=lambda record: record[0])
        for offset, id, place in self.log[first:]:
            if offset > until:
                return
            for one in (place, self.place(id, offset - 1)):
                if one is not None and life.low <= one[0] <= life.high:
                    yield offset
                    break

    def why(self, id: str, offset: int | None, life: Subscription) -> str:
        """Why an object that was in a list before is not in it as of this object record."""
        place = self.place(id, offset)
        if place is None:
            return "removed"
        return "displaced" if life.low <= place[0] <= life.high else "left"


def place_in_log(text: str) -> tuple[str, int, int]:
    """
    >>> place_in_log("podium.parking.subscriptions[1]@88")
    ('podium.parking.subscriptions', 1, 88)
    """
    found = re.fullmatch(r"(.+)\[(\d+)\]@(\d+)", text)
    assert found, f"got {text!r} when topic[partition]@offset was expected"
    return found[1], int(found[2]), int(found[3])


def begun_by(record: Record) -> tuple[int, int]:
    """Partition and offset of the subscription's own record."""
    return place_in_log(record["since"])[1:]


def objects_of(record: Record) -> int | None:
    """The offset of the last object record that is in."""
    return None if record["objects"] is None else place_in_log(record["objects"])[2]


def check_life(
    records: Sequence[Record],
    history: History,
    *,
    until: int | None = None,
    group_ends: Sequence[int] | None = None,
    merged: bool = False,
    lists: Mapping[Ask, list[Record]] | None = None,
) -> None:
    """Raise `AssertionError` unless these are the records of one subscription's life.

    `until`: all object records up to this one are in, and so is what they change.  `group_ends`:
    the last object record of each batch (of each update: its own), and then a record is missed that
    the end of a group should have brought.  `merged`: records have the net effect of several
    groups, and why an object has left is what was so after one of them.  `lists`: see `asked_by`.
    """
    assert records, "a life has a first list"
    since = begun_by(records[0])
    life = history.subscriptions[since]
    lists = history.lists(asked_by(records, history, until)) if lists is None else lists
    before: list[Record] = []
    offsets = [-1 if record["objects"] is None else objects_of(record) for record in records]
    for seq, record in enumerate(records, start=1):
        where = f"record {seq} of {record['since']}: {record}"
        objects = objects_of(record)
        assert record["subscription"] == life.key, where
        assert record["since"] == records[0]["since"], where
        assert record["seq"] == seq, where
        assert record["first"] == (seq == 1), where
        assert record["k"] == life.k, where
        assert record["list"] == lists[Ask(objects, *life[1:])], f"{where}, by brute force"
        if seq == 1:
            assert record["changes"] == [], where
        else:
            assert record["list"] != before, f"{where} is as the one before"
            assert apply_changes(before, record["changes"]) == record["list"], where
            after = offsets[seq - 2] if merged else None
            _check_changes(before, record, history, life, where, after)
        before = record["list"]
    assert all(a < b for a, b in pairwise(offsets)), f"{records[0]['since']}: objects {offsets}"
    if until is not None:
        assert before == lists[Ask(until, *life[1:])], f"{records[-1]} when {until} is in"
    if group_ends is not None:
        ends = [end for end in group_ends if until is None or end <= until]
        expected = _expected(history, life, offsets[0], ends)
        assert offsets[1:] == expected, f"{records[0]['since']}: {offsets}, {expected} change it"


def _check_changes(
    before: list[Record],
    record: Record,
    history: History,
    life: Subscription,
    where: str,
    after: int | None,
) -> None:
    """`after`: the object record of the record before, if several are merged."""
    objects, listed, changes = objects_of(record), record["list"], record["changes"]
    unchanged = [item["id"] for item in before if item in listed]
    named = [change["id"] for change in changes]
    assert len(set(named)) == len(named), f"{where} names an object twice"
    assert not set(named) & set(unchanged), f"{where} names an object that is as it was"
    why = {item["id"]: history.why(item["id"], objects, life) for item in before}
    if after is not None:
        for change in changes:
            if change["op"] == "leave":
                # Others may have displaced it before it changed itself.
                offsets = [after, *history.changes_of(change["id"], after, objects)]
                if change["why"] in {history.why(change["id"], at, life) for at in offsets}:
                    why[change["id"]] = change["why"]
    expected = changes_between(before, listed, why)
    assert _sorted(changes) == _sorted(expected), f"{where} when {expected} is the least"


def _sorted(changes: Iterable[Record]) -> list[list[tuple[str, Any]]]:
    return sorted(sorted(change.items()) for change in changes)


def _expected(history: History, life: Subscription, first: int, ends: Sequence[int]) -> list[int]:
    """The ends of groups at which the list is another one than before."""
    until = ends[-1] if ends else -1
    touched = sorted(
        {ends[bisect_left(ends, offset)] for offset in history.touching(life, first, until)}
    )
    asks = [Ask(offset, *life[1:]) for offset in [first, *touched]]
    lists = history.lists(asks)
    return [b.objects for a, b in pairwise(asks) if b.objects is not None and lists[a] != lists[b]]


def asked_by(
    records: Iterable[Record], history: History, until: int | None = None
) -> Iterator[Ask]:
    """The lists that `check_life` compares records with."""
    for record in records:
        life = history.subscriptions[begun_by(record)]
        yield Ask(objects_of(record), *life[1:])
        if until is not None:
            yield Ask(until, *life[1:])


def lives_of(
    records: Iterable[Record | None], merged: bool = False
) -> tuple[list[list[Record]], bool]:
    """The lives among the records of one key, each record once; and whether the last one is ended.

    After a crash records may come again, from anywhere before, and are what they were; when they
    were `merged` they may be later ones, which then stand.

    >>> a, b = ({"since": "s[0]@3", "seq": seq} for seq in (1, 2))
    >>> lives_of([a, b, a, b, None]) == ([[a, b]], True)
    True
    """
    lives: dict[tuple[int, int], list[Record]] = {}
    since, seq, ended = None, 0, False
    for record in records:
        if record is None:
            since, seq, ended = None, 0, True
            continue
        before, since, ended = since, begun_by(record), False
        life = lives.setdefault(since, [])
        known = record["seq"] <= len(life)
        follows = since == before and record["seq"] == seq + 1
        begins = record["seq"] == 1 and since == max(lives)
        assert known or follows or begins, f"{record} comes after {before}, {seq}"
        seq = record["seq"]
        if known and not merged:
            assert life[seq - 1] == record, f"{record} came again, and was {life[seq - 1]}"
        elif known:
            life[seq - 1 :] = [record]
        else:
            life.append(record)
    return [lives[since] for since in sorted(lives)], ended


def check_matches(
    matches: Mapping[str, Sequence[Record | None]],
    history: History,
    *,
    until: int | None = None,
    group_ends: Sequence[int] | None = None,
    merged: bool = False,
) -> int:
    """Raise `AssertionError` unless these are the records of all subscriptions; how many lives.

    `matches` has the records of each key in order, None for a null.  With `until` all records are
    there, up to that object record.
    """
    lives = {key: lives_of(records, merged) for key, records in matches.items()}
    asks = [
        ask
        for found, ended in lives.values()
        for place, life in enumerate(found, start=1)
        for ask in asked_by(life, history, None if ended or place < len(found) else until)
    ]
    lists = history.lists(asks)
    for key, (found, ended) in lives.items():
        assert key in history.last_of, f"{key} never subscribed"
        for place, life in enumerate(found, start=1):
            assert life[0]["subscription"] == key, f"{life[0]} under the key {key}"
            live = place == len(found) and not ended
            check_life(
                life,
                history,
                until=until if live else None,
                group_ends=_up_to(group_ends, life, live),
                merged=merged,
                lists=lists,
            )
    if until is not None:
        for key, last in history.last_of.items():
            found, ended = lives.get(key, ([], True))
            if last in history.subscriptions:
                assert not ended, f"{key} is subscribed and has no list"
                assert begun_by(found[-1][0]) == last, f"{key}: {found[-1][0]}, not since {last}"
            else:
                assert ended, f"{key} has unsubscribed, and its last record is {found[-1][-1]}"
    return sum(len(found) for found, _ in lives.values())


def _up_to(ends: Sequence[int] | None, life: Sequence[Record], live: bool) -> Sequence[int] | None:
    """Of a life that is over it is not known how far it got: up to its last record at least."""
    if ends is None or live:
        return ends
    last = objects_of(life[-1])
    return [] if last is None else ends[: bisect_right(ends, last)]
