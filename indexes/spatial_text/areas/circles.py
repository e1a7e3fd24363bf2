"""Distances on the sphere, and whether a circle reaches a point or a box.

A circle is a line of 8 numbers: what was given, and what tells most answers without a sine.  Its
centre is a unit vector, and a point is within the radius where the square of the chord to it is at
most that of the radius.  Only where the two differ by less than rounding may explain, the distance
itself decides.  That goes by differences of longitude, so an answer stays the same when the whole
world is turned.
"""

import math

from indexes.kernels.decorators import bare, fused

__all__ = [
    "CIRCLE_NUMBERS",
    "EARTH_RADIUS_METRES",
    "TRIG_NUMBERS",
    "circle_reaches",
    "distance",
    "fill_trig",
    "write_circle",
]

EARTH_RADIUS_METRES = 6_371_008.8

CIRCLE_NUMBERS = 8
X, Y, RADIUS, CENTRE, _, _, CHORD_SQUARED, SINE = range(8)  # of a circle; its vector takes three
TRIG_NUMBERS = 8
COS_W, SIN_W, COS_E, SIN_E, COS_S, SIN_S, COS_N, SIN_N = range(8)  # of an event's place

_ALL = 5.0  # more than the square of any chord


@bare
def write_circle(numbers, at, x, y, radius):
    """Lay out a circle of the sphere; in the plane what was given is enough."""
    longitude, latitude, angle = math.radians(x), math.radians(y), radius / EARTH_RADIUS_METRES
    numbers[at + X], numbers[at + Y], numbers[at + RADIUS] = x, y, radius
    numbers[at + CENTRE] = math.cos(latitude) * math.cos(longitude)
    numbers[at + CENTRE + 1] = math.cos(latitude) * math.sin(longitude)
    numbers[at + CENTRE + 2] = math.sin(latitude)
    half_chord = math.sin(min(angle, math.pi) / 2)
    numbers[at + CHORD_SQUARED] = 4 * half_chord * half_chord if angle < math.pi else _ALL
    numbers[at + SINE] = math.sin(angle) if angle < math.pi / 2 else 2.0


@bare
def fill_trig(trig, west, south, east, north):
    """The cosines and sines that `circle_reaches` needs of a place on the sphere."""
    trig[COS_W], trig[SIN_W] = math.cos(math.radians(west)), math.sin(math.radians(west))
    trig[COS_S], trig[SIN_S] = math.cos(math.radians(south)), math.sin(math.radians(south))
    if west != east or south != north:  # of a point, these are not looked at
        trig[COS_E], trig[SIN_E] = math.cos(math.radians(east)), math.sin(math.radians(east))
        trig[COS_N], trig[SIN_N] = math.cos(math.radians(north)), math.sin(math.radians(north))


@fused
def circle_reaches(numbers, at, place, trig, is_sphere):
    """Whether a point of a place, whose east is not less than its west, is within the radius."""
    west, south, east, north = place
    x, y, radius = numbers[at + X], numbers[at + Y], numbers[at + RADIUS]
    if not is_sphere:
        return math.hypot(_outside(x, west, east), _outside(y, south, north)) <= radius
    if west == east and south == north:
        sure = _surely(
            _chord_squared(numbers, at, trig[COS_W], trig[SIN_W], trig[COS_S], trig[SIN_S]),
            numbers[at + CHORD_SQUARED],
        )
    elif west <= x <= east or west <= x + 360.0 <= east or west <= x - 360.0 <= east:
        return math.radians(_outside(y, south, north)) * EARTH_RADIUS_METRES <= radius
    else:
        sure = _reaches_edge(numbers, at, west, east, trig)
    if sure == 0:
        return _distance_to_box(x, y, west, south, east, north) <= radius
    return sure > 0


@bare
def _reaches_edge(numbers, at, west, east, trig):
    """1 if the circle reaches a box that its centre's meridian does not cut, -1 if not, or 0.

    Of points of one latitude that of the least difference of longitude is nearest, so it is the
    nearer of the two meridians that counts; and on it either the foot of the perpendicular, or the
    nearer end.
    """
    by_west = _apart(numbers[at + X], west) <= _apart(numbers[at + X], east)
    cosine, sine = (trig[COS_W], trig[SIN_W]) if by_west else (trig[COS_E], trig[SIN_E])
    x, y, z = numbers[at + CENTRE], numbers[at + CENTRE + 1], numbers[at + CENTRE + 2]
    # Along the meridian the cosine of the distance is z sin(latitude) + level cos(latitude).
    level = x * cosine + y * sine
    rises_in_the_south = z * trig[COS_S] - level * trig[SIN_S]
    rises_in_the_north = z * trig[COS_N] - level * trig[SIN_N]
    if rises_in_the_south >= 0 and rises_in_the_north <= 0:
        across = x * sine - y * cosine  # the sine of the distance
        return _surely(across * across, numbers[at + SINE] * numbers[at + SINE])
    south = _chord_squared(numbers, at, cosine, sine, trig[COS_S], trig[SIN_S])
    north = _chord_squared(numbers, at, cosine, sine, trig[COS_N], trig[SIN_N])
    return _surely(min(south, north), numbers[at + CHORD_SQUARED])


@fused
def _chord_squared(numbers, at, cosine, sine, level, height):
    """From the centre to the point of these cosines and sines of its longitude and latitude."""
    x = numbers[at + CENTRE] - level * cosine
    y = numbers[at + CENTRE + 1] - level * sine
    z = numbers[at + CENTRE + 2] - height
    return x * x + y * y + z * z


@fused
def _surely(squared, limit):
    """1 if surely within the limit, -1 if surely not; else 0.  Vectors are right to 1e-15."""
    doubt = 1e-14 * math.sqrt(limit) + 1e-28
    return 1 if squared < limit - doubt else (-1 if squared > limit + doubt else 0)


@fused
def _outside(value, low, high):
    """How far a value is outside of an interval."""
    return max(low - value, value - high, 0.0)


@fused
def _apart(longitude, other):
    """The difference of two longitudes, from 0 to 180."""
    apart = abs(longitude - other)
    if apart >= 360.0:
        apart -= 360.0
    return min(apart, 360.0 - apart)


@bare
def distance(x, y, other_x, other_y, is_sphere):
    """Between two points, in metres on the sphere."""
    if not is_sphere:
        return math.hypot(x - other_x, y - other_y)
    return EARTH_RADIUS_METRES * _angle(_apart(x, other_x), y, other_y)


@bare
def _angle(apart, latitude, other):
    """Between two points of longitudes so far apart: by the chord to one, and to its antipode."""
    across = math.radians(apart) / 2
    slope, sum_of_both = math.radians(latitude - other) / 2, math.radians(latitude + other) / 2
    levels = math.cos(math.radians(latitude)) * math.cos(math.radians(other))
    near = math.sin(slope) ** 2 + levels * math.sin(across) ** 2
    far = math.sin(sum_of_both) ** 2 + levels * math.cos(across) ** 2
    return 2 * math.atan2(math.sqrt(near), math.sqrt(far))


@bare
def _distance_to_box(x, y, west, south, east, north):
    """From a point to the nearest one of a box that its meridian does not cut."""
    apart = min(_apart(x, west), _apart(x, east))
    level = math.cos(math.radians(y)) * math.cos(math.radians(apart))
    foot = math.degrees(math.atan2(math.sin(math.radians(y)), level))
    if south <= foot <= north:
        angle = _angle(apart, y, foot)
    else:
        angle = min(_angle(apart, y, south), _angle(apart, y, north))
    return EARTH_RADIUS_METRES * angle
