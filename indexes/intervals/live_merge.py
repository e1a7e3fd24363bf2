"""The k best of a SOPT-R-tree without its tombstones and of an IR-tree, in rank order.

The base is asked first, for the whole batch; then the delta's rows are merged into the table.
The base's k-th hit is a bar that little of the delta reaches: a node is skipped by its best
score, and its R-tree is in rank order, so the search of it stops at the bar.

Handing a tuple of arrays to a function takes about as long as a query of the base, so kernels
take it apart once a batch.
"""

import numpy as np
from numba import njit

from indexes.intervals.ir_cursor import new_cursors, next_rows, open_cursors
from indexes.intervals.ir_layout import LIVE_NODES, NIL, TOP, inner
from indexes.intervals.packed_r_tree import new_cursor, open_cursor, take

FEW = 128  # hits up to which putting one into its place in a row of the table is cheap


@inner
def is_buried(tombstones, place):
    return (tombstones[place >> 3] >> (place & 7)) & 1 != 0


@inner
def _drop_buried(tombstones, entries, start, stop):
    """Close the gaps that buried entries leave from `start` to `stop`; return the new stop."""
    kept = start
    for i in range(start, stop):
        entries[kept] = entries[i]
        kept += not is_buried(tombstones, entries[i])
    return kept


@njit(cache=True)
def _stab_live(t, tombstones, values, table, visited):
    """Fill an empty `HitTable` with the best intervals around each value that are not buried."""
    c = new_cursor(t)
    entries = np.empty(min(table.ids.shape[1], len(t.ids)), np.int64)
    for query in range(len(values)):
        value, found, wanted = values[query], 0, len(entries)
        open_cursor(t, c, value, value, visited)
        while wanted > 0:
            taken = take(t, c, value, value, entries[found:], wanted, visited)
            found = _drop_buried(tombstones, entries, found, found + taken)
            wanted = len(entries) - found if taken == wanted else 0
        table.counts[query] = found
        for i in range(found):
            table.ids[query, i] = t.ids[entries[i]]
            table.scores[query, i] = t.scores[entries[i]]


@inner
def _goes_first(score, id, other_score, other_id):
    return score > other_score or (score == other_score and id < other_id)


@inner
def _first_row(refs, level, block):
    row = refs[block, 0]
    for _ in range(level[block]):
        row = refs[row, 0]
    return row


@inner
def _seek(refs, lows, highs, filled, level, up, ids, scores, block, pos, value, bar, bar_id):
    """The first leaf entry from (block, pos) on around the value and before the bar, or NIL.

    Also returns how many entries were looked at.
    """
    visited = 0
    while True:
        first, stop = pos, filled[block]
        while pos < stop and not (lows[block, pos] <= value and highs[block, pos] >= value):
            pos += 1
        visited += min(pos + 1, stop) - first
        if pos < stop:
            leaf = level[block] == 0
            row = refs[block, pos] if leaf else _first_row(refs, level, refs[block, pos])
            if not _goes_first(scores[row], ids[row], bar, bar_id):
                return NIL, 0, visited
            if leaf:
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
def _put(ids, scores, query, id, score):
    """Put a hit that ranks before the last one of a full row into its place."""
    at = ids.shape[1] - 1
    while at > 0 and _goes_first(score, id, scores[query, at - 1], ids[query, at - 1]):
        ids[query, at], scores[query, at] = ids[query, at - 1], scores[query, at - 1]
        at -= 1
    ids[query, at], scores[query, at] = id, score


@njit(cache=True)
def _put_before_bar(t, rows, values, table, queries, visited):
    """Merge the delta into the given rows of the table, which are full."""
    refs, lows, highs, filled, level, up = t.refs, t.lows, t.highs, t.filled, t.level, t.up
    center, left, right, root, top = t.center, t.left, t.right, t.root, t.state[TOP]
    ids, scores, hit_ids, hit_scores = rows.ids, rows.scores, table.ids, table.scores
    last, looked_at = hit_ids.shape[1] - 1, 0
    bests = np.full(len(center), np.nan)  # of nodes, as far as looked up
    for query in queries:
        value, node = values[query], top
        while node != NIL:
            block, pos = root[node], 0
            if block != NIL and bests[node] != bests[node]:
                bests[node] = scores[_first_row(refs, level, block)]
            while block != NIL and bests[node] >= hit_scores[query, last]:
                block, pos, seen = _seek(
                    refs, lows, highs, filled, level, up, ids, scores,
                    block, pos, value, hit_scores[query, last], hit_ids[query, last],
                )  # fmt: skip
                looked_at += seen
                if block != NIL:
                    row = refs[block, pos]
                    _put(hit_ids, hit_scores, query, ids[row], scores[row])
                    pos += 1
            if value < center[node]:
                node = left[node]
            elif value > center[node]:
                node = right[node]
            else:
                node = NIL
    visited[0] += looked_at


@inner
def _merge_row(ids, scores, late, count, hit_ids, hit_scores, found):
    """Merge rows in rank order into the hits of one query; return how many there are then.

    From the worst on, so that no hit is overwritten before it has moved.
    """
    k, i, j = len(hit_ids), found - 1, count - 1
    for place in range(found + count - 1, -1, -1):
        if j < 0:
            break
        row = late[j]
        if i >= 0 and _goes_first(scores[row], ids[row], hit_scores[i], hit_ids[i]):
            id, score, i = hit_ids[i], hit_scores[i], i - 1
        else:
            id, score, j = ids[row], scores[row], j - 1
        if place < k:
            hit_ids[place], hit_scores[place] = id, score
    return min(found + count, k)


@njit(cache=True)
def _merge_rows(t, rows, values, table, queries):
    """Merge the delta's k best into the given rows of the table."""
    cursors = new_cursors(t.state[LIVE_NODES])
    late = np.empty(min(table.ids.shape[1], len(rows.ids)), np.int32)
    for query in queries:
        value = values[query]
        open_cursors(t, rows, cursors, value, value)
        count = next_rows(t, rows, cursors, value, value, late)
        table.counts[query] = _merge_row(
            rows.ids, rows.scores, late, count,
            table.ids[query], table.scores[query], table.counts[query],
        )  # fmt: skip


@njit(cache=True)
def top_k_live(t, tombstones, delta, rows, values, table, visited):
    """Fill an empty `HitTable`, one row a value."""
    k = table.ids.shape[1]
    _stab_live(t, tombstones, values, table, visited)
    if k == 0 or delta.state[TOP] == NIL:
        return
    full = table.counts == k if k <= FEW else np.zeros(len(values), np.bool_)
    _put_before_bar(delta, rows, values, table, np.flatnonzero(full), visited)
    _merge_rows(delta, rows, values, table, np.flatnonzero(~full))
