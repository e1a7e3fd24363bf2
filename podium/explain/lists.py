"""Of an object and a subscriber's list: whether the object is in it, and at which place.

The list is worked out anew from `objects` up to the record that is asked about.
"""

import sys
from typing import Any, NamedTuple

from confluent_kafka import Message

from configs import kafka_client_config
from podium.explain.explanation import Explanation, Verdict
from podium.explain.matches import Case
from podium.stack.status.zones import newest_progress
from podium.terminal import counted
from topics.codecs.json_record import BadRecord
from topics.judgement import Check, interval_in_words
from topics.kafka.partitioner import partition_of
from topics.objects import parse_objects
from topics.subscriptions import RangeContract

_BATCH = 1000


class World(NamedTuple):
    """The objects as of a record."""

    points: dict[bytes, tuple[float, float]]
    scanned: int


def explain_list(case: Case) -> Explanation:
    key = case.event.key() or b""
    read = parse_objects([case.event.key()], [case.event.value()])
    if read.bad:
        place = (case.event.partition(), case.event.offset(), case.event.timestamp()[1])
        letter = case.records.letter("objects", *place)
        where = f" ({letter.place})" if letter else ""
        sentence = f"the object record is in the dead letters{where}: {read.bad[0]}"
        return case.said(Verdict.EVENT_REFUSED, sentence)
    message, wanted, problem = _subscription(case)
    if problem is not None:
        return problem
    assert message is not None, "without a problem there is a record"
    record = f"{message.topic()}[{message.partition()}]@{message.offset()}"
    low, high, k = wanted
    known: dict[str, Any] = {"subscription_record": record, "k": k}
    if case.event.value() is None:
        sentence = f"{key.decode()} is removed by this record, and is in no list"
        return case.said(Verdict.REMOVED, sentence, **known)
    x, y = float(read.x[0]), float(read.y[0])
    known["checks"] = [Check("x", interval_in_words(low, high), x, low <= x <= high)]
    if not low <= x <= high:
        sentence = f"not in the list: {key.decode()} at x = {x:g} is outside of the range"
        return case.said(Verdict.FAILED, sentence, **known)
    world = _world(case)
    inside = sorted(
        (other_y, other_x, id) for id, (other_x, other_y) in world.points.items()
        if low <= other_x <= high
    )  # fmt: skip
    rank = 1 + inside.index((y, x, key))
    kth = inside[min(k, len(inside)) - 1][0]
    known |= {"rank": rank, "kth": kth, "matching": len(inside), "scanned": world.scanned}
    known["notes"] = [f"as of this record, {counted(world.scanned, 'object record')} scanned"]
    if behind := _zones_behind(case):
        sentence = f"not in yet: {behind}, the object record is at {case.event.offset()}"
        return case.said(Verdict.NOT_IN_YET, sentence, **known)
    if rank <= k:
        sentence = f"in the list: place {rank} of {min(k, len(inside))}, y = {y:g}"
        return case.said(Verdict.IN_ANSWER, sentence, **known)
    sentence = (
        f"beaten: place {rank} of {len(inside)} in the range, y = {y:g}; place {k} has {kth:g}"
    )
    return case.said(Verdict.BEATEN, sentence, **known)


def _subscription(case: Case) -> tuple[Message | None, Any, Explanation | None]:
    """The latest good record of the subscriber, or what there is instead."""
    key = case.subscription.encode()
    shard = partition_of(key, case.collection.shards) if key else 0
    contract = RangeContract(k=case.collection.k)
    current, parsed, bad_one, reason = None, None, None, ""
    for message in case.records.read("subscriptions", shard, 0, sys.maxsize):
        if message.key() != key:
            continue
        try:
            value = message.value()
            parsed = None if value is None else contract.parse(value)
            current, bad_one = message, None
        except BadRecord as bad:
            bad_one, reason = message, str(bad)
    if current is not None and parsed is not None:
        return current, parsed, None
    topic = case.records.topic("subscriptions")
    if bad_one is not None:
        record = f"{topic}[{shard}]@{bad_one.offset()}"
        sentence = f"{record} is in the dead letters: {reason}"
        found = case.said(Verdict.SUBSCRIPTION_REFUSED, sentence, subscription_record=record)
    elif current is not None:
        record = f"{topic}[{shard}]@{current.offset()}"
        sentence = f"{case.subscription} was unsubscribed by {record}"
        found = case.said(Verdict.UNSUBSCRIBED, sentence, subscription_record=record)
    else:
        sentence = f"{topic}[{shard}] has no subscription {case.subscription}"
        found = case.said(Verdict.UNKNOWN_SUBSCRIPTION, sentence)
    return None, None, found


def _world(case: Case) -> World:
    points: dict[bytes, tuple[float, float]] = {}
    scanned = 0
    for message in case.records.read("objects", 0, 0, case.event.offset() + 1):
        scanned += 1
        read = parse_objects([message.key()], [message.value()])
        for id, x, y in zip(read.ids, read.x.tolist(), read.y.tolist(), strict=True):
            points.pop(id, None)
            if y == y:  # nan: removed
                points[id] = (x, y)
    return World(points, scanned)


def _zones_behind(case: Case) -> str:
    """Which zones have not come as far as the record; any of them may keep the list."""
    client = kafka_client_config(case.settings.kafka)
    said = newest_progress(client, case.settings.prefix, case.collection.name)
    behind = [row for row in said if row.objects is None or row.objects < case.event.offset()]
    return ", ".join(
        f"zone {row.zone} is at {'no object' if row.objects is None else row.objects}"
        for row in behind
    )
