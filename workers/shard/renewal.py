"""A shard's index is rebuilt in another thread while the shard goes on answering and changing.

The thread works on a fork of the index.  What changes meanwhile is noted and applied to the fork
as well, so that at the swap both hold the same subscriptions, and every answer is the same.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workers.kinds import ShardIndex


class IndexChange(NamedTuple):
    """What one batch of changes does to an index: the ids that go, then the rows that come."""

    gone: np.ndarray  # i8[m]
    ids: np.ndarray  # i8[n]
    columns: tuple[np.ndarray, ...]

    def apply_to(self, index: ShardIndex) -> None:
        if len(self.gone):
            index.delete_many(self.gone)
        if len(self.ids):
            index.insert_many(self.ids, *self.columns)


def folded(changes: Sequence[IndexChange]) -> IndexChange:
    """The net effect of changes in a row, of which there is at least one."""
    gone = np.concatenate([change.gone for change in changes])
    ids = np.concatenate([change.ids for change in changes])
    stays = ~np.isin(ids, gone)
    columns = zip(*(change.columns for change in changes), strict=True)
    return IndexChange(
        gone[~np.isin(gone, ids)],
        ids[stays],
        tuple(np.concatenate(column)[stays] for column in columns),
    )


class Renewal:
    """The new index is built, and catches up, in another thread than the one that calls `note`."""

    def __init__(self, index: ShardIndex) -> None:
        self.index = index
        self._missed: deque[IndexChange] = deque()

    def note(self, change: IndexChange) -> None:
        self._missed.append(change)

    @property
    def behind(self) -> int:
        """How many batches of changes the new index still misses."""
        return len(self._missed)

    def catch_up(self) -> None:
        for _ in range(len(self._missed)):
            self._missed.popleft().apply_to(self.index)
