"""From records of `subscriptions` to what changes in a shard, without Kafka."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from confluent_kafka import Message

from topics.bad_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.subscriptions import SubscriptionContract, check_ids
from workers.framing import dead_letter


class Changes(NamedTuple):
    """The net effect of a run of records: each key once, in `keys` or in `removed`."""

    keys: list[bytes]
    offsets: np.ndarray  # i8[n]  of the latest record of each key
    columns: tuple[np.ndarray, ...]  # as the collection's contract has them
    removed: list[bytes]
    letters: list[DeadLetter]
    next_offset: int  # the first offset that is not in here


def read_changes(
    messages: Sequence[Message], contract: SubscriptionContract, shards: int
) -> Changes:
    """Fold records of one partition; a bad one is skipped, and what it would replace stays."""
    verdicts = check_ids(
        [(message.key(), message.value()) for message in messages],
        messages[0].partition(),
        shards,
    )
    latest: dict[bytes, tuple[int, tuple] | None] = {}
    letters = []
    for message, verdict in zip(messages, verdicts, strict=True):
        key, value = message.key(), message.value()
        try:
            if verdict:
                raise verdict
            latest[key] = None if value is None else (message.offset(), contract.parse(value))
        except BadRecord as bad:
            letters.append(dead_letter(message, bad))
    kept = {key: entry for key, entry in latest.items() if entry is not None}
    return Changes(
        list(kept),
        np.array([offset for offset, _ in kept.values()], np.int64),
        contract.columns([row for _, row in kept.values()]),
        [key for key, entry in latest.items() if entry is None],
        letters,
        messages[-1].offset() + 1,
    )
