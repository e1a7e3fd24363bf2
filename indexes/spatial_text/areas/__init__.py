"""What an area and an event's place have in common: decided exactly, and the boxes to look there.

    boxes      the box around each area; boxes cut where they cross the antimeridian
    circles    great-circle distances; whether a circle reaches a point or a box
    polygons   polygons laid out by the height of their edges; whether one meets a point or a box

An area has a shape, BOX, CIRCLE or POLYGONS, and a place, f8[4]: of a circle its centre, its
radius and 0, else the box around it, (west, south, east, north).  An event has a place as a box
has.  On the sphere these are degrees of longitude and latitude, and west > east crosses the
antimeridian, whose longitude is -180 as well as 180; in the plane they are plain coordinates.
"""

from indexes.spatial_text.areas.boxes import BOX, CIRCLE, POLYGONS, hulls, split_boxes
from indexes.spatial_text.areas.circles import EARTH_RADIUS_METRES

__all__ = ["BOX", "CIRCLE", "EARTH_RADIUS_METRES", "POLYGONS", "hulls", "split_boxes"]
