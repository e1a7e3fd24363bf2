"""The tree itself: its parameters, what it reads, and how it adapts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.boolean import BEStarTree, BETree, Predicate, Scan
from indexes.boolean.tree_cut import APPROXIMATE, EXHAUSTIVE, NO_CUT, RIGID, cut_once
from indexes.boolean.tree_layout import COUNT, LEFT, OVER, RIGHT, USED_C
from indexes.boolean.tree_local import Options
from tests.indexes.boolean import strategies as some
from tests.oracles.boolean import Expressions


def equalities(count, values=20, names="abcdefgh", size=3, seed=0):
    rng = np.random.default_rng(seed)
    conjunctions = []
    for _ in range(count):
        chosen = rng.choice(len(names), size, replace=False)
        conjunctions.append(
            [Predicate(names[i], "=", int(rng.integers(values)), rng.random()) for i in chosen]
        )
    return conjunctions


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"leaf_capacity": 0}, id="no-capacity"),
        pytest.param({"leaf_capacity": 2.5}, id="half-a-member"),
        pytest.param({"alpha": 0.0}, id="alpha-zero"),
        pytest.param({"alpha": 0.6}, id="alpha-above-half"),
        pytest.param({"alpha": math.nan}, id="alpha-nan"),
        pytest.param({"beta": 1.0}, id="beta-one"),
        pytest.param({"split": "rigid"}, id="unknown-split"),
        pytest.param({"partition": 0}, id="partition-zero"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        BEStarTree(**options)


def test_few_expressions_are_looked_at():
    conjunctions = equalities(3000)
    tree = BEStarTree.build(np.arange(3000), conjunctions)
    expected = Expressions()
    for id, conjunction in enumerate(conjunctions):
        expected.insert(id, conjunction)
    event = dict.fromkeys("abcdefgh", 7)
    assert tree.top_k(event, 5) == expected.top_k(event, 5)
    assert 0 < tree.visited < 3000 / 5
    assert tree.evaluated <= 2 * len(expected.match(event)) + 20


def test_an_event_without_the_attributes_looks_at_nothing():
    tree = BEStarTree.build(np.arange(2000), equalities(2000))
    assert tree.match({"z": 3}) == []
    assert tree.visited == tree.evaluated == 0


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.large
def test_the_best_of_many_matches_are_found_by_evaluating_few(weighted):
    """Everything matches: only bounds of weights can save work."""
    rng = np.random.default_rng(1)
    names = [f"a{i}" for i in range(10)]
    conjunctions = [
        [Predicate(names[i], "<=", 5 + rng.integers(3), rng.random()) for i in chosen]
        for chosen in (rng.choice(10, 3, replace=False) for _ in range(4000))
    ]
    event = {name: (1, float(rng.random()) if weighted else 1.0) for name in names}
    tree, scan = (cls.build(np.arange(4000), conjunctions) for cls in (BEStarTree, Scan))
    assert len(tree.match(event)) == 4000
    seen = tree.evaluated
    assert tree.top_k(event, 10) == scan.top_k(event, 10)
    assert tree.evaluated - seen < 400


def test_ties_are_decided_without_reading_everything():
    """All scores are the same, so ids decide, and l-nodes know their least one."""
    conjunctions = [[Predicate(f"a{i % 7}", "=", 1), Predicate("b", ">", 0)] for i in range(5000)]
    tree = BEStarTree.build(np.arange(5000), conjunctions)
    event = {f"a{i}": 1 for i in range(7)} | {"b": 1}
    assert [hit.id for hit in tree.top_k(event, 5)] == [0, 1, 2, 3, 4]
    assert tree.evaluated < 2500


@given(
    st.lists(some.conjunctions, min_size=1, max_size=40),
    st.lists(st.integers(0, 39), max_size=20),
    st.lists(some.events, min_size=1, max_size=4),
)
def test_no_bound_is_below_what_a_match_scores(conjunctions, deleted, events):
    """Checked by the answers for k = 1: a bound that is too low would hide the best."""
    tree = BEStarTree(leaf_capacity=3, partition=2)
    expected = Expressions()
    for id, conjunction in enumerate(conjunctions):
        tree.insert(id, conjunction)
        expected.insert(id, conjunction)
    for id in set(deleted) & expected.live.keys():
        tree.delete(id)
        expected.delete(id)
    tree.check()  # sums, floors and tops against the members
    for event in events:
        assert tree.top_k(event, 1) == expected.top_k(event, 1)


def test_options_are_those_of_the_documentation():
    """The paper's A is tuned for l-nodes that are tested 64 members at a time."""
    assert BEStarTree()._options == Options(
        capacity=128, alpha=0.1, beta=4.0, split=EXHAUSTIVE, group=64, handful=32, by_size=False,
        prune=True,
    )  # fmt: skip
    assert BETree()._options == Options(
        capacity=20, alpha=0.1, beta=np.inf, split=RIGID, group=1, handful=0, by_size=True,
        prune=False,
    )  # fmt: skip


def grown(values, beta):
    tree = BEStarTree(leaf_capacity=2, partition=100, beta=beta)
    tree.insert_many(np.arange(len(values)), [[Predicate("a", "=", v)] for v in values])
    return tree


