"""Whether the rings of a polygon are simple, and its holes inside of it: one compiled call.

Edges are swept along the axis in which they overlap less, so that of a polygon's thousands of
edges each is held against its few neighbours.  Which side of an edge a point is on is decided
exactly: first by floats where these leave no doubt, else by sums without rounding [Shewchuk,
Adaptive Precision Floating-Point Arithmetic, 1997].  So a polygon is not refused because of how
numbers round.

Rings of one polygon may touch in points, as a hole does that reaches its outer ring.
"""

import numpy as np
from numba import njit

__all__ = [
    "CROSSES_ANOTHER",
    "CROSSES_ITSELF",
    "FOLDS_BACK",
    "MISPLACED",
    "SOUND",
    "first_fault",
]

_OUTSIDE, _INSIDE, _ON_A_RING = range(3)
SOUND, FOLDS_BACK, CROSSES_ITSELF, CROSSES_ANOTHER, MISPLACED = range(5)

_inner = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]

_SPLITTER = 134217729.0  # 2**27 + 1: halves the bits of a float64
_DOUBT = 3.3306690738754716e-16  # of what is subtracted, from where on rounding may turn the sign


def first_fault(corners: np.ndarray, starts: np.ndarray) -> tuple[int, int, float, float]:
    """A fault, the ring that has it, and about where; `SOUND` if there is none.

    Rings are closed, of three different corners or more, and none repeats one in a row.
    """
    lasts = starts[1:] - 1
    first = np.delete(np.arange(len(corners)), lasts)  # the corner at which an edge begins
    ring_of = np.repeat(np.arange(len(lasts)), lasts - starts[:-1])
    lows = np.minimum(corners[first], corners[first + 1])
    highs = np.maximum(corners[first], corners[first + 1])
    # The axis along which edges are short, compared to how far all reach.
    along = int(np.argmin((highs - lows).sum(axis=0) / np.maximum(np.ptp(corners, axis=0), 1e-300)))
    order = np.argsort(lows[:, along], kind="stable")
    sides = np.ascontiguousarray(
        np.stack((lows[:, along], highs[:, along], lows[:, 1 - along], highs[:, 1 - along]))[
            :, order
        ]
    )
    return _first_fault(corners, starts, first[order], ring_of[order], sides)


@njit(cache=True)
def _first_fault(corners, starts, first, ring_of, sides):
    low, high, side_low, side_high = sides
    for i in range(len(first)):
        corner, ring = first[i], ring_of[i]
        before = corner - 1 if corner > starts[ring] else starts[ring + 1] - 2
        if _folds_back(corners, before, corner, corner + 1):
            return FOLDS_BACK, ring, corners[corner, 0], corners[corner, 1]
        for j in range(i + 1, len(first)):
            if low[j] > high[i]:
                break
            if side_low[j] > side_high[i] or side_high[j] < side_low[i]:
                continue
            fault, x, y = _fault_of_edges(corners, starts, corner, first[j], ring, ring_of[j])
            if fault != SOUND:
                return fault, max(ring, ring_of[j]), x, y
    for ring in range(1, len(starts) - 1):
        placed, x, y = _is_placed(corners, starts, ring)
        if not placed:
            return MISPLACED, ring, x, y
    return SOUND, -1, 0.0, 0.0


@_inner
def _folds_back(corners, before, at, after):
    if _side(corners, before, at, after) != 0:
        return False
    ax, ay = corners[at, 0] - corners[before, 0], corners[at, 1] - corners[before, 1]
    bx, by = corners[after, 0] - corners[at, 0], corners[after, 1] - corners[at, 1]
    return ax * bx + ay * by < 0


@_inner
def _fault_of_edges(corners, starts, a, c, ring, other):
    """What is wrong with two edges whose boxes overlap, by their first corners, and where."""
    b, d = a + 1, c + 1
    if ring == other:
        distance = abs(a - c)
        if distance == 1 or distance == starts[ring + 1] - starts[ring] - 2:
            return SOUND, 0.0, 0.0  # neighbours: they meet in a corner, and do not fold back
    c_side, d_side = _side(corners, a, b, c), _side(corners, a, b, d)
    if c_side * d_side > 0:
        return SOUND, 0.0, 0.0
    a_side, b_side = _side(corners, c, d, a), _side(corners, c, d, b)
    if a_side * b_side > 0:
        return SOUND, 0.0, 0.0
    fault = CROSSES_ITSELF if ring == other else CROSSES_ANOTHER
    if c_side * d_side < 0 and a_side * b_side < 0:
        x, y = _meeting(corners, a, b, c, d)
        return fault, x, y
    # They touch: a corner of one lies on the other, or they have a stretch in common.
    for corner in (a, b):
        if _lies_on(corners, corner, c, d) and (
            ring == other or _passes_through(corners, starts, corner, ring, c, other)
        ):
            return fault, corners[corner, 0], corners[corner, 1]
    for corner in (c, d):
        if _lies_on(corners, corner, a, b) and (
            ring == other or _passes_through(corners, starts, corner, other, a, ring)
        ):
            return fault, corners[corner, 0], corners[corner, 1]
    if c_side == 0 and d_side == 0 and _share_a_stretch(corners, a, b, c, d):
        return fault, corners[a, 0], corners[a, 1]
    return SOUND, 0.0, 0.0


@_inner
def _lies_on(corners, at, a, b):
    """Whether a corner lies on an edge, whose ends belong to it."""
    x, y = corners[at, 0], corners[at, 1]
    return (
        min(corners[a, 0], corners[b, 0]) <= x <= max(corners[a, 0], corners[b, 0])
        and min(corners[a, 1], corners[b, 1]) <= y <= max(corners[a, 1], corners[b, 1])
        and _side(corners, a, b, at) == 0
    )


