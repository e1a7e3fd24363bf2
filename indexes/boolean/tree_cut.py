"""Where to cut an overflowing bucket: overlap-free, descendant-repelling splits (§V-A3).

A cut c leaves the intervals that end at or below c on the left, those that begin above c on the
right, and what lies across in the bucket itself.  Bounds are codes, so all cuts there are can be
tried in one pass over 256 counters, after one pass over the members.
"""

import numpy as np
from numba import njit

from indexes.kernels.decorators import bare, inner

EXHAUSTIVE, APPROXIMATE, RIGID = 0, 1, 2
NO_CUT = -1


@inner
def find_cut(lows, highs, alpha, split):
    """The best cut that leaves `alpha` of the members on both sides, or else the middle.

    The middle (space clustering) counts only if it parts something from the rest.
    """
    begin, end = np.zeros(257, np.int64), np.zeros(257, np.int64)
    reach, back = np.zeros(257, np.int64), np.full(257, 256, np.int64)
    first, last = np.int64(256), np.int64(0)
    for i in range(len(lows)):
        low, high = np.int64(lows[i]), np.int64(highs[i])
        begin[low] += 1
        end[high] += 1
        reach[low] = max(reach[low], high)
        back[high] = min(back[high], low)
        first, last = min(first, low), max(last, high)
    least = max(1, int(np.ceil(alpha * len(lows))))
    if split == EXHAUSTIVE:
        cut = _cheapest(begin, end, reach, back, first, last, least)
    elif split == APPROXIMATE:
        cut = _meeting_point(begin, end, first, last, least)
    else:
        cut = NO_CUT
    if cut == NO_CUT:
        middle = (first + last) // 2 if split != RIGID else _grid_line(first, last)
        left, right = 0, 0
        for code in range(257):
            left += end[code] if code <= middle else 0
            right += begin[code] if code > middle else 0
        if left + right > 0 and left < len(lows) and right < len(lows):
            cut = middle
    return cut


@bare
def _grid_line(first, last):
    """The middle of the least cell of a grid, halved again and again, that has both codes."""
    size = 1
    while first // size != last // size:
        size *= 2
    return first // size * size + size // 2 - 1


@bare
def _cheapest(begin, end, reach, back, first, last, least):
    """The cut with the least expected visits: members of each bucket times its extent.

    The paper minimizes the overlapping bucket's extent, then the coverage; weighing both by the
    members that a stab has to read makes one measure of the two.
    """
    total = 0
    for code in range(first, last + 1):
        total += begin[code]
    # A suffix minimum: where the members that end beyond a code begin.
    for code in range(last - 1, first - 1, -1):
        back[code] = min(back[code], back[code + 1])
    best, best_cost = NO_CUT, np.inf
    left, right, furthest = 0, total, 0
    for cut in range(first, last):
        left += end[cut]
        right -= begin[cut]
        furthest = max(furthest, reach[cut])
        if left < least or right < least:
            continue
        across = total - left - right
        cost = left * (cut - first + 1.0) + right * (last - cut)
        if across > 0:
            cost += across * (furthest - back[cut + 1] + 1.0)
        if cost < best_cost:
            best, best_cost = cut, cost
    return best


@bare
def _meeting_point(begin, end, first, last, least):
    """Grow the left and the right bucket by turns, the smaller one next, until they meet."""
    below, above = first, last
    left, right = end[below], begin[above]
    while below + 1 < above:
        if left <= right:
            below += 1
            left += end[below]
        else:
            above -= 1
            right += begin[above]
    if below < above and left >= least and right >= least:
        return below
    return NO_CUT


@njit(cache=True)
def cut_once(lows, highs, alpha, split):
    """`find_cut` for callers outside of kernels."""
    return find_cut(lows, highs, alpha, split)
