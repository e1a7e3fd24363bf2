"""An R-tree packed over intervals in a given arrangement, and its depth-first search.

Layout: level 0 has one entry an interval, in the order of the arrangement; entry e of a level
above is the extent, the least interval around them, of entries e * b to e * b + b - 1 below.
The levels lie one behind the other in two flat columns, the lowest first.  Nothing else is
stored: a node is a run of b entries, and where its children are follows from its number.

A query is a pair of ends; an interval meets it when `low <= upper and high >= lower`.  For a
point both ends are the point.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import Hit
from indexes.intervals.scored_rows import ScoredRows
from indexes.kernels.bits import lowest_bit

__all__ = [
    "Cursor",
    "PackedRTree",
    "check_packed",
    "new_cursor",
    "open_cursor",
    "pack",
    "scan_packed",
    "take",
    "top_k_packed",
]

WORD = 48  # entries that are tested at once: whole vectors of every width, in bits of an int64
MOST_AHEAD = 64  # hits that a scan looks for at once


class PackedRTree(NamedTuple):
    lows: np.ndarray  # f8[entries]  of intervals first, then of extents
    highs: np.ndarray  # f8[entries]
    ids: np.ndarray  # i8[n]  of the intervals
    scores: np.ndarray  # f8[n]
    levels: np.ndarray  # i8[height + 1]  where each level begins, and the end
    branching: np.ndarray  # i8[1]


class Cursor(NamedTuple):
    """Where a depth-first search stands: at each level, the entries still to be followed."""

    masks: np.ndarray  # i8[height]  bit i: entry word + i meets the query
    words: np.ndarray  # i8[height]  entries, counted from the begin of their level
    level: np.ndarray  # i8[1]  the level to go on at; beyond the last one at the end


def pack(arranged: ScoredRows, branching: int) -> PackedRTree:
    lows, highs = [arranged.lows], [arranged.highs]
    while len(lows[-1]) > branching:
        firsts = np.arange(0, len(lows[-1]), branching)
        lows.append(np.minimum.reduceat(lows[-1], firsts))
        highs.append(np.maximum.reduceat(highs[-1], firsts))
    return PackedRTree(
        lows=np.concatenate(lows),
        highs=np.concatenate(highs),
        ids=arranged.ids,
        scores=arranged.scores,
        levels=np.cumsum([0, *(len(level) for level in lows)]),
        branching=np.array([branching]),
    )


def check_packed(t: PackedRTree) -> None:
    """Raise `AssertionError` unless every extent is as tight as can be around what is below."""
    b, n = int(t.branching[0]), len(t.ids)
    bounds = t.levels.tolist()
    assert bounds[:2] == [0, n]
    assert bounds[-1] == len(t.lows) == len(t.highs)
    assert bounds[-1] - bounds[-2] <= b
    assert (t.lows <= t.highs).all()
    for start, middle, stop in zip(bounds, bounds[1:], bounds[2:], strict=False):
        assert stop - middle == -(-(middle - start) // b)
        for entry in range(stop - middle):
            below = slice(start + entry * b, min(start + entry * b + b, middle))
            assert t.lows[middle + entry] == t.lows[below].min()
            assert t.highs[middle + entry] == t.highs[below].max()


def scan_packed(t: PackedRTree, value: float, visited: np.ndarray) -> Iterator[Hit]:
    """The intervals around a value in the order of the arrangement, in steps that grow."""
    cursor = new_cursor(t)
    open_cursor(t, cursor, value, value, visited)
    limit = 1
    while True:
        entries = np.empty(limit, np.int64)
        found = take(t, cursor, value, value, entries, limit, visited)
        for entry in entries[:found].tolist():
            yield Hit(int(t.ids[entry]), float(t.scores[entry]))
        if found < limit:
            return
        limit = min(2 * limit, MOST_AHEAD)


@njit(cache=True)
def new_cursor(t):
    height = len(t.levels) - 1
    return Cursor(np.empty(height, np.int64), np.empty(height, np.int64), np.empty(1, np.int64))


@njit(cache=True)
def _meeting(lows, highs, lower, upper):
    """A bit for each entry.  Without branches, so that the compiler tests several at a time."""
    mask = np.int64(0)
    for i in range(len(lows)):
        mask |= np.int64((lows[i] <= upper) & (highs[i] >= lower)) << i
    return mask


@njit(cache=True)
def open_cursor(t, c, lower, upper, visited):
    """Stand before the first interval that meets the query."""
    top = len(t.levels) - 2
    begin, end = t.levels[top], min(t.levels[top] + WORD, t.levels[top + 1])
    c.masks[top] = _meeting(t.lows[begin:end], t.highs[begin:end], lower, upper)
    c.words[top] = 0
    c.level[0] = top
    visited[0] += end - begin


@njit(cache=True)
def take(t, c, lower, upper, entries, limit, visited):
    """Up to `limit` further intervals that meet the query, into `entries`; return how many."""
    b, level, found, tested = t.branching[0], c.level[0], 0, 0
    while found < limit and level < len(t.levels) - 1:
        mask, word = c.masks[level], c.words[level]
        if level == 0 and mask:
            while mask and found < limit:
                entries[found] = word + lowest_bit(mask)
                mask &= mask - 1
                found += 1
            c.masks[0] = mask
            continue
        if mask:
            c.masks[level] = mask & (mask - 1)
            level -= 1
            word = (word + lowest_bit(mask)) * b
            stop = word + b
        elif b > WORD and word % b + WORD < b:  # the node has more entries than a mask has bits
            stop = word - word % b + b
            word += WORD
        else:
            level += 1
            continue
        begin = t.levels[level] + word
        end = max(begin, min(begin + WORD, t.levels[level] + stop, t.levels[level + 1]))
        c.masks[level] = _meeting(t.lows[begin:end], t.highs[begin:end], lower, upper)
        c.words[level] = word
        tested += end - begin
    c.level[0] = level
    visited[0] += tested
    return found


@njit(cache=True, nogil=True)
def top_k_packed(t, lowers, uppers, table, visited):
    """Fill a `HitTable` with the first intervals of the arrangement that meet each query."""
    k = table.ids.shape[1]
    c = new_cursor(t)
    entries = np.empty(min(k, len(t.ids)), np.int64)
    for query in range(len(lowers)):
        lower, upper = lowers[query], uppers[query]
        open_cursor(t, c, lower, upper, visited)
        found = take(t, c, lower, upper, entries, len(entries), visited)
        table.counts[query] = found
        for i in range(found):
            table.ids[query, i] = t.ids[entries[i]]
            table.scores[query, i] = t.scores[entries[i]]
        table.ids[query, found:] = -1
        table.scores[query, found:] = np.nan
