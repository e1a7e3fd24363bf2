"""Subscriptions of 1.5 dimensions: a range of x and a least z."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from indexes.paint import Box, PaintDense, PaintOneAndHalf, TopKList
from tests.indexes.intervals.columns import SHRINKING
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import refused
from tests.oracles import paint as oracle
from tests.oracles.paint import INF, Site

zs = st.integers(0, 4).map(float)
floors = st.sampled_from([-INF, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 4.0, 5.0])
objects = st.dictionaries(some.xs, st.builds(Site, zs, some.ys), max_size=8)
subscriptions = st.lists(st.tuples(some.ranges, floors), min_size=1, max_size=15)
FLOORS = [-INF, 0.0, 1.0, 1.5, 2.0, 3.0]
EVERY_SUBSCRIPTION = [
    (low, high, z_min) for low, high in some.WIDER_RANGES[::2] for z_min in FLOORS
]


class Listeners:
    """One server, all objects, and a list behind every subscription."""

    def __init__(self, k, objects):
        self.k = k
        self.objects = dict(objects)
        self.server = PaintOneAndHalf(k)
        self.server.load([(x, site.z, site.y) for x, site in objects.items()])
        self.wanted = {}
        self.lists = {}

    def whole(self, id):
        return oracle.ranked_above(self.objects, *self.wanted[id])

    def subscribe(self, id, low, high, z_min):
        self.wanted[id] = (low, high, z_min)
        first = self.server.subscribe(id, low, high, z_min)
        expected = self.whole(id)[: self.k]
        assert list(first) == [(x, self.objects[x].z, y) for x, y in expected]
        self.lists[id] = TopKList(self.k, expected)

    def unsubscribe(self, id):
        self.server.unsubscribe(id)
        del self.wanted[id], self.lists[id]

    def change(self, x, z, y):
        """Insert, change or (None) remove; a known object keeps its z."""
        before = {id: self.whole(id)[: self.k] for id in self.wanted}
        known = self.objects.get(x)
        if known is None and y is None:
            return
        z, old_y = (z, None) if known is None else known
        if y is None:
            del self.objects[x]
        else:
            self.objects[x] = Site(z, y)
        boxes = self.server.update(x, z, old_y, y)
        if y == old_y:
            assert boxes == []
        received = self.deliver(boxes)
        for id in self.wanted:
            every = self.whole(id)
            need = oracle.need(before[id], every[: self.k], dict(every), self.k)
            assert need.holds(received[id]), f"{self.wanted[id]}: {received[id]}, {need}"
            assert list(self.lists[id].items) == every[: self.k]

    def deliver(self, boxes):
        received = {id: [] for id in self.wanted}
        for box in boxes:
            assert type(box) is Box
            if box.x in self.objects:
                assert box.z == self.objects[box.x].z
            for id, wanted in self.wanted.items():
                if oracle.box_reaches(box, *wanted):
                    self.lists[id].apply(box)
                    received[id].append((box.x, box.y))
        return received


class AgainstTheOracle(RuleBasedStateMachine):
    @initialize(k=st.integers(1, 3), objects=objects, subscriptions=subscriptions)
    def start(self, k, objects, subscriptions):
        self.listeners = Listeners(k, objects)
        for id, (ends, z_min) in enumerate(subscriptions):
            self.listeners.subscribe(id, *ends, z_min)

    @rule(id=some.ids, ends=some.ranges, z_min=floors)
    def subscribe(self, id, ends, z_min):
        if id in self.listeners.wanted:
            self.listeners.unsubscribe(id)
        self.listeners.subscribe(id, *ends, z_min)

    @rule(x=some.xs, z=zs, y=some.ys)
    def put(self, x, z, y):
        self.listeners.change(x, z, y)

    @rule(x=some.xs, z=zs, y=some.ys)
    def put_again(self, x, z, y):
        self.listeners.change(x, z, y)

    @precondition(lambda self: self.listeners.objects)
    @rule(data=st.data())
    def remove(self, data):
        x = data.draw(st.sampled_from(sorted(self.listeners.objects)))
        self.listeners.change(x, None, None)

    @invariant()
    def structure_holds(self):
        if hasattr(self, "listeners"):
            self.listeners.server.check()


TestAgainstTheOracle = SHRINKING(AgainstTheOracle.TestCase)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_every_change_of_every_object(k):
    sites = {
        0.0: Site(1.0, 3.0), 1.0: Site(2.0, 1.0), 2.0: Site(0.0, 4.0), 3.0: Site(1.0, 1.0),
        5.0: Site(3.0, 2.0), 6.0: Site(2.0, 2.0),
    }  # fmt: skip
    listeners = Listeners(k, sites)
    for id, wanted in enumerate(EVERY_SUBSCRIPTION):
        listeners.subscribe(id, *wanted)
    for x, z in [(3.0, 1.0), (4.0, 2.0), (5.0, 3.0), (0.0, 1.0)]:
        for y in (5.0, 0.0, 2.0, None, 1.0):
            listeners.change(x, z, y)
    listeners.server.check()


def test_equal_zs_are_the_one_dimensional_problem():
    """One z for all: a box for each message of the dense server, of those below it."""
    dense, server = PaintDense(2), PaintOneAndHalf(2)
    pairs = [(float(x), float(x * 5 % 7)) for x in range(8)]
    dense.load(pairs)
    server.load([(x, 1.0, y) for x, y in pairs])
    for x, old_y, new_y in [(4.0, 6.0, 0.5), (4.0, 0.5, 5.5), (0.0, 0.0, None), (0.0, None, 3.0)]:
        boxes = server.update(x, 1.0, old_y, new_y)
        messages = dense.update(x, old_y, new_y)
        flat = [(*box[:4], box.x, box.y) for box in boxes]
        assert sorted(flat) == sorted(map(tuple, messages))
        assert {box.z_high for box in boxes} == {1.0}


def test_the_least_z_is_in():
    server = PaintOneAndHalf(1)
    server.load([(1.0, 2.0, 5.0)])
    assert list(server.subscribe(1, 0.0, 2.0, 2.0)) == [(1, 2, 5)]
    assert list(server.subscribe(2, 0.0, 2.0, np.nextafter(2.0, 3.0))) == []
    (box,) = server.update(1.0, 2.0, 5.0, 4.0)
    assert oracle.box_reaches(box, 0.0, 2.0, 2.0)
    assert oracle.box_reaches(box, -INF, INF, -INF)
    assert not oracle.box_reaches(box, 0.0, 2.0, np.nextafter(2.0, 3.0))


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        pytest.param(lambda s: s.subscribe(1, 0.0, 1.0, 0.0), KeyError, "1", id="known-id"),
        pytest.param(lambda s: s.subscribe(9, np.nan, 1.0, 0.0), ValueError, "nan", id="nan-low"),
        pytest.param(lambda s: s.subscribe(9, 0.0, 1.0, np.nan), ValueError, "nan", id="nan-z"),
        pytest.param(lambda s: s.subscribe(9, 2.5, 1.0, 0.0), ValueError, "2.5", id="order"),
        pytest.param(lambda s: s.unsubscribe(77), KeyError, "77", id="unknown-id"),
        pytest.param(lambda s: s.update(7.0, 1.0, 3.0, 2.0), KeyError, "7", id="unknown-x"),
        pytest.param(lambda s: s.update(1.0, 2.0, None, 4.0), KeyError, "1", id="inserted-twice"),
        pytest.param(lambda s: s.update(1.0, 2.0, 3.5, 4.0), ValueError, "3.5", id="wrong-old-y"),
        pytest.param(lambda s: s.update(1.0, 3.5, 5.0, 4.0), ValueError, "3.5", id="wrong-z"),
        pytest.param(lambda s: s.update(7.0, np.nan, None, 4.0), ValueError, "nan", id="nan-new-z"),
        pytest.param(lambda s: s.update(7.0, INF, None, 4.0), ValueError, "inf", id="infinite-z"),
        pytest.param(lambda s: s.update(7.0, 1.0, None, INF), ValueError, "inf", id="infinite-y"),
        pytest.param(lambda s: s.update(1.0, 2.0, 5.0, np.nan), ValueError, "nan", id="nan-y"),
    ],
)
def test_what_is_refused_changes_nothing(change, error, named):
    server = PaintOneAndHalf(2)
    server.load([(1.0, 2.0, 5.0), (3.0, 1.0, 4.0)])
    server.subscribe(1, 0.0, 4.0, 0.0)
    with pytest.raises(error) as caught:
        change(server)
    assert named in str(caught.value)
    server.check()
    assert list(server.subscribe(9, -INF, INF, -INF)) == [(3, 1, 4), (1, 2, 5)]
    assert [(box.x, box.y) for box in server.update(1.0, 2.0, 5.0, 6.0)] != []


@pytest.mark.parametrize("k", [0, -1])
def test_a_k_below_one_is_refused(k):
    with pytest.raises(ValueError, match=str(k)):
        PaintOneAndHalf(k)


@given(
    k=st.integers(1, 4),
    objects=objects,
    changes=st.lists(st.tuples(some.xs, st.one_of(st.none(), some.ys, some.ys)), max_size=8),
)
def test_of_one_z_min_the_boxes_are_the_messages_of_the_objects_that_it_leaves(k, objects, changes):
    """However slabs are joined and boxes made longer, each z_min is a problem of one dimension."""
    server = PaintOneAndHalf(k)
    server.load([(x, site.z, site.y) for x, site in objects.items()])
    dense = {z_min: PaintDense(k) for z_min in FLOORS}
    for z_min, one in dense.items():
        one.load([(x, site.y) for x, site in objects.items() if site.z >= z_min])
    ys = {x: site.y for x, site in objects.items()}
    for x, new_y in changes:
        old_y, z = ys.get(x), objects[x].z if x in objects else 2.0
        if old_y is None and new_y is None:
            continue
        ys[x] = new_y
        boxes = server.update(x, z, old_y, new_y)
        for z_min, one in dense.items():
            messages = one.update(x, old_y, new_y) if z >= z_min else []
            flat = [
                (*box[:4], box.x, box.y)
                for box in boxes
                if (box.z_low < z_min or box.z_low == -INF) and z_min <= box.z_high
            ]
            assert sorted(flat) == sorted(map(tuple, messages)), f"z_min = {z_min}"


def test_equal_tiles_of_neighbouring_slabs_make_one_box():
    r"""
    z 9      4       8
    z 5      |  5    |      low in (4, 5]: whatever z_min is
    z 3   2  |  |    |      low <= 4, high < 8: from 3 on without what has 2
    """
    server = PaintOneAndHalf(2)
    server.load([(2.0, 3.0, 1.0), (4.0, 9.0, 1.0), (5.0, 5.0, 7.0), (8.0, 9.0, 1.0)])
    assert [box[:6] for box in server.update(5.0, 5.0, 7.0, 6.0)] == [
        (5.0, 5.0, 4.0, INF, -INF, 5.0),
        (4.0, 5.0, -INF, 8.0, 3.0, 5.0),
        (4.0, 5.0, 2.0, 8.0, -INF, 3.0),
    ]


def test_index_calls_are_counted():
    """Three slabs: two better objects are met, one by one, and then none."""
    server = PaintOneAndHalf(1)
    server.load([(1.0, 1.0, 10.0), (2.0, 2.0, 20.0), (3.0, 5.0, 25.0), (4.0, 0.0, 15.0)])
    server.update(2.0, 2.0, 20.0, 18.0)
    assert server.calls == (2, 3, 0)
    # Each slab is asked for its next exposed object; the one that has it is asked again.
    server.update(2.0, 2.0, 18.0, 30.0)
    assert server.calls == (4, 6, 4)


def test_an_update_asks_for_few_objects():
    """As in the paper's Table VII, though among fewer objects: see the benchmark for its size."""
    rng = np.random.default_rng(3)
    xs, zs, ys = rng.permutation(400).astype(float), rng.random(400), rng.random(400)
    server = PaintOneAndHalf(1)
    server.load(np.column_stack([xs, zs, ys]))
    server.update_many(xs[:100], zs[:100], ys[:100], rng.random(100))
    server.check()
    calls = server.calls
    assert calls.first_k == 200
    assert 100 <= calls.min_z + calls.min_y < 1_000


