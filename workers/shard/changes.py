"""From records of `subscriptions` to what changes in a shard, without Kafka."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from confluent_kafka import Message

from topics.dead_letters import DeadLetter
from topics.subscriptions import SubscriptionContract, fold_batch
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
    folded = fold_batch(contract, keys, values, partition, shards)
    subscribed, bad = folded.subscribed.tolist(), folded.bad
    return Changes(
        [keys[i] for i in subscribed],
        np.array([messages[i].offset() for i in subscribed], np.int64),
        folded.columns,
        [keys[i] for i in folded.unsubscribed.tolist()],
        [dead_letter(messages[i], bad[i]) for i in sorted(bad)],
        messages[-1].offset() + 1,
    )
