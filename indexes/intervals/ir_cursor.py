"""Answering queries on an IR-tree: one cursor a node, merged by a heap.

A query is a pair of ends; an interval meets it when `low <= upper and high >= lower`.  For a
point both ends are the point.  A query of (inf, -inf) meets the intervals without any bound
only, which is what an event without the attribute needs.

A cursor searches its node's R-tree depth-first.  At each level it keeps which entries of the
block that it came through are still to be followed, as a mask.  Its key is that of the row it
stands at or, as long as it is above the leaves, the best score there is below: it goes down
only when it is at the front of the heap, so blocks that cannot contribute are never read.
"""

import numpy as np
from numba import njit

from indexes.hits import better
from indexes.intervals.ir_heap import NO_ID, new_cursors, rival, sink
from indexes.intervals.ir_layout import TOP, VISITED
from indexes.kernels import NIL
from indexes.kernels.bits import lowest_bit
from indexes.kernels.decorators import fused

WORD = 56  # entries that are tested at once: whole vectors of every width, in bits of an int64
NO_BAR = -np.inf  # the score that rows have to reach when all are wanted


@fused
def _meeting(lows, highs, block, start, stop, lower, upper):
    """A bit for each entry.  Without branches, so that the compiler tests several at a time."""
    mask = np.int64(0)
    for i in range(stop - start):
        low, high = lows[block, start + i], highs[block, start + i]
        mask |= np.int64((low <= upper) & (high >= lower)) << i
    return mask


@fused
def _enter(t, c, cursor, level, block, word, lower, upper):
    """Test the entries of a block from `word` on; return how many there were."""
    stop = min(word + WORD, t.filled[block])
    c.blocks[cursor, level] = block
    c.words[cursor, level] = word
    c.masks[cursor, level] = _meeting(t.lows, t.highs, block, word, stop, lower, upper)
    return stop - word


@fused
def _climb(t, c, cursor, level, lower, upper):
    """The next level with entries to follow, or the one above the root; and entries tested."""
    tested = 0
    while level <= c.top[cursor] and c.masks[cursor, level] == 0:
        block, word = c.blocks[cursor, level], c.words[cursor, level] + WORD
        if word < t.filled[block]:
            tested += _enter(t, c, cursor, level, block, word, lower, upper)
        else:
            level += 1
    return level, tested


@fused
def _key(t, rows, c, cursor, level):
    word, mask = c.words[cursor, level], c.masks[cursor, level]
    ref = t.refs[c.blocks[cursor, level], word + lowest_bit(mask)]
    if level == 0:
        return rows.scores[ref], rows.ids[ref]
    return t.best[ref], NO_ID


@fused
def _open(t, rows, c, cursor, root, lower, upper):
    """Let a cursor stand at the first entry to follow; whether there is one, and entries tested."""
    top = t.level[root]
    c.cursor[cursor], c.top[cursor] = cursor, top
    tested = _enter(t, c, cursor, top, root, 0, lower, upper)
    level, more = _climb(t, c, cursor, top, lower, upper)
    if level == top:
        c.level[cursor] = top
        c.score[cursor], c.id[cursor] = _key(t, rows, c, cursor, top)
    return level == top, tested + more


