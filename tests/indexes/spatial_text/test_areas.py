"""Areas against places of events: raced against shapely, PROJ and dense samples."""

import math

import numpy as np
import pytest
import shapely
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pyproj import Geod

from indexes.spatial_text.areas import EARTH_RADIUS_METRES, hulls, split_boxes
from indexes.spatial_text.conditions import Areas, Conditions, Events, Words
from topics.areas import PLANE, SPHERE, areas_to_arrays, box_area, parse_area
from topics.codecs.json_record import BadRecord

GLOBE = Geod(a=EARTH_RADIUS_METRES, b=EARTH_RADIUS_METRES)
NO_WORDS = np.empty(0, np.int32)


def area_of(space, value):
    if isinstance(value, dict):
        return parse_area(space, value, "area")
    return box_area(space, value, "box")


def add(conditions, rows, areas, words=None, decays=None):
    if words is None:
        words = Words(NO_WORDS, np.zeros(3 * len(areas) + 1, np.int64))
    if decays is None:
        decays = np.full((len(areas), 4), np.nan)
    conditions.add(np.array(rows), Areas(**areas_to_arrays(areas)), words, decays)


def places_of(places):
    rows = [[*place, *place] if len(place) == 2 else list(place) for place in places]
    return np.array(rows, np.float64).reshape(-1, 4)


def meeting(space, values, places):
    """Which areas meet which places, bool[places, areas]: by their boxes, and then exactly."""
    areas = [area_of(space, value) for value in values]
    conditions = Conditions(space.is_sphere)
    add(conditions, range(len(areas)), areas)
    conditions.check()
    packed = areas_to_arrays(areas)
    boxes, owners = split_boxes(
        hulls(packed["shapes"], packed["places"], space.is_sphere), space.is_sphere
    )
    events = places_of(places)
    parts, of_events = split_boxes(events, space.is_sphere, with_other_name=True)
    met = (parts[:, None, :2] <= boxes[:, 2:]).all(axis=2) & (
        parts[:, None, 2:] >= boxes[:, :2]
    ).all(axis=2)
    candidates = np.zeros((len(events), len(areas)), bool)
    part, box = np.nonzero(met)
    candidates[of_events[part], owners[box]] = True
    exact = held(conditions, events, len(areas))
    # Boxes decide of boxes; no area that meets a place may be left out by its box.
    shapes = packed["shapes"] > 0
    assert not (exact & ~candidates)[:, shapes].any()
    return candidates & exact


def held(conditions, events, rows, scores=None):
    candidates = np.tile(np.arange(rows), len(events))
    starts = np.arange(len(events) + 1) * rows
    scores = np.ones(len(candidates)) if scores is None else scores
    matching = conditions.hold(
        Events(events, NO_WORDS, np.zeros(len(events) + 1, np.int64)), candidates, starts, scores
    )
    return matching.reshape(len(events), rows)


def turned(value, by):
    """An area or a place, further east."""

    def longitude(x):
        return (x + by + 180) % 360 - 180

    if isinstance(value, dict):
        if "circle" in value:
            x, y, radius = value["circle"]
            return {"circle": [longitude(x), y, radius]}
        polygons = (
            value["coordinates"] if value["type"] == "MultiPolygon" else [value["coordinates"]]
        )
        moved = [[[[longitude(x), y] for x, y in ring] for ring in rings] for rings in polygons]
        several = value["type"] == "MultiPolygon"
        return {"type": value["type"], "coordinates": moved if several else moved[0]}
    if len(value) == 2:
        return [longitude(value[0]), value[1]]
    west, south, east, north = value
    if east - west == 360:
        return value
    return [longitude(west), south, longitude(east), north]


# Coarse, so that corners, edges and the antimeridian are often met.
longitudes = st.integers(-12, 12).map(lambda n: n * 15.0)
latitudes = st.integers(-6, 6).map(lambda n: n * 15.0)
points = st.tuples(longitudes, latitudes).map(list)


@st.composite
def sphere_boxes(draw):
    south, north = sorted((draw(latitudes), draw(latitudes)))
    return [draw(longitudes), south, draw(longitudes), north]


@st.composite
def fans(draw):
    """A polygon between coarse corners around a centre, perhaps with a hole."""
    x, y = draw(longitudes), draw(st.integers(-3, 3).map(lambda n: n * 15.0))
    wide, high = draw(st.sampled_from([15, 45, 75])), draw(st.sampled_from([15, 30, 45]))
    corners = [(-1, -1), (0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0)]
    kept = sorted(draw(st.sets(st.integers(0, 7), min_size=3)))
    assume(all((b - a) % 8 <= 3 for a, b in zip(kept, [*kept[1:], kept[0]], strict=True)))
    ring = [[x + wide * corners[i][0], y + high * corners[i][1]] for i in [*kept, kept[0]]]
    rings = [ring]
    if len(kept) == 8 and draw(st.booleans()):
        rings.append([[x + a * wide / 2, y + b * high / 2] for a, b in [*corners[::2], corners[0]]])
    wrapped = [[[(lon + 180) % 360 - 180, lat] for lon, lat in ring] for ring in rings]
    return {"type": "Polygon", "coordinates": wrapped}


