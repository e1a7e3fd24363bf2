"""What differs from kind to kind in a matcher: how subscriptions are read and indexed."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from configs.collection import Collection
from indexes.hits import HitTable
from indexes.intervals import SOPTRTree
from indexes.kinds import AnyIndex, index_from, new_index
from topics.subscriptions import KINDS, SubscriptionContract, contract_for

__all__ = ["KINDS", "AnyIndex", "ShardIndex", "contract_of", "index_from", "new_index"]


class ShardIndex(Protocol):
    """What a shard asks of an index; columns are those of the kind's contract.

    An index answers from a base, which is never changed, and from what came since.
    """

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def insert_many(self, ids: np.ndarray, *columns: Any) -> None: ...

    def delete_many(self, ids: np.ndarray) -> None: ...

    @property
    def delta_share(self) -> float: ...

    @property
    def is_worn(self) -> bool: ...

    def rebase(self) -> None: ...

    @property
    def is_stale(self) -> bool: ...

    def refresh(self) -> None: ...

    def replace_base(self, trees: Sequence[SOPTRTree], since: int) -> None: ...

    def fork(self) -> "ShardIndex": ...

    def ids(self) -> np.ndarray: ...

    def to_arrays(self) -> Any: ...

    def top_k_many(self, events: Any, k: int) -> HitTable: ...


def contract_of(collection: Collection) -> SubscriptionContract:
    return contract_for(collection.kind, collection.attributes)
