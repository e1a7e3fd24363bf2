"""The p-nodes of the root: the best is opened first, and those that cannot have a hit are not."""

import numpy as np
import pytest

from indexes.boolean import BEStarTree, Predicate
from tests.oracles.boolean import Expressions

GROUPS, NAMES = 10, 6  # of attributes; a group's weights are a tenth of those of the one before
WEIGHTS = {
    "all-one": np.ones(GROUPS * NAMES),
    "all-alike": np.full(GROUPS * NAMES, 0.7),
    "different": 0.5 + np.random.default_rng(5).random(GROUPS * NAMES),
    "none": np.zeros(GROUPS * NAMES),
}


def conjunctions(count, seed=3):
    """Each over attributes of one group."""
    rng = np.random.default_rng(seed)
    drawn = []
    for id in range(count):
        names = [f"{id % GROUPS}.{i}" for i in rng.choice(NAMES, 3, replace=False)]
        weights = 0.1 ** (id % GROUPS) * (0.5 + rng.random(3).round(1))
        pairs = zip(names, weights.tolist(), strict=True)
        drawn.append([Predicate(name, "<=", 5, weight) for name, weight in pairs])
    return drawn


def event_with(weights):
    names = [f"{group}.{i}" for group in range(GROUPS) for i in range(NAMES)]
    return {name: (1, weight) for name, weight in zip(names, weights.tolist(), strict=True)}


def leaves_met(tree, event, k):
    before = tree.leaves_read + tree.leaves_pruned
    hits = tree.top_k(event, k)
    return tree.leaves_read + tree.leaves_pruned - before, hits


@pytest.mark.large
@pytest.mark.parametrize("weights", ["all-one", "all-alike", "different"])
def test_p_nodes_below_the_kth_score_are_not_opened(weights):
    tree, event = BEStarTree(leaf_capacity=2, partition=1), event_with(WEIGHTS[weights])
    tree.insert_many(np.arange(2000), conjunctions(2000))
    tree.check()
    everything, _ = leaves_met(tree, event, 2000)
    met, hits = leaves_met(tree, event, 3)
    assert {id % GROUPS for id, _ in hits} == {0}
    # The other groups hang below other p-nodes.
    assert 0 < met < 0.4 * everything


@pytest.mark.parametrize("k", [1, 3, 40, 700])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_what_is_left_out_is_no_hit(weights, k):
    tree, expected = BEStarTree(leaf_capacity=1, partition=1), Expressions()
    for id, conjunction in enumerate(conjunctions(600, seed=k)):
        tree.insert(id, conjunction)
        expected.insert(id, conjunction)
    event = event_with(WEIGHTS[weights])
    assert tree.top_k(event, k) == expected.top_k(event, k)
