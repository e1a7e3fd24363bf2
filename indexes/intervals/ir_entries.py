"""The entries of one block of an R-tree (see `ir_blocks`)."""

import numpy as np

from indexes.kernels.decorators import bare


@bare
def set_entry(t, block, pos, ref, low, high):
    t.refs[block, pos] = ref
    t.lows[block, pos] = low
    t.highs[block, pos] = high
    if t.level[block] == 0:
        t.where[ref] = block
    else:
        t.up[ref] = block


@bare
def shift(t, block, start, by):
    """Move the entries from `start` on by `by` places; the count follows."""
    refs, lows, highs, stop = t.refs, t.lows, t.highs, t.filled[block]
    step = 1 if by < 0 else -1
    begin, end = (start, stop) if by < 0 else (stop - 1, start - 1)
    for i in range(begin, end, step):
        refs[block, i + by] = refs[block, i]
        lows[block, i + by] = lows[block, i]
        highs[block, i + by] = highs[block, i]
    t.filled[block] = stop + by


@bare
def put_entry(t, block, pos, ref, low, high):
    shift(t, block, pos, 1)
    set_entry(t, block, pos, ref, low, high)


@bare
def cut_entry(t, block, pos):
    shift(t, block, pos + 1, -1)


@bare
def position(t, block, ref):
    refs, pos = t.refs, 0
    while refs[block, pos] != ref:
        pos += 1
    return pos


@bare
def extent(t, block):
    lows, highs = t.lows, t.highs
    low, high = np.inf, -np.inf
    for i in range(t.filled[block]):
        low = min(low, lows[block, i])
        high = max(high, highs[block, i])
    return low, high


@bare
def rate(t, rows, block):
    """Find the best score of a block whose first entry has changed."""
    first = t.refs[block, 0]
    t.best[block] = rows.scores[first] if t.level[block] == 0 else t.best[first]
