"""The relation graph against a router that compares everything with everything."""

import copy

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.covering import Change, Commands, KDCover, NaiveCover, RelationGraph, ZOrderCover
from tests.indexes.covering import strategies as some
from tests.indexes.covering.strategies import INF, TinyKDCover
from tests.indexes.intervals.columns import SHRINKING, refused
from tests.oracles.covering import Router, contains

KINDS = [
    pytest.param(cls, k, prune, id=f"{cls.__name__}-{k}{'-prune' * prune}")
    for cls in some.TINY
    for k, prune in ((1, False), (3, False), (1, True))
]


@pytest.fixture(params=[False, True], ids=["plain", "prune"])
def graph(request):
    return RelationGraph(TinyKDCover(1), prune=request.param)


def subscribe(graph, *boxes):
    """Ids 0, 1, ... in this order; what each changes."""
    return [graph.subscribe(id, [low], [high]) for id, (low, high) in enumerate(boxes)]


def seen(graph):
    return [len(graph), graph.nbytes, graph.forwarded, graph.cover_calls]


def test_what_is_covered_is_not_forwarded_until_its_cover_leaves(graph):
    assert subscribe(graph, (0, 9), (1, 3), (2, 10)) == [([0], []), ([], []), ([2], [])]
    assert graph.unsubscribe(0) == Change(forward=[1], withdraw=[0])
    assert graph.unsubscribe(1) == Change(forward=[], withdraw=[1])
    assert graph.forwarded == frozenset([2])
    graph.check()


def test_of_equal_boxes_exactly_one_is_forwarded_when_their_cover_leaves(graph):
    subscribe(graph, (0, 9), (1, 3), (1, 3), (1, 3))
    assert graph.unsubscribe(0) == Change(forward=[1], withdraw=[0])
    assert graph.unsubscribe(1) == Change(forward=[2], withdraw=[1])
    assert graph.unsubscribe(3) == Change(forward=[], withdraw=[])
    assert graph.forwarded == frozenset([2])
    graph.check()


def test_a_copy_goes_its_own_way(graph):
    subscribe(graph, (0, 9), (1, 3))
    twin = copy.deepcopy(graph)
    for id in (2, 3):  # equal boxes: one is forwarded
        twin.subscribe(id, [2], [10])
    twin.check()
    graph.check()
    assert (twin.forwarded, graph.forwarded) == (frozenset([0, 2]), frozenset([0]))
    assert twin.unsubscribe(2) == Change(forward=[3], withdraw=[2])


def test_pruning_asks_without_counting():
    plain, pruned = (RelationGraph(TinyKDCover(1), prune=prune) for prune in (False, True))
    boxes = [(4, 5), (3, 6), (2, 7), (10, 11), (0, 20)]
    subscribe(plain, *boxes)
    subscribe(pruned, *boxes)
    assert plain.cover_calls == pruned.cover_calls == len(boxes)


def test_a_new_cover_withdraws_only_where_pruning_is_asked_for():
    for prune, withdrawn in ((False, []), (True, [0, 1])):
        graph = RelationGraph(KDCover(1), prune=prune)
        subscribe(graph, (1, 2), (3, 4), (8, 12))
        assert graph.subscribe(7, [0], [9]) == Change(forward=[7], withdraw=withdrawn)
        graph.check()
        assert graph.unsubscribe(7) == Change(forward=withdrawn, withdraw=[7])
        assert graph.forwarded == frozenset([0, 1, 2])
        graph.check()


def test_a_box_without_ends_covers_all(graph):
    subscribe(graph, (0, 1), (2, 3))
    graph.subscribe(5, [-INF], [INF])
    assert graph.subscribe(6, [-5], [INF]) == Change([], [])
    assert graph.unsubscribe(5).withdraw == [5]
    graph.check()


def test_the_graph_keeps_as_many_covers_as_k_says():
    for k in (1, 2, 3, 100):
        graph = RelationGraph(KDCover(1), k=k)
        for id in range(5):
            graph.subscribe(id, [-id - 1], [id + 1])
        graph.subscribe(9, [0], [0])
        calls = graph.cover_calls
        for id in range(k if k < 5 else 4):
            graph.unsubscribe(id)
        graph.check()
        assert 9 not in graph.forwarded
        assert graph.cover_calls - calls <= 1


