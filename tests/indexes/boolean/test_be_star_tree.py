"""The tree itself: its parameters, what it reads, its bounds, and how it adapts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from indexes.boolean import BEStarTree, BETree, Predicate, Scan
from indexes.boolean.evaluation import score_of
from indexes.boolean.gain_masks import reaching
from indexes.boolean.kernels import NIL
from indexes.boolean.matching import spread
from indexes.boolean.tree_bounds import member_bound, weigh_event
from indexes.boolean.tree_cut import APPROXIMATE, EXHAUSTIVE, NO_CUT, RIGID, cut_once
from indexes.boolean.tree_layout import (
    COLUMN,
    COUNT,
    DEPTH,
    LEFT,
    OVER,
    PNODE,
    RIGHT,
    SEGMENT,
    USED_C,
    row_of,
)
from indexes.boolean.tree_local import Options
from indexes.boolean.tree_rates import leaf_bound, rank_columns, score_test, set_rates
from indexes.boolean.tree_stab import new_scratch
from tests.boolean_oracle import Expressions
from tests.indexes.boolean import some


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


@njit
def reaches(t, s, node, at, columns, score):
    """Whether the test of a member's columns and sum of weights lets it pass."""
    test = score_test(t, node, s, columns, score)
    mask = reaching(
        t.m_beside,
        t.m_sum,
        at,
        s.folds,
        s.gains,
        test.gains,
        test.more,
        test.rate,
        test.unit,
        test.least,
    )
    return mask & 1


@njit
def bounds_of(t, r, events, columns, bounds, members, reached, scores):
    """For each row its score, bounds of it by its l-node and its own weights, and what it reaches.

    That is its score, if the test for it lets the row pass.
    """
    s = new_scratch(columns, len(t.c))
    spread(events, 0, s.values, s.weights)
    _, ones = weigh_event(events, 0, s.worth, s.folded)
    count = rank_columns(events, 0, s.worth, s.by_worth)
    set_rates(s, count)
    for node in range(t.state[USED_C]):
        if t.c[node, DEPTH] == NIL or t.c[node, COUNT] == 0:
            continue
        bound = leaf_bound(t, node, s, count, ones)
        depth = np.int64(t.c[node, DEPTH])
        own = s.worth[t.p[t.c[node, PNODE], COLUMN] + 1] if depth else 0.0
        for at in range(t.c[node, SEGMENT], t.c[node, SEGMENT] + t.c[node, COUNT]):
            row = row_of(t, at)
            bounds[row] = bound
            members[row] = member_bound(t, at, s.worth, s.folded, own)
            scores[row] = score = score_of(r, row, s.weights, s.parts)
            reached[row] = score if reaches(t, s, node, at, count, score) else -1.0


@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([10, 65, 100, 129, 300]),
    st.booleans(),
    st.sampled_from([1.0, 1e-12, 1e-33, 1e-44, 1e30, 1e300]),
    st.sampled_from([1.0, 1e-12, 1e-33, 1e-44, 1e30]),
)
def test_no_bound_is_below_the_score_of_a_member(seed, columns, one_by_one, scale, size):
    """Columns are folded to 64 and to 128, where several of them meet.

    What weighs little and what weighs much differ by more than single precision has.
    """
    rng = np.random.default_rng(seed)
    tree = BEStarTree(leaf_capacity=4, partition=2)
    conjunctions = []
    for _ in range(60):
        some = (
            rng.choice(columns, rng.integers(1, 13))
            if rng.random() < 0.5
            else rng.integers(0, 8, 3)
        )
        weights = rng.choice([0.0, 0.1, 1.0, 7.0, rng.random() * 1e3, size], len(some))
        conjunctions.append(
            [Predicate(f"n{c}", "=", 1, w) for c, w in zip(some, weights, strict=True)]
        )
    conjunctions.append([Predicate(f"n{c}", "<", 2, 0.5) for c in range(columns)])
    if one_by_one:
        for id, conjunction in enumerate(conjunctions):
            tree.insert(id, conjunction)
        tree.delete_many(np.arange(0, 60, 3))
    else:
        tree.insert_many(np.arange(len(conjunctions)), conjunctions)
    tree.check()
    # An event with all columns reaches all members, and all of them match.
    worth = rng.choice([0.0, 0.3, 1.0, 5.0, 0.3 * scale, scale], columns)
    event = {f"n{c}": (1, float(weight)) for c, weight in enumerate(worth)}
    encoded, rows = tree.encode([event]), tree._store.live()
    found = np.full((4, tree._store.capacity), -1.0)
    with np.errstate(over="ignore", invalid="ignore"):  # what is beyond all numbers is not pruned
        bounds_of(tree._tree, tree._store.rows, encoded, len(tree._vocabulary), *found)
    *bounds, scores = found[:, rows]
    assert (np.array(bounds) >= scores).all()


