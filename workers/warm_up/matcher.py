"""A matcher takes some subscriptions, loses one, publishes its routes, and answers an event."""

from configs.collection import Collection
from indexes import boolean, intervals
from indexes.boolean import BooleanMatcher
from topics import partials
from workers.kinds import contract_of, new_index
from workers.shard import key_table
from workers.shard.changes import read_changes
from workers.shard.shard import Shard
from workers.warm_up.records import received_frames, record, subscription


def warm_up(collection: Collection) -> None:
    index = new_index(collection.kind, collection.attributes)
    if isinstance(index, BooleanMatcher):
        boolean.warm_up()
    else:
        intervals.warm_up(type(index), collection.attributes)
    key_table.warm_up()
    contract = contract_of(collection)
    shard = Shard(0, contract, index)
    following = None
    if collection.routing.enabled:
        from workers.warm_up.routes import SomeRoutes

        following = SomeRoutes(collection)
        shard.watch(following)
    records = [record(subscription(collection, number), number) for number in (1, 2, 3)]
    shard.apply(read_changes(records, contract, 1))
    shard.open()
    shard.apply(read_changes([record(None, 3)], contract, 1))
    if following is not None:
        following.follow()
    for frame in received_frames(collection):
        partials.encode(shard.answer(frame))
