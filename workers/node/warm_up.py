"""A node does what matchers and mergers do, and answers an event from two shards at once."""

import msgspec

from configs.collection import Collection
from topics import matches
from topics.kinds import event_contract
from workers.kinds import KINDS
from workers.matcher import warm_up as matcher
from workers.node.answering import answer
from workers.router.framing import read_events
from workers.router.warm_up import record, subscription
from workers.shard.changes import read_changes
from workers.shard.shard import Shard

_SHARDS = 2


def warm_up(collection: Collection) -> None:
    matcher.warm_up(collection)
    kind, attributes, dialect = collection.kind, collection.attributes, collection.dialect
    shards = [Shard(number, kind, attributes, dialect) for number in range(_SHARDS)]
    for shard in shards:
        records = [record(subscription(collection, number), number) for number in (1, 2)]
        shard.apply(read_changes(records, shard.contract, 1))
        shard.open()
    events = event_contract(kind, attributes, collection.k, collection.max_k, _SHARDS, dialect)
    event = msgspec.json.encode(KINDS[kind].event)
    run = read_events([record(event, 0)], events).accepted[0]
    merged = answer(run, shards, events.form)
    matches.encode_many("warm-up", merged.partition, merged.offsets, merged.hits)