@fused
def open_cursors(t, rows, c, lower, upper, bar):
    """Place a cursor on every node that may have a row which meets the query and the bar."""
    size, visited, waiting = 0, 0, 1
    c.pending[0] = t.state[TOP]
    while waiting:
        waiting -= 1
        node = c.pending[waiting]
        if node == NIL:
            continue
        if lower < t.center[node]:
            c.pending[waiting] = t.left[node]
            waiting += 1
        if upper > t.center[node]:
            c.pending[waiting] = t.right[node]
            waiting += 1
        root = t.root[node]
        if root != NIL and t.best[root] >= bar:
            opened, tested = _open(t, rows, c, size, root, lower, upper)
            visited += tested
            if opened and c.score[size] >= bar:
                size += 1
    for i in range(size // 2 - 1, -1, -1):
        sink(c.score, c.id, c.cursor, size, i)
    c.size[0] = size
    t.state[VISITED] += visited


@fused
def _take(refs, scores, ids, block, word, mask, rival_score, rival_id, bar, out, found):
    """Take the row that a mask begins with, and those behind it that go before the rival.

    Returns what is left of the mask, the key of its first row, and how many rows are out.
    """
    row = refs[block, word + lowest_bit(mask)]
    while True:
        out[found] = row
        found += 1
        mask &= mask - 1
        if mask == 0:
            return mask, NO_BAR, np.int64(NO_ID), found
        row = refs[block, word + lowest_bit(mask)]
        score, id = scores[row], ids[row]
        if found == len(out) or score < bar or better(rival_score, rival_id, score, id):
            return mask, score, id, found


@fused
def _follow(t, rows, c, size, lower, upper, bar, out, found):
    """Take rows from the first cursor until its key is not the best, or misses the bar.

    Returns its key, whether it is at its end, how many rows are out, and entries tested.
    """
    cursor, tested = c.cursor[0], 0
    level, top = c.level[cursor], c.top[cursor]
    rival_score, rival_id = rival(c.score, c.id, size)
    while True:
        block, word, mask = c.blocks[cursor, level], c.words[cursor, level], c.masks[cursor, level]
        if level == 0:
            mask, score, id, found = _take(
                t.refs, rows.scores, rows.ids, block, word, mask, rival_score, rival_id,
                bar, out, found,
            )  # fmt: skip
            c.masks[cursor, 0] = mask
            if mask:
                break
        else:
            c.masks[cursor, level] = mask & (mask - 1)
            level -= 1
            child = t.refs[block, word + lowest_bit(mask)]
            tested += _enter(t, c, cursor, level, child, 0, lower, upper)
        level, more = _climb(t, c, cursor, level, lower, upper)
        tested += more
        if level > top:
            score, id = NO_BAR, np.int64(NO_ID)
            break
        score, id = _key(t, rows, c, cursor, level)
        if found == len(out) or score < bar or better(rival_score, rival_id, score, id):
            break
    c.level[cursor] = level
    return score, id, level > top, found, tested


@fused
def next_rows(t, rows, c, lower, upper, bar, out):
    """Fill `out` with the best rows not yet returned that reach the bar; how many there were.

    The seed's getnext(), many at a time.
    """
    found, size, visited = 0, c.size[0], 0
    while size > 0 and found < len(out) and c.score[0] >= bar:
        score, id, ended, found, tested = _follow(t, rows, c, size, lower, upper, bar, out, found)
        visited += tested
        if ended:
            size -= 1
            c.score[0], c.id[0], c.cursor[0] = c.score[size], c.id[size], c.cursor[size]
        else:
            c.score[0], c.id[0] = score, id
        sink(c.score, c.id, c.cursor, size, 0)
    c.size[0] = size
    t.state[VISITED] += visited
    return found


@njit(cache=True)
def begin_scan(t, rows, lower, upper):
    """Cursors for `scan_on`."""
    c = new_cursors(t)
    open_cursors(t, rows, c, lower, upper, NO_BAR)
    return c


@njit(cache=True)
def scan_on(t, rows, c, lower, upper, out):
    """`next_rows`, called from Python."""
    return next_rows(t, rows, c, lower, upper, NO_BAR, out)


@njit(cache=True)
def top_k_rows(t, rows, lowers, uppers, table):
    """Fill an empty `HitTable`, one row a query."""
    c = new_cursors(t)
    out = np.empty(min(table.ids.shape[1], len(rows.ids)), np.int32)
    for query in range(len(lowers)):
        lower, upper = lowers[query], uppers[query]
        open_cursors(t, rows, c, lower, upper, NO_BAR)
        found = next_rows(t, rows, c, lower, upper, NO_BAR, out)
        for i in range(found):
            table.ids[query, i] = rows.ids[out[i]]
            table.scores[query, i] = rows.scores[out[i]]
        table.counts[query] = found
