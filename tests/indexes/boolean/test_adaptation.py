"""What the tree does by itself: it follows events, outgrows its codes, and takes hints."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.boolean import BEStarTree, Predicate, Scan, be_star_tree, tree_feedback
from indexes.boolean.tree_runs import class_of, room_of
from tests.indexes.boolean import strategies as some
from tests.oracles.boolean import Expressions

PROBES = [{"a": a, "b": b, "c": 1} for a, b in ((3, 4), (1003, 4), (1050.5, 0))]


def pairs(count, first=0):
    """Two equalities that are as rare as each other."""
    return [
        [Predicate("common", "=", i % 20), Predicate("seldom", "=", i // 20 % 20)]
        for i in range(first, first + count)
    ]


@pytest.mark.large
def test_rows_move_to_the_column_that_few_events_have(monkeypatch):
    """Rank feedback: the loss of l-nodes under a column that every event has is too great."""
    monkeypatch.setattr(be_star_tree, "WINDOW", 50)
    monkeypatch.setattr(tree_feedback, "_PRIOR", 1)
    tree, scan = BEStarTree(partition=10_000), Scan()
    for index in (tree, scan):
        index.insert_many(np.arange(2000), pairs(2000))
    events = [{"common": i % 20} for i in range(60)]
    before = tree.visited
    tree.top_k_many(events, 3)
    at_first = tree.visited - before
    for id in range(2000, 2200):
        for index in (tree, scan):
            index.insert(id, pairs(1, first=id)[0])
        if id % 50 == 0:
            tree.top_k_many(events, 3)
    tree.check()
    assert tree.reinserted > 0
    before = tree.visited
    tree.top_k_many(events, 3)
    assert tree.visited - before < at_first
    both = [{"common": i % 20, "seldom": i % 7} for i in range(10)]
    assert tree.match_many(both) == scan.match_many(both)


def test_feedback_moves_no_more_rows_than_came(monkeypatch):
    monkeypatch.setattr(be_star_tree, "WINDOW", 1)
    tree = BEStarTree.build(np.arange(2000), pairs(2000), leaf_capacity=20, partition=10_000)
    tree.top_k_many([{"common": i} for i in range(20)], 3)
    tree.insert(5000, pairs(1)[0])
    assert 0 < tree.reinserted <= 2 + 64
    tree.check()


def test_without_events_nothing_moves():
    tree = BEStarTree.build(np.arange(500), pairs(500))
    tree.insert_many(np.arange(500, 600), pairs(100))
    assert tree.reinserted == 0


def moving(id):
    near = id % 10 if id < 100 else 1000 + id % 90
    return [Predicate("a", "=", near), Predicate("b", "<", id % 7, 0.5)]


@pytest.mark.large
def test_a_large_tree_is_replaced_a_few_rows_at_a_time(monkeypatch):
    """Codes are learnt again beside the tree there is, which answers until the other has all."""
    monkeypatch.setattr(be_star_tree, "_AT_ONCE", 100)
    tree, expected, steps = BEStarTree(leaf_capacity=8), Expressions(), []
    tree.insert_many(np.arange(200), [moving(id) for id in range(200)])
    for id in range(200):
        expected.insert(id, moving(id))
    for id in range(200, 1400):
        tree.insert(id, moving(id))
        expected.insert(id, moving(id))
        steps.append(len(tree._waiting))
        if id % 9 == 0:
            tree.delete(id - 150)
            expected.delete(id - 150)
        if id % 100 == 0 or tree._coming is not None:
            tree.check()
            assert tree.match_many(PROBES) == [expected.match(event) for event in PROBES]
    assert tree.relearnt == 1
    assert tree._coming is None
    drops = -np.diff(steps)
    assert drops.max() == be_star_tree._STEP + 64  # never all at once
    assert [tree.top_k(event, 5) for event in PROBES] == [
        expected.top_k(event, 5) for event in PROBES
    ]


@pytest.mark.large
def test_rows_deleted_and_replaced_while_the_next_tree_grows_are_right(monkeypatch):
    monkeypatch.setattr(be_star_tree, "_AT_ONCE", 10)
    tree, expected = BEStarTree(leaf_capacity=4, partition=2), Expressions()
    tree.insert_many(np.arange(100), [moving(id) for id in range(100)])
    for id in range(100):
        expected.insert(id, moving(id))
    id = 100
    while tree._coming is None:
        tree.insert(id, moving(id))
        expected.insert(id, moving(id))
        id += 1
    for old in range(0, 60, 10):
        tree.delete(old)
        expected.delete(old)
        tree.insert(10_000 + old, moving(old + 7))
        expected.insert(10_000 + old, moving(old + 7))
        tree.check()
    assert tree.match_many(PROBES) == [expected.match(event) for event in PROBES]


@pytest.mark.large
def test_a_known_domain_parts_an_attribute_before_values_are_seen():
    """Without the hint all values of a new attribute have one code until codes are learnt."""
    visited = {}
    for domains in (None, {"late": (0, 1000), "never": (0.5, 1)}):
        tree = BEStarTree(leaf_capacity=8, domains=domains)
        tree.insert_many(np.arange(2000), [[Predicate("a", "=", i)] for i in range(2000)])
        for i in range(600):
            tree.insert(5000 + i, [Predicate("late", "=", i)])
        tree.check()
        before = tree.visited
        assert tree.match({"late": 300}) == [5300]
        visited[domains is None] = tree.visited - before
    assert visited[False] * 5 < visited[True]


@pytest.mark.parametrize(
    "domains",
    [
        pytest.param({"a": (1, 1)}, id="empty"),
        pytest.param({"a": (2, 1)}, id="reversed"),
        pytest.param({"a": (0, math.inf)}, id="infinite"),
        pytest.param({"a": ("x", "y")}, id="strings"),
    ],
)
def test_domains_that_make_no_sense_are_refused_by_name(domains):
    with pytest.raises(ValueError, match="domains"):
        BEStarTree(domains=domains)


@pytest.mark.large
def test_what_bounds_leave_out_is_counted():
    rng = np.random.default_rng(3)
    names = [f"a{i}" for i in range(12)]
    conjunctions = [
        [Predicate(names[i], "<=", 5, rng.random()) for i in rng.choice(12, 4, replace=False)]
        for _ in range(4000)
    ]
    tree = BEStarTree.build(np.arange(4000), conjunctions, leaf_capacity=64, partition=16)
    event = {name: (1, float(rng.random())) for name in names}
    tree.top_k(event, 3)
    assert tree.leaves_read > 0
    assert tree.leaves_pruned > tree.leaves_read
    assert tree.visited < 2000


@pytest.mark.parametrize("cls", [BEStarTree, Scan])
def test_a_copy_goes_its_own_way(cls):
    index = cls.build(np.arange(300), pairs(300))
    other = copy.deepcopy(index)
    other.insert_many(np.arange(300, 600), pairs(300, first=300))
    other.delete(5)
    index.check()
    other.check()
    assert len(index) == 300
    assert index.match({"common": 5, "seldom": 0}) == [5]
    assert other.match({"common": 5, "seldom": 0}) == [405]


ends = st.one_of(
    some.numbers,
    st.integers(-(2**33), 2**33).map(float),
    st.sampled_from([-0.0, 0.5, 2.0**31, -(2.0**31), 2.0**20, 2.0**20 - 1, math.inf, -math.inf]),
)


@given(st.lists(st.lists(ends, min_size=2, max_size=2).map(sorted), min_size=1, max_size=8))
def test_intervals_come_back_as_they_were_given(intervals):
    """Whether they fit one word or not, up to the sign of zero."""
    index = Scan()
    for id, interval in enumerate(intervals):
        index.insert(id, [Predicate("a", "between", interval)])
    index.check()
    arrays = index.to_arrays()
    assert arrays.firsts.tobytes() == np.array([low for low, _ in intervals]).tobytes()
    assert arrays.seconds.tobytes() == np.array([high for _, high in intervals]).tobytes()


def test_intervals_of_whole_numbers_take_less_memory():
    def bytes_of(low, high):
        return BEStarTree.build(
            np.arange(500), [[Predicate("a", "between", [i + low, i + high])] for i in range(500)]
        ).nbytes

    assert bytes_of(0, 9) <= bytes_of(0.25, 9.25) - 8 * 500


@pytest.mark.parametrize("cls", [BEStarTree, Scan])
def test_lists_that_come_and_go_leave_nothing_behind(cls):
    index = cls()
    index.insert_many(np.arange(200), [[Predicate("a", "=", float(i))] for i in range(200)])
    index.insert(500, [Predicate("b", "not in", [1, 2, 3])])
    values = list(range(1000))
    sizes = []
    for _ in range(60):
        index.insert(999, [Predicate("b", "in", values)])
        index.delete(999)
        sizes.append(index.nbytes)
    index.check()
    assert max(sizes) < sizes[0] + 8 * 8 * 1000
    assert index.match({"b": 4}) == [500]


@given(st.integers(1, 1 << 22))
def test_runs_are_as_short_as_their_sizes_allow(room):
    # Kernels for kernels: without a way in from Python, but for what they were made of.
    to_class, to_room = (getattr(kernel, "py_func", kernel) for kernel in (class_of, room_of))
    size_class = to_class(room)
    assert to_room(size_class) >= room
    assert size_class == 0 or to_room(size_class - 1) < room
    assert to_room(size_class) <= 1.125 * room + 8


def test_what_lies_across_cuts_is_read_with_fewer_l_nodes():
    """A handful across the cut of a bucket joins what lies across the cut above."""
    rng, ids = np.random.default_rng(0), np.arange(800)
    lows = rng.integers(0, 1000, 800)
    highs = lows + rng.integers(0, 200, 800) * (ids % 10 == 0)
    ends = zip(lows.tolist(), highs.tolist(), strict=True)
    conjunctions = [[Predicate("a", "between", [low, high])] for low, high in ends]
    values, read, visited = range(0, 1000, 4), {}, {}
    for handful in (0, 32):
        tree = BEStarTree(leaf_capacity=64)
        tree._options = tree._options._replace(handful=handful)
        tree._clear_structure()
        tree.insert_many(ids, conjunctions)
        tree.check()
        for value, found in zip(values, tree.match_many([{"a": v} for v in values]), strict=True):
            assert found == np.flatnonzero((lows <= value) & (value <= highs)).tolist()
        read[handful], visited[handful] = tree.leaves_read, tree.visited
    assert read[32] < 0.8 * read[0]
    # Each l-node less is worth more than the members that are tested in its place.
    assert visited[32] - visited[0] < 32 * (read[0] - read[32])


def test_the_window_is_what_the_feedback_says():
    assert be_star_tree.WINDOW == tree_feedback.WINDOW


def test_what_is_left_out_for_its_score_is_no_false_candidate():
    """All members match: bounds of scores decide which are read, not tests of codes."""
    rng = np.random.default_rng(4)
    names = [f"a{i}" for i in range(12)]
    conjunctions = [
        [Predicate(names[i], "<=", 5, rng.random()) for i in rng.choice(12, 4, replace=False)]
        for _ in range(3000)
    ]
    tree = BEStarTree.build(np.arange(3000), conjunctions)
    tree.top_k({name: (1, float(rng.random())) for name in names}, 3)
    assert tree._tree.lost.sum() == 0


def test_a_chunk_without_a_weight_that_counts_is_no_loss():
    """The first members of the only l-node are the heaviest, and match."""
    conjunctions = [[Predicate("a", "<=", 5, 300.0 - id)] for id in range(300)]
    tree = BEStarTree.build(np.arange(300), conjunctions, leaf_capacity=400)
    assert tree.top_k({"a": (1, 0.5)}, 1) == [(0, 150.0)]
    assert tree._tree.lost.sum() == 0
    assert tree.top_k({"a": (6, 0.5)}, 1) == []
    assert tree._tree.lost.sum() == 300


@pytest.mark.parametrize("k", [1, 1000])
def test_false_candidates_count_wherever_l_nodes_are_ordered(k):
    """The only match is the lightest, so that nothing is left out for its score."""
    heavy = [[Predicate("a", "=", i % 20, 5.0), Predicate("c", ">=", 0, 5.0)] for i in range(200)]
    light = [[Predicate("b", "=", i % 20, 2.5), Predicate("c", ">=", 0, 2.5)] for i in range(200)]
    tree = BEStarTree.build(
        np.arange(401), [*heavy, *light, [Predicate("a", "<=", 100, 0.5)]], leaf_capacity=8
    )
    assert tree.top_k({"a": 3, "b": 3}, k) == [(400, 0.5)]
    assert tree._tree.lost.sum() == tree.visited - 1
