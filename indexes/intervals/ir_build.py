"""Building the nodes of an IR-tree, whole or a subtree at a time.

`arrange` puts rows that are in rank order into the node that each belongs to, `plant` makes
the nodes and packs their R-trees, `uproot` takes a subtree apart again.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.intervals.ir_entries import rate, set_entry
from indexes.intervals.ir_layout import free_block, free_node, hang, new_block, new_node
from indexes.kernels import NIL
from indexes.kernels.decorators import inner

MOST_PENDING = 160  # of a depth-first walk; the depth of 2**31 rows is below 64


class Plan(NamedTuple):
    """Nodes to be made, parents before children; node 0 is the top."""

    center: np.ndarray  # f8[nodes]  NaN = a bucket
    parent: np.ndarray  # i4[nodes]  NIL for the top
    side: np.ndarray  # i4[nodes]  0 = left child, 1 = right child
    start: np.ndarray  # i8[nodes]  the node's intervals, as a slice of the arranged rows
    stop: np.ndarray  # i8[nodes]


class Entries(NamedTuple):
    """Rows with their intervals."""

    rows: np.ndarray  # i4[n]
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]


@inner
def new_entries(count):
    return Entries(np.empty(count, np.int32), np.empty(count), np.empty(count))


@inner
def _select(values, count, k):
    """The k-th smallest of the first `count` values, which are reordered (Hoare)."""
    low, high = 0, count - 1
    while low < high:
        a, b, c = values[low], values[k], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < k:
            low = i
        if k < i:
            high = j
    return values[k]


@inner
def _median_end(entries, start, stop, scratch):
    count = stop - start
    lows, highs = entries.lows, entries.highs
    for i in range(count):
        scratch[i] = lows[start + i]
        scratch[count + i] = highs[start + i]
    return _select(scratch, 2 * count, count)


@inner
def _part(entries, start, stop, center, spare):
    """Rearrange a slice into below | around | above, each in its old order; the two bounds."""
    rows, lows, highs = entries
    below, above = 0, 0
    for i in range(start, stop):
        if highs[i] < center:
            below += 1
        elif lows[i] > center:
            above += 1
    first, second = start + below, stop - above
    at_below, at_around, at_above = start, first, second
    for i in range(start, stop):
        if highs[i] < center:
            at, at_below = at_below, at_below + 1
        elif lows[i] > center:
            at, at_above = at_above, at_above + 1
        else:
            at, at_around = at_around, at_around + 1
        spare.rows[at], spare.lows[at], spare.highs[at] = rows[i], lows[i], highs[i]
    for i in range(start, stop):
        rows[i], lows[i], highs[i] = spare.rows[i], spare.lows[i], spare.highs[i]
    return first, second


@njit(cache=True, nogil=True)
def arrange(entries, bucket):
    """Rearrange entries in rank order into the nodes of a balanced interval tree."""
    count = len(entries.rows)
    most = 8 * count // bucket + 2  # a divided node outweighs a bucket, its children halve it
    center, parent, side = np.empty(most), np.empty(most, np.int32), np.empty(most, np.int32)
    begin, end = np.empty(most, np.int64), np.empty(most, np.int64)
    spare = new_entries(count)
    scratch = np.empty(2 * count)
    pending = np.empty((MOST_PENDING, 4), np.int64)  # start, stop, parent, side
    pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = 0, count, NIL, 0
    size, made = 1 if count else 0, 0
    while size:
        size -= 1
        start, stop = pending[size, 0], pending[size, 1]
        parent[made], side[made] = pending[size, 2], pending[size, 3]
        center[made], first, second = np.nan, start, stop
        if stop - start > bucket:
            center[made] = _median_end(entries, start, stop, scratch)
            first, second = _part(entries, start, stop, center[made], spare)
            for child, low, high in ((1, second, stop), (0, start, first)):
                if low < high:
                    pending[size, 0], pending[size, 1] = low, high
                    pending[size, 2], pending[size, 3] = made, child
                    size += 1
        begin[made], end[made] = first, second
        made += 1
    return Plan(center[:made], parent[:made], side[:made], begin[:made], end[:made])


@njit(cache=True, nogil=True)
def blocks_needed(plan, fill):
    total = 0
    for i in range(len(plan.start)):
        count = plan.stop[i] - plan.start[i]
        while count > 0:
            count = (count + fill - 1) // fill
            total += count
            if count == 1:
                break
    return total


@inner
def _pack_level(t, rows, level, refs, lows, highs, fill):
    """One level of an R-tree; returns the entries that the level above has for it."""
    parts = (len(refs) + fill - 1) // fill
    blocks, least, most = np.empty(parts, np.int32), np.empty(parts), np.empty(parts)
    for part in range(parts):
        start, stop = len(refs) * part // parts, len(refs) * (part + 1) // parts
        block = new_block(t, level)
        least[part], most[part] = np.inf, -np.inf
        for i in range(start, stop):
            set_entry(t, block, i - start, np.int64(refs[i]), lows[i], highs[i])
            least[part] = min(least[part], lows[i])
            most[part] = max(most[part], highs[i])
        t.filled[block] = stop - start
        rate(t, rows, block)
        blocks[part] = block
    return blocks, least, most


@inner
def _pack(t, rows, node, refs, lows, highs, fill):
    level = 0
    refs, least, most = _pack_level(t, rows, level, refs, lows, highs, fill)
    while len(refs) > 1:
        level += 1
        refs, least, most = _pack_level(t, rows, level, refs, least, most, fill)
    t.root[node] = refs[0]
    t.up[refs[0]] = -2 - node


@njit(cache=True, nogil=True)
def plant(t, rows, plan, entries, over, side, fill):
    """Make the planned nodes and their R-trees under `over`; there must be room for them."""
    made = np.empty(len(plan.center), np.int32)
    for i in range(len(plan.center)):
        parent = over if i == 0 else made[plan.parent[i]]
        which = side if i == 0 else plan.side[i]
        node = new_node(t, plan.center[i], parent, which)
        start, stop = plan.start[i], plan.stop[i]
        refs, lows, highs = entries
        _pack(t, rows, node, refs[start:stop], lows[start:stop], highs[start:stop], fill)
        t.weight[node] = stop - start
        made[i] = node
    for i in range(len(plan.center) - 1, 0, -1):
        t.weight[made[plan.parent[i]]] += t.weight[made[i]]


@inner
def _gather(t, root, entries, found):
    """Copy a node's entries out and free its blocks; return how many are out in all."""
    pending = np.empty((t.level[root] + 1) * t.refs.shape[1] + 1, np.int32)
    pending[0], size = root, 1
    while size:
        size -= 1
        block = pending[size]
        for i in range(t.filled[block]):
            if t.level[block] > 0:
                pending[size] = t.refs[block, i]
                size += 1
            else:
                entries.rows[found] = t.refs[block, i]
                entries.lows[found] = t.lows[block, i]
                entries.highs[found] = t.highs[block, i]
                found += 1
        free_block(t, block)
    return found


@njit(cache=True, nogil=True)
def uproot(t, top):
    """Take a subtree out; return its rows and intervals, in no order."""
    count = t.weight[top]
    entries = new_entries(count)
    over = t.over[top]
    hang(t, NIL, over, 1 if over != NIL and t.right[over] == top else 0)
    pending = np.empty(MOST_PENDING, np.int32)
    pending[0], size, found = top, 1, 0
    while size:
        size -= 1
        node = pending[size]
        if t.root[node] != NIL:
            found = _gather(t, t.root[node], entries, found)
        for child in (t.left[node], t.right[node]):
            if child != NIL:
                pending[size] = child
                size += 1
        free_node(t, node)
    return entries
