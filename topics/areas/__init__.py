"""Where something is: the points, boxes, circles and polygons in the JSON of `spatial_text`.

    spaces.py   the two spaces, `SPHERE` and `PLANE`: their limits, their points and boxes
    shapes.py   `parse_area`: a circle or GeoJSON's polygons, checked and unrolled
    rings.py    compiled: whether the rings of a polygon cross, and whether holes are inside
    columns.py  many areas as flat arrays, as snapshots keep them

On the sphere an x is a longitude and a y a latitude, in degrees.  A box is (west, south, east,
north); west > east says that it crosses the antimeridian.  What an area and an event have in
common is decided in `indexes.spatial_text`.
"""

from topics.areas.columns import areas_from_arrays, areas_to_arrays
from topics.areas.shapes import (
    BOX,
    CIRCLE,
    MOST_CORNERS,
    POLYGONS,
    Area,
    Polygons,
    box_area,
    parse_area,
)
from topics.areas.spaces import PLANE, SPACES, SPHERE, Space

__all__ = [
    "BOX",
    "CIRCLE",
    "MOST_CORNERS",
    "PLANE",
    "POLYGONS",
    "SPACES",
    "SPHERE",
    "Area",
    "Polygons",
    "Space",
    "areas_from_arrays",
    "areas_to_arrays",
    "box_area",
    "parse_area",
]