def test_updates_by_columns_are_those_one_by_one():
    rows = [(float(x), float(x % 3), float(x * 5 % 7)) for x in range(8)]
    updates = [
        (4.0, 1.0, 6.0, 0.5), (4.0, 1.0, 0.5, None), (4.0, 2.0, None, 3.0), (0.0, 0.0, 0.0, 9.0),
        (9.0, 1.0, None, 1.0), (4.0, 2.0, 3.0, 3.0),
    ]  # fmt: skip
    one, many = PaintOneAndHalf(2), PaintOneAndHalf(2)
    for server in (one, many):
        server.load(rows)
    expected = [(i, box) for i, update in enumerate(updates) for box in one.update(*update)]
    columns = np.array([[np.nan if value is None else value for value in row] for row in updates]).T
    table = many.update_many(*columns)
    assert list(zip(table.event.tolist(), table.boxes(), strict=True)) == expected
    many.check()
    assert many.top_k(-INF, INF, -INF) == one.top_k(-INF, INF, -INF)


@pytest.mark.parametrize(
    ("columns", "error", "named"),
    [
        pytest.param(([1, 3], [2, 9.5], [5, 4], [6, 6]), ValueError, "9.5", id="wrong-z"),
        pytest.param(([1, 1], [2, 9.5], [5, 6], [6, 7]), ValueError, "9.5", id="other-z-again"),
        pytest.param(([1, 3], [2, 1], [5, 8.5], [6, 6]), ValueError, "8.5", id="wrong-old-y"),
        pytest.param(([1, 3], [2], [5, 4], [6, 6]), ValueError, "1 zs", id="lengths"),
        pytest.param(([1, 7], [2, 1], [5, 4], [6, 6]), KeyError, "7", id="unknown-x"),
    ],
)
def test_refused_columns_change_nothing(columns, error, named):
    server = PaintOneAndHalf(2)
    server.load([(1.0, 2.0, 5.0), (3.0, 1.0, 4.0)])
    with refused(server, error, named, lambda server: server.top_k(-INF, INF, -INF)):
        server.update_many(*columns)


@pytest.mark.parametrize(
    ("objects", "error", "named"),
    [
        pytest.param([(7.0, 1.0, 2.0), (1.0, 1.0, 2.0)], KeyError, "1", id="known-x"),
        pytest.param([(7.0, 1.0, 2.0), (7.0, 2.0, 2.0)], KeyError, "7", id="twice"),
        pytest.param([(7.0, INF, 2.0)], ValueError, "inf", id="infinite-z"),
        pytest.param([(7.0, 2.0)], ValueError, "2 columns", id="pairs"),
    ],
)
def test_refused_objects_change_nothing(objects, error, named):
    server = PaintOneAndHalf(2)
    server.load([(1.0, 2.0, 5.0), (3.0, 1.0, 4.0)])
    with refused(server, error, named, lambda server: server.top_k(-INF, INF, -INF)):
        server.load(objects)


def test_objects_are_loaded_before_anyone_subscribes():
    server = PaintOneAndHalf(2)
    server.load([])
    size = server.nbytes
    server.subscribe(4, 0.0, 1.0, 0.0)
    assert len(server) == 1
    with pytest.raises(ValueError, match="1 have subscribed"):
        server.load([(1.0, 2.0, 5.0)])
    assert server.nbytes >= size > 0
