"""The bucketed k-d tree as arrays (the covering paper, §IV.C).

Points are in the leaves; an inner node says in which dimension it is cut and where: points up to
the cut go left.  A leaf's block has the rows of its points and their signatures, zero beyond its
weight.  Beyond the paper every node knows the bits that any of its points has, so that one
instruction says of most subtrees that nothing in them dominates.

The front, also beyond the paper, is a block of the points that reach most thresholds, wherever in
the tree they are.  Most of what is covered is covered by one of them, so it is asked first.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.covering.signatures import BITS
from indexes.covering.store import PLACE
from indexes.kernels import NIL
from indexes.kernels.decorators import inlined

# Columns of `nodes`.  A leaf has DIM = NIL; a free node has the next free one in UP.
DIM, LEFT, RIGHT, UP, WEIGHT, CHANGES, BLOCK, ANY, NODE_FIELDS = range(9)  # a cache line a node
_LINE = 64
# Fields of `state`, behind the counters of work.
ROOT, FREE_NODE, USED_NODES, LIVE_NODES, FREE_BLOCK, USED_BLOCKS, LIVE_BLOCKS = range(2, 9)
DEPTH, SKEWED, INSERTED, FULL_AGAIN, HELD, LEAST, STATE_FIELDS = range(9, 16)
FIRST_FULL = 64  # points that thresholds are first chosen from
MOST_IN_BUCKET = 64  # bits of a word


class Tree(NamedTuple):
    # i8[nodes, 8]  see above; WEIGHT counts points, CHANGES since it was cut, and ANY has the bits
    # that any point has
    nodes: np.ndarray
    cuts: np.ndarray  # f8[nodes]
    bits: np.ndarray  # i8[blocks, bucket]  see `signatures`
    members: np.ndarray  # i8[blocks * bucket]  rows; a free block has the next free one first
    owners: np.ndarray  # i8[blocks]  the leaf of each block
    thresholds: np.ndarray  # f8[63]  NaN while there are few points
    front: np.ndarray  # f8[2d, bucket]  points, dimension by dimension; NaN where there is none
    front_rows: np.ndarray  # i8[bucket]  NIL where there is none
    front_reach: np.ndarray  # i8[bucket]  how many thresholds each reaches; NIL where there is none
    # i8[15]  VISITED nodes, COMPARED points; heads of free lists, and counts; no path is longer
    # than DEPTH; a SKEWED node is to be built anew; points INSERTED since the whole tree was, and
    # how many have it built anew, so that thresholds suit, and it lies in memory as it is searched;
    # points HELD in the front, and the one with the LEAST reach there
    state: np.ndarray


def allocate(width: int, bucket: int, nodes: int, blocks: int) -> Tree:
    state = np.zeros(STATE_FIELDS, np.int64)
    state[[ROOT, FREE_NODE, FREE_BLOCK, SKEWED]] = NIL
    state[FULL_AGAIN] = FIRST_FULL
    return Tree(
        nodes=_aligned((nodes, NODE_FIELDS), np.int64),
        cuts=np.empty(nodes),
        bits=_aligned((blocks, bucket), np.int64),
        members=np.empty(blocks * bucket, np.int64),
        owners=np.empty(blocks, np.int64),
        thresholds=np.full(BITS, np.nan),
        front=np.full((width, bucket), np.nan),
        front_rows=np.full(bucket, NIL),
        front_reach=np.full(bucket, NIL),
        state=state,
    )


def _aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Zeros from the beginning of a cache line on, so that rows of its length lie in one each."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + _LINE, np.uint8)
    first = -room.__array_interface__["data"][0] % _LINE
    return room[first : first + size].view(dtype).reshape(shape)


def resized(tree: Tree, nodes: int, blocks: int) -> Tree:
    """A copy with room for so many nodes and blocks."""
    copy = allocate(len(tree.front), tree.bits.shape[1], nodes, blocks)
    used_nodes, used_blocks = int(tree.state[USED_NODES]), int(tree.state[USED_BLOCKS])
    for name in ("nodes", "cuts"):
        getattr(copy, name)[:used_nodes] = getattr(tree, name)[:used_nodes]
    for name in ("bits", "owners"):
        getattr(copy, name)[:used_blocks] = getattr(tree, name)[:used_blocks]
    members = used_blocks * tree.bits.shape[1]
    copy.members[:members] = tree.members[:members]
    kept = ("thresholds", "front", "front_rows", "front_reach", "state")
    return copy._replace(**{name: getattr(tree, name) for name in kept})


@inlined
def is_ready(tree):
    """Whether one more point fits, and nothing is to be built anew first."""
    return free_nodes(tree) > 1 and free_blocks(tree) > 0 and tree.state[SKEWED] == NIL


@inlined
def free_nodes(tree):
    return len(tree.nodes) - tree.state[LIVE_NODES]


@inlined
def free_blocks(tree):
    return len(tree.owners) - tree.state[LIVE_BLOCKS]


@njit(cache=True)
def clear(tree):
    """Forget all nodes and blocks, but not what was counted, nor the thresholds."""
    for field in (USED_NODES, LIVE_NODES, USED_BLOCKS, LIVE_BLOCKS, DEPTH):
        tree.state[field] = 0
    for field in (ROOT, FREE_NODE, FREE_BLOCK):
        tree.state[field] = NIL


@inlined
def take_node(tree, up):
    """A node that is still to be made a leaf or an inner node; there must be a free one."""
    state = tree.state
    node = state[FREE_NODE]
    if node != NIL:
        state[FREE_NODE] = tree.nodes[node, UP]
    else:
        node = state[USED_NODES]
        state[USED_NODES] += 1
    state[LIVE_NODES] += 1
    tree.nodes[node, UP] = up
    return node


@inlined
def make_leaf(tree, node, block):
    """Turn a node into a leaf without points."""
    make_inner(tree, node, NIL, 0.0, 0)
    tree.nodes[node, BLOCK] = block
    tree.owners[block] = node


@inlined
def make_inner(tree, node, dim, cut, weight):
    """Turn a node into one that is cut; its bits and children are still to be set."""
    tree.nodes[node, DIM] = dim
    tree.nodes[node, LEFT] = NIL
    tree.nodes[node, RIGHT] = NIL
    tree.nodes[node, WEIGHT] = weight
    tree.nodes[node, CHANGES] = 0
    tree.nodes[node, BLOCK] = NIL
    tree.nodes[node, ANY] = 0
    tree.cuts[node] = cut


@inlined
def release_node(tree, node):
    tree.nodes[node, UP] = tree.state[FREE_NODE]
    tree.state[FREE_NODE] = node
    tree.state[LIVE_NODES] -= 1
    if tree.state[SKEWED] == node:
        tree.state[SKEWED] = NIL


@inlined
def take_block(tree):
    """An empty block; there must be a free one."""
    state, bucket = tree.state, tree.bits.shape[1]
    block = state[FREE_BLOCK]
    if block != NIL:
        state[FREE_BLOCK] = tree.members[block * bucket]
    else:
        block = state[USED_BLOCKS]
        state[USED_BLOCKS] += 1
    state[LIVE_BLOCKS] += 1
    for slot in range(bucket):
        tree.bits[block, slot] = 0
    return block


@inlined
def release_block(tree, block):
    tree.members[block * tree.bits.shape[1]] = tree.state[FREE_BLOCK]
    tree.state[FREE_BLOCK] = block
    tree.state[LIVE_BLOCKS] -= 1


@inlined
def put_into_leaf(tree, store, leaf, row, bits):
    """Add a point to a leaf that is not full, without a look at the nodes above."""
    slot, block = tree.nodes[leaf, WEIGHT], tree.nodes[leaf, BLOCK]
    place = block * tree.bits.shape[1] + slot
    tree.bits[block, slot] = bits
    tree.members[place] = row
    store.links[row, PLACE] = place
    tree.nodes[leaf, WEIGHT] = slot + 1
    tree.nodes[leaf, ANY] |= bits


@inlined
def join_bits(tree, node):
    """Set the bits of an inner node from its children's; say whether they changed."""
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    bits = tree.nodes[left, ANY] | tree.nodes[right, ANY]
    changed = bits != tree.nodes[node, ANY]
    tree.nodes[node, ANY] = bits
    return changed
