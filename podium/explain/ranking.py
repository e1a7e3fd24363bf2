"""How many subscriptions an event has, and how many of them are better than one.

Nothing is used of what answers in the fleet: every record of `subscriptions` up to the answer's
offsets is read, judged, and the winners are counted.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from confluent_kafka import Message

from configs.collection import Collection
from podium.explain.records import Records
from topics.codecs.json_record import BadRecord
from topics.kinds import KINDS, contract_for
from topics.subscriptions import check_ids

_BATCH = 1000

Good = tuple[Message, Any]
"""A record, and what its contract makes of it: None for one that unsubscribes."""


class Rank(NamedTuple):
    rank: int
    matching: int
    scanned: int


def good_records(collection: Collection, records: Records, shard: int, end: int) -> Iterator[Good]:
    """Those of a shard's partition below an offset that keep their contract."""
    contract = contract_for(collection.kind, collection.attributes, collection.dialect)
    stream = records.read("subscriptions", shard, 0, end)
    while batch := list(islice(stream, _BATCH)):
        pairs = [(message.key(), message.value()) for message in batch]
        verdicts = check_ids(pairs, shard, collection.shards)
        for message, bad in zip(batch, verdicts, strict=True):
            if bad is not None:
                continue
            try:
                value = message.value()
                parsed = None if value is None else contract.parse(value)
            except BadRecord:
                continue
            yield message, parsed


def rank_of(
    collection: Collection,
    records: Records,
    event: Any,
    as_of: Mapping[int, int],
    subscription: tuple[float, int, int],
) -> Rank:
    """Where a subscription stands among all that match; score, offset and shard say which it is."""
    judge = KINDS[collection.kind].judge
    assert judge is not None, "a kind with events has a judge"
    standing, scanned = [], 0
    for shard, last in as_of.items():
        live: dict[bytes, tuple[float, int]] = {}
        for message, parsed in good_records(collection, records, shard, last + 1):
            scanned += 1
            live.pop(message.key(), None)
            if parsed is None:
                continue
            judged = judge(collection.attributes, parsed, event)
            if judged.score is not None:
                live[message.key()] = judged.score, message.offset()
        standing += [(-score, offset, shard) for score, offset in live.values()]
    score, offset, shard = subscription
    own = (-score, offset, shard)
    return Rank(1 + sum(other < own for other in standing), len(standing), scanned)