@_inner
def _share_a_stretch(corners, a, b, c, d):
    """Whether two edges of one line have more than a point in common."""
    axis = 0 if corners[a, 0] != corners[b, 0] else 1
    low = max(min(corners[a, axis], corners[b, axis]), min(corners[c, axis], corners[d, axis]))
    high = min(max(corners[a, axis], corners[b, axis]), max(corners[c, axis], corners[d, axis]))
    return low < high


@_inner
def _passes_through(corners, starts, corner, ring, edge, other):
    """Whether a ring changes sides of another one, in its corner on an edge of that one."""
    before, after = _neighbours(starts, ring, corner)
    a, b, at = edge, edge + 1, corner
    for end in (edge, edge + 1):
        if corners[end, 0] == corners[corner, 0] and corners[end, 1] == corners[corner, 1]:
            a, b = _neighbours(starts, other, end)
            at = end
    from_inside = _is_left_of_path(corners, a, at, b, before)
    return from_inside != _is_left_of_path(corners, a, at, b, after)


@_inner
def _neighbours(starts, ring, corner):
    """The corners before and after one, around the ring."""
    start, last = starts[ring], starts[ring + 1] - 1  # the last one is the first again
    return (corner - 1 if corner > start else last - 1), (
        corner + 1 if corner < last else start + 1
    )


@_inner
def _is_left_of_path(corners, a, at, b, corner):
    turn = _side(corners, a, at, b)
    along, onwards = _side(corners, a, at, corner) > 0, _side(corners, at, b, corner) > 0
    if turn > 0:
        return along and onwards
    if turn < 0:
        return along or onwards
    return along


@_inner
def _meeting(corners, a, b, c, d):
    """About where two edges cross."""
    ux, uy = corners[b, 0] - corners[a, 0], corners[b, 1] - corners[a, 1]
    vx, vy = corners[d, 0] - corners[c, 0], corners[d, 1] - corners[c, 1]
    wx, wy = corners[c, 0] - corners[a, 0], corners[c, 1] - corners[a, 1]
    across = ux * vy - uy * vx
    share = (wx * vy - wy * vx) / across if across != 0 else 0.0
    return corners[a, 0] + share * ux, corners[a, 1] + share * uy


@_inner
def _is_placed(corners, starts, ring):
    """Whether a hole is inside of the outer ring and of no other hole.

    Rings are known not to cross, so any point of it decides that is on no other ring.
    """
    for corner in range(starts[ring], starts[ring + 1] - 1):
        for share in (0.0, 0.5):  # of the way to the next corner
            x = corners[corner, 0] * (1 - share) + corners[corner + 1, 0] * share
            y = corners[corner, 1] * (1 - share) + corners[corner + 1, 1] * share
            where = _where(corners, starts, ring, x, y)
            if where != _ON_A_RING:
                return where == _INSIDE, x, y
    return False, corners[starts[ring], 0], corners[starts[ring], 1]  # on other rings everywhere


@_inner
def _where(corners, starts, ring, x, y):
    """Whether a point is inside of an odd number of the rings but one, or on one of them."""
    inside = False
    for other in range(len(starts) - 1):
        if other == ring:
            continue
        for a in range(starts[other], starts[other + 1] - 1):
            ax, ay = corners[a, 0], corners[a, 1]
            bx, by = corners[a + 1, 0], corners[a + 1, 1]
            if max(ax, bx) < x or max(ay, by) < y or min(ay, by) > y:
                continue
            side = _turn(ax, ay, bx, by, x, y)
            if side == 0 and min(ax, bx) <= x:
                return _ON_A_RING
            if (ay > y) != (by > y) and (side > 0) == (by > ay):
                inside = not inside
    return _INSIDE if inside else _OUTSIDE


@_inner
def _side(corners, a, b, c):
    """1 if c is left of the way from a to b, -1 if right, 0 if on the line."""
    turn = _turn(
        corners[a, 0], corners[a, 1], corners[b, 0], corners[b, 1], corners[c, 0], corners[c, 1]
    )
    return 1 if turn > 0 else (-1 if turn < 0 else 0)


@_inner
def _turn(ax, ay, bx, by, cx, cy):
    """The sign of (a - c) x (b - c), exact."""
    left, right = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
    turn = left - right
    if abs(turn) > _DOUBT * (abs(left) + abs(right)):
        return turn
    return _exact_turn(ax, ay, bx, by, cx, cy)


@_inner
def _exact_turn(ax, ay, bx, by, cx, cy):
    """ax by - ay bx + bx cy - by cx + cx ay - cy ax, as a sum of floats that do not overlap."""
    xs, ys = (ax, bx, cx), (ay, by, cy)
    parts = np.empty(12)
    used = 0
    for i in range(3):
        j = (i + 1) % 3
        for a, b in ((xs[i], ys[j]), (-ys[i], xs[j])):
            product = a * b
            split = _SPLITTER * a
            a_high = split - (split - a)
            split = _SPLITTER * b
            b_high = split - (split - b)
            a_low, b_low = a - a_high, b - b_high
            lost = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
            for number in (lost, product):
                used = _grow(parts, used, number)
    for i in range(used - 1, -1, -1):
        if parts[i] != 0:
            return parts[i]  # the greatest part says the sign
    return 0.0


@_inner
def _grow(parts, used, number):
    """Shewchuk's GROW-EXPANSION."""
    for i in range(used):
        total = number + parts[i]
        shift = total - number
        parts[i] = (number - (total - shift)) + (parts[i] - shift)
        number = total
    parts[used] = number
    return used + 1