circles = st.tuples(
    longitudes, latitudes, st.sampled_from([0, 1e3, 1e6, 3e6, 1e7, 1.5e7, 3e7])
).map(lambda circle: {"circle": list(circle)})
places = st.one_of(points, sphere_boxes())


@given(
    st.lists(st.one_of(sphere_boxes(), circles, fans()), min_size=1, max_size=4),
    st.lists(places, min_size=1, max_size=4),
    st.integers(-24, 24).map(lambda n: n * 7.5),
)
def test_no_answer_changes_when_the_world_is_turned(areas, events, by):
    straight = meeting(SPHERE, areas, events)
    moved = meeting(SPHERE, [turned(area, by) for area in areas], [turned(at, by) for at in events])
    assert (straight == moved).all()


def unrolled(value):
    """A polygon as shapely takes it, on its own turn of the world."""
    rings = parse_area(SPHERE, value, "area").polygons
    chains = [rings.corners[a:b] for a, b in zip(rings.rings[:-1], rings.rings[1:], strict=True)]
    return shapely.Polygon(chains[0], chains[1:])


@given(fans(), st.lists(places, min_size=1, max_size=6))
def test_polygons_meet_what_shapely_finds(value, events):
    polygon = unrolled(value)
    found = meeting(SPHERE, [value], events)[:, 0].tolist()
    for event, met in zip(events, found, strict=True):
        west, south, east, north = places_of([event])[0]
        east += 360 if west > east else 0
        expected = any(
            shapely.intersects(polygon, shapely.box(west + turn, south, east + turn, north))
            if len(event) == 4
            else shapely.intersects(polygon, shapely.Point(west + turn, south))
            for turn in (-360, 0, 360)
        )
        assert met == expected


coarse = st.integers(-4, 4).map(float)


@st.composite
def stars(draw):
    """A ring around the origin with any corners that are no other's: of many edges, if wanted."""
    corners = draw(st.lists(st.tuples(coarse, coarse), min_size=3, max_size=10, unique=True))
    corners = sorted((c for c in corners if c != (0, 0)), key=lambda c: (math.atan2(c[1], c[0]), c))
    assume(len(corners) >= 3)
    return [list(corner) for corner in [*corners, corners[0]]]


plane_boxes = st.tuples(coarse, coarse, coarse, coarse).map(
    lambda b: [min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])]
)


@given(
    st.lists(stars(), min_size=1, max_size=3),
    st.lists(st.one_of(plane_boxes, st.tuples(coarse, coarse).map(list)), min_size=1, max_size=8),
    st.sampled_from([0, 0.5, 0.375]),
)
def test_polygons_of_the_plane_meet_what_shapely_finds(rings, events, shift):
    value = {"type": "MultiPolygon", "coordinates": [[ring] for ring in rings]}
    try:
        parse_area(PLANE, value, "area")
    except BadRecord:
        assume(False)
    # On the grid much lies on edges, between its lines less.
    events = [[at + shift for at in event] for event in events]
    found = meeting(PLANE, [value], events)[:, 0].tolist()
    polygons = [shapely.Polygon(ring) for ring in rings]
    shapes = [shapely.Point(e) if len(e) == 2 else shapely.box(*e) for e in events]
    assert found == [any(shapely.intersects(p, shape) for p in polygons) for shape in shapes]


def test_a_polygon_of_many_corners_looks_at_few_edges():
    steps = np.linspace(0, 2 * math.pi, 5001)
    ring = np.stack((9 * np.cos(steps), 9 * np.sin(steps)), axis=1)
    ring[-1] = ring[0]
    value = {"type": "Polygon", "coordinates": [ring.tolist()]}
    events = places_of(np.random.default_rng(3).uniform(-10, 10, (200, 2)).tolist())
    conditions = Conditions(is_sphere=False)
    add(conditions, [0], [parse_area(PLANE, value, "area")])
    found = held(conditions, events, 1)[:, 0]
    expected = shapely.contains_xy(shapely.Polygon(ring), events[:, :2])
    assert (found == expected).all()
    assert conditions.edges_tried < 200 * 12


