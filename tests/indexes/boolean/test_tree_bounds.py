"""Bounds of scores: never below what a member scores, and close enough to leave others out."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from indexes.boolean import BEStarTree, Predicate
from indexes.boolean.evaluation import score_of
from indexes.boolean.matching import spread
from indexes.boolean.tree_bounds import member_bound, weigh_event
from indexes.boolean.tree_layout import COLUMN, COUNT, DEPTH, PNODE, SEGMENT, USED_C, row_of
from indexes.boolean.tree_leaves import may_reach
from indexes.boolean.tree_rates import leaf_bound, rank_columns, score_test, set_rates
from indexes.boolean.tree_stab import new_scratch
from indexes.kernels import NIL


@njit
def reaches(t, s, node, at, columns, score):
    """Whether the test of a member's columns and sum of weights lets it pass."""
    return may_reach(t, s, at, 1, score_test(t, node, s, columns, score)) & 1


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
    st.sampled_from([4, 100]),
    st.booleans(),
    st.sampled_from([1.0, 1e-12, 1e-33, 1e-44, 1e30, 1e300]),
    st.sampled_from([1.0, 1e-12, 1e-33, 1e-44, 1e30]),
)
@pytest.mark.large
def test_no_bound_is_below_the_score_of_a_member(seed, columns, capacity, one_by_one, scale, size):
    """Columns are folded to 32, 64 and 128, where several of them meet.

    What weighs little and what weighs much differ by more than single precision has.
    """
    rng = np.random.default_rng(seed)
    tree = BEStarTree(leaf_capacity=capacity, partition=2)
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


@pytest.mark.parametrize("more", [0, 3, 15])
def test_members_that_lack_the_columns_for_a_score_are_left_out_unread(more):
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
    assert found == 20


def test_members_with_columns_of_little_worth_are_left_out_unread():
    """All have the dear columns `a` and `b`, but what else they have is less than the average."""
    cheap = [[Predicate(name, "=", 1) for name in ("a", "b", f"c{i % 9}")] for i in range(900)]
    dear = [[Predicate(name, "=", 1) for name in ("a", "b", "d")]] * 5
    conjunctions = cheap + dear
    tree = BEStarTree.build(np.arange(len(conjunctions)), conjunctions)
    event = dict.fromkeys(("a", "b", "d"), (1, 1.0))
    event |= {f"c{i}": (1, 0.9 - i / 100) for i in range(9)}
    best = tree.top_k(event, 1)[0].score
    assert count_reaching(tree._tree, tree.encode([event]), len(tree._vocabulary), best) == 5
