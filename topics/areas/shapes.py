"""The area of a subscription, read from JSON: a circle, or GeoJSON's polygons with holes.

{"circle": [13.4, 52.5, 1500]}
{"type": "Polygon", "coordinates": [[[13.3, 52.4], [13.5, 52.4], [13.4, 52.6], [13.3, 52.4]]]}
{"type": "MultiPolygon", "coordinates": [[[...], ...], ...]}

Edges of polygons are straight in longitude and latitude (RFC 7946); an edge goes the shorter way
around the world, so that a polygon may cross the antimeridian.  Such a polygon is unrolled: its
longitudes go on beyond 180.  A corner's own longitude is kept to the last bit or has 360 added to
it, so that whoever treats a point alike finds it on the same corner.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from topics.areas.spaces import Box, Space, number
from topics.codecs.json_record import BadRecord

__all__ = [
    "BOX",
    "CIRCLE",
    "MOST_CORNERS",
    "POLYGONS",
    "Area",
    "Polygons",
    "box_area",
    "parse_area",
]

BOX, CIRCLE, POLYGONS = range(3)
MOST_CORNERS = 10_000  # of a subscription, without those that close the rings
_TURNED = 2e-13  # degrees: more than a longitude loses when 360 is added to it

EXPECTED = (
    'an object such as {"circle": [13.4, 52.5, 1500]} or {"type": "Polygon", "coordinates":'
    " [[[13.3, 52.4], [13.5, 52.4], [13.4, 52.6], [13.3, 52.4]]]}"
)


class Polygons(NamedTuple):
    """Polygons, which may overlap, each an outer ring and then its holes."""

    corners: np.ndarray  # f8[c, 2]  unrolled; a ring's first corner is there again as its last
    rings: np.ndarray  # i4[r + 1]  where each ring begins among the corners
    pieces: np.ndarray  # i4[p + 1]  where each polygon begins among the rings


class Area(NamedTuple):
    shape: int  # BOX, CIRCLE or POLYGONS
    place: Box  # of a box or around polygons; of a circle its centre, its radius and 0
    polygons: Polygons | None = None  # of POLYGONS


def box_area(space: Space, value: Any, field: str) -> Area:
    return Area(BOX, space.box(value, field))


def parse_area(space: Space, value: Any, field: str) -> Area:
    """The area that a decoded JSON value says, or `BadRecord` with the field."""
    if not isinstance(value, dict):
        raise BadRecord(field, f"got {type(value).__name__}, expected {EXPECTED}")
    names = {"circle"} if "circle" in value else {"type", "coordinates"}
    for name in sorted(value.keys() - names):
        wanted = " and ".join(sorted(names))
        raise BadRecord(f"{field}.{name}", f"got a further field, expected {wanted}; remove it")
    if "circle" in value:
        return _circle(space, value["circle"], f"{field}.circle")
    if value.get("type") not in ("Polygon", "MultiPolygon"):
        got = repr(value["type"])[:80] if "type" in value else "neither circle nor type"
        raise BadRecord(f"{field}.type", f"got {got}, expected Polygon or MultiPolygon")
    coordinates = value.get("coordinates")
    at = f"{field}.coordinates"
    several = value["type"] == "MultiPolygon"
    polygons = _list(coordinates, at, "polygons") if several else [coordinates]
    budget = MOST_CORNERS
    pieces: list[_Piece] = []
    for i, rings in enumerate(polygons):
        piece = _piece(space, rings, f"{at}[{i}]" if several else at, budget)
        budget -= piece.corners
        pieces.append(piece)
    return Area(POLYGONS, _hull(space, pieces), _joined(pieces))


def _circle(space: Space, value: Any, field: str) -> Area:
    if not isinstance(value, list | tuple) or len(value) != 3:
        wanted = "[longitude, latitude, metres]" if space.is_sphere else "[x, y, radius]"
        raise BadRecord(field, f"got {repr(value)[:80]}, expected {wanted}")
    x, y = space.point(value[:2], field)
    radius = number(value[2], f"{field}[2]")
    if radius < 0 or radius > space.most_radius:
        raise BadRecord(
            f"{field}[2]", f"got {radius!r}, expected a radius from 0 to {space.most_radius:g}"
        )
    return Area(CIRCLE, (x, y, radius + 0.0, 0.0))


class _Piece(NamedTuple):
    """One polygon: its rings unrolled, and how far it reaches."""

    rings: list[np.ndarray]  # f8[c, 2]
    corners: int  # that were given, without those that close the rings
    box: Box


def _piece(space: Space, value: Any, field: str, budget: int) -> _Piece:
    given = _list(value, field, "rings: the outer one, then its holes")
    rings: list[np.ndarray] = []
    corners, west = 0, None
    for i, positions in enumerate(given):
        at = f"{field}[{i}]"
        corners += max(len(_list(positions, at, "positions")) - 1, 0)
        if corners > budget:
            got = MOST_CORNERS - budget + corners
            raise BadRecord(at, f"got {got} corners up to here, expected at most {MOST_CORNERS}")
        ring = _ring(space, positions, at, west)
        if west is None:
            west = float(ring[:, 0].min())
            _refuse_width(space, ring, at)
        rings.append(ring)
    _refuse_faults(rings, field)
    (west, south), (east, north) = rings[0].min(axis=0).tolist(), rings[0].max(axis=0).tolist()
    return _Piece(rings, corners, (west, south, east, north))


def _ring(space: Space, positions: Sequence[Any], field: str, west: float | None) -> np.ndarray:
    """The corners of a closed ring, f8[c, 2], unrolled; no corner twice in a row.

    The westmost corner of an outer ring is from -180 to 180; a hole is unrolled from `west`, that
    of its outer ring.
    """
    if len(positions) < 4:
        raise BadRecord(
            field,
            f"got {len(positions)} positions, expected at least 4:"
            " three corners, and the first of them again",
        )
    ring = _positions(space, positions, field)
    if space.is_sphere:
        turns = _turns(ring[:, 0], field)
        unrolled = ring[:, 0] + 360.0 * turns
        if west is None:
            turns -= np.floor((unrolled.min() + 180.0) / 360.0)
        else:
            turns += np.ceil((west - unrolled[0]) / 360.0)
        ring[:, 0] += 360.0 * turns
    if (ring[0] != ring[-1]).any():
        raise BadRecord(
            field,
            f"got the last position {_shown(positions[-1])}, expected the first one again,"
            f" {_shown(positions[0])}, which closes the ring",
        )
    moves = np.ones(len(ring), np.bool_)
    moves[1:] = (ring[1:] != ring[:-1]).any(axis=1)
    if moves.sum() < 4:
        raise BadRecord(field, f"got {moves.sum() - 1} different corners, expected at least 3")
    return np.ascontiguousarray(ring[moves])


def _positions(space: Space, positions: Sequence[Any], field: str) -> np.ndarray:
    """f8[c, 2]; positions are only looked at one by one where something is wrong."""
    try:
        ring = np.array([position[:2] for position in positions], np.float64)
        usual = (
            ring.shape == (len(positions), 2)
            and {type(position) for position in positions} <= {list, tuple}
            and {len(position) for position in positions} <= {2, 3}
            and {type(n) for position in positions for n in position[:2]} <= {int, float}
            and bool((np.abs(ring) <= (space.most_x, space.most_y)).all())
        )
    except (TypeError, ValueError, OverflowError, KeyError):
        usual = False
    if not usual:
        points = [space.point(position, f"{field}[{i}]") for i, position in enumerate(positions)]
        ring = np.array(points, np.float64)
    return ring + 0.0  # -0.0 is 0.0


def _turns(longitudes: np.ndarray, field: str) -> np.ndarray:
    """How many turns each corner is further, so that every edge goes the shorter way."""
    steps = np.diff(longitudes)
    halves = np.flatnonzero(np.abs(steps) == 180.0)
    if len(halves):
        raise BadRecord(
            f"{field}[{halves[0] + 1}]",
            "got an edge that goes half around the world, expected to know which way;"
            " add a corner between its ends",
        )
    turns = np.concatenate(([0.0], np.cumsum(-np.sign(steps) * (np.abs(steps) > 180.0))))
    around = longitudes[-1] + 360.0 * turns[-1] - longitudes[0]
    if around and longitudes[-1] % 360.0 == longitudes[0] % 360.0:
        raise BadRecord(
            field,
            "got a ring around a pole, expected one around none; write a circle, a box from -180"
            " to 180, or the parts of a MultiPolygon, each at most 180 degrees wide",
        )
    return turns


def _refuse_width(space: Space, ring: np.ndarray, field: str) -> None:
    width = float(np.ptp(ring[:, 0]))
    if space.is_sphere and width > 180.0:
        raise BadRecord(
            field,
            f"got a polygon {width:g} degrees wide, expected at most 180;"
            " cut it into the parts of a MultiPolygon",
        )


def _refuse_faults(rings: Sequence[np.ndarray], field: str) -> None:
    # Here, because whoever only asks what kinds there are would wait for the compiler.
    from topics.areas import rings as compiled

    corners, starts = _chained(rings)
    fault, ring, x, y = compiled.first_fault(corners, starts)
    if fault == compiled.SOUND:
        return
    at = f"at [{(x + 180.0) % 360.0 - 180.0 if x > 180.0 else x:.12g}, {y:.12g}]"
    problem = {
        compiled.FOLDS_BACK: f"got a ring that goes back on itself {at}, expected a simple one",
        compiled.CROSSES_ITSELF: f"got a ring that crosses or touches itself {at}, expected a"
        " simple one; cut the polygon into the parts of a MultiPolygon",
        compiled.CROSSES_ANOTHER: f"got a ring that crosses another one of its polygon {at},"
        " expected holes that are inside of the outer ring and apart from each other",
        compiled.MISPLACED: f"got a hole with a corner {at} that is outside of the outer ring or"
        " inside of another hole, expected holes to be inside of the outer ring and apart",
    }[fault]
    raise BadRecord(f"{field}[{ring}]", problem)


def _hull(space: Space, pieces: Sequence[_Piece]) -> Box:
    """The least box around all, which crosses the antimeridian where that makes it narrower."""
    south, north = min(piece.box[1] for piece in pieces), max(piece.box[3] for piece in pieces)
    arcs = sorted((piece.box[0], piece.box[2]) for piece in pieces)
    if not space.is_sphere:
        return arcs[0][0], south, max(east for _, east in arcs), north
    # The gap before each arc ends what was reached by those before, at first a turn ago.
    furthest = max(east for _, east in arcs)
    reached = furthest - 360.0
    widest, west, east = 0.0, -180.0, 180.0
    for start, end in arcs:
        if start - reached > widest:
            widest, west, east = start - reached, start, furthest
        if end > reached:
            reached = furthest = end
    if east > 180.0:
        east = min(east - 360.0 + _TURNED, 180.0)
    return west, south, east, north


def _joined(pieces: Sequence[_Piece]) -> Polygons:
    corners, rings = _chained([ring for piece in pieces for ring in piece.rings])
    return Polygons(corners, rings, _starts([len(piece.rings) for piece in pieces]))


def _chained(rings: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate(rings), _starts([len(ring) for ring in rings])


def _starts(lengths: Sequence[int]) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)


def _list(value: Any, field: str, wanted: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple) or not value:
        raise BadRecord(field, f"got {_shown(value)}, expected a list of {wanted}")
    return value


def _shown(value: Any, most: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}…"
