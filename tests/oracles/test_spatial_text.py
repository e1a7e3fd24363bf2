"""The oracle of places and words against other libraries, and by hand."""

import json
from fractions import Fraction

import pyproj
import pytest
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracles import spatial_text as oracle

GEOD = pyproj.Geod(a=oracle.SPHERE_RADIUS_M, b=oracle.SPHERE_RADIUS_M)
OCTAGON = [[1, 0], [2, 0], [3, 1], [3, 2], [2, 3], [1, 3], [0, 2], [0, 1], [1, 0]]
BOW = [[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]
AROUND_A_POLE = [[0, 8], [120, 8], [-120, 8], [0, 8]]

longitudes = st.integers(-180, 180)
latitudes = st.integers(-90, 90)
corners = st.tuples(st.integers(0, 6), st.integers(0, 6))


def polygon(*rings):
    return {"type": "Polygon", "coordinates": list(rings)}


def held(document, event, **settings):
    """The score of a subscription for an event, from their JSON forms."""
    subscription = {"tokens": ["a"], **document}
    given = {"tokens": ["a"], **event}
    own = oracle.subscription_of(json.dumps(subscription).encode(), ["age"], **settings)
    return oracle.score_of(own, oracle.message_of(given, ["age"], **settings))


@given(longitudes, latitudes, longitudes, latitudes)
def test_distances_are_those_of_another_library(x1, y1, x2, y2):
    *_, wanted = GEOD.inv(x1, y1, x2, y2)
    assert oracle.metres(*map(Fraction, (x1, y1, x2, y2))) == pytest.approx(wanted, abs=1e-3)


@given(longitudes, latitudes, longitudes, st.integers(0, 359), latitudes, latitudes)
def test_no_point_of_a_box_is_nearer_than_the_box(x, y, west, width, south, north):
    assume(south <= north)
    box = oracle.Box(*map(Fraction, (west, south, west + width, north)))
    found = oracle.metres_to_box(Fraction(x), Fraction(y), box)
    steps = [Fraction(step, 60) for step in range(61)]
    border = [
        *((box.west + width * step, side) for step in steps for side in (box.south, box.north)),
        *(
            (side, south + (north - south) * step)
            for step in steps
            for side in (box.west, box.east)
        ),
    ]
    if box.south <= y <= box.north and (x - box.west) % 360 <= width:
        assert found == 0
        return
    sampled = min(oracle.metres(Fraction(x), Fraction(y), *point) for point in border)
    step = oracle.metres(
        Fraction(0), Fraction(0), Fraction(max(width, north - south), 60), Fraction(0)
    )
    assert sampled - step <= found <= sampled + 1e-6


@given(st.lists(corners, min_size=3, max_size=7), corners, corners)
def test_polygons_in_the_plane_are_those_of_another_library(ring, one, other):
    wanted = shapely.Polygon(ring)
    assume(wanted.is_valid)
    box = [*map(min, one, other), *map(max, one, other)]
    found = held({"area": polygon([*ring, ring[0]])}, {"box": box}, space="plane")
    assert (found is not None) == shapely.intersects(wanted, shapely.box(*box))


@pytest.mark.parametrize(
    ("event", "met"),
    [
        ({"point": [0.5, 0.5]}, True),
        ({"point": [0.25, 0.5]}, False),
        ({"point": [1.5, 1.5]}, False),
        ({"point": [1, 1.5]}, True),
        ({"box": [1.25, 1.25, 1.75, 1.75]}, False),
        ({"box": [1.25, 1.25, 1.75, 2]}, True),
        ({"box": [-5, -5, 5, 5]}, True),
        ({"box": [3, 3, 4, 4]}, False),
    ],
    ids=str,
)
@pytest.mark.parametrize("shift", [0, 178, -181])
def test_a_hole_belongs_not_and_its_edge_does(event, met, shift):
    def turn(x):
        return (x + shift + 180) % 360 - 180

    hole = [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]
    rings = [[[turn(x), y] for x, y in ring] for ring in (OCTAGON, hole)]
    ((field, place),) = event.items()
    turned = [turn(x) if at % 2 == 0 else x for at, x in enumerate(place)]
    area = {"type": "MultiPolygon", "coordinates": [rings]}
    assert (held({"area": area}, {field: turned}) is not None) == met


def test_boxes_meet_over_the_antimeridian():
    box = {"box": [170, -10, -170, 10]}
    assert held(box, {"point": [180, 0]}) == held(box, {"point": [-180, 0]}) == 1
    assert held(box, {"box": [-170, 10, 0, 20]}) == 1
    assert held(box, {"box": [-169, -10, 169, 10]}) is None
    assert held({"box": [180, 0, 180, 0]}, {"point": [-180, 0]}) == 1


def test_circles_reach_over_poles():
    circle = {"area": {"circle": [0, 89, 300_000]}}
    assert held(circle, {"point": [180, 89]}) == 1
    assert held(circle, {"point": [180, 88]}) is None
    assert held(circle, {"box": [-180, -90, 180, 90]}) == 1
    assert held(circle, {"box": [170, 80, -170, 88.5]}) == 1
    assert held({"area": {"circle": [3, 4, 5]}}, {"point": [0, 0]}, space="plane") == 1


def test_scores_halve_with_the_distance():
    decay = {"area": {"circle": [0, 0, 9]}, "score": 8, "decay": {"metres": 2, "offset": 1}}
    assert held(decay, {"point": [0, 1]}, space="plane") == 8
    assert held(decay, {"point": [3, 4]}, space="plane") == 2
    assert held(decay, {"box": [1, 4, 5, 4]}, space="plane") == 2
    placed = {"box": [170, 0, -170, 1], "decay": {"metres": 1e4, "at": [180, 0]}}
    assert held(placed, {"box": [179, 0, -179, 0]}) == 1


def test_words_of_both_sides():
    words = {"box": [0, 0, 1, 1], "tokens": ["Coffee"], "any": ["tea", "CAKE"], "none": ["sold"]}
    here = {"point": [0, 0]}
    both = {**words, "phrase": "fresh coffee"}

    def said(text, document):
        document = {**document, "where": {"age": [1, 2]}}
        own = oracle.subscription_of(json.dumps(document).encode(), ["age"])
        return oracle.score_of(own, oracle.message_of({**here, "text": text, "age": 2}, ["age"]))

    assert said("Fresh coffee & cake!", both) == 1
    assert said("Coffee, fresh cake", both) is None
    assert said("coffee cake, sold out", words) is None
    assert said("coffee", words) is None
    assert said("coffee: tea", words) == 1


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({"tokens": ["a"]}, "box and area"),
        ({"box": [0, 0, 1, 1]}, "tokens"),
        ({"box": [0, 0, 1, 1], "tokens": []}, "tokens"),
        ({"box": [0, 0, 1, 1], "tokens": ["two words"]}, "2 words"),
        ({"box": [0, 0, 1, 1], "tokens": ["—"]}, "0 words"),
        ({"box": [0, 1, 1, 0], "tokens": ["a"]}, "inverted"),
        ({"box": [0, 0, 181, 0], "tokens": ["a"]}, "not on the sphere"),
        ({"area": {"circle": [0, 0, -1]}, "tokens": ["a"]}, "negative radius"),
        ({"area": polygon(OCTAGON[:-1]), "tokens": ["a"]}, "not closed"),
        ({"area": polygon(BOW), "tokens": ["a"]}, "crosses itself"),
        ({"area": polygon(AROUND_A_POLE), "tokens": ["a"]}, "around a pole"),
        ({"box": [0, 0, 1, 1], "tokens": ["a"], "decay": {"metres": 5}}, "decay.at"),
        (
            {"area": {"circle": [0, 0, 1]}, "tokens": ["a"], "score": -1, "decay": {"metres": 5}},
            "below zero",
        ),
    ],
    ids=str,
)
def test_bad_subscriptions_are_refused(document, named):
    with pytest.raises(ValueError, match=named):
        oracle.subscription_of(json.dumps(document).encode(), [])
