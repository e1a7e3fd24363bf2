"""Where an object is among the k best: staircases in the subscription space, cut into tiles.

A subscription is the point (low, high).  Those whose range contains x are the quadrant low <= x <=
high, and an object at x is among the k best of a subscription that contains fewer than k better
objects (the Paint paper, Lemma 2).  With the better objects next to x, l1 > l2 > ... on its left
and r1 < r2 < ... on its right, that is a staircase, the influence region: who contains `i` of those
on the left must not reach r(k - i).  For k = 2, an object at 5, better ones at 2, 4 and 7, 9:

    high
     9 ┤         ┌────┐
       │         │    │      low in (4, 5]: none on the left, so high < 9 = r2
     7 ┤    ┌────┤    │
       │    │    │    │      low in (2, 4]: one on the left, so high < 7 = r1
     5 ┤    └────┴────┘
            2    4    5  low

Each strip of equal `i` is one tile.  A tile is a row of `tiles`: inner_low, inner_high, outer_low,
outer_high, as in a message: low in (outer_low, inner_low], high in [inner_high, outer_high).
Tiles are written in descending order of low, and no two have a low in common.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.kernels.decorators import bare, fused

__all__ = [
    "LEFT", "RIGHT", "Staircase", "group_tiles", "influence_interval", "new_staircase",
    "tile_exposed", "tile_gain", "tile_region", "tile_worsened",
]  # fmt: skip

LEFT, RIGHT = range(2)


class Staircase(NamedTuple):
    """The better objects next to an object, up to k on each side."""

    left: np.ndarray  # f8[k]  descending
    right: np.ndarray  # f8[k]  ascending
    counts: np.ndarray  # i8[2]  how many there are on the left, on the right


def new_staircase(k: int) -> Staircase:
    return Staircase(np.empty(k), np.empty(k), np.zeros(2, np.int64))


@njit(cache=True)
def influence_interval(stairs):
    """What contains every range whose subscriber has the object: from the k-th better one on the
    left to that on the right (II in the paper's §II-C, an open interval)."""
    k = len(stairs.left)
    low = stairs.left[k - 1] if stairs.counts[LEFT] == k else -np.inf
    high = stairs.right[k - 1] if stairs.counts[RIGHT] == k else np.inf
    return low, high


@fused
def _ceiling(stairs, inside):
    """The bound of high for subscriptions that contain `inside` objects on the left."""
    step = len(stairs.left) - inside
    if step <= 0:
        return -np.inf
    return np.inf if step > stairs.counts[RIGHT] else stairs.right[step - 1]


@fused
def _next_left(stairs, inside):
    """Where the strip ends in which subscriptions contain `inside` objects on the left."""
    return stairs.left[inside] if inside < stairs.counts[LEFT] else -np.inf


@fused
def _write(tiles, count, inner_low, inner_high, outer_low, outer_high):
    tile = tiles[count]
    tile[0], tile[1], tile[2], tile[3] = inner_low, inner_high, outer_low, outer_high


@bare
def tile_region(x, stairs, tiles):
    """Tile the influence region of an object at x (Algorithm 4); returns the number of tiles.

    Strips without a bound of high are one tile, so there are at most k, which is the least that
    dense subscriptions need (Theorem 2).
    """
    k, a, b = len(stairs.left), stairs.counts[LEFT], stairs.counts[RIGHT]
    inside = max(0, k - 1 - b)  # the last of the strips without a bound
    count, inner_low = 0, x
    while inside <= min(a, k - 1) or count == 0:
        inside = min(inside, a)
        outer_low = _next_left(stairs, inside)
        _write(tiles, count, inner_low, x, outer_low, _ceiling(stairs, inside))
        count += 1
        inside += 1
        inner_low = outer_low
    return count


@bare
def tile_exposed(x, exposed, stairs, tiles):
    """Tile what an object loses when its key passes that of another one (Algorithm 5).

    `stairs` are those of the object at x just before.  Whoever contains both and exactly k - 1
    objects of the stairs now has the exposed one instead: a chain of tiles along a diagonal.  With
    fewer than k - 1 of them there are none, where the paper's algorithm has one too many.
    """
    k, a, b = len(stairs.left), stairs.counts[LEFT], stairs.counts[RIGHT]
    near_left, near_right = 0, 0  # objects between x and the exposed one: who has it has them
    if exposed > x:
        while near_right < b and stairs.right[near_right] < exposed:
            near_right += 1
    else:
        while near_left < a and stairs.left[near_left] > exposed:
            near_left += 1
    count = 0
    for inside in range(max(near_left, k - 1 - b), min(a, k - 1 - near_right) + 1):
        beside = k - 1 - inside
        inner_low = x if inside == 0 else stairs.left[inside - 1]
        inner_high = x if beside == 0 else stairs.right[beside - 1]
        outer_high = np.inf if beside == b else stairs.right[beside]
        outer_low = _next_left(stairs, inside)
        low, high = min(inner_low, exposed), max(inner_high, exposed)
        _write(tiles, count, low, high, outer_low, outer_high)
        count += 1
    return count


@bare
def tile_gain(x, after, before, tiles):
    """Tile the part of the region `after` that is not in the region `before`."""
    count, i, j, inner_low = 0, 0, 0, x
    while True:
        floor, ceiling = max(_ceiling(before, j), x), _ceiling(after, i)
        outer_low = max(_next_left(after, i), _next_left(before, j))
        if floor < ceiling:
            if (
                count
                and tiles[count - 1, 2] == inner_low
                and (tiles[count - 1, 1] == floor and tiles[count - 1, 3] == ceiling)
            ):
                tiles[count - 1, 2] = outer_low
            else:
                _write(tiles, count, inner_low, floor, outer_low, ceiling)
                count += 1
        if outer_low == -np.inf or ceiling == -np.inf:
            return count
        i += _next_left(after, i) == outer_low
        j += _next_left(before, j) == outer_low
        inner_low = outer_low


@bare
def tile_worsened(x, after, before, stale, tiles):
    """Tile who has to hear of a worsened object: the region `after`, and `before` where `stale`.

    `stale` is the region that the object would have with its old key among the others' new ones:
    a list that has it there would keep it.
    """
    count, i, j, s, inner_low = 0, 0, 0, 0, x
    while True:
        ceiling = max(_ceiling(after, i), min(_ceiling(before, j), _ceiling(stale, s)))
        outer_low = max(_next_left(after, i), _next_left(before, j), _next_left(stale, s))
        if ceiling > x:
            if count and tiles[count - 1, 2] == inner_low and tiles[count - 1, 3] == ceiling:
                tiles[count - 1, 2] = outer_low
            else:
                _write(tiles, count, inner_low, x, outer_low, ceiling)
                count += 1
        if outer_low == -np.inf or ceiling == -np.inf:
            return count
        i += _next_left(after, i) == outer_low
        j += _next_left(before, j) == outer_low
        s += _next_left(stale, s) == outer_low
        inner_low = outer_low


@bare
def group_tiles(tiles, count, group):
    """Cover each run of `group` tiles by their bounding box (§IV-B); returns how many are left.

    A box reaches subscriptions that have the object at rank k + group - 1 at most.
    """
    groups = 0
    for start in range(0, count, group):
        first = tiles[start]
        inner_low, inner_high = first[0], first[1]
        outer_low, outer_high = first[2], first[3]
        for i in range(start + 1, min(start + group, count)):
            inner_low, inner_high = max(inner_low, tiles[i, 0]), min(inner_high, tiles[i, 1])
            outer_low, outer_high = min(outer_low, tiles[i, 2]), max(outer_high, tiles[i, 3])
        _write(tiles, groups, inner_low, inner_high, outer_low, outer_high)
        groups += 1
    return groups
