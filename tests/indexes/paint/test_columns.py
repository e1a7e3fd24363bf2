"""Updates in columns, and servers that go on from their arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.paint import Message, MessageTable, PaintDense, PaintSparse
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import INF, all_lists, contents, copied, refused
from tests.indexes.paint.test_batch import events_of

CLASSES = [PaintDense, PaintSparse]
FIELDS = ("event", "inner_low", "inner_high", "outer_low", "outer_high", "x", "y")
NAN = np.nan


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


def served(cls, k, objects, ranges, **options):
    server = cls(k, **options)
    server.load(list(objects.items()))
    for id, ends in enumerate(ranges):
        server.subscribe(id, *ends)
    return server


def columns(events):
    return tuple(
        np.array([NAN if event[part] is None else event[part] for event in events], dtype=float)
        for part in range(3)
    )


def rows(table):
    assert isinstance(table, tuple)
    assert set(FIELDS) <= set(table._fields)
    parts = [getattr(table, field) for field in FIELDS]
    assert {part.shape for part in parts} == {(len(table.event),)}
    assert table.event.dtype.kind == "i"
    return list(zip(*(part.tolist() for part in parts), strict=True))


changes = st.lists(st.tuples(some.xs, st.one_of(st.none(), some.ys, some.ys)), max_size=12)


@given(
    k=some.ks,
    epsilon=st.sampled_from([None, None, 0.5]),
    objects=some.objects,
    ranges=st.lists(some.ranges, max_size=15),
    changes=changes,
)
def test_columns_say_the_same_as_single_updates(k, epsilon, objects, ranges, changes):
    events = events_of(objects, changes)
    options = {} if epsilon is None else {"epsilon": epsilon}
    for cls in CLASSES:
        single, many = (served(cls, k, objects, ranges, **options) for _ in range(2))
        expected = [
            (at, *message) for at, event in enumerate(events) for message in single.update(*event)
        ]
        assert rows(many.update_many(*columns(events))) == expected
        many.check()
        ends = some.WIDER_RANGES[::4]
        assert all_lists(single, ends) == all_lists(many, ends)


def test_no_updates_give_an_empty_table(cls):
    table = served(cls, 1, {1.0: 1.0}, [(0.0, 2.0)]).update_many([], [], [])
    assert type(table) is MessageTable
    assert rows(table) == []


def test_columns_may_be_lists(cls):
    server = served(cls, 1, {1.0: 1.0}, [(0.0, 2.0)])
    (row,) = rows(server.update_many([1.0], [1.0], [3.0]))
    assert row[0] == 0
    assert row[5:] == (1.0, 3.0)
    assert type(served(cls, 1, {1.0: 1.0}, [(0.0, 2.0)]).update(1.0, 1.0, 3.0)[0]) is Message


OBJECTS = {0.0: 1.0, 1.0: 2.0, 2.0: 3.0}


@pytest.mark.parametrize(
    ("bad", "error", "named"),
    [
        pytest.param((1.0, 7.5, 3.0), ValueError, "7.5", id="wrong-old-y"),
        pytest.param((0.0, 1.0, 3.0), ValueError, "1.0", id="old-y-of-before-the-batch"),
        pytest.param((6.0, 7.5, 3.0), KeyError, "6", id="unknown-x"),
        pytest.param((1.0, NAN, 3.0), KeyError, "1", id="known-x-inserted"),
        pytest.param((NAN, NAN, 1.0), ValueError, "nan", id="nan-x"),
        pytest.param((1.0, 2.0, INF), ValueError, "inf", id="infinite-y"),
        pytest.param((INF, NAN, 2.0), ValueError, "inf", id="infinite-x"),
    ],
)
def test_one_bad_row_leaves_all_out(cls, bad, error, named):
    server = served(cls, 2, OBJECTS, some.EVERY_RANGE)
    good = [(0.0, 1.0, 9.0), (5.0, NAN, 1.0), (2.0, 3.0, NAN)]
    for at in (1, len(good)):
        given_columns = columns([*good[:at], bad, *good[at:]])
        with refused(server, error, named, lambda s: all_lists(s, some.EVERY_RANGE)):
            server.update_many(*given_columns)


@pytest.mark.parametrize(
    "lengths", [(1, 2, 2), (2, 1, 2), (2, 2, 1)], ids=["xs", "old-ys", "new-ys"]
)
def test_columns_of_different_lengths_are_refused(cls, lengths):
    server = served(cls, 2, OBJECTS, some.EVERY_RANGE)
    full = columns([(0.0, 1.0, 9.0), (1.0, 2.0, 4.0)])
    with refused(server, ValueError, "1", lambda s: all_lists(s, some.EVERY_RANGE)):
        server.update_many(*(part[:n] for part, n in zip(full, lengths, strict=True)))


@given(
    k=some.ks,
    epsilon=st.sampled_from([None, 0.5]),
    objects=some.objects,
    ranges=st.lists(some.ranges, max_size=10),
    before=changes,
    after=changes,
)
def test_a_server_from_arrays_goes_on_as_the_first(k, epsilon, objects, ranges, before, after):
    options = {} if epsilon is None else {"epsilon": epsilon}
    for cls in CLASSES:
        first = served(cls, k, objects, ranges, **options)
        now = dict(objects)
        for x, old_y, new_y in events_of(objects, before):
            first.update(x, old_y, new_y)
            now[x] = new_y
        if ranges:
            first.unsubscribe(0)
        again = cls.from_arrays(copied(first.to_arrays()))
        again.check()
        assert contents(again) == contents(first)
        present = {x: y for x, y in now.items() if y is not None}
        for event in events_of(present, after):
            assert again.update(*event) == first.update(*event)
        assert contents(again) == contents(first)
        assert again.subscribe(99, -INF, INF) == first.subscribe(99, -INF, INF)
        with pytest.raises(KeyError):
            again.subscribe(99, 0.0, 1.0)


def test_arrays_are_not_shared_with_the_server_that_goes_on(cls):
    server = served(cls, 2, OBJECTS, some.EVERY_RANGE)
    stored = copied(server.to_arrays())
    again = cls.from_arrays(copied(stored))
    again.update(0.0, 1.0, 9.0)
    assert all_lists(server, [(0.0, 2.0)]) == [[(0, 1), (1, 2)]]
    assert all_lists(cls.from_arrays(stored), [(0.0, 2.0)]) == [[(0, 1), (1, 2)]]


def test_the_same_history_gives_the_same_arrays(cls):
    first, again = (served(cls, 2, OBJECTS, some.EVERY_RANGE) for _ in range(2))
    for server in (first, again):
        server.update(0.0, 1.0, 2.5)
        server.update(4.0, None, 2.5)
        server.unsubscribe(3)
    assert contents(first) == contents(again)
