"""Many records of one partition of `subscriptions`: checked and parsed, bad ones told apart.

A replay reads millions of records, and going through them one by one in Python takes longer than
decoding them.  A batch in which everything is usual is handled as a whole; any other is left to
those who look at each record by itself and know what to say about it.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topics.codecs.json_record import BadRecord
from topics.kafka.partitioner import partitions_of
from topics.limits import PARSED_BYTES
from topics.subscriptions.contract import SubscriptionContract
from topics.subscriptions.ids import MAX_ID_BYTES, check_ids

__all__ = ["ParsedBatch", "Verdicts", "parse_batch"]

log = logging.getLogger(__name__)

# ASCII that JSON spells as it is.
_PLAIN = bytes(byte for byte in range(0x20, 0x80) if byte not in b'"\\')

Verdicts = dict[int, BadRecord]  # what is wrong with a record, by its place in its batch


class ParsedBatch(NamedTuple):
    subscribing: list[int]  # places of the good records that are no unsubscriptions
    columns: tuple[np.ndarray, ...]  # a row for each of these
    bad: Verdicts


def parse_batch(
    contract: SubscriptionContract,
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    partition: int,
    partitions: int,
) -> ParsedBatch:
    """A record that fails in a way that nobody has foreseen is bad, too: it would each time."""
    try:
        return _parse_batch(contract, keys, values, partition, partitions)
    except Exception:
        log.exception(
            "a record in a batch of %d cannot be read; reading them one by one", len(keys)
        )
    unforeseen = {}
    for i, record in enumerate(zip(keys, values, strict=True)):
        try:
            _parse_batch(contract, record[:1], record[1:], partition, partitions)
        except Exception as error:
            unforeseen[i] = BadRecord("value", f"cannot be read: {error!r}")
    readable = [None if i in unforeseen else key for i, key in enumerate(keys)]
    parsed = _parse_batch(contract, readable, values, partition, partitions)
    return parsed._replace(bad=parsed.bad | unforeseen)


def _parse_batch(
    contract: SubscriptionContract,
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    partition: int,
    partitions: int,
) -> ParsedBatch:
    bad = _check_keys(keys, values, partition, partitions)
    given = [i for i, value in enumerate(values) if value is not None and i not in bad]
    columns, refused = _parse(contract, [values[i] or b"" for i in given])  # none is null
    if refused:
        bad |= {given[row]: verdict for row, verdict in refused.items()}
        given = [i for i in given if i not in bad]
    return ParsedBatch(given, columns, bad)


def _check_keys(
    keys: Sequence[bytes | None], values: Sequence[bytes | None], partition: int, partitions: int
) -> Verdicts:
    if _are_usual(keys, values, partition, partitions):
        return {}
    verdicts = check_ids(list(zip(keys, values, strict=True)), partition, partitions)
    return {i: verdict for i, verdict in enumerate(verdicts) if verdict}


def _are_usual(
    keys: Sequence[bytes | None], values: Sequence[bytes | None], partition: int, partitions: int
) -> bool:
    """Whether all keys are of plain ASCII, not too long, and where they belong."""
    given = [key for key in keys if key]
    return (
        len(given) == len(keys)
        and max(map(len, given), default=0) <= MAX_ID_BYTES
        and max((len(value or b"") for value in values), default=0) <= PARSED_BYTES - MAX_ID_BYTES
        and not b"".join(given).translate(None, _PLAIN)
        and bool((partitions_of(given, partitions) == partition).all())
    )


def _parse(
    contract: SubscriptionContract, values: Sequence[bytes]
) -> tuple[tuple[np.ndarray, ...], Verdicts]:
    """The columns of those that are good, and what is wrong with the others."""
    if values and (columns := contract.columns_at_once(values)) is not None:
        return columns, {}
    rows, bad = [], {}
    for i, value in enumerate(values):
        try:
            rows.append(contract.parse(value))
        except BadRecord as verdict:
            bad[i] = verdict
    return contract.columns(rows), bad
