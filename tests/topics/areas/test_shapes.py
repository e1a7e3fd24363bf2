"""Areas in JSON: what is taken, how it is unrolled, and what is refused with its field."""

import json
import math

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from topics.areas import (
    CIRCLE,
    PLANE,
    POLYGONS,
    SPHERE,
    areas_from_arrays,
    areas_to_arrays,
    box_area,
    parse_area,
)
from topics.codecs.json_record import BadRecord

SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]


def polygon(*rings):
    return {"type": "Polygon", "coordinates": list(rings)}


def multi(*polygons):
    return {"type": "MultiPolygon", "coordinates": list(polygons)}


def ring_of(corners):
    return [*corners, corners[0]]


def refusal(space, value):
    with pytest.raises(BadRecord) as refused:
        parse_area(space, value, "area")
    return refused.value


def hull(value, space=SPHERE):
    return parse_area(space, value, "area").place


def test_a_circle_is_its_centre_and_radius():
    area = parse_area(SPHERE, {"circle": [13.4, 52.5, 1500]}, "area")
    assert area == (CIRCLE, (13.4, 52.5, 1500.0, 0.0), None)


def test_a_polygon_keeps_its_rings_and_the_box_around_them():
    hole = [[1, 1], [2, 1], [2, 2], [1, 1]]
    area = parse_area(SPHERE, polygon(SQUARE, hole), "area")
    assert (area.shape, area.place) == (POLYGONS, (0, 0, 4, 4))
    assert area.polygons.corners.tolist() == SQUARE + hole
    assert area.polygons.rings.tolist() == [0, 5, 9]
    assert area.polygons.pieces.tolist() == [0, 2]


def test_repeated_corners_and_heights_are_not_kept():
    given = [[0, 0, 7], [4, 0, 7], [4, 0, 8], [4, 4], [0, 0]]
    kept = parse_area(SPHERE, polygon(given), "area").polygons.corners
    assert kept.tolist() == [[0, 0], [4, 0], [4, 4], [0, 0]]


class TestAntimeridian:
    def test_a_polygon_goes_on_beyond_180(self):
        area = parse_area(
            SPHERE, polygon([[170, 0], [-170.5, 0], [-170.5, 9], [170, 9], [170, 0]]), "area"
        )
        assert area.polygons.corners[:, 0].tolist() == [170, 189.5, 189.5, 170, 170]
        west, south, east, north = area.place
        assert (west, south, north) == (170, 0, 9)
        assert -170.5 <= east < -170.5 + 1e-12

    @pytest.mark.parametrize("lon", [180, -180])
    def test_either_name_of_the_antimeridian_closes_a_ring(self, lon):
        area = parse_area(SPHERE, polygon([[180, 0], [170, 0], [170, 9], [lon, 0]]), "area")
        assert area.place == (170, 0, 180, 9)

    def test_a_hole_is_unrolled_as_its_outer_ring(self):
        outer = ring_of([[170, -9], [-170, -9], [-170, 9], [170, 9]])
        hole = ring_of([[-179, -1], [-178, -1], [-178, 1], [-179, 1]])
        corners = parse_area(SPHERE, polygon(outer, hole), "area").polygons.corners
        assert corners[5:, 0].tolist() == [181, 182, 182, 181, 181]

    def test_the_hull_of_several_polygons_crosses_where_it_is_narrower(self):
        fiji = ring_of([[177, -18], [179, -18], [179, -16]])
        samoa = ring_of([[-173, -14], [-171, -14], [-171, -13]])
        assert hull(multi([fiji], [samoa])) == (177, -18, -171, -13)
        assert hull(multi([samoa], [fiji])) == (177, -18, -171, -13)

    def test_polygons_all_around_the_world_have_a_whole_band(self):
        parts = [
            [ring_of([[w, 0], [w + 90, 0], [w + 90, 9], [w, 9]])] for w in range(-180, 180, 90)
        ]
        assert hull(multi(*parts)) == (-180, 0, 180, 9)

    @given(
        st.lists(st.tuples(st.integers(-180, 179), st.integers(1, 170)), min_size=1, max_size=4),
    )
    def test_a_hull_has_every_polygon_and_leaves_the_widest_gap(self, arcs):
        def turned(x):
            return (x + 180) % 360 - 180

        parts = [
            [ring_of([[turned(w), 0], [turned(w + size), 0], [turned(w + size / 2), 1]])]
            for w, size in arcs
        ]
        west, _, east, _ = hull(multi(*parts))
        halves = np.arange(-180, 180, 0.5)
        covered = np.zeros(len(halves), bool)
        for w, size in arcs:
            covered |= (halves - w) % 360 <= size
        # Ends that are a little further out, from rounding, are no whole half degree further.
        held = (halves - west) % 360 <= ((east - west) % 360 or 360) + 0.0
        assert not (covered & ~held).any()
        longest = run = 0
        for one in np.concatenate((covered, covered)):
            run = 0 if one else run + 1
            longest = max(longest, run)
        gap = 360 - ((east - west) % 360 or 360)
        assert gap == pytest.approx(min((longest + 1) / 2 if longest else 0, 360), abs=1e-9)


