"""The live subscriptions of one shard in columns, and the fold of further records into them.

The same records give the same rows, whether they are folded in one go or in several: a row a key,
in the order of ids, where the id is the offset of the key's latest good record.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topics.codecs.json_record import BadRecord
from topics.subscriptions import SubscriptionContract, fold_batch

_KEY_TYPE = pa.large_binary()


class ShardState(NamedTuple):
    ids: np.ndarray  # i8[n]  ascending
    keys: pa.Array  # large_binary[n]
    columns: tuple[np.ndarray, ...]  # as the contract has them

    @classmethod
    def empty(cls, contract: SubscriptionContract) -> "ShardState":
        return cls(np.empty(0, np.int64), pa.array([], _KEY_TYPE), tuple(contract.columns([])))

    def to_arrays(self, contract: SubscriptionContract) -> dict[str, np.ndarray]:
        """Keys become lengths and their bytes, one after the other."""
        lengths = pc.binary_length(self.keys).to_numpy().astype(np.int32)
        data = _key_bytes(self.keys, int(lengths.sum(dtype=np.int64)))
        columns = contract.to_arrays(self.columns)
        return {"ids": self.ids, "key_lengths": lengths, "key_data": data, **columns}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], contract: SubscriptionContract
    ) -> "ShardState":
        starts = np.zeros(len(arrays["ids"]) + 1, np.int64)
        np.cumsum(arrays["key_lengths"], out=starts[1:])
        buffers = [None, pa.py_buffer(starts), pa.py_buffer(arrays["key_data"])]
        keys = pa.Array.from_buffers(_KEY_TYPE, len(arrays["ids"]), buffers)
        return cls(arrays["ids"], keys, contract.from_arrays(arrays))


class Refused(NamedTuple):
    """A bad record, by its place in the batch that it came in."""

    row: int
    bad: BadRecord


class ShardFold:
    """Gathers the changes of one shard, batch by batch, in the order of offsets."""

    def __init__(self, contract: SubscriptionContract, shard: int, shards: int) -> None:
        self._contract, self._shard, self._shards = contract, shard, shards
        self._keys: list[pa.Array] = []
        self._offsets: list[np.ndarray] = []
        self._live: list[np.ndarray] = []  # b1: a subscription, not an unsubscription
        self._columns: list[tuple[np.ndarray, ...]] = []  # a row per subscription
        self.records = 0

    def add(self, keys: pa.Array, values: pa.Array, offsets: np.ndarray) -> list[Refused]:
        """Take one batch; a bad record is skipped, and what it would replace stays."""
        folded = fold_batch(
            self._contract, keys.to_pylist(), values.to_pylist(), self._shard, self._shards
        )
        live = np.zeros(len(keys), np.bool_)
        live[folded.subscribed] = True
        changed = np.sort(np.concatenate((folded.subscribed, folded.unsubscribed)))
        self._keys.append(keys.take(pa.array(changed)).cast(_KEY_TYPE))
        self._offsets.append(offsets[changed])
        self._live.append(live[changed])
        self._columns.append(folded.columns)
        self.records += len(keys)
        return [Refused(row, folded.bad[row]) for row in sorted(folded.bad)]

    def onto(self, previous: ShardState) -> ShardState:
        """The state after all that was gathered."""
        if not self._keys:
            return previous
        keys = pa.concat_arrays(self._keys)
        offsets, live = np.concatenate(self._offsets), np.concatenate(self._live)
        row_of = np.cumsum(live) - 1  # in the columns
        latest = _latest(keys)
        stays = pc.invert(pc.is_in(previous.keys, value_set=keys.unique()))
        stays_mask = stays.to_numpy(zero_copy_only=False)
        new = latest[live[latest]]
        return ShardState(
            np.concatenate((previous.ids[stays_mask], offsets[new])),
            pa.concat_arrays([previous.keys.filter(stays), keys.take(pa.array(new))]),
            tuple(
                np.concatenate((old[stays_mask], np.concatenate(chunks)[row_of[new]]))
                for old, chunks in zip(
                    previous.columns, zip(*self._columns, strict=True), strict=True
                )
            ),
        )


def _latest(keys: pa.Array) -> np.ndarray:
    """i8[...]: where each key occurs last, ascending."""
    codes = keys.dictionary_encode()
    last = np.empty(len(codes.dictionary), np.int64)
    # Of several assignments to one place, the last one counts.
    last[codes.indices.to_numpy()] = np.arange(len(keys))
    return np.sort(last)


def _key_bytes(keys: pa.Array, size: int) -> np.ndarray:
    """The bytes of all keys; an array may be a slice, so they need not begin at the start."""
    if not len(keys):
        return np.empty(0, np.uint8)
    _, starts, data = keys.buffers()
    first = np.frombuffer(starts, np.int64)[keys.offset]
    return np.frombuffer(data, np.uint8)[first : first + size]
