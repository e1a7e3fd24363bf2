"""Objects with ids, any number of them at one x: everybody's list is right after every group."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from indexes.paint.named import NamedPaint
from tests.effort import effort
from tests.indexes.intervals.columns import SHRINKING
from tests.indexes.paint.audience import contents, copied
from tests.indexes.paint.named import listeners as some
from tests.indexes.paint.named.listeners import INF, NAN, Listener, Room, columns, messages


def said(painted):
    """Everything that it says, to be compared."""
    arrays = [*painted[:6], *painted.states[1:], painted.gone_group, painted.gone_to]
    return [array.tobytes() for array in arrays], painted.states.ids, painted.gone_ids


@pytest.fixture(params=some.FORMS)
def form(request):
    return request.param


class NamedAgainstTheOracle(RuleBasedStateMachine):
    @initialize(
        k=some.ks,
        form=some.forms,
        objects=some.puts,
        ranges=st.lists(some.ranges, min_size=1, max_size=8),
    )
    def start(self, k, form, objects, ranges):
        self.room = Room(k, *form)
        self.room.put_many(objects)
        self.room.subscribe(dict(enumerate(ranges)))
        self.subscribed = len(ranges)

    @rule(changes=st.one_of(some.puts, some.crowds))
    def put_many(self, changes):
        self.room.put_many(changes)

    @rule(changes=st.one_of(some.puts, some.crowds))
    def put_batch(self, changes):
        self.room.put_batch(changes)

    @precondition(lambda self: self.room.objects)
    @rule(data=st.data(), at_once=st.booleans(), again=st.booleans())
    def remove(self, data, at_once, again):
        """Some of those that are there, in any order, and back as they were."""
        objects = self.room.objects
        gone = data.draw(st.lists(st.sampled_from(sorted(objects)), unique=True))
        back = [(id, *objects[id]) for id in gone] if again else []
        changes = [(id, objects[id][0], None) for id in gone] + back
        (self.room.put_batch if at_once else self.room.put_many)(changes)

    @precondition(lambda self: self.room.objects)
    @rule(data=st.data(), to=some.xs, at_once=st.booleans())
    def move(self, data, to, at_once):
        """To another x, with the same y: into a cell where others may be."""
        known = self.room.objects
        chosen = data.draw(st.lists(st.sampled_from(sorted(known)), min_size=1, unique=True))
        changes = [(id, to, known[id][1]) for id in chosen]
        (self.room.put_batch if at_once else self.room.put_many)(changes)

    @rule(ranges=st.lists(some.ranges, min_size=1, max_size=4))
    def subscribe(self, ranges):
        self.room.subscribe(dict(enumerate(ranges, start=self.subscribed)))
        self.subscribed += len(ranges)

    @rule(data=st.data())
    def unsubscribe(self, data):
        if known := sorted(self.room.listeners):
            self.room.unsubscribe(data.draw(st.lists(st.sampled_from(known), unique=True)))

    @rule(changes=st.one_of(some.puts, some.crowds), at_once=st.booleans())
    def restore(self, changes, at_once):
        """One that comes out of arrays says what the other one says, byte by byte."""
        was, arrays = self.room.server, copied(self.room.server.to_arrays())
        self.room.server = NamedPaint.from_arrays(arrays)
        assert contents(self.room.server) == contents(was)
        put = "put_batch" if at_once else "put_many"
        expected = getattr(was, put)(*columns(changes))
        assert said(getattr(self.room, put)(changes)) == said(expected)

    @invariant()
    def structures_hold(self):
        if hasattr(self, "room"):
            self.room.check()

    def teardown(self):
        if hasattr(self, "room"):
            self.room.subscribe(dict(enumerate(some.EVERY_RANGE, start=self.subscribed)))


TestNamedAgainstTheOracle = SHRINKING(NamedAgainstTheOracle.TestCase)
TestNamedAgainstTheOracle.settings = settings(max_examples=3 * settings.default.max_examples)


many_ids = st.integers(0, 59).map(lambda number: f"o-{number:02}")
at_one_x = st.lists(
    st.tuples(many_ids, st.sampled_from([0.0, 1.0, 2.0, None])), min_size=1, max_size=60
)


@settings(max_examples=effort(short=60, long=300))
@given(k=st.integers(1, 3), form=some.forms, rows=at_one_x, at_once=st.integers(0, 60))
def test_a_cell_with_more_objects_than_it_has_floats(k, form, rows, at_once):
    """Cells have 8 to 16 floats here, and up to 60 objects come between each other."""
    room = Room(k, *form)
    room.subscribe({1: (-INF, INF), 2: (5.0, 5.0), 3: (4.0, 5.0), 4: (5.0, 9.0)})
    changes = [(id, 5.0, y) for id, y in rows]
    room.put_many(changes[at_once:])
    room.put_batch(changes[:at_once])
    room.put_many([(id, x, None) for id, (x, _) in sorted(room.objects.items())])
    room.check()


@pytest.mark.parametrize("k", [1, 2, 5])
def test_ids_that_always_come_between_the_last_two(form, k):
    """Room between neighbours halves each time; so objects get other places, and nobody sees."""
    room = Room(k, form)
    room.subscribe(dict(enumerate(some.EVERY_RANGE)))
    left, right = "a", "b"
    room.put_many([(left, 0.0, 5.0), (right, 0.0, 5.0)])
    for step in range(40):
        middle = left + "ab"[step % 2]
        room.put_many([(middle, 0.0, 5.0 - step % 3)])
        left = middle
        room.check()
    room.put_batch([(id, 0.0, 1.0) for id in room.objects])
    room.put_batch([(id, 1.0, 1.0) for id in room.objects])
    room.check()


@given(k=some.ks, form=some.forms, before=some.puts, changes=st.one_of(some.puts, some.crowds))
def test_at_once_leads_to_the_lists_of_one_by_one(k, form, before, changes):
    one_by_one, at_once = Room(k, *form), Room(k, *form)
    for room in (one_by_one, at_once):
        room.put_many(before)
        room.subscribe(dict(enumerate(some.EVERY_RANGE)))
    one_by_one.put_many(changes)
    at_once.put_batch(changes)
    assert one_by_one.objects == at_once.objects
    assert [x.list for x in one_by_one.listeners.values()] == [
        x.list for x in at_once.listeners.values()
    ]


@given(
    k=some.ks,
    form=some.forms,
    objects=some.puts,
    ranges=st.lists(some.ranges, max_size=6),
    changes=st.lists(st.one_of(some.puts, some.crowds), min_size=2, max_size=4),
)
def test_how_a_log_is_cut_into_calls_changes_nothing(k, form, objects, ranges, changes):
    """What comes again after a crash is cut elsewhere, and says the same."""
    cut, whole = NamedPaint(k, *form), NamedPaint(k, *form)
    for server in (cut, whole):
        server.put_many(*columns(objects))
        lows, highs = ([ends[side] for ends in ranges] for side in (0, 1))
        server.subscribe_many(range(len(ranges)), lows, highs)
    together = whole.put_many(*columns([change for part in changes for change in part]))
    first = 0
    for part in changes:
        painted = cut.put_many(*columns(part))
        for group in range(len(part)):
            assert [vars(message) for message in messages(painted, group)] == [
                vars(message) for message in messages(together, first + group)
            ]
        first += len(part)
    assert contents(cut) == contents(whole)


def test_objects_of_one_x_and_one_y_are_in_the_order_of_their_ids(form):
    room = Room(3, form)
    room.subscribe({1: (4.0, 4.0)})
    room.put_many([(id, 4.0, 1.0) for id in ("b", "é", "Z", "a", "~", "10", "9")])
    assert [item["id"] for item in room.listeners[1].list] == ["10", "9", "Z"]


def test_y_goes_before_x_and_x_before_the_id(form):
    room = Room(4, form)
    room.subscribe({1: (-INF, INF)})
    room.put_many([("a", 3.0, 2.0), ("b", 2.0, 2.0), ("c", 3.0, 1.0), ("A", 9.0, 2.0)])
    assert [item["id"] for item in room.listeners[1].list] == ["c", "b", "a", "A"]


def test_zeros_of_both_signs_are_one_x_and_one_y(form):
    room = Room(2, form)
    room.subscribe({1: (-0.0, -0.0), 2: (0.0, 0.0)})
    room.put_many([("a", -0.0, 0.0), ("b", 0.0, -0.0)])
    assert [item["id"] for item in room.listeners[1].list] == ["a", "b"]
    assert len(room.put_many([("a", 0.0, -0.0)]).group) == 0


def test_the_next_of_a_cell_takes_the_place_of_the_best(form):
    """k = 1: nobody ever heard of the others of that x, until the best goes."""
    room = Room(1, form)
    room.subscribe({1: (4.0, 4.0), 2: (-INF, INF), 3: (5.0, 9.0)})
    room.put_many([(f"o-{i}", 4.0, float(i)) for i in range(20)])
    for i in range(20):
        assert [item["id"] for item in room.listeners[1].list] == [f"o-{i}"]
        room.put_many([(f"o-{i}", 4.0, None)])
    assert room.listeners[2].list == []


def test_what_is_too_bad_for_its_x_is_told_to_nobody(form):
    room = Room(2, form)
    room.subscribe({1: (-INF, INF)})
    room.put_many([("a", 4.0, 1.0), ("b", 4.0, 2.0)])
    painted = room.put_many([("c", 4.0, 3.0), ("d", 4.0, 4.0), ("c", 4.0, 5.0), ("d", 4.0, None)])
    assert len(painted.group) == 0
    assert room.server.objects == 3


@pytest.mark.parametrize("at_once", [False, True])
def test_what_changes_nothing_is_told_to_nobody(form, at_once):
    room = Room(2, form)
    room.subscribe({1: (-INF, INF)})
    room.put_many([("a", 4.0, 1.0), ("b", 4.0, 2.0)])
    put = room.put_batch if at_once else room.put_many
    painted = put([("a", 4.0, 1.0), ("c", 1.0, None), ("b", 4.0, 2.0), ("b", 4.0, 2.0)])
    assert len(painted.group) == 0
    assert len(painted.gone_group) == 0
    assert len(put([]).group) == 0


def test_within_a_batch_only_the_net_effect_counts(form):
    room = Room(2, form)
    room.subscribe({1: (-INF, INF)})
    room.put_many([("a", 4.0, 1.0), ("b", 3.0, 2.0), ("c", 5.0, 3.0)])
    assert len(room.put_batch([("a", 4.0, None), ("a", 4.0, 1.0), ("c", 1.0, 0.0),
                               ("c", 5.0, 3.0)]).group) == 0  # fmt: skip
    painted = room.put_batch([("a", 4.0, 9.0), ("d", 1.0, 0.0), ("d", 1.0, None)])
    assert {message.id for message in messages(painted, 0)} == {"a", "c"}


@pytest.mark.parametrize("at_once", [False, True])
def test_who_goes_is_named_with_where_it_goes(form, at_once):
    room = Room(2, form)
    room.subscribe({1: (-INF, INF)})
    room.put_many([("a", 4.0, 1.0), ("b", 3.0, 2.0)])
    put = room.put_batch if at_once else room.put_many
    moved = put([("a", 7.0, 1.0)])
    assert (moved.gone_ids, moved.gone_to.tolist()) == ([b"a"], [7.0])
    removed = put([("b", 3.0, None)])
    assert removed.gone_ids == [b"b"]
    assert math.isnan(removed.gone_to[0])
    assert put([("a", 7.0, 5.0)]).gone_ids == []


def test_neighbouring_floats_are_one_place_and_numbers_of_13_digits_are_not(form):
    """Of neighbours it is only said that who has one in range has both."""
    server = NamedPaint(10, form)
    near = float(np.nextafter(4.0, INF))
    server.subscribe_many([1], [4.0], [4.0])
    server.put_many([b"a", b"b"], [near, 4.0], [1.0, 1.0])
    assert server.first_lists([4.0], [4.0]).counts.tolist() == [2]
    found = server.first_lists([near], [near])
    assert [found.objects.ids[row] for row in found.states.tolist()] == [b"b", b"a"]
    assert found.objects.x[found.states].tolist() == [4.0, near]
    server.check()
    room = Room(10, form)
    xs = [round(9.999999999999 - i * 1e-12, 12) for i in range(40)]
    room.put_batch([(f"o-{i}", x, 1.0) for i, x in enumerate(xs)])
    room.subscribe({i: (x, x) for i, x in enumerate(xs)})
    assert all(len(one.list) == 1 for one in room.listeners.values())
    room.put_many([(f"o-{i}", x, 0.5) for i, x in enumerate(xs)])


def test_a_move_to_a_neighbouring_float_is_a_change(form):
    room = Room(2, form)
    room.subscribe({1: (-INF, INF)})
    room.put_many([("a", 4.0, 1.0), ("b", 4.0, 1.0)])
    near = float(np.nextafter(4.0, INF))
    room.put_many([("a", near, 1.0)])
    assert room.listeners[1].list == [
        {"id": "b", "x": 4.0, "y": 1.0},
        {"id": "a", "x": near, "y": 1.0},
    ]
    room.check()


near_four = st.sampled_from([4.0, float(np.nextafter(4.0, INF)), 4.0 + 4 * math.ulp(4.0)])


@given(
    k=st.integers(2, 4),
    form=some.forms,
    rows=st.lists(st.tuples(many_ids, near_four, st.sampled_from([0.0, 0.0, None])), max_size=40),
    at_once=st.integers(0, 40),
)
def test_within_a_cell_x_goes_before_the_id(k, form, rows, at_once):
    """Whoever has one of them has all, in their order."""
    room = Room(k, *form)
    room.subscribe({1: (-INF, INF), 2: (3.0, 5.0), 3: (3.0, 3.5)})
    room.put_many(rows[at_once:])
    room.put_batch(rows[:at_once])
    room.check()
    loaded = Room(k, *form)
    loaded.server.load(*columns([(id, *place) for id, place in room.objects.items()]))
    loaded.objects = dict(room.objects)
    loaded.check()
    loaded.subscribe({1: (-INF, INF)})


@pytest.mark.parametrize("x", [-1.7e308, -1e-300, -1e-320, 0.0, 1e-320, 1.7e308, 2.0**60])
def test_extreme_places(form, x):
    room = Room(2, form)
    ends = sorted({-INF, -1.7e308, 0.0, x, INF})
    room.subscribe(dict(enumerate((low, high) for low in ends for high in ends if low <= high)))
    room.put_many([(f"o-{i}", x, float(i % 4)) for i in range(12)])
    room.put_many([("best", -x, -1.7e308), ("worst", x, 1.7e308)])
    room.put_batch([(f"o-{i}", x, None) for i in range(11)])
    room.check()


def test_ends_that_are_open_have_everything(form):
    room = Room(1, form)
    room.subscribe({1: (-INF, INF), 2: (-INF, 4.0), 3: (4.0, INF), 4: (-INF, 3.0), 5: (5.0, INF)})
    room.put_many([("a", 4.0, 1.0), ("b", 4.0, 0.0)])
    assert [len(one.list) for one in room.listeners.values()] == [1, 1, 1, 0, 0]
    room.put_many([("b", 4.0, None), ("a", 4.0, None)])
    assert not any(one.list for one in room.listeners.values())


@given(k=some.ks, form=some.forms, objects=some.puts, changes=some.crowds)
def test_loading_is_as_to_put_one_by_one(k, form, objects, changes):
    """Nobody is told, and what comes then is told right."""
    latest = {id: (x, y) for id, x, y in objects if y is not None}
    room = Room(k, *form)
    room.server.load(*columns([(id, x, y) for id, (x, y) in latest.items()]))
    room.objects = dict(latest)
    room.check()
    room.subscribe(dict(enumerate(some.EVERY_RANGE)))
    room.put_many(changes)
    room.check()


def test_loading_is_for_a_server_without_objects(form):
    server = NamedPaint(2, form)
    server.put_many([b"a"], [1.0], [1.0])
    with pytest.raises(ValueError, match="1 are there"):
        server.load([b"b"], [1.0], [1.0])


def test_first_lists_of_many_ranges_share_their_states(form):
    server = NamedPaint(2, form)
    server.put_many([b"a", b"b", b"c"], [1.0, 1.0, 2.0], [3.0, 2.0, 1.0])
    found = server.first_lists([1.0, 5.0, -INF, 2.0], [1.0, 6.0, INF, 2.0])
    assert found.counts.tolist() == [2, 0, 2, 1]
    names = [found.objects.ids[row] for row in found.states.tolist()]
    assert names == [b"b", b"a", b"c", b"b", b"c"]
    assert sorted(found.objects.ids) == [b"a", b"b", b"c"]


def test_nan_is_removed_whatever_the_x(form):
    room = Room(2, form)
    room.put_many([("a", 4.0, 1.0)])
    room.subscribe({1: (4.0, 4.0)})
    painted = room.server.put_many([b"a"], [NAN], [NAN])
    for message in messages(painted, 0):
        room.listeners[1].hears(message)
    assert room.listeners[1].list == []
    assert room.server.objects == 0


def test_a_listener_of_fewer_keeps_as_many_and_shows_its_own(form):
    room = Room(4, form)
    room.subscribe({1: (-INF, INF)})
    room.put_many([(f"o-{i}", float(i % 3), float(i % 2)) for i in range(9)])
    fewer = Listener(-INF, INF, 4)
    fewer.begin(room.server)
    for change in [("o-0", 0.0, None), ("o-3", 1.0, 9.0), ("o-8", 7.0, -1.0)]:
        painted = room.put_many([change])
        for message in messages(painted, 0):
            fewer.hears(message)
        assert fewer.list[:2] == room.list(-INF, INF)[:2]


@pytest.mark.large
def test_thousands_of_objects_at_hundreds_of_places(form):
    rng = np.random.default_rng(3)
    room = Room(10, form)
    names = [f"o-{i}" for i in range(2_000)]
    xs, ys = rng.integers(0, 100, 2_000).astype(float), rng.integers(0, 50, 2_000).astype(float)
    room.put_batch(list(zip(names, xs.tolist(), ys.tolist(), strict=True)))
    ends = np.sort(rng.integers(0, 100, (40, 2)).astype(float), axis=1)
    room.subscribe(dict(enumerate(map(tuple, ends.tolist()))))
    room.check()
    rows = [
        (names[rng.integers(2_000)], float(rng.integers(100)), float(rng.integers(50)))
        for _ in range(150)
    ]
    room.put_many(rows)
    room.put_batch([(id, x, None if i % 2 else y + 1) for i, (id, x, y) in enumerate(rows)])
    room.check()
