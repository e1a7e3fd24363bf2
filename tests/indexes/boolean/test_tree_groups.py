"""How the columns of an l-node are spread over its groups and marks."""

import numpy as np
import pytest

from indexes.boolean import BEStarTree, Predicate
from indexes.boolean.row_words import COLUMN_MASK, SIZE_MASK
from indexes.boolean.tree_groups import factor_of, group_of, mark_of
from indexes.boolean.tree_layout import CARD_LEVELS, COUNT, DEPTH, ROW, SEGMENT, SPREAD
from indexes.kernels import NIL

# Kernels of kernels have no way in from Python.
_factor_of, _group_of, _mark_of = (
    getattr(kernel, "py_func", kernel) for kernel in (factor_of, group_of, mark_of)
)


def columns_beside_the_path(tree, node):
    t, r, found = tree._tree, tree._store.rows, set()
    first, count = t.c[node, [SEGMENT, COUNT]]
    for row in t.m_record[first : first + count, ROW].tolist():
        start = 2 * int(r.start[row])
        metas = r.meta[start + 1 : start + 1 + (int(r.meta[start]) & SIZE_MASK)]
        found |= set((metas & COLUMN_MASK).tolist())
    return found - set((t.paths[node, :CARD_LEVELS] - 1).tolist())


def meetings(columns, way):
    """How many of these columns have the mark of another one."""
    factor = _factor_of(way)
    return len(columns) - len({_mark_of(_group_of(factor, column)) for column in columns})


def l_nodes(tree):
    t = tree._tree
    return np.flatnonzero((t.c[:, COUNT] > 0) & (t.c[:, DEPTH] != NIL)).tolist()


def sample(attributes, of, count, rng):
    """Conjunctions over attributes that are drawn for a hundred at a time from all of them."""
    for _ in range(count):
        drawn = rng.permutation(of)[:attributes]
        for _ in range(100):
            names = rng.choice(drawn[1:], 5, replace=False)
            yield [Predicate(f"n{i}", "=", 1) for i in (drawn[0], *names)]


@pytest.mark.large
def test_the_few_columns_of_an_l_node_seldom_meet():
    conjunctions = list(sample(14, 400, 40, np.random.default_rng(0)))
    tree = BEStarTree.build(np.arange(len(conjunctions)), conjunctions)
    tree.check()
    few = [(node, columns_beside_the_path(tree, node)) for node in l_nodes(tree)]
    few = [(node, columns) for node, columns in few if len(columns) <= 16]
    assert len(few) > 20
    chosen = sum(meetings(columns, tree._tree.cards[node, SPREAD]) for node, columns in few)
    always_the_same = sum(meetings(columns, 0) for _, columns in few)
    assert 10 * chosen < always_the_same


def test_more_columns_than_marks_are_spread_over_all_of_them():
    conjunctions = list(sample(300, 300, 1, np.random.default_rng(0)))
    tree = BEStarTree.build(np.arange(len(conjunctions)), conjunctions, leaf_capacity=200)
    tree.check()
    (node,) = l_nodes(tree)
    borne = np.bitwise_or.reduce(tree._tree.m_beside[: len(conjunctions)])
    assert len(columns_beside_the_path(tree, node)) > 200
    assert borne == 2**32 - 1


def test_columns_that_come_later_stay_in_the_groups_that_were_chosen():
    rng = np.random.default_rng(1)
    conjunctions = list(sample(12, 400, 3, rng))
    tree = BEStarTree.build(np.arange(len(conjunctions)), conjunctions)
    for id, conjunction in enumerate(sample(50, 400, 1, rng), start=len(conjunctions)):
        tree.insert(id, conjunction)
    tree.delete_many(np.arange(0, len(tree), 3))
    tree.check()
