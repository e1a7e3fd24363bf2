"""Trees with about as many attributes as subscriptions: nothing is written beyond an array."""

import numpy as np
import pytest

from indexes.boolean import BEStarTree, BETree, BooleanMatcher, Predicate
from indexes.boolean import be_star_tree as module
from indexes.boolean.tree_run_check import check_runs


class TinyTree(BEStarTree):
    def __init__(self) -> None:
        super().__init__(leaf_capacity=1, partition=1)


def of_its_own(count, shared=()):
    """Conjunctions with an attribute that no other has, beside the shared predicates."""
    return [[*shared, Predicate(f"n{i}", "=", 1.0)] for i in range(count)]


def assert_found(tree, count, event=()):
    tree.check()
    for i in range(0, count, max(1, count // 7)):
        assert tree.match({**dict(event), f"n{i}": 1.0}) == [i]


@pytest.mark.parametrize("cls", [BEStarTree, BETree, TinyTree])
@pytest.mark.parametrize("shared", [(), (Predicate("x", "=", 1.0),), (Predicate("x", ">", -1.0),)])
def test_attributes_as_many_as_subscriptions(cls, shared):
    count = 1000
    tree = cls.build(np.arange(count), of_its_own(count, shared))
    assert_found(tree, count, {"x": 1.0})


@pytest.mark.large
@pytest.mark.parametrize("cls", [BEStarTree, BETree, TinyTree])
@pytest.mark.parametrize("shared", [(), (Predicate("x", "=", 1.0),), (Predicate("x", ">", -1.0),)])
def test_attributes_as_many_as_subscriptions_one_by_one(cls, shared, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 200)
    count, tree = 1200, cls()
    for i, conjunction in enumerate(of_its_own(count, shared)):
        tree.insert(i, conjunction)
    assert_found(tree, count, {"x": 1.0})
    for i in range(0, count, 2):
        tree.delete(i)
    tree.check()
    assert tree.match({"x": 1.0, "n7": 1.0}) == [7]
    assert tree.match({"x": 1.0, "n8": 1.0}) == []


@pytest.mark.large
def test_more_attributes_than_words_have_bits_for():
    count = 70_000
    tree = BEStarTree.build(np.arange(count), of_its_own(count))
    tree.insert(count, [Predicate("n3", "=", 1.0), Predicate("n69999", "=", 1.0)])
    check_runs(tree._tree)
    assert tree.match({"n3": 1.0, "n69999": 1.0}) == [3, 69_999, count]
    assert tree.match({"n69998": 1.0}) == [69_998]


def test_a_matcher_takes_expressions_with_attributes_of_their_own():
    matcher = BooleanMatcher()
    matcher.insert_many(np.arange(1200), [[conjunction] for conjunction in of_its_own(1200)])
    matcher.check()
    assert matcher.ids().tolist() == list(range(1200))


def test_pairs_that_part_only_at_the_last_level_take_most_nodes():
    """Eight p-nodes for every two members, then a bucket each."""
    pairs = [
        [Predicate(f"n{i // 2}-{level}", "=", 1.0) for level in range(7)]
        + [Predicate(f"n{i // 2}-7", "=", float(i % 2))]
        for i in range(400)
    ]
    tree = TinyTree.build(np.arange(400), pairs)
    tree.check()
    assert tree.match({f"n5-{level}": 1.0 for level in range(8)}) == [11]


def test_an_l_node_that_cannot_be_split_grows_by_what_it_needs():
    tree = BEStarTree(leaf_capacity=4)
    tree.insert_many(np.arange(3000), [[Predicate("a", "=", 1.0)]] * 3000)
    before = tree.nbytes
    for i in range(3000, 4400):
        tree.insert(i, [Predicate("a", "=", 1.0)])
    tree.check()
    assert tree.match({"a": 1.0}) == list(range(4400))
    assert tree.nbytes < 4 * before + 2_000_000


@pytest.mark.parametrize("capacity", [8, pytest.param(100, marks=pytest.mark.large)])
def test_buckets_that_deletions_leave_sparse_are_merged(capacity):
    rng = np.random.default_rng(5)
    count = 20 * capacity
    tree = BEStarTree(leaf_capacity=capacity)
    values = rng.integers(0, 200, count).astype(float)
    tree.insert_many(np.arange(count), [[Predicate("a", "<", value)] for value in values])
    order = rng.permutation(count)
    for part in np.array_split(order[: count - count // 3], 10):
        tree.delete_many(part)
        check_runs(tree._tree)
    tree.check()
    left = order[count - count // 3 :]
    assert tree.match({"a": 50.0}) == sorted(left[values[left] > 50].tolist())