@njit
def count_reaching(t, events, columns, score):
    """Of all members, those that pass the test for a score, whether they match or not."""
    s = new_scratch(columns, len(t.c))
    weigh_event(events, 0, s.worth, s.folded)
    count = rank_columns(events, 0, s.worth, s.by_worth)
    set_rates(s, count)
    found = 0
    for node in range(t.state[USED_C]):
        if t.c[node, DEPTH] != NIL:
            for at in range(t.c[node, SEGMENT], t.c[node, SEGMENT] + t.c[node, COUNT]):
                found += reaches(t, s, node, at, count, score)
    return found


@pytest.mark.parametrize(("more", "most"), [(0, 20), (3, 500)])
def test_members_that_lack_the_columns_for_a_score_are_left_out_unread(more, most):
    """Each has `a` and two of ten others, and may have more of no worth."""
    pairs = list(itertools.combinations([f"b{i}" for i in range(10)], 2))
    rest = [Predicate(f"c{i}", "=", 1, 0.01) for i in range(more)]
    conjunctions = [
        [*(Predicate(name, "=", 1) for name in ("a", *pair)), *rest] for pair in pairs * 20
    ]
    tree = BEStarTree.build(np.arange(len(conjunctions)), conjunctions)
    names = ("a", *(f"b{i}" for i in range(10)), *(f"c{i}" for i in range(more)))
    event = dict.fromkeys(names, (1, 0.01)) | {"b0": (1, 1.0), "b1": (1, 1.0)}
    best = tree.top_k(event, 1)[0].score
    found = count_reaching(tree._tree, tree.encode([event]), len(tree._vocabulary), best)
    assert 20 <= found <= most < len(conjunctions)


@pytest.mark.parametrize("weight", [359.0, 375.0, 44.875, 1500.0, 0.1])
@pytest.mark.parametrize("little", [1e-16, 1e-7, 0.3])
def test_a_bound_bears_that_all_members_weigh_the_same(weight, little):
    """Where the sum is all on the path, what is left for other columns is nothing, not less."""
    light = [[Predicate("c", "=", 1, weight + 25)]] * 200
    heavy = [[Predicate("a", "=", 1, weight)]] * 200
    conjunctions = [*light, *heavy, [Predicate("b", "=", 2)]]
    tree, expected = BEStarTree.build(np.arange(401), conjunctions), Expressions()
    for id, conjunction in enumerate(conjunctions):
        expected.insert(id, conjunction)
    less = little * (1 - 1e-9) * weight / (weight + 25)
    event = {"a": (1, little), "b": (1, 1.0), "c": (1, less)}
    tree.check()
    assert tree.top_k(event, 1) == expected.top_k(event, 1)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
def test_answers_are_right_however_far_weights_are_apart(seed, k, one_by_one):
    """Many of a few weights, so that whole l-nodes have the same; some vanish beside others."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 1e-14, 0.1, 1.0, 44.875, 359.0, 375.0, 1e20], 3)
    names = np.array([f"n{i}" for i in range(int(rng.integers(2, 9)))])
    conjunctions = []
    for _ in range(120):
        named = rng.choice(names, min(len(names), int(rng.integers(1, 8))), replace=False)
        conjunctions.append([Predicate(str(n), "=", 1, float(rng.choice(weights))) for n in named])
    tree, expected = BEStarTree(leaf_capacity=8, partition=2), Expressions()
    if one_by_one:
        for id, conjunction in enumerate(conjunctions):
            tree.insert(id, conjunction)
    else:
        tree.insert_many(np.arange(120), conjunctions)
    tree.check()
    for id, conjunction in enumerate(conjunctions):
        expected.insert(id, conjunction)
    for _ in range(8):
        worth = rng.choice([0.0, 1e-20, 1e-16, 1e-7, 0.3, 1.0, 1e7, 1e20], len(names))
        event = {str(n): (1, float(w)) for n, w in zip(names, worth, strict=True)}
        assert tree.top_k(event, k) == expected.top_k(event, k)


def test_options_are_those_of_the_documentation():
    """The paper's A is tuned for l-nodes that are tested 64 members at a time."""
    assert BEStarTree()._options == Options(
        capacity=128, alpha=0.1, beta=4.0, split=EXHAUSTIVE, group=64, by_size=False, prune=True
    )
    assert BETree()._options == Options(
        capacity=20, alpha=0.1, beta=np.inf, split=RIGID, group=1, by_size=True, prune=False
    )


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
