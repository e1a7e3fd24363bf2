"""Boxes that an index of plain boxes can hold: around areas, and cut at the antimeridian."""

import numpy as np

from indexes.spatial_text.areas.circles import EARTH_RADIUS_METRES

__all__ = ["BOX", "CIRCLE", "POLYGONS", "hulls", "split_boxes"]

BOX, CIRCLE, POLYGONS = range(3)

_MARGIN = 1e-9  # degrees, a tenth of a millimetre: more than any distance here is wrong by


def hulls(shapes: np.ndarray, places: np.ndarray, is_sphere: bool) -> np.ndarray:
    """The box around each area, f8[n, 4]; that of a circle is a little larger than needed."""
    boxes = places.copy()
    circles = np.flatnonzero(shapes == CIRCLE)
    x, y, radius = places[circles, :3].T
    if is_sphere:
        boxes[circles] = _around_circles_on_the_sphere(x, y, radius)
    else:
        reach = radius * (1 + 1e-12) + np.abs(x) * 1e-15 + np.abs(y) * 1e-15
        boxes[circles] = np.stack((x - reach, y - reach, x + reach, y + reach), axis=1)
    return boxes


def _around_circles_on_the_sphere(x: np.ndarray, y: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Of one that has a pole in it, or is next to it, the whole band up to the pole."""
    reach = np.degrees(np.minimum(radius / EARTH_RADIUS_METRES, np.pi)) + _MARGIN
    south, north = np.maximum(y - reach, -90.0), np.minimum(y + reach, 90.0)
    # The meridians that touch the circle are not those of its own latitude.
    with np.errstate(invalid="ignore", divide="ignore"):
        sine = np.sin(np.radians(reach)) / np.cos(np.radians(y))
        wide = np.degrees(np.arcsin(sine * (1 + 1e-14))) + _MARGIN
    banded = (south == -90.0) | (north == 90.0) | ~(wide < 179.0)
    west, east = x - wide, x + wide
    west, east = west + 360.0 * (west < -180.0), east - 360.0 * (east > 180.0)
    west, east = np.where(banded, -180.0, west), np.where(banded, 180.0, east)
    return np.stack((west, south, east, north), axis=1)


def split_boxes(
    boxes: np.ndarray, is_sphere: bool, with_other_name: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The boxes, those that cross the antimeridian in two parts, and whose part each is.

    One side has to look `with_other_name`, -180 for 180 and the other way round, for what only
    touches the antimeridian: we let events do so.

    >>> boxes, owners = split_boxes(np.array([[170.0, 0, -175, 9], [10, 0, 20, 9]]), True)
    >>> boxes.tolist(), owners.tolist()
    ([[170.0, 0.0, 180.0, 9.0], [-180.0, 0.0, -175.0, 9.0], [10.0, 0.0, 20.0, 9.0]], [0, 0, 1])
    """
    if not is_sphere:
        return boxes, np.arange(len(boxes))
    west, east = boxes[:, 0], boxes[:, 2]
    crossing = west > east
    ends_there, starts_there = (east == 180.0) & (west > -180.0), (west == -180.0) & (east < 180.0)
    touching = (ends_there | starts_there) & with_other_name & ~crossing
    owners = np.repeat(np.arange(len(boxes)), 1 + (crossing | touching))
    parts = boxes[owners]
    second = np.flatnonzero(owners[1:] == owners[:-1]) + 1
    of = owners[second]
    parts[second - 1, 2] = np.where(crossing[of], 180.0, east[of])
    parts[second, 0] = np.where(crossing[of] | ends_there[of], -180.0, 180.0)
    parts[second, 2] = np.where(crossing[of], east[of], parts[second, 0])
    return parts, owners
