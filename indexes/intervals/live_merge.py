"""The k best of a SOPT-R-tree without its tombstones and of an IR-tree, in rank order.

The base is asked first, for the whole batch; then the delta's rows are merged into the table.
The base's k-th hit is a bar that little of the delta reaches.
"""

import numpy as np
from numba import njit

from indexes.hits import better
from indexes.intervals.ir_cursor import NO_BAR, next_rows, open_cursors
from indexes.intervals.ir_heap import new_cursors
from indexes.intervals.ir_layout import TOP
from indexes.intervals.packed_r_tree import new_cursor, open_cursor, take
from indexes.kernels import NIL
from indexes.kernels.decorators import inner


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
def _merge_row(ids, scores, late, count, hit_ids, hit_scores, found):
    """Merge rows in rank order into the hits of one query; return how many there are then.

    From the worst on, so that no hit is overwritten before it has moved.
    """
    k, i, j = len(hit_ids), found - 1, count - 1
    for place in range(found + count - 1, -1, -1):
        if j < 0:
            break
        row = late[j]
        if i >= 0 and better(scores[row], ids[row], hit_scores[i], hit_ids[i]):
            id, score, i = hit_ids[i], hit_scores[i], i - 1
        else:
            id, score, j = ids[row], scores[row], j - 1
        if place < k:
            hit_ids[place], hit_scores[place] = id, score
    return min(found + count, k)


@njit(cache=True)
def _merge_rows(t, rows, values, table):
    """Merge the delta's k best into each row of the table."""
    k = table.ids.shape[1]
    c = new_cursors(t)
    late = np.empty(min(k, len(rows.ids)), np.int32)
    for query in range(len(values)):
        value, found = values[query], table.counts[query]
        bar = table.scores[query, k - 1] if found == k else NO_BAR
        open_cursors(t, rows, c, value, value, bar)
        count = next_rows(t, rows, c, value, value, bar, late)
        if count:
            table.counts[query] = _merge_row(
                rows.ids, rows.scores, late, count, table.ids[query], table.scores[query], found
            )


@njit(cache=True)
def top_k_live(t, tombstones, delta, rows, values, table, visited):
    """Fill an empty `HitTable`, one row a value."""
    _stab_live(t, tombstones, values, table, visited)
    if table.ids.shape[1] > 0 and delta.state[TOP] != NIL:
        _merge_rows(delta, rows, values, table)
