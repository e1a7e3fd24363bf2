"""Routes on their way through a topic that is compacted, to routers that begin at any time."""

import asyncio
import itertools
from types import SimpleNamespace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.covering.boxes import stored_boxes
from topics.routes import decode
from workers.router.routes import RouteTable
from workers.routing.route_set import RoutePublisher
from workers.shard.shard import IndexChange

ATTRIBUTES = ("age", "visits")
# What an event lacks is not inside of anything that is constrained.
POINTS = np.array(list(itertools.product([np.nan, 0.0, 1.0, 3.0, 5.0], repeat=2)))

sides = st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted) | st.just([np.nan, np.nan])
narrow = st.integers(0, 30).map(lambda low: [low, low + 1])  # most are covered by no other
boxes = st.lists(st.tuples(sides, sides) | st.tuples(narrow, narrow), max_size=3)


def columns_of(made):
    table = np.array(made, np.float64).reshape(-1, 2, 2)
    return table[:, :, 0].copy(), table[:, :, 1].copy(), np.ones(len(table))


def holds(box, point):
    pairs = zip(box, point.tolist(), strict=True)
    return all(np.isnan(low) or low <= value <= high for (low, high), value in pairs)


class Router:
    """Reads the topic from its beginning on, as it is then."""

    def __init__(self) -> None:
        self.table = RouteTable("id", ATTRIBUTES, 1)
        self.read = -1  # offset

    def poll(self, log):
        for offset, (_, value) in sorted(log.items()):
            if offset > self.read:
                self.table.take(0, decode(value, self.table.dimensions))
                self.read = offset


class RoutesAgainstBoxes(RuleBasedStateMachine):
    @initialize(most=st.sampled_from([1, 2, 4, 8, 100]), most_changes=st.integers(1, 3))
    def start(self, most, most_changes):
        self.most, self.most_changes = most, most_changes
        self.log = {}  # offset -> key and value
        self.offsets = itertools.count()
        self.live = {}  # id -> box
        self.shard = SimpleNamespace(number=0, next_offset=0, watch=lambda watcher: None)
        self.told = 0  # up to where the topic tells of the shard
        self.routers = [Router()]
        self.publisher = self.new_publisher()

    def new_publisher(self):
        routing = SimpleNamespace(most_boxes=self.most)
        collection = SimpleNamespace(
            name="ads", kind="ranked", attributes=ATTRIBUTES, routing=routing, dialect={}
        )
        names = SimpleNamespace(topic=lambda name: name)
        context = SimpleNamespace(collection=collection, names=names)
        outbox = SimpleNamespace(send=self.send, settle=lambda: None)
        return RoutePublisher(context, self.shard, outbox, self.most_changes)

    def send(self, topic, value, key, partition):
        self.log[next(self.offsets)] = key, value

    @rule(new=boxes, gone=st.sets(st.integers(0, 60), max_size=3), publish=st.booleans())
    def change(self, new, gone, publish=False):
        leaving = sorted(gone & self.live.keys())
        first = self.shard.next_offset
        for id in leaving:
            del self.live[id]
        self.live.update(enumerate(new, first))
        self.shard.next_offset += len(new) + len(leaving)
        ids = np.arange(first, first + len(new))
        self.publisher.note(IndexChange(np.array(leaving, np.int64), ids, columns_of(new)))
        if publish:
            self.publish()

    @rule(new=st.lists(st.tuples(narrow, narrow), min_size=4, max_size=10))
    def many_come(self, new):
        """More than are told one by one."""
        self.change(new, set(), publish=True)

    @rule()
    def nearly_all_leave(self):
        self.change([], set(sorted(self.live)[1:]))

    @rule()
    def publish(self):
        asyncio.run(self.publisher.step("id"))
        self.publisher._keeper.check()
        self.told = self.shard.next_offset

    @rule()
    def another_owner(self):
        """That has the shard from a snapshot, and never heard of its predecessor's routes."""
        if self.shard.next_offset == 0:
            return
        lows, highs, _ = columns_of(list(self.live.values()))
        ids = np.array(list(self.live), np.int64)
        self.publisher = self.new_publisher()
        self.publisher.restored({"ids": ids, "lows": lows, "highs": highs}, ids)

    @rule(kept=st.integers(0, 5))
    def compact(self, kept):
        """All but the newest records lose those whose key comes again."""
        old = sorted(self.log)[: max(0, len(self.log) - kept)]
        latest = {key: offset for offset, (key, _) in sorted(self.log.items())}
        for offset in old:
            if latest[self.log[offset][0]] != offset:
                del self.log[offset]

    @rule()
    def a_router_starts(self):
        self.routers = [self.routers[0], Router()]

    @rule(which=st.integers(0, 1))
    def poll(self, which):
        router = self.routers[which % len(self.routers)]
        router.poll(self.log)
        # What a compacted topic lacks has come again behind it.
        assert router.table.next_offsets.tolist() == [self.told]

    @rule()
    def a_router_that_reads_everything_knows_the_routes(self):
        self.publish()
        router = Router()
        router.poll(self.log)
        self.routers = [self.routers[0], router]
        self.require_same_boxes(router)

    def require_same_boxes(self, router):
        known = router.table._routes[0]
        assert self.told == 0 or known is not None
        if known is not None:
            ours, theirs = (stored_boxes(cover) for cover in (self.keeper_routes, known._cover))
            for mine, other in zip(ours, theirs, strict=True):
                assert mine.tolist() == other.tolist()

    @property
    def keeper_routes(self):
        return self.publisher._keeper._routes

    @invariant()
    def no_event_is_lost(self):
        """Subscriptions up to what a router says that it knows of get what they match."""
        for router in self.routers:
            table = router.table
            passed = table.lets_through(0, POINTS, np.full(len(POINTS), -1))
            next_offset = int(table.next_offsets[0])
            assert next_offset <= self.told
            if next_offset == self.shard.next_offset:
                for point, let_through in zip(POINTS, passed.tolist(), strict=True):
                    matched = any(holds(box, point) for box in self.live.values())
                    assert let_through or not matched


TestRoutesAgainstBoxes = RoutesAgainstBoxes.TestCase
TestRoutesAgainstBoxes.settings = settings(max_examples=60, stateful_step_count=40)