NESTED = ((1, 3, 1, 3), (2, 2.5, 1.25, 1.5))
REFUSED = [
    ([], "area"),
    (None, "area"),
    ({}, "area.type"),
    ({"type": "Point", "coordinates": [1, 2]}, "area.type"),
    ({"type": "Polygon"}, "area.coordinates"),
    ({"type": "Polygon", "coordinates": [SQUARE], "crs": 1}, "area.crs"),
    ({"circle": [1, 2, 3], "type": "Polygon"}, "area.type"),
    ({"circle": [1, 2]}, "area.circle"),
    ({"circle": 7}, "area.circle"),
    ({"circle": [1, 2, -1]}, "area.circle[2]"),
    ({"circle": [1, 2, math.nan]}, "area.circle[2]"),
    ({"circle": [1, 2, True]}, "area.circle[2]"),
    ({"circle": [1, 2, 10**400]}, "area.circle[2]"),
    ({"circle": [181, 2, 1]}, "area.circle[0]"),
    ({"circle": [1, -90.5, 1]}, "area.circle[1]"),
    (polygon(), "area.coordinates"),
    (polygon([]), "area.coordinates[0]"),
    (polygon(SQUARE[:3]), "area.coordinates[0]"),
    (polygon(SQUARE[:4]), "area.coordinates[0]"),
    (polygon([[0, 0], [1, 0], [1, 0], [0, 0]]), "area.coordinates[0]"),
    (polygon(SQUARE, [[1, 1], [2, 1], [2], [1, 1]]), "area.coordinates[1][2]"),
    (polygon(SQUARE, [[1, 1], [2, "1"], [2, 2], [1, 1]]), "area.coordinates[1][1][1]"),
    (polygon([[0, 0], [4, 0], [4, 91], [0, 0]]), "area.coordinates[0][2][1]"),
    (polygon([[0, 0], [4, 0], [math.inf, 9], [0, 0]]), "area.coordinates[0][2][0]"),
    (polygon([[0, 0], [4, 4], [4, 0], [0, 4], [0, 0]]), "area.coordinates[0]"),
    (polygon([[0, 0], [1, 1], [2, 2], [2, 0], [1, 1], [0, 2], [0, 0]]), "area.coordinates[0]"),
    (polygon([[0, 0], [2, 0], [4, 0], [1, 0], [1, 3], [0, 0]]), "area.coordinates[0]"),
    (polygon([[0, 0], [4, 0], [8, 0], [0, 0]]), "area.coordinates[0]"),
    (polygon(SQUARE, SQUARE), "area.coordinates[1]"),
    (polygon(SQUARE, ring_of([[1, 1], [5, 1], [2, 2]])), "area.coordinates[1]"),
    (polygon(SQUARE, ring_of([[9, 1], [10, 1], [10, 2]])), "area.coordinates[1]"),
    (polygon(SQUARE, ring_of([[-2, 2], [0, 1], [2, 2], [0, 3]])), "area.coordinates[1]"),
    (polygon(SQUARE, ring_of([[0, 0], [4, 0], [2, 2]])), "area.coordinates[1]"),
    (
        polygon(SQUARE, *(ring_of([[a, y], [b, y], [b, z]]) for a, b, y, z in NESTED)),
        "area.coordinates[2]",
    ),
    (multi([SQUARE], [SQUARE[:4]]), "area.coordinates[1][0]"),
    (multi([SQUARE], 7), "area.coordinates[1]"),
    (polygon(ring_of([[x, -80] for x in (-170, -60, 60, 170)])), "area.coordinates[0]"),
    (
        polygon(ring_of([[-180, -90], [180, -90], [180, -60], [50, -60], [-50, -60], [-180, -60]])),
        "area.coordinates[0]",
    ),
    (polygon(ring_of([[-91, 0], [0, 0], [91, 0], [0, 9]])), "area.coordinates[0]"),
    (polygon(ring_of([[-90, 0], [90, 0], [0, 9]])), "area.coordinates[0][1]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "field"), REFUSED, ids=[f"{field}-{i}" for i, (_, field) in enumerate(REFUSED)]
)
def test_a_bad_area_is_refused_with_its_field(value, field):
    refused = refusal(SPHERE, value)
    assert refused.field == field
    assert "got" in str(refused)
    assert "expected" in str(refused)


def test_what_to_do_is_said_of_a_polygon_around_a_pole():
    around = [[x, -80] for x in (-120, 0, 120)]
    assert "circle" in str(refusal(SPHERE, polygon(ring_of(around))))


def test_a_polygon_may_be_180_degrees_wide():
    assert hull(polygon(ring_of([[-90, 0], [0, -1], [90, 0], [0, 9]]))) == (-90, -1, 90, 9)


def test_rings_may_touch_in_a_point():
    diamond = ring_of([[0, 2], [2, 0], [4, 2], [2, 4]])
    assert len(parse_area(SPHERE, polygon(SQUARE, diamond), "area").polygons.rings) == 3


def many_corners():
    turn = 2 * math.pi / 10_000
    return [[9 * math.cos(turn * i), 9 * math.sin(turn * i)] for i in range(10_000)]


class TestCorners:
    def test_ten_thousand_are_taken(self):
        area = parse_area(SPHERE, polygon(ring_of(many_corners())), "area")
        assert len(area.polygons.corners) == 10_001

    def test_one_more_is_refused_in_one_polygon_or_many(self):
        one_more = [[10, 0], *many_corners()]
        assert refusal(SPHERE, polygon(ring_of(one_more))).field == "area.coordinates[0]"
        hole = ring_of([[1, 1], [2, 1], [2, 2]])
        several = multi([ring_of(many_corners())], [hole])
        assert refusal(SPHERE, several).field == "area.coordinates[1][0]"


class TestBox:
    def test_a_box_that_crosses_the_antimeridian_is_kept_as_it_is(self):
        assert box_area(SPHERE, [170, -5, -170, 5], "box").place == (170, -5, -170, 5)

    @pytest.mark.parametrize(
        ("space", "box", "field"),
        [
            (SPHERE, [0, 5, 1, 4], "box"),
            (PLANE, [2, 0, 1, 4], "box"),
            (SPHERE, [0, 0, 181, 4], "box[2]"),
            (SPHERE, [0, -91, 1, 4], "box[1]"),
            (SPHERE, [0, 0, 1], "box"),
            (SPHERE, "0 0 1", "box"),
            (PLANE, [0, 0, math.nan, 4], "box[2]"),
            (PLANE, [0, 0, 1, 1e200], "box[3]"),
            (SPHERE, [0, 0, 1, None], "box[3]"),
        ],
    )
    def test_a_bad_box_is_refused(self, space, box, field):
        with pytest.raises(BadRecord) as refused:
            space.box(box, "box")
        assert refused.value.field == field
        with np.errstate(invalid="ignore"):
            try:
                table = np.array([box], np.float64)
            except (ValueError, TypeError):
                return
        assert table.shape != (1, 4) or not space.are_boxes(table)

    def test_good_boxes_are_good_at_once(self):
        assert SPHERE.are_boxes(np.array([[170, -5, -170, 5], [0, 0, 0, 0.0]]))
        assert not PLANE.are_boxes(np.array([[170, -5, -170, 5.0]]))


coarse = st.integers(-3, 3)
corners = st.lists(st.tuples(coarse, coarse).map(list), min_size=3, max_size=7)


@given(corners, st.lists(corners, max_size=2))
def test_rings_are_refused_where_shapely_finds_them_invalid(outer, holes):
    """Touching at several points may cut the inside into parts, which is no harm here."""
    rings = [ring_of(ring) for ring in (outer, *holes)]
    # Shapely takes a corner that is there twice in a row as we do.
    if any(len({tuple(corner) for corner in ring}) < 3 for ring in rings):
        return
    try:
        reason = shapely.is_valid_reason(shapely.Polygon(rings[0], rings[1:]))
    except shapely.errors.GEOSException:
        return
    valid = reason == "Valid Geometry" or reason.startswith("Interior is disconnected")
    try:
        parse_area(PLANE, polygon(*rings), "area")
        taken = True
    except BadRecord:
        taken = False
    assert taken == valid, reason


@given(
    st.lists(
        st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(list),
        min_size=3,
        max_size=12,
        unique_by=tuple,
    )
)
def test_points_around_a_centre_are_refused_as_shapely_does(points):
    points.sort(key=lambda at: math.atan2(at[1], at[0]))
    ring = ring_of(points)
    valid = shapely.Polygon(ring).is_valid
    try:
        parse_area(PLANE, polygon(ring), "area")
        taken = True
    except BadRecord:
        taken = False
    assert taken == valid


def test_areas_are_kept_as_flat_arrays():
    values = [
        {"circle": [1, 2, 3]},
        polygon(SQUARE, ring_of([[1, 1], [2, 1], [2, 2]])),
        multi([ring_of([[5, 5], [6, 5], [6, 6]])], [SQUARE]),
    ]
    areas = [parse_area(SPHERE, json.loads(json.dumps(value)), "area") for value in values]
    areas.insert(1, box_area(SPHERE, [0, 1, 2, 3], "box"))
    for some in ([], areas[:2], areas, areas[2:]):
        arrays = areas_to_arrays(some)
        restored = areas_from_arrays(arrays)
        assert repr(restored) == repr(some)
        again = areas_to_arrays(restored)
        assert {name: array.tobytes() for name, array in arrays.items()} == {
            name: array.tobytes() for name, array in again.items()
        }
