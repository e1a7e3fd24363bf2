"""Subscriptions as points of (low, high): what lies in a rectangle, and how tight it can be."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from indexes.paint import SubscriptionIndex
from tests.indexes.intervals.columns import SHRINKING
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import contents, copied, refused
from tests.oracles.paint import INF

sides = st.lists(
    st.sampled_from([-INF, -1.0, 0.0, 0.25, 2.0, 3.0, 4.5, 6.0, INF]), min_size=2, max_size=2
).map(sorted)
rectangles = st.tuples(sides, sides).map(lambda both: (*both[0], *both[1]))


def inside(points, rectangle):
    low_min, low_max, high_min, high_max = rectangle
    return sorted(
        id
        for id, (low, high) in points.items()
        if low_min <= low <= low_max and high_min <= high <= high_max
    )


def snap(points, rectangle):
    found = [points[id] for id in inside(points, rectangle)]
    if not found:
        return None
    lows, highs = zip(*found, strict=True)
    return min(lows), max(lows), min(highs), max(highs)


def assert_same_answers(index, points, rectangle):
    assert list(index.inside(rectangle)) == inside(points, rectangle)
    assert index.count(rectangle) == len(inside(points, rectangle))
    found = index.snap(rectangle)
    assert (None if found is None else tuple(found)) == snap(points, rectangle)


EVERYTHING = (-INF, INF, -INF, INF)


class AgainstADict(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.points = {}
        self.index = SubscriptionIndex(capacity=1)

    @rule(id=some.ids, ends=some.ranges)
    def insert(self, id, ends):
        if id not in self.points:
            self.index.insert(id, *ends)
            self.points[id] = ends

    @rule(ranges=some.batches_of_ranges)
    def insert_many(self, ranges):
        new = {id: ends for id, ends in ranges.items() if id not in self.points}
        lows, highs = ([ends[side] for ends in new.values()] for side in (0, 1))
        self.index.insert_many(list(new), lows, highs)
        self.points |= new

    @rule(start=st.sampled_from([100, 200, 300]), count=st.integers(20, 80))
    def insert_a_crowd(self, start, count):
        """More than one block of any reasonable size, with many equal points."""
        ids = [id for id in range(start, start + count) if id not in self.points]
        new = {id: some.WIDER_RANGES[id * 7 % len(some.WIDER_RANGES)] for id in ids}
        lows, highs = ([ends[side] for ends in new.values()] for side in (0, 1))
        self.index.insert_many(ids, lows, highs)
        self.points |= new

    @precondition(lambda self: self.points)
    @rule(data=st.data())
    def delete(self, data):
        id = data.draw(st.sampled_from(sorted(self.points)))
        self.index.delete(id)
        del self.points[id]

    @rule(share=st.sampled_from([1, 2, 3, 5]))
    def delete_many(self, share):
        ids = list(self.points)[::share]
        self.index.delete_many(ids)
        for id in ids:
            del self.points[id]

    @rule(rectangle=rectangles)
    def query(self, rectangle):
        assert_same_answers(self.index, self.points, rectangle)

    @rule()
    def store_and_load(self):
        self.index = SubscriptionIndex.from_arrays(copied(self.index.to_arrays()))

    @invariant()
    def structure_holds(self):
        self.index.check()
        assert len(self.index) == len(self.points)

    def teardown(self):
        assert_same_answers(self.index, self.points, EVERYTHING)
        for a in (0.0, 2.0, 4.0):
            assert_same_answers(self.index, self.points, (-INF, a, a, INF))
            assert_same_answers(self.index, self.points, (a, a + 2, a + 1, a + 3))


TestAgainstADict = SHRINKING(AgainstADict.TestCase)


@pytest.fixture
def index():
    found = SubscriptionIndex(capacity=1)
    found.insert(1, 0.0, 5.0)
    found.insert(2, 1.0, 6.0)
    found.insert(3, 1.0, 6.0)
    found.insert(4, -INF, INF)
    return found


def test_an_empty_index_holds_nothing():
    index = SubscriptionIndex()
    assert_same_answers(index, {}, EVERYTHING)
    assert index.snap(EVERYTHING) is None
    index.check()


def test_a_rectangle_is_closed(index):
    assert index.inside((0.0, 1.0, 5.0, 6.0)) == [1, 2, 3]
    assert index.inside((0.0, 0.0, 5.0, 5.0)) == [1]
    assert index.inside((np.nextafter(0, 1), 1.0, 5.0, 6.0)) == [2, 3]
    assert index.inside((0.0, 1.0, 5.0, np.nextafter(6, 0))) == [1]


def test_a_rectangle_shrinks_to_its_points(index):
    assert tuple(index.snap((-9.0, 9.0, -9.0, 9.0))) == (0, 1, 5, 6)
    assert tuple(index.snap((0.5, 9.0, 0.0, 9.0))) == (1, 1, 6, 6)
    assert index.snap((2.0, 9.0, 0.0, 9.0)) is None


def test_infinite_ends_are_points_as_others(index):
    assert index.inside((-INF, -INF, INF, INF)) == [4]
    assert tuple(index.snap(EVERYTHING)) == (-INF, 1, 5, INF)


def test_equal_points_leave_one_by_one(index):
    index.delete(2)
    assert index.inside((1.0, 1.0, 6.0, 6.0)) == [3]
    index.delete(3)
    assert index.snap((1.0, 1.0, 6.0, 6.0)) is None
    index.insert(2, 7.0, 8.0)
    assert index.inside((7.0, 7.0, 8.0, 8.0)) == [2]
    index.check()


def test_answers_are_plain_numbers(index):
    assert {type(id) for id in index.inside(EVERYTHING)} == {int}
    assert {type(end) for end in index.snap(EVERYTHING)} == {float}
    assert type(index.count(EVERYTHING)) is int


def test_bytes_are_counted_and_memory_comes_back_from_storage(index):
    assert 0 < SubscriptionIndex(capacity=1).nbytes < index.nbytes
    other = SubscriptionIndex.from_arrays(copied(index.to_arrays()))
    assert contents(other) == contents(index)
    other.delete(1)
    assert index.inside(EVERYTHING) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        pytest.param(lambda i: i.insert(1, 0.0, 1.0), KeyError, "1", id="known"),
        pytest.param(lambda i: i.insert(-1, 0.0, 1.0), ValueError, "-1", id="negative-id"),
        pytest.param(lambda i: i.insert(8, np.nan, 1.0), ValueError, "nan", id="nan-low"),
        pytest.param(lambda i: i.insert(8, 0.0, np.nan), ValueError, "nan", id="nan-high"),
        pytest.param(lambda i: i.insert(8, 2.5, 1.0), ValueError, "2.5", id="order"),
        pytest.param(lambda i: i.delete(99), KeyError, "99", id="unknown"),
        pytest.param(lambda i: i.insert_many([8, 8], [0, 0], [1, 1]), ValueError, "8", id="twice"),
        pytest.param(
            lambda i: i.insert_many([8, 1], [0, 0], [1, 1]), KeyError, "1", id="one-known"
        ),
        pytest.param(
            lambda i: i.insert_many([8, 9], [0, np.nan], [1, 1]), ValueError, "nan", id="one-nan"
        ),
        pytest.param(
            lambda i: i.insert_many([8, 9], [0, 2.5], [1, 1]), ValueError, "2.5", id="one-order"
        ),
        pytest.param(
            lambda i: i.insert_many([8, -9], [0, 0], [1, 1]), ValueError, "-9", id="one-negative"
        ),
        pytest.param(lambda i: i.insert_many([8, 9], [0], [1, 1]), ValueError, "2", id="lengths"),
        pytest.param(lambda i: i.delete_many([1, 99]), KeyError, "99", id="one-unknown"),
        pytest.param(lambda i: i.delete_many([1, 1]), ValueError, "1", id="deleted-twice"),
        pytest.param(lambda i: i.inside((0, 1, np.nan, 1)), ValueError, "nan", id="ask-inside"),
        pytest.param(lambda i: i.count((0, np.nan, 0, 1)), ValueError, "nan", id="ask-count"),
        pytest.param(lambda i: i.snap((np.nan, 1, 0, 1)), ValueError, "nan", id="ask-snap"),
    ],
)
def test_what_is_refused_changes_nothing(index, change, error, named):
    with refused(index, error, named, contents):
        change(index)


@pytest.mark.large
def test_thousands_of_subscriptions():
    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(0, 400, (8_000, 2)).astype(float), axis=1)
    index = SubscriptionIndex()
    index.insert_many(np.arange(8_000), ends[:, 0], ends[:, 1])
    index.delete_many(np.arange(0, 8_000, 3))
    points = {id: tuple(ends[id].tolist()) for id in range(8_000) if id % 3}
    index.check()
    for _ in range(50):
        lows, highs = np.sort(rng.integers(0, 400, (2, 2)), axis=1).astype(float).tolist()
        assert_same_answers(index, points, (*lows, *highs))
