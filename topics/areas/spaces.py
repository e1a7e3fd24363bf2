"""The spaces that a collection of `spatial_text` may be in.

`sphere`: [longitude, latitude] in degrees, longitudes from -180 to 180; both of these are the
antimeridian.  `plane`: plain coordinates, as of a floor or a game's map.
"""

from typing import Any, NamedTuple

import numpy as np

from topics.codecs.json_record import BadRecord

__all__ = ["PLANE", "SPACES", "SPHERE", "Box", "Point", "Space", "number"]

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # west, south, east, north

# Squares of coordinates, and products of their differences, are finite up to here.
MOST_COORDINATE = 1e100

_POINTS = {True: "[longitude, latitude]", False: "[x, y]"}
_BOXES = {True: "[west, south, east, north]", False: "[x_low, y_low, x_high, y_high]"}


class Space(NamedTuple):
    """How points and boxes are read; what is refused is refused with its field."""

    name: str
    version: int  # of how areas are read and compared: another one asks for a replay
    is_sphere: bool
    most_x: float
    most_y: float
    most_radius: float = MOST_COORDINATE

    def point(self, value: Any, field: str) -> Point:
        """A point, of which further numbers, such as a height, are not looked at."""
        if not isinstance(value, list | tuple) or not 2 <= len(value) <= 3:
            raise BadRecord(field, f"got {_shown(value)}, expected {_POINTS[self.is_sphere]}")
        return self._x(value[0], f"{field}[0]"), self._y(value[1], f"{field}[1]")

    def box(self, value: Any, field: str) -> Box:
        if not isinstance(value, list | tuple) or len(value) != 4:
            raise BadRecord(field, f"got {_shown(value)}, expected {_BOXES[self.is_sphere]}")
        west, south = self._x(value[0], f"{field}[0]"), self._y(value[1], f"{field}[1]")
        east, north = self._x(value[2], f"{field}[2]"), self._y(value[3], f"{field}[3]")
        if south > north or (west > east and not self.is_sphere):
            low, high = ("south", "north") if self.is_sphere else ("low", "high")
            raise BadRecord(field, f"got {_shown(value)}, expected {low} <= {high}")
        return west, south, east, north

    def are_boxes(self, boxes: np.ndarray) -> bool:
        """Whether `box` takes all of these, f8[n, 4]."""
        xs, ys = boxes[:, 0::2], boxes[:, 1::2]
        return bool(
            (np.abs(xs) <= self.most_x).all()
            and (np.abs(ys) <= self.most_y).all()
            and (ys[:, 0] <= ys[:, 1]).all()
            and (self.is_sphere or (xs[:, 0] <= xs[:, 1]).all())
        )

    def _x(self, value: Any, field: str) -> float:
        return self._within(value, self.most_x, "a longitude", field)

    def _y(self, value: Any, field: str) -> float:
        return self._within(value, self.most_y, "a latitude", field)

    def _within(self, value: Any, most: float, name: str, field: str) -> float:
        given = number(value, field)
        if not -most <= given <= most:
            wanted = f"{name if self.is_sphere else 'a coordinate'} from {-most:g} to {most:g}"
            order = "; a position is [longitude, latitude]" if self.is_sphere else ""
            raise BadRecord(field, f"got {given!r}, expected {wanted}{order}")
        return given + 0.0  # -0.0 is 0.0


SPHERE = Space("sphere", 1, True, 180.0, 90.0)
PLANE = Space("plane", 1, False, MOST_COORDINATE, MOST_COORDINATE)
SPACES = {space.name: space for space in (SPHERE, PLANE)}


def number(value: Any, field: str) -> float:
    """A finite number of JSON."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRecord(field, f"got {_shown(value)}, expected a number")
    try:
        given = float(value)
    except OverflowError:
        raise BadRecord(field, f"got {_shown(value)}, expected a float64") from None
    if not abs(given) < np.inf:
        raise BadRecord(field, f"got {given}, expected a finite number")
    return given


def _shown(value: Any, most: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}…"
