"""The net effect of a batch of records of one partition: of each id, its latest good record.

Both that follow `subscriptions` begin with it: a shard puts the result into its index, a Spark job
into the state that the next base is built from.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topics.subscriptions.batches import Verdicts, parse_batch
from topics.subscriptions.contract import SubscriptionContract


class FoldedBatch(NamedTuple):
    """Each id that has a good record is in `subscribed` or in `unsubscribed`, once."""

    subscribed: np.ndarray  # i8[n]  places of records in the batch, ascending
    columns: tuple[np.ndarray, ...]  # a row per subscribed record, as the contract has them
    unsubscribed: np.ndarray  # i8[m]  places, ascending
    bad: Verdicts


def fold_batch(
    contract: SubscriptionContract,
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    partition: int,
    partitions: int,
) -> FoldedBatch:
    """A bad record is skipped: what it would replace stays."""
    subscribing, columns, bad = parse_batch(contract, keys, values, partition, partitions)
    places = np.array(subscribing, np.int64)
    latest = _latest(keys, bad)
    if len(latest) == len(places) == len(keys):  # as in most batches of a replay
        return FoldedBatch(places, columns, np.empty(0, np.int64), bad)
    counts = np.zeros(len(keys), np.bool_)
    counts[list(latest.values())] = True
    rows = np.flatnonzero(counts[places])
    if len(rows) < len(places):
        columns = _rows_of(columns, rows)
    counts[places] = False
    return FoldedBatch(places[rows], columns, np.flatnonzero(counts), bad)


def _latest(keys: Sequence[bytes | None], bad: Verdicts) -> dict[bytes | None, int]:
    if bad:
        return {key: i for i, key in enumerate(keys) if i not in bad}
    return dict(zip(keys, range(len(keys)), strict=True))


def _rows_of(columns: tuple[np.ndarray, ...], rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Contracts name their columns; so does what is left of them."""
    return type(columns)(*(column[rows] for column in columns))
