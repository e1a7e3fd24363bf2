"""A node does what matchers and mergers do, and answers an event from two shards at once."""

from configs.collection import Collection
from topics import matches
from topics.kinds import event_contract
from workers.matcher import warm_up as matcher
from workers.node.answering import answer
from workers.router.framing import read_events
from workers.router.warm_up import record, subscription
from workers.shard.changes import read_changes
from workers.shard.shard import Shard

_SHARDS = 2


def warm_up(collection: Collection) -> None:
    matcher.warm_up(collection)
    shards = [Shard(number, collection.kind, collection.attributes) for number in range(_SHARDS)]
    for shard in shards:
        records = [record(subscription(collection, number), number) for number in (1, 2)]
        shard.apply(read_changes(records, shard.contract, 1))
        shard.open()
    events = event_contract(
        collection.kind, collection.attributes, collection.k, collection.max_k, _SHARDS
    )
    run = read_events([record(b"{}", 0)], events).accepted[0]
    merged = answer(run, shards, events.form)
    matches.encode_many("warm-up", merged.partition, merged.offsets, merged.hits)
