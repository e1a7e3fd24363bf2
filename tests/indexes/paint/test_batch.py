"""Many updates at once: subscribers hear the net change, each object at most once."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexes.paint import PaintBatch, PaintDense, PaintSparse
from tests.effort import effort
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import INF, Race, all_lists, exact, refused

CLASSES = [PaintDense, PaintSparse]


def start(k, objects, ranges=tuple(some.EVERY_RANGE)):
    race = Race(k, objects, exact(k, **{cls.__name__: cls(k) for cls in CLASSES}))
    race.subscribe_many(dict(enumerate(ranges)))
    return race


def events_of(objects, changes):
    """Events for `x -> y` pairs in order, several of one object chained; None removes."""
    now = dict(objects)
    events = []
    for x, y in changes:
        if now.get(x) is None and y is None:
            continue
        events.append((x, now.get(x), y))
        now[x] = y
    return events


def apply_batch(race, changes):
    events = events_of(race.expected.objects, changes)
    race.apply(events, lambda server: PaintBatch(server).update(events))
    race.check()


changes = st.lists(st.tuples(some.xs, st.one_of(st.none(), some.ys, some.ys, some.ys)), max_size=8)


@settings(max_examples=effort(short=60, long=400))
@given(k=some.ks, objects=some.objects, batches=st.lists(changes, min_size=1, max_size=3))
@example(
    k=3,
    objects={0.0: 92.0, 1.0: 24.0, 2.0: 89.0, 3.0: 64.0, 4.0: 88.0, 5.0: 78.0},
    batches=[[(4.0, 60.0), (0.0, 15.0), (1.0, 74.0), (3.0, 85.0)]],
)
def test_all_ranges_hear_the_net_change(k, objects, batches):
    race = start(k, objects)
    for batch in batches:
        apply_batch(race, batch)


@settings(max_examples=effort(short=60, long=400))
@given(
    k=some.ks,
    objects=some.objects,
    ranges=st.lists(some.ranges, max_size=15),
    batches=st.lists(changes, min_size=1, max_size=3),
)
def test_few_ranges_hear_the_net_change(k, objects, ranges, batches):
    race = start(k, objects, ranges)
    for batch in batches:
        apply_batch(race, batch)
    for audience in race.audiences:
        found = all_lists(audience.server, some.EVERY_RANGE)
        assert found == [race.expected.top_k(*ends) for ends in some.EVERY_RANGE]


@settings(max_examples=effort(short=30, long=200))
@given(
    k=some.ks,
    objects=st.permutations(range(0, 800, 100)),
    batch=st.dictionaries(some.xs, st.integers(0, 799).map(float), min_size=2, max_size=6),
)
def test_batches_of_distinct_values(k, objects, batch):
    race = start(k, {float(x): float(y) for x, y in enumerate(objects)})
    apply_batch(race, batch.items())


OBJECTS = {0.0: 1.0, 1.0: 2.0, 2.0: 3.0, 3.0: 4.0, 4.0: 5.0}


@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize(
    "batch",
    [
        pytest.param([(7.0, 0.0), (6.0, 2.5)], id="inserts"),
        pytest.param([(0.0, None), (2.0, None)], id="deletions"),
        pytest.param([(x, None) for x in OBJECTS], id="all-deleted"),
        pytest.param([(0.0, None), (7.0, 0.5)], id="one-out-one-in"),
        pytest.param([(0.0, 9.0), (1.0, 8.0), (2.0, 7.0)], id="the-best-get-worse"),
        pytest.param([(2.0, 7.0), (1.0, 8.0), (0.0, 9.0)], id="the-best-get-worse-the-other-way"),
        pytest.param([(0.0, 9.0), (4.0, 0.0)], id="swapped"),
        pytest.param([(4.0, 0.0), (0.0, 9.0)], id="swapped-the-other-way"),
        pytest.param([(0.0, 6.0), (0.0, 0.5)], id="down-then-up"),
        pytest.param([(0.0, 0.5), (0.0, 6.0)], id="up-then-down"),
        pytest.param([(0.0, None), (0.0, 6.0)], id="deleted-and-back-worse"),
        pytest.param([(4.0, None), (4.0, 0.0)], id="deleted-and-back-better"),
        pytest.param([(0.0, 3.0), (1.0, 3.0), (4.0, 3.0)], id="all-tied"),
        pytest.param([(0.0, 4.5), (1.0, 4.75)], id="exposed-one-after-the-other"),
    ],
)
def test_a_batch(k, batch):
    race = start(k, OBJECTS, some.WIDER_RANGES)
    apply_batch(race, batch)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    "batch",
    [
        pytest.param([], id="empty"),
        pytest.param([(0.0, 9.0), (0.0, 1.0)], id="back-to-the-old-value"),
        pytest.param([(7.0, 0.0), (7.0, None)], id="inserted-and-removed"),
        pytest.param([(0.0, None), (0.0, 1.0)], id="removed-and-back"),
        pytest.param([(0.0, 1.0)], id="unchanged"),
        pytest.param([(7.0, 0.0), (0.0, 9.0), (7.0, None), (0.0, 1.0)], id="two-at-once"),
    ],
)
def test_what_comes_to_nothing_is_not_sent(cls, batch):
    server = cls(2)
    server.load(list(OBJECTS.items()))
    server.subscribe(1, -INF, INF)
    assert PaintBatch(server).update(events_of(OBJECTS, batch)) == []
    server.check()
    assert all_lists(server, [(-INF, INF)]) == [[(0, 1), (1, 2)]]


def test_a_batch_of_one_reaches_the_same_as_one_update():
    race = start(2, OBJECTS)
    for event in [(0.0, 1.0, 3.5), (0.0, 3.5, 0.5), (1.0, 2.0, None), (1.0, None, 2.0)]:
        race.apply([event], lambda server, event=event: PaintBatch(server).update([event]))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    ("bad", "error", "named"),
    [
        pytest.param((1.0, 7.5, 3.0), ValueError, "7.5", id="wrong-old-y"),
        pytest.param((0.0, 1.0, 3.0), ValueError, "1.0", id="old-y-of-before-the-batch"),
        pytest.param((6.0, 7.5, 3.0), KeyError, "6", id="unknown-x"),
        pytest.param((6.0, 7.5, None), KeyError, "6", id="unknown-x-removed"),
        pytest.param((1.0, None, 3.0), KeyError, "1", id="known-x-inserted"),
        pytest.param((1.0, 2.0, float("nan")), ValueError, "nan", id="nan-y"),
        pytest.param((float("nan"), None, 1.0), ValueError, "nan", id="nan-x"),
        pytest.param((1.0, 2.0, INF), ValueError, "inf", id="infinite-y"),
        pytest.param((-INF, None, 2.0), ValueError, "inf", id="infinite-x"),
    ],
)
def test_a_batch_with_one_bad_event_changes_nothing(cls, bad, error, named):
    server = cls(2)
    server.load(list(OBJECTS.items()))
    server.subscribe(1, 0.0, 3.0)
    good = [(0.0, 1.0, 9.0), (7.0, None, 1.0), (2.0, 3.0, None)]
    for at in (1, len(good)):
        with refused(server, error, named, lambda s: all_lists(s, some.EVERY_RANGE)):
            PaintBatch(server).update([*good[:at], bad, *good[at:]])
