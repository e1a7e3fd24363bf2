"""Ranked answers, where weights are far apart and where members move between l-nodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.boolean import BEStarTree, Predicate
from tests.oracles.boolean import Expressions


def both(conjunctions, **options):
    """A tree and the oracle with the same subscriptions."""
    tree, expected = (
        BEStarTree.build(np.arange(len(conjunctions)), conjunctions, **options),
        Expressions(),
    )
    for id, conjunction in enumerate(conjunctions):
        expected.insert(id, conjunction)
    return tree, expected


@pytest.mark.parametrize("weight", [359.0, 375.0, 44.875, 1500.0, 0.1])
@pytest.mark.parametrize("little", [1e-16, 1e-7, 0.3])
def test_a_bound_bears_that_all_members_weigh_the_same(weight, little):
    """Where the sum is all on the path, what is left for other columns is nothing, not less."""
    light = [[Predicate("c", "=", 1, weight + 25)]] * 200
    heavy = [[Predicate("a", "=", 1, weight)]] * 200
    conjunctions = [*light, *heavy, [Predicate("b", "=", 2)]]
    tree, expected = both(conjunctions)
    less = little * (1 - 1e-9) * weight / (weight + 25)
    event = {"a": (1, little), "b": (1, 1.0), "c": (1, less)}
    tree.check()
    assert tree.top_k(event, 1) == expected.top_k(event, 1)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
@pytest.mark.large
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


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([12, 40, 120]), st.sampled_from([4, 8, 16]))
@pytest.mark.large
def test_answers_are_right_after_buckets_were_merged(seed, columns, capacity):
    """Members come to l-nodes that spread columns in another way."""
    rng = np.random.default_rng(seed)
    conjunctions = []
    for _ in range(250):
        named = rng.choice(columns, int(rng.integers(1, 6)), replace=False)
        ends = rng.integers(0, 1000, len(named)).tolist()
        weights = np.exp(2 * rng.normal(size=len(named))).tolist()
        terms = zip(named, ends, weights, strict=True)
        conjunctions.append([Predicate(f"n{c}", "<=", end, weight) for c, end, weight in terms])
    tree, expected = both(conjunctions, leaf_capacity=capacity, partition=2)
    deleted = rng.permutation(250)[: int(250 * rng.choice([0.5, 0.8, 0.9]))]
    tree.delete_many(deleted)
    for id in deleted.tolist():
        expected.delete(id)
    tree.check()
    for k in (1, 2, 5):
        worth = np.exp(3 * rng.normal(size=columns)).tolist()
        values = rng.integers(-300, 200, columns).tolist()
        event = {f"n{c}": (values[c], worth[c]) for c in range(columns)}
        assert tree.top_k(event, k) == expected.top_k(event, k)


@pytest.mark.parametrize(
    ("heavy", "light"), [(1e18, 1e-30), (1e37, 1e-6), (1e36, 1e-8), (1e12, 1e-29), (1.0, 1e-10)]
)
def test_answers_are_right_where_a_rate_is_next_to_nothing_beside_weights(heavy, light):
    rng = np.random.default_rng(0)
    low = [[Predicate("low", "=", 1, 1.2 * heavy)]] * 100
    others = [
        [Predicate(f"n{i % 5}", "=", 1, float(heavy * rng.uniform(0.7, 1)))] for i in range(500)
    ]
    tree, expected = both(low + others)
    event = {f"n{i}": (1, light) for i in range(5)} | {"low": (1, light / 2)}
    assert tree.top_k(event, 1) == expected.top_k(event, 1)


@pytest.mark.parametrize("least", [5e-324, 1e-323, 5e-323, 1e-320, 1e-310])
@pytest.mark.parametrize("seed", range(3))
def test_answers_are_right_where_scores_are_the_least_there_are(least, seed):
    """Every product is rounded by about as much as it is."""
    rng = np.random.default_rng(seed)
    conjunctions = []
    for _ in range(400):
        named = rng.choice(8, int(rng.integers(1, 6)), replace=False)
        weights = rng.choice([0.6, 0.55, 0.9, 0.4], len(named)).tolist()
        terms = zip(named, weights, strict=True)
        conjunctions.append([Predicate(f"n{c}", "=", 1, weight) for c, weight in terms])
    tree, expected = both(conjunctions, leaf_capacity=8, partition=2)
    event = {f"n{c}": (1, least if c else 2 * least) for c in range(8)}
    assert tree.top_k(event, 1) == expected.top_k(event, 1)


@pytest.mark.parametrize("seed", range(4))
def test_answers_are_right_where_scores_exceed_all_numbers(seed):
    rng = np.random.default_rng(seed)
    conjunctions = []
    for _ in range(400):
        named = rng.choice(8, int(rng.integers(1, 4)), replace=False)
        weights = rng.choice([1e20, 1e10, 1.0], len(named)).tolist()
        terms = zip(named, weights, strict=True)
        conjunctions.append([Predicate(f"n{c}", "=", 1, weight) for c, weight in terms])
    tree, expected = both(conjunctions[::-1], leaf_capacity=8, partition=2)
    event = {f"n{c}": (1, 1e300 if c else 1e250) for c in range(8)}
    with np.errstate(over="ignore", invalid="ignore"):
        assert tree.top_k(event, 1 + seed) == expected.top_k(event, 1 + seed)
