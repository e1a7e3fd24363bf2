"""A zone takes what a painter says: both do so here, through the codec, and write lists."""

import numpy as np

from configs.collection import Collection
from indexes.paint.world import World
from topics import messages
from topics.messages import LAST, ZoneRecord
from topics.zones.steps import NewSubscriptions, coming, leaving, message_records
from workers.painter.warm_up import warm_up as warm_up_paint
from workers.zones.lists import ZoneLists

_ROUNDS = 4


def warm_up(collection: Collection) -> None:
    warm_up_paint(collection)
    one_zone = collection.model_copy(update={"zones": 1, "zone_bounds": ()})
    world = World(one_zone.k, one_zone.paint, one_zone.epsilon)
    zone = ZoneLists(0, one_zone, "objects", "subscriptions")
    nothing = np.zeros(one_zone.shards, np.int64)
    header = ZoneRecord(0, 1, -np.inf, np.inf, 1, 1, 0, nothing, nothing)

    def say(record: ZoneRecord) -> None:
        zone.take(messages.decode(messages.encode(record)))

    keys, lives = [b"a", b"b"], np.arange(2) * one_zone.shards
    new = NewSubscriptions(keys, lives, np.zeros(2), np.full(2, 99.0), np.ones(2, np.int32))
    world.come(*new)
    came, states = coming(new, world.first_lists(new.lows, new.highs))
    say(header._replace(reset=1, phase=LAST, coming=came, states=states))
    ids = [b"%d" % i for i in range(50)]
    for number in range(0, _ROUNDS * len(ids), len(ids)):
        ys = np.arange(number, number + len(ids)) % 7.0
        told = world.put(ids, np.arange(50.0), ys, range(number, number + len(ids)))
        for part in told.values():
            for record in message_records(header, part, number + len(ids)):
                say(record)
    gone = world.leave([(b"a", int(lives[0]) + 10 * one_zone.shards)], [])
    say(header._replace(leaving=leaving(gone[0])))
    again = ZoneLists(0, one_zone, "objects", "subscriptions")
    again.restore(zone.to_arrays(), 1)
