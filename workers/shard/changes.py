"""From records of `subscriptions` to what changes in a shard, without Kafka."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from confluent_kafka import Message

from topics.dead_letters import DeadLetter
from topics.subscriptions import SubscriptionContract, parse_batch
from workers.process.records import dead_letter

# Records whose changes are applied in one go while frames wait; few, so that these wait briefly.
_LIVE_RECORDS = 500


class Changes(NamedTuple):
    """The net effect of a run of records: each key once, in `keys` or in `removed`."""

    keys: list[bytes]
    offsets: np.ndarray  # i8[n]  of the latest record of each key
    columns: tuple[np.ndarray, ...]  # as the collection's contract has them
    removed: list[bytes]
    letters: list[DeadLetter]
    next_offset: int  # the first offset that is not in here


def nothing_but(letter: DeadLetter, next_offset: int, contract: SubscriptionContract) -> Changes:
    """Of records that were stepped over."""
    columns = contract.columns([])
    return Changes([], np.empty(0, np.int64), columns, [], [letter], next_offset)


def read_live(
    messages: Sequence[Message], contract: SubscriptionContract, shards: int
) -> list[Changes]:
    """As `read_changes`, in several steps that are applied one after the other."""
    starts = range(0, len(messages), _LIVE_RECORDS)
    steps = (messages[start : start + _LIVE_RECORDS] for start in starts)
    return [read_changes(step, contract, shards) for step in steps]


def read_changes(
    messages: Sequence[Message], contract: SubscriptionContract, shards: int
) -> Changes:
    """Fold records of one partition; a bad one is skipped, and what it would replace stays."""
    keys = [message.key() for message in messages]
    values = [message.value() for message in messages]
    partition = messages[0].partition()
    subscribing, columns, bad = parse_batch(contract, keys, values, partition, shards)
    row_of = {i: row for row, i in enumerate(subscribing)}
    latest = {key: i for i, key in enumerate(keys) if i not in bad}
    kept = {key: i for key, i in latest.items() if i in row_of}
    rows = [row_of[i] for i in kept.values()]
    if rows != list(range(len(row_of))):
        columns = type(columns)(*(column[rows] for column in columns))
    return Changes(
        list(kept),
        np.array([messages[i].offset() for i in kept.values()], np.int64),
        columns,
        [key for key in latest if key not in kept],
        [dead_letter(messages[i], bad[i]) for i in sorted(bad)],
        messages[-1].offset() + 1,
    )