def test_a_wide_interval_gets_a_bucket_above_narrow_ones():
    """Bottom-up expansion: the buckets there are keep their bounds."""
    values = [float(v) for v in range(40, 48)] * 3
    tree = grown([*values, 0.0, 100.0], beta=2.0)
    tree.insert(1000, [Predicate("a", "between", [41, 44])])
    before = int(tree._tree.state[USED_C])
    tree.insert(1001, [Predicate("a", "between", [-math.inf, math.inf])])
    tree.check()
    assert tree._tree.state[USED_C] == before + 1
    above = tree._tree.c[before]
    assert above[COUNT] == 1
    assert above[OVER] == -1
    assert above[LEFT] != -1
    assert above[RIGHT] == -1
    assert 1001 in tree.match({"a": 77})


def test_boxes_shrink_when_a_wide_expression_leaves():
    tree = BEStarTree(leaf_capacity=4, partition=2)
    conjunctions = equalities(300, values=6, names="abcd")
    tree.insert_many(np.arange(300), conjunctions)
    fresh = BEStarTree(leaf_capacity=4, partition=2)
    fresh.insert_many(np.arange(300), conjunctions)
    wide = [Predicate(name, "between", [-1e9, 1e9]) for name in "abcd"]
    tree.insert(999, wide)
    tree.delete(999)
    tree.check()  # boxes are exact, not merely large enough
    event = dict.fromkeys("abcd", 3)
    assert tree.match(event) == fresh.match(event)
    assert tree.visited <= fresh.visited + 4


def test_nodes_are_used_again_after_deletions():
    tree = BEStarTree(leaf_capacity=4, partition=2)
    conjunctions = equalities(400, values=8)
    tree.insert_many(np.arange(400), conjunctions)
    sizes = []
    for _ in range(4):
        for id in range(100, 300):
            tree.delete(id)
        for id in range(100, 300):
            tree.insert(id, conjunctions[id])
        tree.check()
        sizes.append(int(tree._tree.state[USED_C]))
    assert sizes[-1] <= sizes[0] + 40


def test_codes_are_learnt_again_when_the_values_move():
    """Built from values in one place, grown fourfold by values in another."""
    tree, expected = BEStarTree(leaf_capacity=8), Expressions()
    for id in range(700):
        near = id % 10 if id < 100 else 1000 + id % 90
        conjunction = [Predicate("a", "=", near), Predicate("b", "<", id % 7, 0.5)]
        tree.insert(id, conjunction)
        expected.insert(id, conjunction)
    tree.check()
    event = {"a": 1045, "b": 3}
    assert tree.top_k(event, 9) == expected.top_k(event, 9)
    assert tree.visited < 100


def test_new_attributes_are_met_by_old_trees():
    tree = BEStarTree.build(np.arange(500), equalities(500))
    tree.insert(900, [Predicate("unseen", "=", "x"), Predicate("a", ">=", 0)])
    tree.check()
    assert tree.match({"unseen": "x", "a": 3}).count(900) == 1
    assert 900 not in tree.match({"a": 3})


intervals = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 12)).map(lambda i: (i[0], i[0] + i[1])),
    min_size=2,
    max_size=40,
)


@given(intervals, st.sampled_from([EXHAUSTIVE, APPROXIMATE]))
def test_a_cut_parts_the_members_and_leaves_alpha_on_both_sides(drawn, split):
    lows, highs = (np.array(ends, np.uint8) for ends in zip(*drawn, strict=True))
    cut = cut_once(lows, highs, 0.1, split)
    if cut == NO_CUT:
        middle = (lows.min().item() + highs.max().item()) // 2
        left, right = (highs <= middle).sum(), (lows > middle).sum()
        assert left + right == 0 or max(left, right) == len(lows)
        return
    left, right = (highs <= cut).sum(), (lows > cut).sum()
    assert left + right > 0
    assert max(left, right) < len(lows)


def visits_by_cut(lows, highs, least):
    """Members of each bucket times its extent, for all cuts that leave enough on both sides."""
    first, last = lows.min(), highs.max()
    visits = {}
    for cut in range(first, last):
        left, right = highs <= cut, lows > cut
        across = ~left & ~right
        if left.sum() >= least and right.sum() >= least:
            visits[cut] = left.sum() * (cut - first + 1) + right.sum() * (last - cut)
            if across.any():
                extent = highs[across].max() - lows[across].min() + 1
                visits[cut] += across.sum() * extent
    return visits


@given(intervals)
def test_the_exhaustive_cut_has_the_least_expected_visits(drawn):
    lows, highs = np.array(drawn).T
    visits = visits_by_cut(lows, highs, math.ceil(0.2 * len(drawn)))
    cut = cut_once(lows.astype(np.uint8), highs.astype(np.uint8), 0.2, EXHAUSTIVE)
    if visits:
        assert visits[cut] == min(visits.values())


def test_a_column_has_one_partition_at_the_root():
    """Members of the root's l-node have a column for which a far better key would open a p-node."""
    tree = BEStarTree(leaf_capacity=4)
    tree.insert_many(np.arange(30), [[Predicate("a", "=", i)] for i in range(30)])
    tree.insert(100, [Predicate("b", "=", 1)])
    tree.insert(101, [Predicate("b", "=", 1), Predicate("a", ">=", 0)])
    for i in range(6):
        tree.insert(200 + i, [Predicate(f"c{i}", "=", 1)])
    tree.check()
    assert tree.match({"a": 3, "b": 1}) == [3, 100, 101]
