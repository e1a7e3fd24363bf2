"""Polygons laid out so that a point is held against the few edges at its height.

A piece is one polygon with its holes.  Its height is cut into slabs of equal size, and each slab
lists the edges that reach into it: of a polygon with thousands of corners a point usually looks at
two or three.  Edges may be in several slabs; where lists would get longer than four times the edges
there are fewer slabs.

In `codes`, from `at`:     corners, slabs, where each slab begins among the edges (slabs + 1), edges
In `numbers`, from a line: the box around it, slabs per height, then the corners x, y, x, y, ...
An edge is its first corner, the other one is the next.  A ring's first corner is there again as its
last, and the corner after that belongs to another ring, so no edge begins at it.

An edge belongs to the polygon, also that of a hole.
"""

from indexes.kernels.decorators import bare, fused

__all__ = ["CORNERS", "HEAD", "PIECE_CODES", "SLABS", "piece_meets", "slabs_for", "write_piece"]

WEST, SOUTH, EAST, NORTH, SLABS_PER_HEIGHT = range(5)
HEAD = 8  # numbers before the corners
CORNERS, SLABS = range(2)
PIECE_CODES = 2  # codes before the starts of slabs

_EDGES_PER_SLAB = 2
_LISTED_PER_EDGE = 4


@bare
def _least_and_most(corners, first, last):
    """The box around the corners from first to last."""
    west, east = corners[first, 0], corners[first, 0]
    south, north = corners[first, 1], corners[first, 1]
    for corner in range(first + 1, last):
        west, east = min(west, corners[corner, 0]), max(east, corners[corner, 0])
        south, north = min(south, corners[corner, 1]), max(north, corners[corner, 1])
    return west, south, east, north


@fused
def _slab(y, south, slabs_per_height, slabs):
    """The slab of a height: it never decreases with it, so that edges are where points look."""
    return int(min(max((y - south) * slabs_per_height, 0.0), slabs - 1.0))


@fused
def _per_height(slabs, south, north):
    return slabs / (north - south) if north > south else 0.0


