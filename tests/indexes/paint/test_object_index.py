"""Objects by x and y: the queries of the sweep, against a plain dict."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from indexes.paint import ObjectIndex
from tests.indexes.intervals.columns import SHRINKING
from tests.indexes.paint.audience import contents, copied, refused
from tests.oracles.paint import INF, ranked

xs = st.integers(-6, 6).map(float)
ys = st.integers(0, 4).map(float)
keys = st.one_of(ys, st.sampled_from([-INF, INF, 1.5]), st.tuples(ys, xs))
ends = st.one_of(xs, st.sampled_from([-INF, INF, 0.5, -2.5]))


def below(x, y, key):
    return (y, x) < key if isinstance(key, tuple) else y < key


def above(x, y, key):
    return (y, x) > key if isinstance(key, tuple) else y > key


def first_k(objects, x, key, k, side):
    beside = [o for o in objects if (o < x if side == "left" else o > x)]
    met = sorted(beside, reverse=side == "left")
    return [o for o in met if below(o, objects[o], key)][:k]


def min_y(objects, low, high, key):
    found = [(x, y) for x, y in ranked(objects, low, high) if above(x, y, key)]
    return found[0] if found else None


def assert_same_answers(index, objects):
    index.check()
    assert len(index) == len(objects)
    assert list(index.top_k(-INF, INF, len(objects) + 1)) == ranked(objects)
    places = [-7.0, -6.0, -2.5, 0.0, 1.0, 6.0]
    for x in places:
        own = [(y, place) for place, y in sorted(objects.items())[:6]]
        for key in (2.0, (2.0, 0.0), INF, -INF, *own):
            for side in ("left", "right"):
                found = list(index.first_k(x, key, 3, side))
                assert found == first_k(objects, x, key, 3, side), (x, key, side)
    for low in places:
        for high in (high for high in places if high >= low):
            for key in (-INF, 2.0, (2.0, 0.0)):
                assert index.min_y(low, high, key) == min_y(objects, low, high, key)


class AgainstADict(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.objects = {}
        self.index = ObjectIndex(capacity=1)

    @rule(x=xs, y=ys)
    def put(self, x, y):
        self.index.put(x, y)
        self.objects[x] = y

    @rule(start=st.integers(7, 9), count=st.integers(3, 40), factor=st.sampled_from([1, 3, 7]))
    def put_a_run(self, start, count, factor):
        """More than one block of any reasonable size, in order, to the right of the rest."""
        for i in range(count):
            x, y = start + i / 4, float(i * factor % 5)
            self.index.put(x, y)
            self.objects[x] = y

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def remove(self, data):
        x = data.draw(st.sampled_from(sorted(self.objects)))
        self.index.remove(x)
        del self.objects[x]

    @precondition(lambda self: len(self.objects) > 10)
    @rule(step=st.integers(1, 3))
    def remove_many(self, step):
        for x in sorted(self.objects)[::step]:
            self.index.remove(x)
            del self.objects[x]

    @rule(x=ends, key=keys, k=st.integers(1, 5), side=st.sampled_from(["left", "right"]))
    def first_k(self, x, key, k, side):
        assert list(self.index.first_k(x, key, k, side)) == first_k(self.objects, x, key, k, side)

    @rule(low=ends, high=ends, key=keys)
    def min_y(self, low, high, key):
        low, high = sorted((low, high))
        assert self.index.min_y(low, high, key) == min_y(self.objects, low, high, key)

    @rule(low=ends, high=ends, k=st.integers(1, 5))
    def top_k(self, low, high, k):
        low, high = sorted((low, high))
        assert list(self.index.top_k(low, high, k)) == ranked(self.objects, low, high)[:k]

    @rule()
    def store_and_load(self):
        self.index = ObjectIndex.from_arrays(copied(self.index.to_arrays()))

    @invariant()
    def structure_holds(self):
        self.index.check()
        assert len(self.index) == len(self.objects)

    def teardown(self):
        assert_same_answers(self.index, self.objects)


TestAgainstADict = SHRINKING(AgainstADict.TestCase)


@pytest.fixture
def index():
    found = ObjectIndex(capacity=1)
    for x, y in [(1.0, 5.0), (2.0, 3.0), (3.0, 5.0), (4.0, 1.0), (5.0, 3.0)]:
        found.put(x, y)
    return found


def test_an_empty_index_answers_with_nothing():
    index = ObjectIndex()
    assert_same_answers(index, {})
    assert index.min_y(-INF, INF, -INF) is None
    assert list(index.first_k(0.0, INF, 3, "left")) == []


def test_the_first_are_met_outwards_and_strictly_beside_and_below(index):
    assert list(index.first_k(3.0, 5.0, 9, "left")) == [2]
    assert list(index.first_k(3.0, 5.0, 9, "right")) == [4, 5]
    assert list(index.first_k(5.0, 5.5, 2, "left")) == [4, 3]
    assert list(index.first_k(4.0, 3.0, 9, "left")) == []


def test_a_key_decides_between_equal_values(index):
    assert list(index.first_k(4.0, (5.0, 2.0), 9, "left")) == [2, 1]  # (5, 1) < (5, 2) < (5, 3)
    assert list(index.first_k(4.0, (5.0, 1.0), 9, "left")) == [2]  # no key is below itself
    assert list(index.first_k(4.0, 5.0, 9, "left")) == [2]
    assert index.min_y(1.0, 5.0, (3.0, 2.0)) == (5, 3)
    assert index.min_y(1.0, 5.0, 3.0) == (1, 5)
    assert index.min_y(1.0, 5.0, (3.0, 5.0)) == (1, 5)
    assert index.min_y(1.0, 5.0, (5.0, 3.0)) is None


def test_a_known_object_gets_another_value(index):
    index.put(4.0, 9.0)
    assert len(index) == 5
    assert list(index.top_k(1.0, 5.0, 2)) == [(2, 3), (5, 3)]
    assert list(index.first_k(9.0, 3.5, 9, "left")) == [5, 2]
    index.check()


def test_answers_are_plain_numbers(index):
    answers = [*index.top_k(1.0, 5.0, 2), index.min_y(1.0, 5.0, 0.0)]
    assert all(type(answer) is tuple for answer in answers)
    numbers = [*index.first_k(3.0, INF, 2, "left"), *(part for a in answers for part in a)]
    assert {type(number) for number in numbers} == {float}


def test_zeros_are_equal_whatever_their_sign():
    index = ObjectIndex(capacity=1)
    index.put(0.0, 0.0)
    index.put(-0.0, 1.0)
    assert len(index) == 1
    index.put(1.0, -0.0)
    assert list(index.first_k(-0.0, 0.0, 3, "right")) == []
    index.remove(-0.0)
    assert len(index) == 1
    index.check()


def test_bytes_are_counted_and_memory_comes_back_from_storage(index):
    before = ObjectIndex(capacity=1).nbytes
    assert 0 < before < index.nbytes
    other = ObjectIndex.from_arrays(copied(index.to_arrays()))
    assert contents(other) == contents(index)
    other.remove(4.0)
    assert len(index) == 5
    assert list(index.top_k(1.0, 5.0, 1)) == [(4, 1)]


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        pytest.param(lambda i: i.put(np.nan, 1.0), ValueError, "nan", id="nan-x"),
        pytest.param(lambda i: i.put(1.0, np.nan), ValueError, "nan", id="nan-y"),
        pytest.param(lambda i: i.put(INF, 1.0), ValueError, "inf", id="infinite-x"),
        pytest.param(lambda i: i.put(1.0, -INF), ValueError, "inf", id="infinite-y"),
        pytest.param(lambda i: i.remove(9.0), KeyError, "9", id="unknown"),
        pytest.param(lambda i: i.remove(np.nan), (KeyError, ValueError), "nan", id="remove-nan"),
        pytest.param(lambda i: i.first_k(1.0, 1.0, -1, "left"), ValueError, "-1", id="k"),
        pytest.param(lambda i: i.first_k(1.0, 1.0, 1, "up"), ValueError, "up", id="side"),
        pytest.param(lambda i: i.first_k(np.nan, 1.0, 1, "left"), ValueError, "nan", id="ask-x"),
        pytest.param(lambda i: i.first_k(1.0, np.nan, 1, "left"), ValueError, "nan", id="ask-y"),
        pytest.param(lambda i: i.min_y(1.0, 2.0, np.nan), ValueError, "nan", id="above-nan"),
        pytest.param(lambda i: i.min_y(np.nan, 2.0, 1.0), ValueError, "nan", id="from-nan"),
        pytest.param(lambda i: i.top_k(1.0, np.nan, 1), ValueError, "nan", id="to-nan"),
        pytest.param(lambda i: i.top_k(1.0, 2.0, -1), ValueError, "-1", id="top-k"),
    ],
)
def test_what_is_refused_changes_nothing(index, change, error, named):
    with refused(index, error, named, contents):
        change(index)


@pytest.mark.large
@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_thousands_of_objects(order):
    rng = np.random.default_rng(0)
    places = np.arange(5_000.0)
    if order == "descending":
        places = places[::-1]
    elif order == "random":
        places = rng.permutation(places)
    index = ObjectIndex()
    objects = dict(zip(places.tolist(), rng.integers(0, 300, 5_000).astype(float), strict=True))
    objects = {x: float(y) for x, y in objects.items()}
    for x, y in objects.items():
        index.put(x, y)
    for x in places[::3].tolist():
        index.remove(x)
        del objects[x]
    index.check()
    for x in rng.choice(places, 60).tolist():
        key = (float(rng.integers(0, 300)), x)
        for side in ("left", "right"):
            assert list(index.first_k(x, key, 9, side)) == first_k(objects, x, key, 9, side)
        assert index.min_y(x, x + 500, key) == min_y(objects, x, x + 500, key)
        assert list(index.top_k(x - 99, x, 9)) == ranked(objects, x - 99, x)[:9]
