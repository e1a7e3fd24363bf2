"""The invariants of a k-d tree, written once."""

import numpy as np

from indexes.covering.kd_front import reach
from indexes.covering.kd_layout import (
    ANY,
    BLOCK,
    DEPTH,
    DIM,
    FREE_BLOCK,
    FREE_NODE,
    HELD,
    LEAST,
    LEFT,
    LIVE_BLOCKS,
    LIVE_NODES,
    RIGHT,
    ROOT,
    UP,
    USED_BLOCKS,
    USED_NODES,
    WEIGHT,
    Tree,
)
from indexes.covering.signatures import signature
from indexes.covering.store import PLACE, Store
from indexes.kernels import NIL

__all__ = ["check_tree"]


def check_tree(tree: Tree, store: Store, heads: np.ndarray) -> None:
    """Raise `AssertionError` unless the tree holds exactly `heads`, each where cuts say."""
    nodes, state = tree.nodes, tree.state
    leaves, inner, rows = [], [], []
    unbounded = np.full((2, len(tree.front)), np.inf)
    unbounded[0] = -np.inf
    stack = [(int(state[ROOT]), unbounded, 0)] if state[ROOT] != NIL else []
    while stack:
        node, region, depth = stack.pop()
        assert depth <= state[DEPTH]
        if nodes[node, DIM] == NIL:
            leaves.append(node)
            rows += _check_leaf(tree, store, node, region)
            continue
        inner.append(node)
        left, right = int(nodes[node, LEFT]), int(nodes[node, RIGHT])
        assert nodes[left, UP] == nodes[right, UP] == node
        assert nodes[node, WEIGHT] == nodes[left, WEIGHT] + nodes[right, WEIGHT]
        assert nodes[node, ANY] == nodes[left, ANY] | nodes[right, ANY]
        dim, cut = int(nodes[node, DIM]), tree.cuts[node]
        low, high = region.copy(), region.copy()
        low[1, dim] = min(region[1, dim], cut)
        high[0, dim] = max(region[0, dim], cut)
        stack += [(left, low, depth + 1), (right, high, depth + 1)]
    assert sorted(rows) == sorted(heads.tolist())
    _check_front(tree, store, heads)

    blocks = [int(nodes[leaf, BLOCK]) for leaf in leaves]
    assert all(tree.owners[b] == leaf for b, leaf in zip(blocks, leaves, strict=True))
    bucket = tree.bits.shape[1]
    next_block = {b: int(tree.members[b * bucket]) for b in range(int(state[USED_BLOCKS]))}
    next_node = {n: int(nodes[n, UP]) for n in range(int(state[USED_NODES]))}
    assert len(blocks) == state[LIVE_BLOCKS]
    assert len(leaves) + len(inner) == state[LIVE_NODES]
    assert set(blocks) == set(next_block) - _freed(int(state[FREE_BLOCK]), next_block)
    assert set(leaves + inner) == set(next_node) - _freed(int(state[FREE_NODE]), next_node)


def _check_leaf(tree: Tree, store: Store, leaf: int, region: np.ndarray) -> list[int]:
    """Points above the cuts to their left and up to those to their right; no bits beyond them."""
    weight, block = int(tree.nodes[leaf, WEIGHT]), int(tree.nodes[leaf, BLOCK])
    bucket = tree.bits.shape[1]
    assert 0 <= weight <= bucket
    assert weight > 0 or leaf == tree.state[ROOT]
    rows = tree.members[block * bucket : block * bucket + weight]
    points = store.points[rows]
    bits = [signature(tree.thresholds, point) for point in points]
    assert tree.bits[block].tolist() == bits + [0] * (bucket - weight)
    assert (store.links[rows, PLACE] == block * bucket + np.arange(weight)).all()
    assert ((points > region[0]) | (region[0] == -np.inf)).all()
    assert (points <= region[1]).all()
    assert tree.nodes[leaf, ANY] == np.bitwise_or.reduce(tree.bits[block])
    return rows.tolist()


def _check_front(tree: Tree, store: Store, heads: np.ndarray) -> None:
    """Different heads, each with its point and how many bits it has; nothing in the gaps."""
    held = tree.front_rows != NIL
    rows = tree.front_rows[held]
    assert tree.state[HELD] == len(rows) == len(set(rows.tolist()))
    assert set(rows.tolist()) <= set(heads.tolist())
    assert (tree.front[:, held] == store.points[rows].T).all()
    assert np.isnan(tree.front[:, ~held]).all()
    bits = [signature(tree.thresholds, point) for point in store.points[rows]]
    assert tree.front_reach[held].tolist() == [reach(own) for own in bits]
    assert (tree.front_reach[~held] == NIL).all()
    assert tree.front_reach[tree.state[LEAST]] == tree.front_reach.min()


def _freed(first: int, following: dict[int, int]) -> set[int]:
    freed: set[int] = set()
    while first != NIL:
        assert first not in freed
        freed.add(first)
        first = following[first]
    return freed
