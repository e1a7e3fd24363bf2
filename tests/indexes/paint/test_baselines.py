"""What is special to the baselines; that their lists are right is tested with all servers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.paint import CNRelax, Message, PaintDense, Unicast
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import INF, contents, copied
from tests.indexes.paint.test_batch import events_of

CLASSES = [Unicast, CNRelax]
changes = st.lists(st.tuples(some.xs, st.one_of(st.none(), some.ys, some.ys)), max_size=12)


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


def served(cls, k, objects, ranges):
    server = cls(k)
    server.load(list(objects.items()))
    for id, ends in enumerate(ranges):
        server.subscribe(id, *ends)
    return server


@given(
    k=some.ks,
    objects=some.objects,
    ranges=st.lists(some.ranges, max_size=15),
    changes=changes,
)
def test_columns_say_the_same_as_single_updates(k, objects, ranges, changes):
    events = events_of(objects, changes)
    columns = [
        np.array([np.nan if event[part] is None else event[part] for event in events], float)
        for part in range(3)
    ]
    for cls in CLASSES:
        by_one, by_column = (served(cls, k, objects, ranges) for _ in range(2))
        expected = [
            (number, *message)
            for number, event in enumerate(events)
            for message in by_one.update(*event)
        ]
        table = by_column.update_many(*columns)
        assert list(zip(*(column.tolist() for column in table), strict=True)) == expected
        assert contents(by_column) == contents(by_one)
        by_column.check()


def test_unicast_counts_a_call_for_each_subscription_inside_the_influence_interval():
    """k = 1: the object at 3 moves between better ones at 1 and 5, so low > 1 and high < 5."""
    server = Unicast(1)
    server.load([(1.0, 1.0), (3.0, 3.0), (5.0, 2.0), (4.0, 9.0)])
    inside = [(1.5, 3.0), (2.0, 4.5), (3.0, 3.0)]
    outside = [(1.0, 3.0), (2.0, 5.0), (4.0, 4.5), (1.0, 9.0)]
    for id, ends in enumerate([*inside, *outside]):
        server.subscribe(id, *ends)
    assert len(server.update(3.0, 3.0, 2.5)) == 3
    assert server.calls.min_y == 3
    assert len(server.update(3.0, 2.5, 10.0)) == 4
    assert server.calls.min_y == 6
    assert server.calls.first_k == 4


def test_unicast_replaces_an_object_that_was_not_the_last_of_a_list():
    server = Unicast(3)
    server.load([(float(x), float(x)) for x in range(6)])
    server.subscribe(1, 0.0, 9.0)
    assert [message[4:] for message in server.update(0.0, 0.0, 8.0)] == [(0.0, 8.0), (3.0, 3.0)]
    assert [message[4:] for message in server.update(1.0, 1.0, 2.5)] == [(1.0, 2.5)]


def test_equal_ranges_share_a_message_of_their_own():
    server = Unicast(1)
    server.load([(1.0, 1.0)])
    server.subscribe_many([1, 2, 3], [0.0, 0.0, 0.5], [2.0, 2.0, 2.0])
    ends = [message[:4] for message in server.update(1.0, 1.0, 0.5)]
    low, high = np.nextafter(0.0, -INF), np.nextafter(2.0, INF)
    assert ends == [(0.0, 2.0, low, high), (0.5, 2.0, np.nextafter(0.5, 0.0), high)]
    server.unsubscribe(1)
    assert len(server.update(1.0, 0.5, 0.25)) == 2


def test_an_unbounded_range_is_told_without_bounds():
    server = Unicast(1)
    server.load([(1.0, 1.0)])
    server.subscribe(1, -INF, INF)
    assert server.update(1.0, 1.0, 0.5) == [Message(-INF, INF, -INF, INF, 1.0, 0.5)]


def test_a_server_goes_on_from_its_arrays(cls):
    server = served(cls, 2, {1.0: 3.0, 2.0: 1.0, 4.0: 2.0}, [(0.0, 3.0), (0.0, 3.0), (2.0, 9.0)])
    again = cls.from_arrays(copied(server.to_arrays()))
    again.check()
    assert again.update(2.0, 1.0, 5.0) == server.update(2.0, 1.0, 5.0)
    assert contents(again) == contents(server)


@pytest.mark.large
def test_unicast_reaches_those_that_dense_messages_reach():
    rng = np.random.default_rng(3)
    x, y = rng.random(500), rng.random(500)
    ends = np.sort(rng.random((2, 2_000)), axis=0)
    unicast, dense = Unicast(5), PaintDense(5)
    for server in (unicast, dense):
        server.load(np.column_stack([x, y]))
        server.subscribe_many(np.arange(2_000), *ends)
    chosen = rng.permutation(500)[:100]
    events = x[chosen], y[chosen], rng.random(100)
    told, painted = unicast.update_many(*events), dense.update_many(*events)
    reached = sum(
        ((ends[0] > low) & (ends[0] <= inner) & (ends[1] >= least) & (ends[1] < high)).sum()
        for inner, least, low, high in zip(*painted[1:5], strict=True)
    )
    assert len(told.x) == reached > 0
