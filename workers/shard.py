"""One shard of a ranked collection: its index, and how it answers a frame."""

import numpy as np

from indexes.intervals import ExactMatcher
from topics.frames import Frame
from topics.partials import Partial
from topics.subscriptions import RankedContract
from workers.changes import Changes
from workers.key_table import KeyTable


class RankedShard:
    def __init__(self, shard: int, contract: RankedContract) -> None:
        self.shard, self.contract = shard, contract
        self.next_offset = 0  # everything below is applied
        self._index = ExactMatcher(contract.attributes)
        self._keys = KeyTable()

    def __len__(self) -> int:
        return len(self._index)

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + self._keys.nbytes

    def apply(self, changes: Changes) -> None:
        """An update is a delete of the old offset and an insert of the new one."""
        gone = self._keys.remove_many([*changes.keys, *changes.removed])
        if len(gone):
            self._index.delete_many(gone)
        if changes.keys:
            self._index.insert_many(changes.offsets, *changes.columns)
            self._keys.put_many(changes.keys, changes.offsets)
        self.next_offset = changes.next_offset

    def answer(self, frame: Frame) -> Partial:
        """The best hits of every event of the frame, by one call into the index."""
        k = int(frame.ks.max(initial=0))
        table = self._index.top_k_many(frame.values, k)
        counts = np.minimum(table.counts, frame.ks).astype(np.int32)
        hits = np.arange(k) < counts[:, None]
        ids = table.ids[hits]
        return Partial(
            frame.name,
            self.shard,
            frame.taking_part,
            self.next_offset - 1,
            frame.offsets,
            frame.timestamps,
            frame.ks,
            frame.keys,
            counts,
            table.scores[hits],
            ids,
            self._keys.texts(ids),
        )
