"""The invariants of a k-d tree, written once."""

import numpy as np

from indexes.covering.kd_layout import (
    BLOCK,
    DEPTH,
    DIM,
    FREE_BLOCK,
    FREE_NODE,
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
from indexes.covering.store import NIL, PLACE, Store

__all__ = ["check_tree"]


def check_tree(tree: Tree, store: Store, heads: np.ndarray) -> None:
    """Raise `AssertionError` unless the tree holds exactly `heads`, each where cuts say."""
    nodes, state = tree.nodes, tree.state
    leaves, inner, rows = [], [], []
    unbounded = np.full((2, tree.tops.shape[1]), np.inf)
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
        assert (tree.tops[node] == np.maximum(tree.tops[left], tree.tops[right])).all()
        dim, cut = int(nodes[node, DIM]), tree.cuts[node]
        low, high = region.copy(), region.copy()
        low[1, dim] = min(region[1, dim], cut)
        high[0, dim] = max(region[0, dim], cut)
        stack += [(left, low, depth + 1), (right, high, depth + 1)]
    assert sorted(rows) == sorted(heads.tolist())

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
    points, top = store.points[rows], tree.tops[leaf]
    bits = [signature(tree.thresholds, point) for point in points]
    assert tree.bits[block].tolist() == bits + [0] * (bucket - weight)
    assert (store.links[rows, PLACE] == block * bucket + np.arange(weight)).all()
    assert ((points > region[0]) | (region[0] == -np.inf)).all()
    assert (points <= region[1]).all()
    highest = points.max(axis=0, initial=-np.inf)
    with np.errstate(over="ignore"):
        below = np.nextafter(top, np.float32(-np.inf))
    assert (top >= highest).all()
    assert ((below < highest) | (highest == -np.inf)).all()
    return rows.tolist()


def _freed(first: int, following: dict[int, int]) -> set[int]:
    freed: set[int] = set()
    while first != NIL:
        assert first not in freed
        freed.add(first)
        first = following[first]
    return freed