def test_thousands_of_equal_subscriptions_cost_one_call_each():
    """In the order of arrival as in the reverse: each leaving concerns one other at most."""
    count = 2_000
    ids = np.arange(count)
    for order in (ids, ids[::-1]):
        graph = RelationGraph(KDCover(2))
        boxes = np.zeros((count, 2)), np.ones((count, 2))
        change = graph.apply_many(Commands(ids, *boxes, np.ones(count, bool)))
        assert change == Change([0], [])
        assert graph.cover_calls == count
        half = order[: count // 2]
        graph.apply_many([("unsubscribe", id) for id in half.tolist()])
        assert len(graph.forwarded) == 1
        assert graph.cover_calls <= count + len(half)
        graph.check()


@pytest.mark.parametrize("cls", [NaiveCover, KDCover, ZOrderCover])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_calls_stay_below_the_bound_of_theorem_1(cls, k):
    """E[cost_1(Q)] <= 2 n_s; for any k there is one call a subscribe at least (§III.D)."""
    rng = np.random.default_rng(5)
    graph = RelationGraph(cls(2), k=k)
    lows, highs = some.random_boxes(800, 2)
    live: list[int] = []
    subscribes = unsubscribes = 0
    while subscribes < len(lows):
        if live and rng.random() < 0.4:
            graph.unsubscribe(live.pop(rng.integers(len(live))))
            unsubscribes += 1
        else:
            graph.subscribe(subscribes, lows[subscribes], highs[subscribes])
            live.append(subscribes)
            subscribes += 1
    assert graph.subscribing.calls == subscribes
    assert graph.cover_calls == subscribes + graph.unsubscribing.calls
    if k == 1:
        # The expectation of Lemma 1, with room for the luck of one history.
        assert graph.unsubscribing.calls <= 1.2 * unsubscribes
        assert graph.cover_calls <= 2 * subscribes


def drawn_commands(seed, count=300):
    """A history over few boxes in which ids come, leave and come back."""
    rng = np.random.default_rng(seed)
    live: list[int] = []
    for _ in range(count):
        if live and rng.random() < 0.45:
            yield "unsubscribe", live.pop(rng.integers(len(live)))
        else:
            id = int(rng.integers(40))
            if id not in live:
                low = rng.integers(-2, 3, 2).astype(float)
                yield "subscribe", id, low, low + rng.integers(0, 4, 2)
                live.append(id)


def as_columns(commands):
    nothing = [np.nan, np.nan]
    rows = [command if len(command) == 4 else (*command, nothing, nothing) for command in commands]
    return Commands(
        np.array([row[1] for row in rows]),
        np.array([row[2] for row in rows]),
        np.array([row[3] for row in rows]),
        np.array([row[0] == "subscribe" for row in rows]),
    )


@pytest.mark.parametrize(("cls", "k", "prune"), KINDS)
def test_batches_do_what_single_commands_do(cls, k, prune):
    commands = list(drawn_commands(seed=3))
    batched, single = (RelationGraph(cls(2), k, prune) for _ in range(2))
    expected = Router(prune)
    for first in range(0, len(commands), 50):
        part = commands[first : first + 50]
        before = {id: expected.live[id] for id in expected.forwarded}
        for what, id, *box in part:
            change = getattr(single, what)(id, *box)
            assert change == getattr(expected, what)(id, *box)
        given = part if first % 100 else as_columns(part)
        change = batched.apply_many(given)
        assert_net(change, before, expected, {id for what, id, *_ in part if what != "subscribe"})
        assert batched.forwarded == single.forwarded == expected.forwarded
        batched.check()
    assert batched.cover_calls == single.cover_calls
    assert len(batched) == len(single) == len(expected.live)


def assert_net(change, before, expected, left):
    """Withdrawing, then forwarding, leads from the old set to the new one, boxes included."""
    routes = {id: box for id, box in before.items() if id not in change.withdraw}
    assert not routes.keys() & set(change.forward)
    routes |= {id: expected.live[id] for id in change.forward}
    assert routes == {id: expected.live[id] for id in expected.forwarded}
    assert change.forward == sorted(set(change.forward))
    assert change.withdraw == sorted(set(change.withdraw))
    assert set(change.forward) & set(change.withdraw) <= left


def test_an_id_that_comes_back_in_a_batch_is_withdrawn_and_forwarded(graph):
    graph.subscribe(1, [0], [1])
    again = [("unsubscribe", 1), ("subscribe", 1, [0], [2])]
    assert graph.apply_many(again) == Change([1], [1])
    assert graph.apply_many([("subscribe", 2, [5], [6]), ("unsubscribe", 2)]) == Change([], [])
    assert graph.apply_many([]) == Change([], [])
    graph.check()


BAD = [
    pytest.param(lambda g: g.subscribe(1, [0], [1]), KeyError, "1", id="known"),
    pytest.param(lambda g: g.subscribe(-1, [0], [1]), ValueError, "-1", id="negative"),
    pytest.param(lambda g: g.subscribe(8, [np.nan], [1]), ValueError, "nan", id="nan"),
    pytest.param(lambda g: g.subscribe(8, [2], [1]), ValueError, "[2.0, 1.0]", id="order"),
    pytest.param(lambda g: g.subscribe(8, [0, 0], [1, 1]), ValueError, "2 ends", id="dimensions"),
    pytest.param(lambda g: g.unsubscribe(99), KeyError, "99", id="unknown"),
    pytest.param(
        lambda g: g.apply_many([("subscribe", 8, [0], [1]), ("subscribe", 8, [0], [1])]),
        KeyError, "8", id="subscribed-twice",
    ),
    pytest.param(
        lambda g: g.apply_many([("unsubscribe", 1), ("unsubscribe", 1)]), KeyError, "1", id="left"
    ),
    pytest.param(lambda g: g.apply_many([("unsubscribe", 9)]), KeyError, "9", id="never-there"),
    pytest.param(lambda g: g.apply_many([("hello", 9)]), ValueError, "hello", id="other-command"),
    pytest.param(
        lambda g: g.apply_many([("subscribe", 8, [0], [1]), ("subscribe", 9, [3], [1])]),
        ValueError, "[3.0, 1.0]", id="one-bad-box",
    ),
    pytest.param(
        lambda g: g.apply_many(Commands(np.array([5]), np.zeros((1, 1)), np.ones((1, 1)), [1])),
        ValueError, "booleans", id="kinds-as-numbers",
    ),
    pytest.param(
        lambda g: g.apply_many(
            Commands(np.array([5, 6]), np.zeros((1, 1)), np.ones((1, 1)), np.array([True]))
        ),
        ValueError, "2 ids", id="lengths",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "error", "named"), BAD)
def test_what_is_refused_changes_nothing(graph, change, error, named):
    subscribe(graph, (0, 9), (1, 3), (1, 3))
    with refused(graph, error, named, see=seen):
        change(graph)


def test_a_refused_subscription_does_not_make_a_full_graph_grow():
    graph = RelationGraph(KDCover(1))
    subscribe(graph, *[(0, high) for high in range(8)])
    with refused(graph, KeyError, 3, see=seen):
        graph.subscribe(3, [0.0], [1.0])


def test_a_graph_starts_with_an_empty_cover_and_k_of_at_least_one():
    cover = KDCover(1)
    cover.insert(4, [0], [1])
    with pytest.raises(ValueError, match="1 boxes when an empty one"):
        RelationGraph(cover)
    with pytest.raises(ValueError, match="k: got 0"):
        RelationGraph(KDCover(1), k=0)


class AgainstRouter(RuleBasedStateMachine):
    """Graphs over all covers at once; with or without pruning they forward the same."""

    @initialize(k=st.sampled_from([1, 2, 50]), prune=st.booleans())
    def start(self, k, prune):
        self.expected = Router(prune)
        self.graphs = [RelationGraph(cls(some.DIMENSIONS), k, prune) for cls in some.TINY]

    @rule(id=some.ids, box=some.boxes)
    def subscribe(self, id, box):
        if id not in self.expected.live:
            wanted = self.expected.subscribe(id, *box)
            assert [graph.subscribe(id, *box) for graph in self.graphs] == [wanted] * 3

    @rule(id=some.ids, twin_of=some.ids)
    def subscribe_a_twin(self, id, twin_of):
        if twin_of in self.expected.live:
            self.subscribe(id, self.expected.live[twin_of])

    @rule(id=some.ids)
    def unsubscribe(self, id):
        if id in self.expected.live:
            wanted = self.expected.unsubscribe(id)
            assert [graph.unsubscribe(id) for graph in self.graphs] == [wanted] * 3

    @invariant()
    def what_is_forwarded_covers_all_that_live(self):
        for graph in getattr(self, "graphs", ()):
            graph.check()
            live = self.expected.live
            assert graph.forwarded == self.expected.forwarded
            for box in live.values():
                assert any(contains(live[id], box) for id in graph.forwarded)


TestAgainstRouter = SHRINKING(AgainstRouter.TestCase)
