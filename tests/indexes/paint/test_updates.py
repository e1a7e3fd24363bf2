"""One update after the other: every list is right, and nobody hears what it does not need."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from indexes.paint import CNRelax, Message, PaintDense, PaintSparse, Unicast
from tests.indexes.intervals.columns import SHRINKING
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import INF, Race, all_lists, change_of, exact

CLASSES = [PaintDense, PaintSparse, Unicast, CNRelax]
EXACT = [PaintDense, PaintSparse, Unicast]


def race(k, objects, classes=tuple(CLASSES)):
    return Race(k, objects, exact(k, **{cls.__name__: cls(k) for cls in classes}))


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


@pytest.fixture(params=EXACT, ids=lambda cls: cls.__name__)
def exact_cls(request):
    return request.param


class AgainstTheOracle(RuleBasedStateMachine):
    """All servers at once, so that one drawn history serves them all."""

    @initialize(k=some.ks, objects=some.objects, ranges=some.batches_of_ranges)
    def start(self, k, objects, ranges):
        self.race = race(k, objects)
        self.race.subscribe_many(ranges)

    @property
    def objects(self):
        return self.race.expected.objects

    @rule(id=some.ids, ends=some.ranges)
    def subscribe(self, id, ends):
        if id not in self.race.expected.subscriptions:
            self.race.subscribe(id, *ends)

    @rule(ranges=some.batches_of_ranges)
    def subscribe_many(self, ranges):
        known = self.race.expected.subscriptions
        self.race.subscribe_many({id: ends for id, ends in ranges.items() if id not in known})

    @rule(data=st.data())
    def unsubscribe(self, data):
        if known := sorted(self.race.expected.subscriptions):
            self.race.unsubscribe(data.draw(st.sampled_from(known)))

    @rule(x=some.xs, y=some.ys)
    def put(self, x, y):
        """Inserts, raises, lowers, or leaves as it is."""
        self.race.apply(change_of(self.objects, x, y))

    @rule(x=some.xs, y=some.ys)
    def put_again(self, x, y):
        self.put(x, y)

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def remove(self, data):
        x = data.draw(st.sampled_from(sorted(self.objects)))
        self.race.apply(change_of(self.objects, x, None))

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def touch(self, data):
        x = data.draw(st.sampled_from(sorted(self.objects)))
        self.race.apply([(x, self.objects[x], self.objects[x])])

    @invariant()
    def structures_hold(self):
        if hasattr(self, "race"):
            self.race.check()

    def teardown(self):
        if hasattr(self, "race"):
            for audience in self.race.audiences:
                found = all_lists(audience.server, some.WIDER_RANGES[::3])
                wanted = [self.race.expected.top_k(*ends) for ends in some.WIDER_RANGES[::3]]
                assert [items[: self.race.expected.k] for items in found] == wanted


TestAgainstTheOracle = SHRINKING(AgainstTheOracle.TestCase)


class MovesAgainstTheOracle(RuleBasedStateMachine):
    """An object goes to another x; it leaves one place and comes to the other."""

    @initialize(k=some.ks, objects=some.objects, ranges=some.batches_of_ranges)
    def start(self, k, objects, ranges):
        self.race = race(k, objects)
        self.race.subscribe_many(ranges)

    @rule(x=some.xs, y=some.ys)
    def put(self, x, y):
        self.race.apply(change_of(self.race.expected.objects, x, y))

    @rule(data=st.data(), new_x=some.xs)
    def move(self, data, new_x):
        """No less than the net change asks for, no more than to remove and to insert does."""
        expected = self.race.expected
        if new_x in expected.objects or not expected.objects:
            return
        old_x = data.draw(st.sampled_from(sorted(expected.objects)))
        y = expected.objects[old_x]
        away = expected.apply([(old_x, y, None)])
        come = expected.apply([(new_x, None, y)])
        expected.apply([(new_x, y, None), (old_x, None, y)])
        net = expected.apply([(old_x, y, None), (new_x, None, y)])
        for audience in self.race.audiences:
            received = audience.deliver(audience.server.move(old_x, new_x, y), expected)
            for id, got in received.items():
                assert len(dict(got)) == len(got)
                if not audience.relaxed:
                    assert net[id].must.items() <= dict(got).items()
                    assert dict(got).items() <= {**away[id].must, **come[id].must}.items()
            audience.assert_lists(expected)

    @invariant()
    def structures_hold(self):
        if hasattr(self, "race"):
            self.race.check()


TestMovesAgainstTheOracle = SHRINKING(MovesAgainstTheOracle.TestCase)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_every_change_of_every_object_for_every_range(k):
    """All ranges there are, so no wrong edge of a region goes unseen; ties among the values."""
    started = race(k, {0.0: 3.0, 1.0: 1.0, 2.0: 4.0, 3.0: 1.0, 4.0: 5.0, 6.0: 2.0, 7.0: 3.0})
    started.subscribe_many(dict(enumerate(some.WIDER_RANGES)))
    objects = started.expected.objects
    for x in some.PLACES:
        was = objects.get(x)
        for y in (0.0, 1.0, 3.0, 6.0, 2.0, None, 4.0, None, 5.0, 1.0, was):
            started.apply(change_of(objects, x, y) or [(x, None, 9.0)])
    started.check()


def test_a_message_of_an_unbounded_region_reaches_unbounded_ranges(exact_cls):
    server = exact_cls(1)
    server.load([(0.0, 5.0)])
    server.subscribe(1, -INF, INF)
    (message,) = server.update(0.0, 5.0, 4.0)
    assert type(message) is Message
    assert message[4:] == (0.0, 4.0)
    started = race(1, {0.0: 5.0}, [exact_cls])
    started.subscribe(1, -INF, INF)
    started.apply([(0.0, 5.0, 4.0)])


def test_the_papers_example(exact_cls):
    """Figure 1: object 5 gets worse; 3 takes its place in one list, 6 in two, k = 3."""
    objects = {1.0: 60.0, 2.0: 70.0, 3.0: 40.0, 4.0: 20.0, 5.0: 30.0, 6.0: 50.0, 7.0: 10.0}
    started = race(3, objects, [exact_cls])
    started.subscribe(1, 1.0, 2.0)
    started.subscribe(2, 3.0, 7.0)
    started.subscribe(3, 4.0, 7.0)
    started.subscribe(4, 4.5, 6.5)
    (audience,) = started.audiences
    sent = audience.server.update(5.0, 30.0, 55.0)
    started.expected.apply([(5.0, 30.0, 55.0)])
    received = audience.deliver(sent, started.expected)
    assert received == {1: [], 2: [(5, 55), (3, 40)], 3: [(5, 55), (6, 50)], 4: [(5, 55)]}
    assert sent[0].x == 5.0  # before what replaces it
    audience.assert_lists(started.expected)


def test_what_gets_worse_but_stays_exposes_nothing(exact_cls):
    """With fewer than k objects in range nobody has lost the object that another one passes."""
    started = race(3, {1.0: 1.0, 2.0: 2.0}, [exact_cls])
    started.subscribe_many(dict(enumerate(some.WIDER_RANGES)))
    started.apply([(1.0, 1.0, 9.0)])
    started.apply([(2.0, 2.0, 10.0)])


def test_the_sweep_ends_at_the_new_value(exact_cls):
    """The next object is worse than the new value, so it replaces nothing."""
    started = race(1, {1.0: 1.0, 2.0: 5.0}, [exact_cls])
    started.subscribe_many(dict(enumerate(some.WIDER_RANGES)))
    (audience,) = started.audiences
    assert {message.x for message in audience.server.update(1.0, 1.0, 4.0)} == {1.0}


def test_ties_at_the_new_value_go_to_the_lower_x(exact_cls):
    started = race(1, {1.0: 5.0, 2.0: 1.0, 3.0: 5.0}, [exact_cls])
    started.subscribe(1, 1.0, 2.0)
    started.subscribe(2, 2.0, 3.0)
    (audience,) = started.audiences
    started.apply([(2.0, 1.0, 5.0)])
    assert list(audience.lists[1].items) == [(1, 5)]
    assert list(audience.lists[2].items) == [(2, 5)]


def test_a_server_without_objects_or_subscriptions(cls):
    server = cls(2)
    server.load([])
    server.check()
    assert list(server.subscribe(4, -INF, INF)) == []
    assert [message[4:] for message in server.update(3.0, None, 1.0)] == [(3.0, 1.0)]
    assert [message[4:] for message in server.update(3.0, 1.0, None)] == [(3.0, INF)]
    server.unsubscribe(4)
    server.check()


@pytest.mark.parametrize("sparse_cls", [PaintSparse, Unicast])
def test_without_subscriptions_a_server_that_knows_them_sends_nothing(sparse_cls):
    server = sparse_cls(2)
    server.load([(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)])
    assert server.update(1.0, 1.0, 9.0) == []
    server.subscribe(1, 1.0, 1.0)
    server.subscribe(2, 2.5, 2.9)
    server.unsubscribe(1)
    assert server.update(1.0, 9.0, 2.0) == []


def test_the_dense_server_asks_for_no_subscriptions():
    """The same messages whoever listens."""
    alone, heard = PaintDense(2), PaintDense(2)
    for server in (alone, heard):
        server.load([(float(x), float(x * 7 % 5)) for x in range(8)])
    heard.subscribe_many([1, 2], [-INF, 2.0], [INF, 3.0])
    for x, old_y, new_y in [(3.0, 1.0, 4.0), (5.0, 0.0, None), (5.0, None, 2.0)]:
        assert alone.update(x, old_y, new_y) == heard.update(x, old_y, new_y)


def test_relaxed_sends_the_object_to_all_ranges_with_it():
    server = CNRelax(1)
    server.load([(1.0, 1.0), (2.0, 2.0)])
    server.subscribe(1, 0.0, 9.0)
    assert server.update(2.0, 2.0, 3.0) == [Message(2.0, 2.0, -INF, INF, 2.0, 3.0)]
    assert server.update(2.0, 3.0, None) == [Message(2.0, 2.0, -INF, INF, 2.0, INF)]


def test_objects_come_as_pairs_or_as_two_columns(cls):
    by_pairs, by_columns = cls(2), cls(2)
    by_pairs.load([(3, 1), (1, 2), (2, 1)])
    by_columns.load(np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 1.0]]))
    for server in (by_pairs, by_columns):
        server.check()
        assert list(server.subscribe(1, 1.0, 3.0))[:2] == [(2, 1), (3, 1)]


def test_a_subscription_may_come_back_with_another_range(cls):
    server = cls(1)
    server.load([(1.0, 1.0), (2.0, 2.0)])
    server.subscribe(7, 1.0, 1.0)
    server.unsubscribe(7)
    assert list(server.subscribe(7, 2.0, 2.0))[:1] == [(2, 2)]
    server.check()


@pytest.mark.parametrize("y", [1e-300, 5e-324, 1.7e308, -1.7e308, -0.0])
def test_extreme_values(exact_cls, y):
    started = race(2, {1.0: 1.0, 2.0: 2.0, -1e300: 3.0, 1e300: 0.5}, [exact_cls])
    ends = [-INF, -1.7e308, -1e300, 0.0, 1.0, 2.0, 1e300, 1.7e308, INF]
    ranges = [(low, high) for low in ends for high in ends if low <= high]
    started.subscribe_many(dict(enumerate(ranges)))
    for x in (1.0, -1e300, 1e300):
        started.apply([(x, started.expected.objects[x], y)])
        started.apply([(x, y, 2.5)])
    started.check()


@pytest.mark.large
@pytest.mark.parametrize("k", [1, 10])
def test_thousands_of_objects_and_subscriptions(exact_cls, k):
    rng = np.random.default_rng(k)
    places = rng.permutation(4_000)[:2_000].astype(float)
    started = race(
        k, dict(zip(places.tolist(), rng.random(2_000).tolist(), strict=True)), [exact_cls]
    )
    ends = np.sort(rng.integers(0, 4_000, (60, 2)).astype(float), axis=1)
    ends[::3, 1] = np.minimum(ends[::3, 0] + 40, 4_000)
    started.subscribe_many(dict(enumerate(map(tuple, ends.tolist()))))
    for x in places[:8].tolist():
        for y in (0.0, 2.0, None, 0.01):
            started.apply(change_of(started.expected.objects, x, y))
    started.check()
