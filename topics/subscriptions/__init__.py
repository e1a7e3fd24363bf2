"""`subscriptions`: what people want to be matched with.

Key: the subscription's id, so that one partition, and so one shard, sees all its records in
order.  Value: JSON by the collection's kind, a module each here; null unsubscribes.  Compacted:
the latest record of each id is the truth, and the offset of that record is the subscription's id
inside its shard.
"""

from topics.subscriptions.batches import ParsedBatch, parse_batch
from topics.subscriptions.boolean import (
    BooleanColumns,
    BooleanContract,
    BooleanSubscription,
)
from topics.subscriptions.contract import SubscriptionContract
from topics.subscriptions.folding import FoldedBatch, fold_batch
from topics.subscriptions.ids import MAX_ID_BYTES, MAX_ID_TEXT_BYTES, check_ids
from topics.subscriptions.ranges import RangeColumns, RangeContract, RangeSubscription
from topics.subscriptions.ranked import RankedColumns, RankedContract, RankedSubscription
from topics.subscriptions.relaxed import RelaxedColumns, RelaxedContract, RelaxedSubscription
from topics.subscriptions.spatial_text import (
    SpatialTextColumns,
    SpatialTextContract,
    SpatialTextSubscription,
)

__all__ = [
    "MAX_ID_BYTES",
    "MAX_ID_TEXT_BYTES",
    "BooleanColumns",
    "BooleanContract",
    "BooleanSubscription",
    "FoldedBatch",
    "ParsedBatch",
    "RangeColumns",
    "RangeContract",
    "RangeSubscription",
    "RankedColumns",
    "RankedContract",
    "RankedSubscription",
    "RelaxedColumns",
    "RelaxedContract",
    "RelaxedSubscription",
    "SpatialTextColumns",
    "SpatialTextContract",
    "SpatialTextSubscription",
    "SubscriptionContract",
    "check_ids",
    "fold_batch",
    "parse_batch",
]
