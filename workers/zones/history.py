"""What was written to `matches` before: where numbers and lists go on, and what has to end."""

import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from topics import lists
from topics.headers import MESSAGE, headers_of
from topics.messages import life_of, place_of
from topics.objects import parse_objects
from topics.subscriptions import RangeContract
from topics.zones.lives import life_changes
from workers.process.context import Context
from workers.zones.lists import Known

_PLACE = re.compile(r"\[(\d+)\]@(\d+)$")
_REPLY_S = 5.0
_TOGETHER = 10_000


class History(NamedTuple):
    known: dict[bytes, Known]  # by key, the last record of a life
    others: set[bytes]  # keys whose last record is a list, of another life


def read_history(
    context: Context,
    lives: Mapping[bytes, int],
    stopping: Callable[[], bool],
    before: tuple[int, int] | None = None,
) -> History:
    """The last records of these lives.

    `before` is a zone and an offset of its `messages`: what that and later ones led to is left out.
    """
    found: dict[bytes, Known] = {}
    others: set[bytes] = set()
    shards = context.collection.shards
    for message in _all_records(context, "matches", stopping):
        if before is not None and _is_after(message, *before):
            continue
        key, value = message.key() or b"", message.value()
        others.discard(key)
        if value is None:
            found.pop(key, None)
        elif key not in lives:
            others.add(key)
        else:
            record = lists.decode(value)
            life = life_of(*_place(record.since), shards)
            if life == lives[key]:
                found[key] = Known(life, record)
    return History(found, others)


def _is_after(message: Message, zone: int, offset: int) -> bool:
    for name, value in headers_of(message):
        if name == MESSAGE and value is not None:
            of_zone, _, at = value.decode().partition("@")
            return int(of_zone) == zone and int(at) >= offset
    return False


def whereabouts(
    context: Context, ids: set[bytes], below: int, stopping: Callable[[], bool]
) -> dict[bytes, float]:
    """The x that these objects had as of the records below an offset; nan: none."""
    found = dict.fromkeys(ids, math.nan)
    if not ids:
        return found
    for message in _all_records(context, "objects", stopping):
        key = message.key() or b""
        if key in found and message.offset() < below:
            parsed = parse_objects([key], [message.value()])
            if parsed.places:
                gone = bool(np.isnan(parsed.y[0]))
                found[key] = math.nan if gone else float(parsed.x[0])
    return found


def ended(
    context: Context, keys: set[bytes], positions: Sequence[int], stopping: Callable[[], bool]
) -> list[tuple[bytes, int]]:
    """Those of the keys that had unsubscribed by then, and what ended them, in numbers of lives.

    A zone that has missed messages has missed such, too.  `positions` are the painter's, by shard:
    of what comes behind them it will tell.
    """
    last: dict[bytes, int | None] = dict.fromkeys(keys)
    if not keys:
        return []
    contract, shards = RangeContract(k=context.collection.k), context.collection.shards
    for shard, records in _runs(_all_records(context, "subscriptions", stopping), keys):
        # As the painter reads them: a bad record, such as one on a foreign partition, ends nothing,
        # and does not undo an unsubscription.
        changes = life_changes(contract, shard, shards, *zip(*records, strict=True))
        last |= dict.fromkeys(changes.keys, -1)
        last |= {
            key: by if place_of(by, shards)[1] < positions[shard] else -1
            for key, by in changes.gone
        }
    return [(key, by or 0) for key, by in last.items() if by is None or by >= 0]


def _runs(
    messages: Iterable[Message], keys: set[bytes]
) -> Iterator[tuple[int, list[tuple[bytes, bytes | None, int]]]]:
    """Keys, values and offsets of the records of some keys, by partition, many at a time."""
    runs: dict[int, list[tuple[bytes, bytes | None, int]]] = defaultdict(list)
    for message in messages:
        key, partition = message.key(), message.partition()
        if key in keys:
            runs[partition].append((key, message.value(), message.offset()))
            if len(runs[partition]) >= _TOGETHER:
                yield partition, runs.pop(partition)
    yield from runs.items()


def _all_records(context: Context, topic: str, stopping: Callable[[], bool]) -> Iterator[Message]:
    """From the beginning of a topic to its end."""
    name = context.names.topic(topic)
    consumer = context.consumer("scout", {"enable.partition.eof": True})
    try:
        behind: set[int] = set()
        while not behind and not stopping():
            try:
                behind = set(consumer.list_topics(name, timeout=_REPLY_S).topics[name].partitions)
            except (KafkaException, KeyError):
                time.sleep(0.5)
        consumer.assign([TopicPartition(name, partition, 0) for partition in behind])
        while behind and not stopping():
            for message in consumer.consume(10_000, 0.5):
                if message.error() is None:
                    yield message
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    behind.discard(message.partition())
    finally:
        consumer.close()


def _place(text: str) -> tuple[int, int]:
    found = _PLACE.search(text)
    if found is None:
        raise msgspec.ValidationError(f"got {text!r}, expected topic[partition]@offset")
    return int(found[1]), int(found[2])
