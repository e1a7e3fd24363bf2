"""In which order l-nodes are read, and when it pays to bound them first."""

import numpy as np
import pytest

from indexes.boolean import BEStarTree, Predicate
from indexes.boolean.masks import CHUNK
from indexes.boolean.tree_layout import COUNT
from indexes.boolean.tree_stab import SIFTED
from tests.oracles.boolean import Expressions

ATTRIBUTES = [f"n{i}" for i in range(30)]


@pytest.mark.parametrize(("values", "pruned"), [(100, False), (1, True)], ids=["few", "many"])
def test_l_nodes_are_bounded_if_they_have_many_members_that_may_match(values, pruned):
    """A hundred subscriptions to each attribute: an event meets one of each, or all of them."""
    rng = np.random.default_rng(0)
    conjunctions = [
        [Predicate(name, "=", i % values, 1 + rng.random())]
        for name in ATTRIBUTES
        for i in range(100)
    ]
    tree, expected = BEStarTree.build(np.arange(3000), conjunctions), Expressions()
    for id, conjunction in enumerate(conjunctions):
        expected.insert(id, conjunction)
    event = {name: (0, 0.1 + 0.9 * rng.random()) for name in ATTRIBUTES}
    assert tree.top_k(event, 5) == expected.top_k(event, 5)
    assert (tree.leaves_pruned > 0) == pruned


@pytest.mark.large
def test_l_nodes_with_more_members_than_are_sifted_at_once():
    """Each value leaves the members of the other one behind, though they share an l-node."""
    count = 2 * SIFTED * CHUNK + 600
    conjunctions = [
        [Predicate("a", "=", id % 2, 1 + id % 3), Predicate("b", "<=", id % 5)]
        for id in range(count)
    ]
    expected = Expressions()
    for id, conjunction in enumerate(conjunctions):
        expected.insert(id, conjunction)
    tree = BEStarTree.build(np.arange(count), conjunctions, leaf_capacity=count // 2)
    tree.check()
    assert (tree._tree.c[tree._tree.printed, COUNT]).max() > SIFTED * CHUNK
    for value in range(3):
        event = {"a": value, "b": (3, 0.5)}
        assert tree.top_k(event, 2000) == expected.top_k(event, 2000)
        assert tree.match(event) == expected.match(event)