@bare
def slabs_for(corners, rings, first_ring, last_ring):
    """How many slabs a piece gets, and how many edges these list in all."""
    first, last = rings[first_ring], rings[last_ring]
    _, south, _, north = _least_and_most(corners, first, last)
    edges = last - first - (last_ring - first_ring)
    slabs = max(edges // _EDGES_PER_SLAB, 1)
    while True:
        listed = 0
        per_height = _per_height(slabs, south, north)
        for ring in range(first_ring, last_ring):
            for corner in range(rings[ring], rings[ring + 1] - 1):
                a = _slab(corners[corner, 1], south, per_height, slabs)
                b = _slab(corners[corner + 1, 1], south, per_height, slabs)
                listed += abs(a - b) + 1
        if slabs == 1 or listed <= _LISTED_PER_EDGE * edges:
            return slabs, listed
        slabs //= 2


@bare
def write_piece(codes, at, numbers, line, corners, rings, first_ring, last_ring, slabs):
    """Lay out a piece; return the first code behind it."""
    first, last = rings[first_ring], rings[last_ring]
    west, south, east, north = _least_and_most(corners, first, last)
    per_height = _per_height(slabs, south, north)
    numbers[line + WEST], numbers[line + SOUTH] = west, south
    numbers[line + EAST], numbers[line + NORTH] = east, north
    numbers[line + SLABS_PER_HEIGHT] = per_height
    for corner in range(last - first):
        numbers[line + HEAD + 2 * corner] = corners[first + corner, 0]
        numbers[line + HEAD + 2 * corner + 1] = corners[first + corner, 1]
    codes[at + CORNERS], codes[at + SLABS] = last - first, slabs
    starts = at + PIECE_CODES
    for slab in range(slabs + 1):
        codes[starts + slab] = 0
    # Count the edges of each slab, add up, and then fill each slab from its end.
    for ring in range(first_ring, last_ring):
        for corner in range(rings[ring], rings[ring + 1] - 1):
            a = _slab(corners[corner, 1], south, per_height, slabs)
            b = _slab(corners[corner + 1, 1], south, per_height, slabs)
            for slab in range(min(a, b), max(a, b) + 1):
                codes[starts + slab] += 1
    listed = 0
    for slab in range(slabs):
        listed += codes[starts + slab]
        codes[starts + slab] = listed
    codes[starts + slabs] = listed
    edges = starts + slabs + 1
    for ring in range(first_ring, last_ring):
        for corner in range(rings[ring], rings[ring + 1] - 1):
            a = _slab(corners[corner, 1], south, per_height, slabs)
            b = _slab(corners[corner + 1, 1], south, per_height, slabs)
            for slab in range(min(a, b), max(a, b) + 1):
                codes[starts + slab] -= 1
                codes[edges + codes[starts + slab]] = corner - first
    return edges + listed


@fused
def piece_meets(codes, at, numbers, line, box, work):
    """Whether a piece has a point in common with a box, or with a point as a box without extent."""
    west, south, east, north = box
    if (
        numbers[line + WEST] > east
        or numbers[line + EAST] < west
        or numbers[line + SOUTH] > north
        or numbers[line + NORTH] < south
    ):
        return False
    if west == east and south == north:
        return _has_point(codes, at, numbers, line, west, south, work)
    return _meets_box(codes, at, numbers, line, box, work)


@bare
def _has_point(codes, at, numbers, line, x, y, work):
    """Whether a point is inside or on an edge: by the edges that a ray to the east crosses."""
    slabs, starts = codes[at + SLABS], at + PIECE_CODES
    slab = _slab(y, numbers[line + SOUTH], numbers[line + SLABS_PER_HEIGHT], slabs)
    edges = starts + slabs + 1
    inside = False
    work[0] += codes[starts + slab + 1] - codes[starts + slab]
    for place in range(edges + codes[starts + slab], edges + codes[starts + slab + 1]):
        corner = line + HEAD + 2 * codes[place]
        ay, by = numbers[corner + 1], numbers[corner + 3]
        if (ay > y and by > y) or (ay < y and by < y):
            continue
        ax, bx = numbers[corner], numbers[corner + 2]
        if ax < x and bx < x:
            continue
        turn = (ax - x) * (by - y) - (ay - y) * (bx - x)
        if turn == 0.0 and (ax <= x or bx <= x):
            return True
        if (ay > y) != (by > y) and (turn > 0.0) == (by > ay):
            inside = not inside
    return inside


@bare
def _meets_box(codes, at, numbers, line, box, work):
    """An edge meets the box, or the box lies inside as a whole, or outside."""
    west, south, east, north = box
    slabs, starts = codes[at + SLABS], at + PIECE_CODES
    per_height, low = numbers[line + SLABS_PER_HEIGHT], numbers[line + SOUTH]
    lowest, highest = _slab(south, low, per_height, slabs), _slab(north, low, per_height, slabs)
    edges = starts + slabs + 1
    for place in range(edges + codes[starts + lowest], edges + codes[starts + highest + 1]):
        work[0] += 1
        corner = line + HEAD + 2 * codes[place]
        ax, ay, bx, by = (
            numbers[corner],
            numbers[corner + 1],
            numbers[corner + 2],
            numbers[corner + 3],
        )
        if max(ax, bx) < west or min(ax, bx) > east or max(ay, by) < south or min(ay, by) > north:
            continue
        # They meet unless all corners of the box are on one side of the edge.
        dx, dy = bx - ax, by - ay
        a = dx * (south - ay) - dy * (west - ax)
        b = dx * (south - ay) - dy * (east - ax)
        c = dx * (north - ay) - dy * (west - ax)
        d = dx * (north - ay) - dy * (east - ax)
        if min(min(a, b), min(c, d)) <= 0.0 <= max(max(a, b), max(c, d)):
            return True
    inside = (
        numbers[line + WEST] <= west and numbers[line + SOUTH] <= south <= numbers[line + NORTH]
    )
    return inside and _has_point(codes, at, numbers, line, west, south, work)
