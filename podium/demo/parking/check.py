"""Are the lists right?  Judged from three topics alone: objects, subscriptions, matches."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from podium.demo.parking.scan import Ask, Listed, LogRecord, lists_as_of

Record = dict[str, Any]


class Subscription(NamedTuple):
    since: str  # its record, topic[partition]@offset
    low: float
    high: float
    k: int

    @classmethod
    def of(cls, since: str, value: bytes) -> "Subscription":
        read = json.loads(value)
        low, high = read["range"]
        return cls(since, low, high, read["k"])


class Mistake(NamedTuple):
    subscription: str
    what: str
    record: Record | None


class Agreement(NamedTuple):
    checked: int  # lists, one of each subscriber
    agreed: int
    records: int  # from the first of each list to its last
    as_of: int  # different object records that they are as of
    first: Mistake | None


def compare(
    log: Sequence[LogRecord],
    subscriptions: Mapping[str, Subscription],
    records: Mapping[str, Sequence[Record]],
) -> Agreement:
    """Each subscriber's records against scans, and its last one against that of the log's end."""
    end = log[-1][0] if log else -1
    asks = [
        Ask(number, one.low, one.high, one.k)
        for id, one in subscriptions.items()
        for number in (end, *(_objects(record) for record in records.get(id, ())))
    ]
    lists = lists_as_of(log, asks)
    mistakes = [
        next(_mistakes(one, records.get(id, ()), lists, end), None)
        for id, one in subscriptions.items()
    ]
    named = [
        Mistake(id, *mistake)
        for id, mistake in zip(subscriptions, mistakes, strict=True)
        if mistake is not None
    ]
    return Agreement(
        len(subscriptions),
        len(subscriptions) - len(named),
        sum(len(records.get(id, ())) for id in subscriptions),
        len({ask.objects for ask in asks}),
        named[0] if named else None,
    )


def _mistakes(
    one: Subscription, records: Sequence[Record], lists: Mapping[Ask, Listed], end: int
) -> Iterator[tuple[str, Record | None]]:
    def scanned(number: int) -> Listed:
        return lists[Ask(number, one.low, one.high, one.k)]

    if not records:
        yield "no list", None
        return
    before: Listed = []
    for seq, record in enumerate(records, 1):
        now = listed(record)
        if record["since"] != one.since or record["seq"] != seq:
            yield f"not seq {seq} since {one.since}", record
        if now != scanned(_objects(record)):
            yield f"a scan as of that object record gives {scanned(_objects(record))}", record
        if record["first"] != (seq == 1) or (seq > 1 and applied(before, record) != now):
            yield f"the list before was {before}, and does not become this one", record
        before = now
    if before != scanned(end):
        yield f"the last one, but as of object record {end} the list is {scanned(end)}", records[-1]


def applied(before: Listed, record: Record) -> Listed:
    """A list after the changes that a record tells: see docs/range-topk.md."""
    changes = record["changes"]
    gone = {change["from"] for change in changes if change["op"] in ("leave", "move")}
    after = [item for place, item in enumerate(before) if place not in gone]
    coming = [change for change in changes if change["op"] in ("enter", "move")]
    for change in sorted(coming, key=lambda change: change["to"]):
        after.insert(change["to"], (change["id"], change["x"], change["y"]))
    for change in changes:
        if change["op"] == "update":
            after[change["to"]] = (change["id"], change["x"], change["y"])
    return after


def listed(record: Record) -> Listed:
    return [(item["id"], item["x"], item["y"]) for item in record["list"]]


def without_repeats(values: Sequence[bytes]) -> list[Record]:
    """Records of one key in order; one that comes again after a crash is the same bytes."""
    return [json.loads(value) for value in dict.fromkeys(values)]


def _objects(record: Record) -> int:
    return -1 if record["objects"] is None else int(record["objects"].rpartition("@")[2])
