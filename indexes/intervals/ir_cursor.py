"""Answering queries on an IR-tree: one cursor a node, merged by a heap.

A query is a pair of ends; an interval meets it when `low <= upper and high >= lower`.  For a
point both ends are the point.  A query of (inf, -inf) meets the intervals without any bound
only, which is what an event without the attribute needs.

A cursor is opened with the key of its node's best row, and is moved to a row that meets the
query only when it reaches the front of the heap, so nodes and blocks that cannot contribute to
the answer are never read.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.intervals.ir_build import MOST_PENDING
from indexes.intervals.ir_layout import LIVE_NODES, NIL, TOP, VISITED, inner


class Cursors(NamedTuple):
    """A binary heap, best key first."""

    score: np.ndarray  # f8[nodes]  the key of the row at (block, pos), or of one before it
    id: np.ndarray  # i8[nodes]
    block: np.ndarray  # i4[nodes]
    pos: np.ndarray  # i4[nodes]
    settled: np.ndarray  # b1[nodes]  whether (block, pos) is a row that meets the query
    size: np.ndarray  # i8[1]


@njit(cache=True)
def new_cursors(capacity):
    return Cursors(
        np.empty(capacity),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.bool_),
        np.zeros(1, np.int64),
    )


@inner
def seek(refs, lows, highs, count, level, up, block, pos, lower, upper):
    """The first leaf entry from (block, pos) on that meets the query, or block NIL.

    Also returns how many entries were looked at.
    """
    visited = 0
    while True:
        first, stop = pos, count[block]
        while pos < stop and not (lows[block, pos] <= upper and highs[block, pos] >= lower):
            pos += 1
        visited += min(pos + 1, stop) - first
        if pos < stop:
            if level[block] == 0:
                return block, pos, visited
            block, pos = refs[block, pos], 0
        else:
            parent = up[block]
            if parent < 0:
                return NIL, 0, visited
            pos = 0
            while refs[parent, pos] != block:
                pos += 1
            block, pos = parent, pos + 1


@inner
def _sink(score, id, block, pos, settled, size, i):
    while True:
        best = i
        for child in range(2 * i + 1, min(2 * i + 3, size)):
            if score[child] > score[best] or (score[child] == score[best] and id[child] < id[best]):
                best = child
        if best == i:
            return
        score[i], score[best] = score[best], score[i]
        id[i], id[best] = id[best], id[i]
        block[i], block[best] = block[best], block[i]
        pos[i], pos[best] = pos[best], pos[i]
        settled[i], settled[best] = settled[best], settled[i]
        i = best


@njit(cache=True)
def open_cursors(t, rows, c, lower, upper):
    """Place a cursor on every node that may hold an interval that meets the query."""
    c.size[0] = 0
    pending = np.empty(MOST_PENDING, np.int32)
    pending[0], waiting = t.state[TOP], 1
    while waiting:
        waiting -= 1
        node = pending[waiting]
        if node == NIL:
            continue
        if lower < t.center[node]:
            pending[waiting] = t.left[node]
            waiting += 1
        if upper > t.center[node]:
            pending[waiting] = t.right[node]
            waiting += 1
        if t.root[node] != NIL:
            _add_cursor(t, rows, c, t.root[node])
    for i in range(c.size[0] // 2 - 1, -1, -1):
        _sink(c.score, c.id, c.block, c.pos, c.settled, c.size[0], i)


@inner
def _add_cursor(t, rows, c, root):
    i = c.size[0]
    c.size[0] += 1
    row = t.refs[root, 0]
    for _ in range(t.level[root]):
        row = t.refs[row, 0]
    c.score[i], c.id[i] = rows.scores[row], rows.ids[row]
    c.block[i], c.pos[i], c.settled[i] = root, 0, False


@njit(cache=True)
def next_rows(t, rows, c, lower, upper, out):
    """Fill `out` with the best rows not yet returned; how many there were.

    The seed's getnext(), many at a time: handing a tuple of arrays to a function costs more
    than finding one row, so the arrays are taken apart once here.
    """
    refs, lows, highs, count, level, up = t.refs, t.lows, t.highs, t.filled, t.level, t.up
    score, id, block, pos, settled = c.score, c.id, c.block, c.pos, c.settled
    found, visited, size = 0, 0, c.size[0]
    while size > 0 and found < len(out):
        if settled[0]:
            out[found] = refs[block[0], pos[0]]
            found += 1
            settled[0] = False
            pos[0] += 1
            if found == len(out):
                break
        leaf, entry, looked_at = seek(
            refs, lows, highs, count, level, up, block[0], pos[0], lower, upper
        )
        visited += looked_at
        if leaf == NIL:
            size -= 1
            score[0], id[0], block[0] = score[size], id[size], block[size]
            pos[0], settled[0] = pos[size], settled[size]
        else:
            row = refs[leaf, entry]
            score[0], id[0] = rows.scores[row], rows.ids[row]
            block[0], pos[0], settled[0] = leaf, entry, True
        _sink(score, id, block, pos, settled, size, 0)
    c.size[0] = size
    t.state[VISITED] += visited
    return found


@inner
def pop_cursor(c):
    """Take the cursor with the best key away; its root block."""
    score, id, block, pos, settled = c.score, c.id, c.block, c.pos, c.settled
    c.size[0] -= 1
    root, size = block[0], c.size[0]
    score[0], id[0], block[0] = score[size], id[size], block[size]
    _sink(score, id, block, pos, settled, size, 0)
    return root


@njit(cache=True)
def top_k_rows(t, rows, lowers, uppers, k, table):
    """Fill a `HitTable`, one row a query."""
    c = new_cursors(t.state[LIVE_NODES])
    out = np.empty(k, np.int32)
    for query in range(len(lowers)):
        lower, upper = lowers[query], uppers[query]
        open_cursors(t, rows, c, lower, upper)
        found = next_rows(t, rows, c, lower, upper, out)
        for i in range(found):
            table.ids[query, i] = rows.ids[out[i]]
            table.scores[query, i] = rows.scores[out[i]]
        table.counts[query] = found
