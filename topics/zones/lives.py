"""The net effect of a run of records of one partition of `subscriptions`, in lives."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topics.messages import life_of
from topics.subscriptions import RangeContract, fold_batch
from topics.subscriptions.batches import Verdicts


class LifeChanges(NamedTuple):
    keys: list[bytes]  # that subscribe
    lives: np.ndarray  # i8[n]  ascending
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    ks: np.ndarray  # i4[n]
    gone: list[tuple[bytes, int]]  # keys, and the numbers of the lives that end them
    bad: Verdicts  # by place in the run

    @property
    def replaced(self) -> list[tuple[bytes, int]]:
        """As `gone`, of those that subscribe: what ends a life that they have already."""
        return list(zip(self.keys, self.lives.tolist(), strict=True))


def life_changes(
    contract: RangeContract,
    shard: int,
    shards: int,
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    offsets: Sequence[int],
) -> LifeChanges:
    folded = fold_batch(contract, keys, values, shard, shards)

    def named(rows: np.ndarray) -> list[tuple[bytes, int]]:
        return [(keys[row] or b"", life_of(shard, offsets[row], shards)) for row in rows.tolist()]

    subscribed = named(folded.subscribed)
    lows, highs, ks = folded.columns
    return LifeChanges(
        [key for key, _ in subscribed],
        np.array([life for _, life in subscribed], np.int64),
        lows,
        highs,
        ks,
        named(folded.unsubscribed),
        folded.bad,
    )
