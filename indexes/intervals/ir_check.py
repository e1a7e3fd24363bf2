"""The invariants of an IR-tree, written once; `check()` calls this."""

import numpy as np

from indexes.hits import is_ranked
from indexes.intervals.ir_layout import (
    FREE_BLOCK,
    FREE_NODE,
    LIVE_BLOCKS,
    LIVE_NODES,
    TALLEST,
    TOP,
    USED_BLOCKS,
    USED_NODES,
    Rows,
    Tree,
)
from indexes.intervals.ir_skeleton import HEAVIEST
from indexes.kernels import NIL


def check_tree(t: Tree, keys: Rows, live: np.ndarray, bucket: int) -> None:
    """Raise `AssertionError` unless the tree holds exactly the live rows, in order, balanced."""
    rows: list[int] = []
    blocks: list[int] = []
    nodes: list[int] = []
    top = int(t.state[TOP])
    pending = [(top, NIL, -np.inf, np.inf, False, False)] if top != NIL else []
    while pending:
        node, over, low, high, bounded_below, bounded_above = pending.pop()
        nodes.append(node)
        assert t.over[node] == over
        own = _check_r_tree(t, keys, node, blocks)
        rows += own
        center = float(t.center[node])
        for row in own:
            entry = t.refs[t.where[row]].tolist().index(row)
            a, b = t.lows[t.where[row], entry], t.highs[t.where[row], entry]
            assert not bounded_below or a > low
            assert not bounded_above or b < high
            assert np.isnan(center) or a <= center <= b
        left, right = int(t.left[node]), int(t.right[node])
        if left != NIL:
            pending.append((left, node, low, center, bounded_below, True))
        if right != NIL:
            pending.append((right, node, center, high, True, bounded_above))
        _check_balance(t, node, len(own), bucket)
    assert sorted(rows) == live.tolist()
    _check_recycling(t.up, t.state[[FREE_BLOCK, USED_BLOCKS, LIVE_BLOCKS]].tolist(), blocks)
    _check_recycling(t.over, t.state[[FREE_NODE, USED_NODES, LIVE_NODES]].tolist(), nodes)


def _check_balance(t: Tree, node: int, own: int, bucket: int) -> None:
    weight = int(t.weight[node])
    below = [int(t.weight[child]) for child in (t.left[node], t.right[node]) if child != NIL]
    assert weight == own + sum(below)
    if np.isnan(t.center[node]):
        assert weight <= bucket
        assert not below
    else:
        assert 2 * weight > bucket
        assert max(below, default=0) <= HEAVIEST * weight


def _check_r_tree(t: Tree, keys: Rows, node: int, blocks: list[int]) -> list[int]:
    """The node's rows in order; its blocks are appended to `blocks`."""
    root = int(t.root[node])
    if root == NIL:
        return []
    assert t.up[root] == -2 - node
    assert t.level[root] < t.state[TALLEST]
    assert t.level[root] == 0 or t.filled[root] > 1
    rows: list[int] = []
    _check_block(t, keys, root, root, rows, blocks)
    assert is_ranked(keys.scores[rows], keys.ids[rows])
    return rows


def _check_block(
    t: Tree, keys: Rows, block: int, root: int, rows: list[int], blocks: list[int]
) -> None:
    blocks.append(block)
    count, branching = int(t.filled[block]), t.refs.shape[1]
    assert count <= branching
    assert count >= (1 if block == root else max(1, branching // 4))
    refs = t.refs[block, :count].tolist()
    if t.level[block] == 0:
        assert (t.where[refs] == block).all()
        assert t.best[block] == keys.scores[refs[0]]
        rows.extend(refs)
        return
    assert t.best[block] == t.best[refs[0]]
    for pos, child in enumerate(refs):
        assert t.up[child] == block
        assert t.level[child] == t.level[block] - 1
        filled = slice(0, int(t.filled[child]))
        assert t.lows[block, pos] == t.lows[child, filled].min()
        assert t.highs[block, pos] == t.highs[child, filled].max()
        _check_block(t, keys, child, root, rows, blocks)


def _check_recycling(chain: np.ndarray, state: list[int], live: list[int]) -> None:
    """What was ever used is live or chained from the first free one, exactly once."""
    first, used, count = state
    assert len(live) == len(set(live)) == count
    free: set[int] = set()
    while first != NIL:
        assert first not in free
        free.add(first)
        first = int(chain[first])
    assert free == set(range(used)) - set(live)
