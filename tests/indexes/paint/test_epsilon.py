"""Fewer messages at the price of some that are not needed, and of none that is missed."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.paint import PaintDense, PaintSparse
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import Audience, Race, change_of

CLASSES = [PaintDense, PaintSparse]
EPSILONS = [0.25, 1 / 3, 0.5, 1.0]


def start(k, epsilon, objects, ranges):
    audiences = [Audience(cls(k, epsilon=epsilon), k, sparse=cls is PaintSparse) for cls in CLASSES]
    race = Race(k, objects, audiences)
    race.subscribe_many(dict(enumerate(ranges)))
    return race


def ranks(server, x):
    found = {}
    for id, (low, high, _) in server.subscriptions.items():
        known = x in server.objects and low <= x <= high
        found[id] = server.rank(x, low, high) if known else math.inf
    return found


def change(race, epsilon, event):
    """One update of all servers; what is received beyond need keeps to the bound on ranks."""
    expected, within = race.expected, (1 + epsilon) * race.expected.k
    x = event[0]
    before = ranks(expected, x)
    needs = expected.apply([event])
    for audience in race.audiences:
        sent = audience.server.update(*event)
        if event[1] == event[2]:
            assert sent == []
        counts = Counter(message.x for message in sent)
        assert max(counts.values(), default=0) <= math.ceil(1 / epsilon)
        received = audience.deliver(sent, expected)
        audience.assert_lists(expected)
        for id, got in received.items():
            low, high, _ = expected.subscriptions[id]
            where = f"{expected.subscriptions[id]} received {got}"
            assert len(dict(got)) == len(got), where
            assert needs[id].must.items() <= dict(got).items(), where
            for sent_x, sent_y in got:
                assert low <= sent_x <= high, where
                assert sent_y == expected.objects.get(sent_x, math.inf), where
                rank = expected.rank(sent_x, low, high) if sent_x in expected.objects else math.inf
                assert rank <= within or (sent_x == x and before[id] <= within), where


@given(
    k=st.integers(1, 6),
    epsilon=st.sampled_from(EPSILONS),
    objects=st.dictionaries(some.xs, some.ys, min_size=3, max_size=8),
    ranges=st.lists(some.ranges, max_size=25),
    changes=st.lists(st.tuples(some.xs, st.one_of(st.none(), some.ys, some.ys)), max_size=10),
)
def test_nobody_misses_anything_and_what_comes_in_vain_ranks_near_k(
    k, epsilon, objects, ranges, changes
):
    race = start(k, epsilon, objects, ranges)
    for x, y in changes:
        for event in change_of(race.expected.objects, x, y):
            change(race, epsilon, event)
    race.check()


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_range_is_subscribed(k, epsilon):
    objects = {0.0: 3.0, 1.0: 1.0, 2.0: 2.0, 3.0: 4.0, 4.0: 0.0, 5.0: 2.0, 6.0: 1.0, 7.0: 3.0}
    race = start(k, epsilon, objects, some.EVERY_RANGE)
    for x in (3.0, 4.0, 0.0):
        for y in (5.0, None, 2.5, 0.5):
            change(race, epsilon, change_of(race.expected.objects, x, y)[0])


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_one_message_covers_a_staircase_if_epsilon_is_one(cls):
    k, objects = 4, {float(x): float(abs(x - 8)) for x in range(17) if x != 8}
    exact, loose = cls(k), cls(k, epsilon=1.0)
    for server in (exact, loose):
        server.load(list(objects.items()))
        server.subscribe_many(
            range(153), *zip(*[(a, b) for a in range(17) for b in range(a, 17)], strict=True)
        )
    assert len(exact.update(8.0, None, 9.0)) == k
    assert len(loose.update(8.0, None, 9.0)) == 1


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_epsilon_of_one_kth_is_exact(cls):
    exact, loose = cls(4), cls(4, epsilon=0.25)
    for server in (exact, loose):
        server.load([(float(x), float(x * 5 % 7)) for x in range(8)])
        server.subscribe_many(range(36), *zip(*some.EVERY_RANGE, strict=True))
    for event in [(4.0, 6.0, 0.5), (4.0, 0.5, 5.5), (0.0, 0.0, None), (0.0, None, 3.0)]:
        assert exact.update(*event) == loose.update(*event)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("epsilon", [0.0, -0.5, 1.5, math.nan, math.inf])
def test_an_epsilon_outside_its_range_is_refused(cls, epsilon):
    with pytest.raises(ValueError, match=str(epsilon)):
        cls(2, epsilon=epsilon)