class TestCircles:
    @given(
        st.floats(-180, 180), st.floats(-90, 90), st.floats(-180, 180), st.floats(-90, 90),
        st.floats(-1e-6, 1e-6),
    )  # fmt: skip
    @example(0, 0, 180, 0, 1e-9)
    @example(12, 90, -50, 90, 1e-9)
    @example(0, 89.9999, 180, 89.9999, -1e-8)
    def test_a_point_is_within_the_distance_that_proj_says(self, x, y, other_x, other_y, more):
        metres = GLOBE.inv(x, y, other_x, other_y)[2]
        radius = max(metres * (1 + more), 0.0)
        assume(abs(radius - metres) > 1e-7 + 1e-14 * metres)
        found = meeting(SPHERE, [{"circle": [x, y, radius]}], [[other_x, other_y]])
        assert bool(found[0, 0]) == (radius > metres)

    @given(
        st.one_of(points, st.tuples(st.floats(-180, 180), st.floats(-90, 90)).map(list)),
        st.one_of(
            sphere_boxes(),
            st.tuples(
                st.floats(-180, 180), st.floats(-90, 90), st.floats(0, 359), st.floats(0, 180)
            ).map(lambda b: [b[0], b[1], (b[0] + b[2] + 180) % 360 - 180, min(b[1] + b[3], 90.0)]),
        ),
    )
    def test_a_box_is_as_far_as_the_nearest_of_many_of_its_points(self, centre, box):
        west, south, east, north = box
        east += 360 if west > east else 0
        lons, lats = np.linspace(west, east, 721), np.linspace(south, north, 721)
        edges = [(lons, np.full(721, lat)) for lat in (south, north)]
        edges += [(np.full(721, lon), lats) for lon in (west, east)]
        xs, ys = (np.concatenate(both) for both in zip(*edges, strict=True))
        nearest = GLOBE.inv(np.full(len(xs), centre[0]), np.full(len(xs), centre[1]), xs, ys)[
            2
        ].min()
        inside = south <= centre[1] <= north and any(
            west <= centre[0] + turn <= east for turn in (-360, 0, 360)
        )
        if inside:
            nearest = 0.0
        # Between two samples, an edge is at most half their distance nearer.
        spacing = math.radians(max(east - west, north - south) / 720) * EARTH_RADIUS_METRES / 2
        within, beyond = nearest + 1e-5, nearest - spacing * 1.01 - 1e-5
        found = meeting(SPHERE, [{"circle": [*centre, within]}], [box])
        assert found[0, 0]
        if beyond > 0:
            assert not meeting(SPHERE, [{"circle": [*centre, beyond]}], [box])[0, 0]

    @pytest.mark.parametrize("x", [-180, 180, 7.25])
    @pytest.mark.parametrize("y", [-90, -45.5, 0, 90])
    def test_a_circle_without_extent_has_its_centre(self, x, y):
        other = {-180: 180, 180: -180}.get(x, x)
        for place in ([x, y], [other, y], [x, max(y - 1, -90), x, y], [x, y, other, y]):
            assert meeting(SPHERE, [{"circle": [x, y, 0]}], [place])[0, 0]

    def test_a_circle_over_a_pole_has_all_longitudes(self):
        around = [[x, 89.5] for x in range(-180, 181, 20)]
        assert meeting(SPHERE, [{"circle": [30, 89.9, 70_000]}], around).all()
        assert not meeting(SPHERE, [{"circle": [30, 89.9, 30_000]}], around).any()

    def test_the_nearest_point_of_an_edge_may_be_between_its_ends(self):
        # From the equator, the nearest of a meridian's points are on the equator; from a high
        # latitude they are higher still.
        box = [60, -80, 80, 85]
        foot = math.degrees(math.atan2(math.tan(math.radians(60)), math.cos(math.radians(60))))
        metres = GLOBE.inv(0, 60, 60, foot)[2]
        assert meeting(SPHERE, [{"circle": [0, 60, metres + 1]}], [box])[0, 0]
        assert not meeting(SPHERE, [{"circle": [0, 60, metres - 1]}], [box])[0, 0]

    @given(
        st.tuples(coarse, coarse, st.integers(0, 5)).map(lambda c: {"circle": list(c)}),
        st.lists(st.one_of(plane_boxes, st.tuples(coarse, coarse).map(list)), min_size=1),
    )
    def test_circles_of_the_plane(self, circle, events):
        x, y, radius = circle["circle"]
        boxes = places_of(events)
        dx = np.maximum(np.maximum(boxes[:, 0] - x, x - boxes[:, 2]), 0)
        dy = np.maximum(np.maximum(boxes[:, 1] - y, y - boxes[:, 3]), 0)
        found = meeting(PLANE, [circle], events)[:, 0]
        assert (found == (dx * dx + dy * dy <= radius * radius)).all()


@given(sphere_boxes(), st.lists(places, min_size=1, max_size=5))
def test_boxes_meet_by_longitudes_of_any_turn(box, events):
    west, south, east, north = box
    east += 360 if west > east else 0
    found = meeting(SPHERE, [box], events)[:, 0].tolist()
    for event, met in zip(events, found, strict=True):
        w, s, e, n = places_of([event])[0]
        e += 360 if w > e else 0
        meets = any(w + turn <= east and e + turn >= west for turn in (-360, 0, 360))
        assert met == (meets and s <= north and n >= south)
