"""A matcher takes some subscriptions, loses one, publishes its routes, and answers an event."""

from configs.collection import Collection
from indexes.kinds import KINDS
from topics import partials
from workers.router.warm_up import received_frames, record, subscription
from workers.shard import key_table
from workers.shard.changes import read_changes
from workers.shard.shard import Shard


def warm_up(collection: Collection) -> None:
    KINDS[collection.kind].warm_up(collection.attributes)
    key_table.warm_up()
    shard = Shard(0, collection.kind, collection.attributes)
    following = None
    if collection.routing.enabled:
        from workers.routing.warm_up import SomeRoutes

        following = SomeRoutes(collection)
        shard.watch(following)
    records = [record(subscription(collection, number), number) for number in (1, 2, 3)]
    shard.apply(read_changes(records, shard.contract, 1))
    shard.open()
    shard.apply(read_changes([record(None, 3)], shard.contract, 1))
    if following is not None:
        following.follow()
    for frame in received_frames(collection):
        partials.encode(shard.answer(frame))
