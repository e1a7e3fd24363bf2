"""`subscriptions`: what people want to be matched with.

Key: the subscription's id, so that one partition, and so one shard, sees all its records in
order.  Value: JSON by the collection's kind, a module each here; null unsubscribes.  Compacted:
the latest record of each id is the truth, and the offset of that record is the subscription's id
inside its shard.
"""

from collections.abc import Callable, Sequence

from topics.subscriptions.batches import ParsedBatch, parse_batch
from topics.subscriptions.boolean import (
    BooleanColumns,
    BooleanContract,
    BooleanSubscription,
)
from topics.subscriptions.contract import SubscriptionContract
from topics.subscriptions.ids import MAX_ID_BYTES, MAX_ID_TEXT_BYTES, check_ids
from topics.subscriptions.ranked import RankedColumns, RankedContract, RankedSubscription
from topics.subscriptions.relaxed import RelaxedColumns, RelaxedContract, RelaxedSubscription

__all__ = [
    "KINDS",
    "MAX_ID_BYTES",
    "MAX_ID_TEXT_BYTES",
    "BooleanColumns",
    "BooleanContract",
    "BooleanSubscription",
    "ParsedBatch",
    "RankedColumns",
    "RankedContract",
    "RankedSubscription",
    "RelaxedColumns",
    "RelaxedContract",
    "RelaxedSubscription",
    "SubscriptionContract",
    "check_ids",
    "contract_for",
    "parse_batch",
]


_CONTRACTS: dict[str, Callable[[Sequence[str]], SubscriptionContract]] = {
    "ranked": RankedContract,
    "relaxed": RelaxedContract,
    "boolean": BooleanContract,
}
KINDS = tuple(_CONTRACTS)


def contract_for(kind: str, attributes: Sequence[str]) -> SubscriptionContract:
    return _CONTRACTS[kind](attributes)
