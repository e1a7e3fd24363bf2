"""How many messages a server sends, against the fewest that could do."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.paint import PaintDense, PaintSparse
from tests.effort import effort
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import change_of
from tests.oracles import paint as oracle


def fewest_by_object(expected, needs):
    """Object -> the least number of rectangles that reach those who need it and nobody else."""
    ranges = {id: (low, high) for id, (low, high, _) in expected.subscriptions.items()}
    objects = {x for need in needs.values() for x in need.must}
    return {
        x: oracle.fewest_rectangles(
            {ranges[id] for id, need in needs.items() if x in need.must},
            {ranges[id] for id, need in needs.items() if x not in need.must},
        )
        for x in objects
    }


def compare(cls, k, objects, ranges, changes):
    """Pairs of the numbers sent and needed, one for each object of each update."""
    expected, server = oracle.Server(k), cls(k)
    expected.objects = dict(objects)
    server.load(list(objects.items()))
    for id, ends in enumerate(ranges):
        expected.subscribe(id, *ends)
        server.subscribe(id, *ends)
    for x, y in changes:
        for event in change_of(expected.objects, x, y):
            fewest = fewest_by_object(expected, expected.apply([event]))
            sent = Counter(message.x for message in server.update(*event))
            assert sent.keys() == fewest.keys()
            yield from ((sent[x], fewest[x]) for x in fewest)


changes = st.lists(
    st.tuples(some.xs, st.one_of(st.none(), some.ys, some.ys)), min_size=1, max_size=6
)


@settings(max_examples=effort(short=80, long=500))
@given(
    k=some.ks,
    objects=st.dictionaries(some.xs, some.ys, min_size=4, max_size=8),
    ranges=st.lists(some.ranges, min_size=1, max_size=14),
    changes=changes,
)
def test_a_server_that_knows_the_subscriptions_sends_at_most_twice_the_fewest(
    k, objects, ranges, changes
):
    for sent, fewest in compare(PaintSparse, k, objects, ranges, changes):
        assert fewest <= sent <= 2 * fewest


_around_the_middle = st.tuples(
    st.sampled_from([float(low) for low in range(6)]),
    st.sampled_from([float(high) for high in range(5, 11)]),
)


@settings(max_examples=effort(short=80, long=500))
@given(
    k=st.integers(3, 5),
    values=st.permutations([float(y) for y in range(1, 11)]),
    ranges=st.sets(_around_the_middle, min_size=3, max_size=8),
)
def test_steps_with_few_subscriptions_are_merged(k, values, ranges):
    """The middle one of eleven comes as the worst, rises to the best, and leaves."""
    objects = dict(zip([float(x) for x in range(11) if x != 5], values, strict=True))
    changes = [(5.0, 11.0), (5.0, 0.0), (5.0, 11.0), (5.0, 0.0), (5.0, None)]
    for sent, fewest in compare(PaintSparse, k, objects, sorted(ranges), changes):
        assert fewest <= sent <= 2 * fewest


@settings(max_examples=effort(short=40, long=200))
@given(k=some.ks, values=st.permutations([float(y) for y in range(6)]), changes=changes)
def test_if_every_range_is_subscribed_the_dense_server_sends_the_fewest(k, values, changes):
    """Objects on every place of a grid of six, and all its ranges; none comes or goes."""
    objects = dict(zip(some.PLACES, values, strict=False))
    ranges = [(low, high) for low, high in some.EVERY_RANGE if high < len(values)]
    kept = [(x, y) for x, y in changes if x in objects and y is not None]
    for sent, fewest in compare(PaintDense, k, objects, ranges, kept):
        assert sent == fewest


@pytest.mark.parametrize("cls", [PaintDense, PaintSparse], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_staircase_has_k_steps(cls, k):
    server = cls(k)
    server.load([(float(x), 1.0) for x in range(11) if x != 5])
    grid = [(float(a), float(b)) for a in range(11) for b in range(a, 11)]
    server.subscribe_many(range(len(grid)), *zip(*grid, strict=True))
    assert len(server.update(5.0, None, 2.0)) == k


def test_rectangles_are_merged_where_nobody_else_is_in_between():
    """Three steps of a staircase with a subscription in each, and none beside it: one message."""
    dense, sparse = PaintDense(3), PaintSparse(3)
    for server in (dense, sparse):
        server.load([(float(x), 1.0) for x in range(9) if x != 4])
        for id, ends in enumerate([(2.0, 4.0), (3.0, 5.0), (4.0, 6.0)]):
            server.subscribe(id, *ends)
    assert len(dense.update(4.0, None, 2.0)) == 3
    assert len(sparse.update(4.0, None, 2.0)) == 1
    sparse.subscribe(9, 2.0, 5.0)  # has three better objects
    assert len(sparse.update(4.0, 2.0, 3.0)) == 2


def test_exposed_objects_without_listeners_are_passed_over():
    """The best of sixty leaves; who listens has but two objects in range."""
    server = PaintSparse(1)
    server.load([(float(x), float(abs(x - 30))) for x in range(60)])
    server.subscribe(1, 30.0, 31.0)
    assert [message[4:] for message in server.update(30.0, 0.0, None)] == [
        (30.0, oracle.INF),
        (31.0, 1.0),
    ]


def test_a_sweep_ends_where_no_subscription_is_left():
    """k = 1: the object at 3 stands between better ones at 1 and 5."""
    server = PaintSparse(1)
    server.load([(1.0, 1.0), (3.0, 3.0), (5.0, 2.0), (4.0, 9.0)])
    server.subscribe(1, 1.0, 3.0)  # has the better one at 1
    server.update(3.0, 3.0, 8.0)
    assert server.calls[1:] == (0, 1, 1), "nobody is inside the influence interval"
    server.subscribe(2, 3.0, 4.0)
    server.update(3.0, 8.0, 8.5)
    assert server.calls.min_y == 1
    assert server.calls.ruled_out == 1, "there it ends at the new value"
    server.update(3.0, 8.5, None)
    assert server.calls.min_y == 2
    assert server.calls.ruled_out == 2, "the object at 4 is passed, and nobody is left"
    server.update(3.0, None, 0.5)
    assert server.calls.min_y + server.calls.ruled_out == 4, "what gets better exposes nothing"


@given(k=some.ks, objects=some.objects, ranges=st.lists(some.ranges, max_size=14), changes=changes)
def test_a_server_that_knows_the_subscriptions_asks_no_more(k, objects, ranges, changes):
    dense, sparse, lowered = PaintDense(k), PaintSparse(k), 0
    for server in (dense, sparse):
        server.load(list(objects.items()))
        server.subscribe_many(range(len(ranges)), *([e[side] for e in ranges] for side in (0, 1)))
    objects = dict(objects)
    for x, y in changes:
        for event in change_of(objects, x, y):
            old_y, new_y = event[1:]
            lowered += old_y is not None and (new_y is None or old_y < new_y)
            for server in (dense, sparse):
                server.update(*event)
            objects.pop(x, None)
            objects |= {} if y is None else {x: y}
    assert dense.calls.ruled_out == 0
    assert lowered <= sparse.calls.min_y + sparse.calls.ruled_out <= dense.calls.min_y
