"""From records of `subscriptions` to what changes in a shard, without Kafka."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from confluent_kafka import Message

from topics.bad_record import MAX_RECORD_BYTES, BadRecord
from topics.dead_letters import DeadLetter
from topics.partitioning import partitions_of
from topics.subscriptions import MAX_ID_BYTES, SubscriptionContract, check_ids
from workers.batch_parsing import columns_at_once
from workers.framing import dead_letter
from workers.key_kernels import is_plain

# Records whose changes are applied in one go while frames wait; few, so that these wait briefly.
_LIVE_RECORDS = 500
_LEAST_BEYOND_ASCII = 0x80

Verdicts = dict[int, BadRecord]  # what is wrong with a record, by its place in its batch


class Changes(NamedTuple):
    """The net effect of a run of records: each key once, in `keys` or in `removed`."""

    keys: list[bytes]
    offsets: np.ndarray  # i8[n]  of the latest record of each key
    columns: tuple[np.ndarray, ...]  # as the collection's contract has them
    removed: list[bytes]
    letters: list[DeadLetter]
    next_offset: int  # the first offset that is not in here


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
    bad = _check_keys(keys, values, messages[0].partition(), shards)
    wanted = [i for i, value in enumerate(values) if value is not None and i not in bad]
    columns, refused = _parse(contract, [values[i] for i in wanted])
    bad |= {wanted[place]: verdict for place, verdict in refused.items()}
    row_of = {i: row for row, i in enumerate(i for i in wanted if i not in bad)}
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


def _check_keys(
    keys: Sequence[bytes | None], values: Sequence[bytes | None], partition: int, shards: int
) -> Verdicts:
    if _are_usual(keys, values, partition, shards):
        return {}
    verdicts = check_ids(list(zip(keys, values, strict=True)), partition, shards)
    return {i: verdict for i, verdict in enumerate(verdicts) if verdict}


def _are_usual(
    keys: Sequence[bytes | None], values: Sequence[bytes | None], partition: int, shards: int
) -> bool:
    """Whether all keys are of plain ASCII, not too long, and where they belong."""
    given = [key for key in keys if key]
    if len(given) < len(keys):
        return False
    data = np.frombuffer(b"".join(given), np.uint8)
    return bool(
        max(map(len, given)) <= MAX_ID_BYTES
        and max(len(value or b"") for value in values) <= MAX_RECORD_BYTES - MAX_ID_BYTES
        and is_plain(data)
        and data.max() < _LEAST_BEYOND_ASCII
        and (partitions_of(given, shards) == partition).all()
    )


def _parse(
    contract: SubscriptionContract, values: Sequence[bytes]
) -> tuple[tuple[np.ndarray, ...], Verdicts]:
    """The columns of those that are good, and what is wrong with the others."""
    if values and (columns := columns_at_once(contract, values)) is not None:
        return columns, {}
    rows, bad = [], {}
    for i, value in enumerate(values):
        try:
            rows.append(contract.parse(value))
        except BadRecord as verdict:
            bad[i] = verdict
    return contract.columns(rows), bad
