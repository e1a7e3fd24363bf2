"""Objects spread over several servers along x: one server's answers, and few servers asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.paint import ObjectIndex, PaintBatch, PaintDense, PaintServers, SlicedObjects
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import (
    INF,
    Audience,
    Race,
    all_lists,
    change_of,
    contents,
    copied,
    refused,
)
from tests.indexes.paint.test_batch import events_of

boundaries = st.lists(
    st.sampled_from([-1.0, 0.0, 0.5, 2.0, 2.5, 3.0, 5.0, 7.0, 9.0]), unique=True, max_size=5
).map(sorted)
changes = st.lists(st.tuples(some.xs, st.one_of(st.none(), some.ys, some.ys)), max_size=12)


@given(k=some.ks, boundaries=boundaries, objects=some.objects, changes=changes)
def test_many_servers_say_what_one_says(k, boundaries, objects, changes):
    one, many = PaintDense(k), PaintServers(k, boundaries)
    for server in (one, many):
        server.load(list(objects.items()))
    for event in events_of(objects, changes):
        assert many.update(*event) == one.update(*event)
        many.check()
    assert all_lists(many, some.WIDER_RANGES[::3]) == all_lists(one, some.WIDER_RANGES[::3])


@given(
    k=some.ks,
    boundaries=boundaries,
    objects=some.objects,
    ranges=st.lists(some.ranges, max_size=10),
    changes=changes,
)
def test_every_list_is_right(k, boundaries, objects, ranges, changes):
    race = Race(k, objects, [Audience(PaintServers(k, boundaries), k)])
    for id, ends in enumerate(ranges):
        race.subscribe(id, *ends)
    for x, y in changes:
        if events := change_of(race.expected.objects, x, y):
            race.apply(events)
    race.check()


def visits(servers):
    """How many servers each query has visited."""
    return [len(entry) if hasattr(entry, "__len__") else int(entry) for entry in servers.traversed]


@pytest.mark.parametrize("new_y", [500.0, 3.0, None], ids=["worse", "better", "removed"])
def test_an_update_in_a_dense_part_asks_few_servers(new_y):
    """Ten servers of a hundred objects; the nearest better ones are all close by."""
    servers = PaintServers(3, [float(x) for x in range(100, 1_000, 100)])
    objects = {float(x): float(x * 389 % 997) for x in range(1_000)}
    objects[550.0] = 400.0
    servers.load(list(objects.items()))
    servers.update(550.0, 400.0, new_y)
    assert visits(servers)
    assert 1 <= min(visits(servers)) <= max(visits(servers)) < 10


def test_the_ends_of_the_axis_are_searched_to_the_end():
    """The best of all leaves, and nothing better is on either side."""
    one, many = PaintDense(2), PaintServers(2, [100.0, 200.0, 300.0])
    for server in (one, many):
        server.load([(float(x), float(abs(x - 150))) for x in range(400)])
    assert many.update(150.0, 0.0, None) == one.update(150.0, 0.0, None)
    assert max(visits(many)) > 1


@pytest.mark.parametrize(
    "boundaries",
    [[2.0, 1.0], [1.0, 1.0], [float("nan")]],
    ids=["descending", "equal", "nan"],
)
def test_boundaries_ascend(boundaries):
    with pytest.raises(ValueError):  # noqa: PT011
        PaintServers(2, boundaries)


@pytest.mark.parametrize(
    ("event", "error", "named"),
    [
        pytest.param((7.0, 3.0, 2.0), KeyError, "7", id="unknown-x"),
        pytest.param((1.0, None, 4.0), KeyError, "1", id="inserted-twice"),
        pytest.param((1.0, 2.5, 4.0), ValueError, "2.5", id="wrong-old-y"),
        pytest.param((1.0, 2.0, float("nan")), ValueError, "nan", id="nan"),
    ],
)
def test_what_is_refused_changes_nothing(event, error, named):
    servers = PaintServers(2, [2.0])
    servers.load([(1.0, 2.0), (3.0, 1.0)])
    with pytest.raises(error) as caught:
        servers.update(*event)
    assert named in str(caught.value)
    servers.check()
    assert all_lists(servers, [(0.0, 9.0)]) == [[(3, 1), (1, 2)]]


@given(k=some.ks, boundaries=boundaries, objects=some.objects, changes=changes)
def test_a_batch_says_what_it_says_of_one_server(k, boundaries, objects, changes):
    one, many = PaintDense(k), PaintServers(k, boundaries)
    for server in (one, many):
        server.load(list(objects.items()))
    events = events_of(objects, changes)
    assert PaintBatch(many).update(events) == PaintBatch(one).update(events)
    many.check()
    assert all_lists(many, some.WIDER_RANGES[::3]) == all_lists(one, some.WIDER_RANGES[::3])
    assert many.calls == one.calls


@given(
    k=some.ks,
    boundaries=boundaries,
    objects=st.dictionaries(some.xs, some.ys, min_size=1, max_size=7),
    data=st.data(),
)
def test_an_object_moves_from_server_to_server(k, boundaries, objects, data):
    one, many = PaintDense(k), PaintServers(k, boundaries)
    for server in (one, many):
        server.load(list(objects.items()))
    old_x = data.draw(st.sampled_from(sorted(objects)))
    new_x = data.draw(st.sampled_from([x for x in some.PLACES if x == old_x or x not in objects]))
    assert many.move(old_x, new_x, objects[old_x]) == one.move(old_x, new_x, objects[old_x])
    many.check()


@pytest.mark.parametrize("epsilon", [None, 0.5])
def test_updates_by_columns_are_those_one_by_one(epsilon):
    one, many = PaintDense(4, epsilon), PaintServers(4, [10.0, 20.0, 30.0], epsilon)
    rng = np.random.default_rng(5)
    xs, ys = np.arange(40.0), rng.permutation(40).astype(float)
    for server in (one, many):
        server.load(np.column_stack([xs, ys]))
    places = rng.permutation(40)[:20]
    news = np.where(places % 5, rng.permutation(80)[:20].astype(float), np.nan)
    expected = one.update_many(xs[places], ys[places], news)
    got = many.update_many(xs[places], ys[places], news)
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.tolist() == theirs.tolist()
    assert many.calls == one.calls
    assert len(many.traversed) == sum(many.calls), "an entry for each query, without subscriptions"
    many.check()


def test_refused_columns_change_nothing():
    servers = PaintServers(2, [2.0])
    servers.load([(1.0, 2.0), (3.0, 1.0)])
    with refused(servers, ValueError, "2.5", contents):
        servers.update_many([3.0, 1.0], [1.0, 2.5], [4.0, 5.0])


def test_servers_are_restored_with_their_boundaries():
    servers = PaintServers(2, [2.0, 5.0], epsilon=0.5)
    servers.load([(1.0, 2.0), (3.0, 1.0), (7.0, 4.0)])
    servers.subscribe(4, 0.0, 9.0)
    again = PaintServers.from_arrays(copied(servers.to_arrays()))
    again.check()
    assert contents(again) == contents(servers)
    assert again.update(3.0, 1.0, 9.0) == servers.update(3.0, 1.0, 9.0)
    assert again.traversed == servers.traversed


def test_objects_that_are_known_are_loaded_by_no_server():
    servers = PaintServers(2, [2.0])
    servers.load([(1.0, 2.0), (3.0, 1.0)])
    for objects in ([(0.0, 1.0), (3.0, 5.0)], [(0.0, 1.0), (5.0, 1.0), (5.0, 2.0)]):
        with refused(servers, KeyError, str(objects[-1][0]), contents):
            servers.load(objects)


class Wire:
    """A slice elsewhere: what is said to it and what it says are lists of numbers."""

    def __init__(self):
        self.index = ObjectIndex()
        self.said = []

    def first_k(self, *query):
        self.said.append(("first_k", *query))
        return self.index.first_k(*query)

    def min_y(self, *query):
        self.said.append(("min_y", *query))
        return self.index.min_y(*query)


def test_neighbours_are_asked_for_what_is_left():
    """A first_k begins where x is, and ends where k are found or the axis ends."""
    wires = [Wire() for _ in range(4)]
    for wire, objects in zip(
        wires, ([(1, 5), (2, 1)], [(11, 9), (12, 2)], [], [(31, 3)]), strict=True
    ):
        wire.index.put_many(objects)
    objects = SlicedObjects([10, 20, 30], wires)
    assert objects.first_k(12, 4.0, 2, "left") == [2.0]
    assert objects.first_k(11, 4.0, 2, "right") == [12.0, 31.0]
    assert objects.first_k(31, 6.0, 3, "left") == [12.0, 2.0, 1.0]
    assert objects.min_y(2, 12, 1.0) == (12.0, 2.0)
    assert objects.visited == [2, 3, 4, 2]
    assert wires[0].said == [
        ("first_k", 12, 4.0, 2, "left"), ("first_k", 31, 6.0, 2, "left"), ("min_y", 2, 12, 1.0),
    ]  # fmt: skip
    assert wires[3].said == [("first_k", 11, 4.0, 1, "right"), ("first_k", 31, 6.0, 3, "left")]


def test_servers_may_have_their_objects_already():
    slices = [ObjectIndex.build([(1.0, 2.0)]), ObjectIndex.build([(3.0, 1.0)])]
    servers = PaintServers(1, [2.0], slices=slices)
    assert servers.subscribe(1, 0.0, 9.0) == [(3.0, 1.0)]
    assert [(m.x, m.y) for m in servers.update(3.0, 1.0, None)] == [(3.0, INF), (1.0, 2.0)]
    assert [len(slice) for slice in slices] == [1, 0]
    assert len(servers.objects) == 1


def test_as_many_slices_as_the_boundaries_make():
    with pytest.raises(ValueError, match="got 1 when 2"):
        SlicedObjects([3.0], [ObjectIndex()])
