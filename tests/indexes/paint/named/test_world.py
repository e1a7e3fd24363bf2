"""What zones have to hear, against lists by brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.paint.world import World, quantile_bounds, slices_of
from tests.effort import effort
from tests.oracles.range_topk import top_k

K = 2
INF = math.inf

xs = st.integers(0, 7).map(float)
ys = st.integers(0, 4).map(float)
ids = st.sampled_from([b"a", b"b", b"c", b"d"])
changes = st.lists(st.tuples(ids, xs, ys | st.just(math.nan)), min_size=1, max_size=5)
ends = st.sampled_from([-INF, 0.0, 1.0, 2.5, 3.0, 5.0, 7.0, INF])
ranges = st.tuples(ends, ends).map(sorted).filter(lambda one: one[0] < INF and one[1] > -INF)
bounds = st.lists(st.sampled_from([0.0, 2.0, 3.0, 5.5]), max_size=3, unique=True).map(sorted)
forms = st.sampled_from(["dense", "sparse"])


def subscribed(world, given):
    lows, highs = (np.array([one[i] for one in given], np.float64) for i in range(2))
    keys = [b"%d" % i for i in range(len(given))]
    world.come(keys, np.arange(len(given)), lows, highs, np.full(len(given), K))


def listed(objects, low, high):
    return [(item["id"], item["x"], item["y"]) for item in top_k(objects, low, high, K)]


def reaches(bounds_of, i, low, high):
    """Whether message i is for a range."""
    return (
        low <= bounds_of.inner_low[i]
        and high >= bounds_of.inner_high[i]
        and (low > bounds_of.outer_low[i] or bounds_of.outer_low[i] == -INF)
        and (high < bounds_of.outer_high[i] or bounds_of.outer_high[i] == INF)
    )


def applied(before, told, low, high):
    """A list of all objects that messages have said to be in it, best first, cut to k."""
    known = {id: (x, y) for id, x, y in before}
    for i, state in enumerate(told.state.tolist()):
        if reaches(told.bounds, i, low, high):
            id = told.states.ids[state].decode()
            x, y = float(told.states.x[state]), float(told.states.y[state])
            known.pop(id, None)
            if y < INF:
                known[id] = (x, y)
            known = {id: (x, y) for id, x, y in listed(known, -INF, INF)}
    return listed(known, -INF, INF)


@settings(max_examples=effort(150, 1500), deadline=None)
@given(changes, changes, st.lists(ranges, max_size=6), bounds, forms, st.booleans())
def test_a_zone_hears_all_that_its_lists_need(first, then, given, between, form, at_once):
    world = World(K, form, None, between)
    world.load({id: (x, y) for id, x, y in first})
    subscribed(world, given)
    objects = {id.decode(): (x, y) for id, x, y in first}
    objects = {id: place for id, place in objects.items() if not math.isnan(place[1])}
    before = [listed(objects, low, high) for low, high in given]
    columns = [list(column) for column in zip(*then, strict=True)]
    told = world.put(*columns, list(range(10, 10 + len(then))), at_once)
    for id, x, y in then:
        objects.pop(id.decode(), None)
        if not math.isnan(y):
            objects[id.decode()] = (x, y)
    for (low, high), was in zip(given, before, strict=True):
        zone = int(world.zones_of([low])[0])
        now = applied(was, told[zone], low, high) if zone in told else was
        assert now == listed(objects, low, high)
    world.check()


@settings(max_examples=effort(100, 1000), deadline=None)
@given(changes, st.lists(ranges, max_size=6), bounds, forms)
def test_no_zone_hears_what_cannot_be_for_its_lows(changed, given, between, form):
    world = World(K, form, None, between)
    subscribed(world, given)
    columns = [list(column) for column in zip(*changed, strict=True)]
    for zone, told in world.put(*columns, list(range(len(changed)))).items():
        low, high = slices_of(between)[zone]
        assert (told.bounds.inner_low >= low).all()
        assert (told.bounds.outer_low < high).all()
        assert sorted(set(told.group.tolist())) == list(range(len(told.numbers)))
        assert (np.diff(told.numbers) > 0).all()
        assert set(told.state.tolist()) == set(range(len(told.states.ids)))


@settings(max_examples=effort(100, 1000), deadline=None)
@given(changes, changes, st.lists(ranges, max_size=6), bounds, forms)
def test_a_world_that_was_saved_says_the_same(first, then, given, between, form):
    world = World(K, form, None, between)
    world.load({id: (x, y) for id, x, y in first})
    subscribed(world, given)
    other = World.from_arrays(world.to_arrays())
    other.check()
    assert (len(other), other.objects, other.bounds) == (len(world), world.objects, world.bounds)
    assert other.subscribers()[0] == world.subscribers()[0]
    columns = [list(column) for column in zip(*then, strict=True)]
    one, two = (each.put(*columns, list(range(len(then)))) for each in (world, other))
    assert one.keys() == two.keys()
    for zone in one:
        for a, b in zip(one[zone].bounds, two[zone].bounds, strict=True):
            np.testing.assert_array_equal(a, b)
        assert one[zone].states.ids == two[zone].states.ids


def test_who_leaves_is_told_by_zone_in_the_order_of_what_ends_it():
    world = World(K, "sparse", None, [3.0])
    subscribed(world, [(0.0, 1.0), (3.0, 4.0), (-INF, INF)])
    leavers = world.leave([(b"2", 12), (b"nobody", 11)], [(b"1", 10), (b"0", 9)])
    assert {zone: [tuple(one) for one in gone] for zone, gone in leavers.items()} == {
        0: [(b"0", 0, 9, True), (b"2", 2, 12, False)],
        1: [(b"1", 1, 10, True)],
    }
    assert len(world) == 0
    world.check()


@pytest.mark.parametrize(
    ("lows", "zones", "expected"),
    [
        ([], 3, [0, 1]),
        ([-INF, INF], 2, [0]),
        ([1, 2, 3, 4], 1, []),
        ([1, 2, 3, 4], 4, [2, 3, 4]),
        ([5, 5, 5], 3, [5, np.nextafter(5, 6)]),
    ],
)
def test_bounds_are_ascending_whatever_lows_are(lows, zones, expected):
    found = quantile_bounds(np.array(lows, np.float64), zones)
    assert found == expected
