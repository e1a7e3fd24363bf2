"""The arrays of an IR-tree: rows, blocks and nodes, and how blocks and nodes are recycled.

An IR-tree (Machanavajjhala et al., Scalable Ranked Publish/Subscribe, §3.1) is an interval
tree whose every node indexes its intervals, in rank order, by an R-tree.  Nodes are in
`ir_skeleton`, R-trees in `ir_blocks`.  Blocks and nodes never move; freed ones are chained
through `up` and `over` and used again.

Not stored: the id of an entry (its row has it), the separating keys of an R-tree (the key of
a block is that of its first row) and an entry's position (a scan of one block finds it).
"""

from typing import NamedTuple

import numpy as np

from indexes.kernels import NIL
from indexes.kernels.decorators import bare

# Fields of `Tree.state`.
TOP = 0  # the topmost node, or NIL
FREE_BLOCK, USED_BLOCKS, LIVE_BLOCKS = 1, 2, 3
FREE_NODE, USED_NODES, LIVE_NODES = 4, 5, 6
VISITED = 7  # entries looked at by queries
TALLEST = 8  # levels of the tallest R-tree so far
STATE_FIELDS = 9


class Rows(NamedTuple):
    """What ranks a row; shared by every tree that indexes the same rows."""

    ids: np.ndarray  # i8[rows]
    scores: np.ndarray  # f8[rows]


class Tree(NamedTuple):
    refs: np.ndarray  # i4[blocks, branching]  rows in a leaf, blocks above
    lows: np.ndarray  # f8[blocks, branching]  least end of the interval or extent
    highs: np.ndarray  # f8[blocks, branching]
    filled: np.ndarray  # i4[blocks]  entries in use
    best: np.ndarray  # f8[blocks]  score of the first row, which is the greatest
    level: np.ndarray  # i4[blocks]  0 = leaf
    up: np.ndarray  # i4[blocks]  the block above; in a root, -2 - its node
    center: np.ndarray  # f8[nodes]  NaN = a bucket, which takes every interval
    left: np.ndarray  # i4[nodes]  intervals wholly below the center, or NIL
    right: np.ndarray  # i4[nodes]  intervals wholly above it, or NIL
    over: np.ndarray  # i4[nodes]  the parent node, or NIL
    root: np.ndarray  # i4[nodes]  root block of the node's R-tree, or NIL
    weight: np.ndarray  # i4[nodes]  intervals in the subtree
    touched: np.ndarray  # i8[nodes]  the last batch that changed the subtree
    where: np.ndarray  # i4[rows]  the leaf block of each row
    state: np.ndarray  # i8[STATE_FIELDS]


@bare
def new_block(t, level):
    block = t.state[FREE_BLOCK]
    if block != NIL:
        t.state[FREE_BLOCK] = t.up[block]
    else:
        block = t.state[USED_BLOCKS]
        t.state[USED_BLOCKS] += 1
    t.state[LIVE_BLOCKS] += 1
    t.filled[block] = 0
    t.best[block] = -np.inf
    t.level[block] = level
    t.state[TALLEST] = max(t.state[TALLEST], level + 1)
    t.up[block] = NIL
    return block


@bare
def free_block(t, block):
    t.up[block] = t.state[FREE_BLOCK]
    t.state[FREE_BLOCK] = block
    t.state[LIVE_BLOCKS] -= 1
    t.filled[block] = 0


@bare
def hang(t, node, over, side):
    """Make `node` (or NIL) the child of `over` on that side, or the top."""
    if over == NIL:
        t.state[TOP] = node
    elif side == 0:
        t.left[over] = node
    else:
        t.right[over] = node


@bare
def new_node(t, center, over, side):
    node = t.state[FREE_NODE]
    if node != NIL:
        t.state[FREE_NODE] = t.over[node]
    else:
        node = t.state[USED_NODES]
        t.state[USED_NODES] += 1
    t.state[LIVE_NODES] += 1
    t.center[node] = center
    t.left[node] = t.right[node] = t.root[node] = NIL
    t.weight[node] = t.touched[node] = 0
    t.over[node] = over
    hang(t, node, over, side)
    return node


@bare
def free_node(t, node):
    t.over[node] = t.state[FREE_NODE]
    t.state[FREE_NODE] = node
    t.state[LIVE_NODES] -= 1
