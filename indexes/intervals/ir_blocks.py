"""The R-trees that hang from the nodes of an IR-tree.

An R-tree is a B+-tree of blocks.  A block has up to `branching` entries in the order of
the rows below them (score descending, then id ascending); an entry of a leaf is a row with
its interval, an entry above is a block with its extent, the least interval around
everything in it.  Left-first depth-first search therefore meets rows in rank order and
skips what the query does not meet (Machanavajjhala et al., Scalable Ranked
Publish/Subscribe, §2.2.3 and §3.1).  The score of a block's first row, the best in it, is
kept with the block: a search need not go there to know that it is not worth it.
"""

import numpy as np

from indexes.hits import better
from indexes.intervals.ir_entries import (
    cut_entry,
    extent,
    position,
    put_entry,
    rate,
    set_entry,
    shift,
)
from indexes.intervals.ir_layout import free_block, new_block
from indexes.kernels import NIL
from indexes.kernels.decorators import bare


@bare
def refit(t, block):
    """Make the extents and best scores above a changed block tight again."""
    while t.up[block] >= 0:
        parent = np.int64(t.up[block])
        pos = position(t, parent, block)
        low, high = extent(t, block)
        best = t.best[block] if pos == 0 else t.best[parent]
        if t.lows[parent, pos] == low and t.highs[parent, pos] == high and t.best[parent] == best:
            return
        t.lows[parent, pos] = low
        t.highs[parent, pos] = high
        t.best[parent] = best
        block = parent


@bare
def _divide(t, rows, left, right, keep):
    """Deal the entries of two neighbours out again, the first `keep` to the left one."""
    excess = t.filled[left] - keep
    if excess > 0:
        shift(t, right, 0, excess)
        for i in range(excess):
            at = keep + i
            set_entry(t, right, i, t.refs[left, at], t.lows[left, at], t.highs[left, at])
    else:
        for i in range(-excess):
            at = t.filled[left] + i
            set_entry(t, left, at, t.refs[right, i], t.lows[right, i], t.highs[right, i])
        shift(t, right, -excess, excess)
    t.filled[left] = keep
    for block in (left, right):
        if t.filled[block] > 0:
            rate(t, rows, block)


@bare
def _rank(t, rows, block, score, id):
    """How many entries of the block begin before the key (score, id)."""
    refs, level, low, high = t.refs, t.level[block], 0, t.filled[block]
    while low < high:
        middle = (low + high) // 2
        ref = refs[block, middle]
        best, first_id = rows.scores[ref] if level == 0 else t.best[ref], id
        if best == score:  # only then the first row below has to be found
            for _ in range(level):
                ref = refs[ref, 0]
            first_id = rows.ids[ref]
        if better(best, first_id, score, id):
            low = middle + 1
        else:
            high = middle
    return low


@bare
def _leaf_for(t, rows, block, score, id):
    while t.level[block] > 0:
        block = np.int64(t.refs[block, max(_rank(t, rows, block, score, id) - 1, 0)])
    return block


@bare
def _add_root(t, block):
    """Put a new root above a full one; return it."""
    root = new_block(t, t.level[block] + 1)
    t.up[root] = t.up[block]
    t.root[-2 - t.up[block]] = root
    low, high = extent(t, block)
    put_entry(t, root, 0, block, low, high)
    return root


@bare
def _relieve(t, rows, block):
    """Make room in a full block, or in one above it if that has to come first."""
    full = t.refs.shape[1]
    roomy = min(full * 3 // 4, full - 2)
    while True:
        parent = np.int64(t.up[block]) if t.up[block] >= 0 else _add_root(t, block)
        pos = position(t, parent, block)
        # Sharing with a neighbour before splitting keeps blocks about 80 % full.
        for left in (pos - 1, pos):
            if left < 0 or left + 1 >= t.filled[parent]:
                continue
            a, b = np.int64(t.refs[parent, left]), np.int64(t.refs[parent, left + 1])
            if min(t.filled[a], t.filled[b]) <= roomy:
                _divide(t, rows, a, b, (t.filled[a] + t.filled[b]) // 2)
                refit(t, a)
                refit(t, b)
                return
        if t.filled[parent] < full:
            break
        block = parent
    right = new_block(t, t.level[block])
    _divide(t, rows, block, right, full // 2)
    low, high = extent(t, right)
    put_entry(t, parent, pos + 1, right, low, high)
    refit(t, block)


@bare
def insert_entry(t, rows, node, row, low, high):
    """Add a row to a node's R-tree; there must be room for a new block a level, and two."""
    score, id = rows.scores[row], rows.ids[row]
    if t.root[node] == NIL:
        t.root[node] = new_block(t, 0)
        t.up[t.root[node]] = -2 - node
    leaf = _leaf_for(t, rows, np.int64(t.root[node]), score, id)
    while t.filled[leaf] == t.refs.shape[1]:
        _relieve(t, rows, leaf)
        leaf = _leaf_for(t, rows, np.int64(t.root[node]), score, id)
    put_entry(t, leaf, _rank(t, rows, leaf, score, id), row, low, high)
    t.best[leaf] = max(t.best[leaf], score)
    while t.up[leaf] >= 0:
        parent = np.int64(t.up[leaf])
        pos = position(t, parent, leaf)
        if t.lows[parent, pos] <= low and t.highs[parent, pos] >= high and t.best[parent] >= score:
            return
        t.best[parent] = max(t.best[parent], score)
        t.lows[parent, pos] = min(t.lows[parent, pos], low)
        t.highs[parent, pos] = max(t.highs[parent, pos], high)
        leaf = parent


@bare
def node_of(t, row):
    block = np.int64(t.where[row])
    while t.up[block] >= 0:
        block = t.up[block]
    return -2 - t.up[block]


@bare
def remove_entry(t, rows, row):
    """Take a row out of its R-tree; return its interval."""
    leaf = np.int64(t.where[row])
    pos = position(t, leaf, row)
    low, high = t.lows[leaf, pos], t.highs[leaf, pos]
    cut_entry(t, leaf, pos)
    if pos == 0 and t.filled[leaf] > 0:
        rate(t, rows, leaf)
    refit(t, leaf)
    _mend(t, rows, leaf)
    return low, high


@bare
def _mend(t, rows, block):
    """Merge or refill blocks that became too empty, from `block` upwards."""
    full = t.refs.shape[1]
    while t.up[block] >= 0:
        parent = np.int64(t.up[block])
        if t.filled[block] >= max(full // 4, 1):
            return
        if t.filled[parent] == 1:  # only with a tiny branching
            cut_entry(t, parent, 0)
            free_block(t, block)
            refit(t, parent)
        else:
            pos = max(position(t, parent, block) - 1, 0)
            left, right = np.int64(t.refs[parent, pos]), np.int64(t.refs[parent, pos + 1])
            total = t.filled[left] + t.filled[right]
            if total > full * 3 // 4:
                _divide(t, rows, left, right, total // 2)
                refit(t, left)
                refit(t, right)
                return
            _divide(t, rows, left, right, total)
            cut_entry(t, parent, pos + 1)
            free_block(t, right)
            refit(t, left)
        block = parent
    _lower_root(t, block)


@bare
def _lower_root(t, block):
    node = -2 - t.up[block]
    while t.level[block] > 0 and t.filled[block] == 1:
        child = np.int64(t.refs[block, 0])
        t.root[node] = child
        t.up[child] = -2 - node
        free_block(t, block)
        block = child
    if t.filled[block] == 0:
        t.root[node] = NIL
        free_block(t, block)
