"""The demo's own verdict on coupons: it sees what holds, and every mistake that is planted."""

import json

import pytest

from podium.demo.coupons.scan import Words, agree, read_log, top_k

WORDS = Words("english")
COUPON = {"area": {"circle": [13.4, 52.5, 1500]}, "tokens": ["pizza"], "score": 2}
EVENT = {"point": [13.4, 52.51], "text": "Pizzas! And two for one"}


def found(coupon, event=EVENT):
    ledger = read_log([[(0, b"c", json.dumps(coupon).encode())]], WORDS)
    return [score for score, _ in top_k(ledger, event, WORDS, {0: 0}, 10)]


@pytest.mark.parametrize(
    ("change", "scores"),
    [
        ({}, [2.0]),
        ({"area": {"circle": [13.4, 52.5, 1111]}}, []),
        ({"area": {"circle": [13.4, 52.5, 1113]}}, [2.0]),
        ({"tokens": ["pizza", "beer"]}, []),
        ({"phrase": "two for one"}, [2.0]),
        ({"phrase": "one for two"}, []),
        ({"any": ["beer", "one"]}, [2.0]),
        ({"any": ["beer", "wine"]}, []),
        ({"none": ["two"]}, []),
        ({"where": {"age": [18, None]}}, []),
    ],
)
def test_a_coupon_holds_or_does_not(change, scores):
    assert found(COUPON | change) == scores


def test_an_age_is_held_against_both_ends():
    asked = [found(COUPON | {"where": {"age": [18, 25]}}, EVENT | {"age": a}) for a in (17, 18, 26)]
    assert asked == [[], [2.0], []]


def test_a_score_is_halved_with_the_distance():
    (score,) = found(COUPON | {"decay": {"metres": 1111.95}})
    assert score == pytest.approx(1.0, rel=1e-4)


def test_boxes_and_polygons_may_lie_across_the_antimeridian():
    box = {"box": [179, -1, -179, 1], "tokens": ["pizza"], "score": 1}
    ring = [[179, -1], [-179, -1], [-179, 1], [179, 1], [179, -1]]
    polygon = {"area": {"type": "Polygon", "coordinates": [ring]}, "tokens": ["pizza"], "score": 1}
    for coupon in (box, polygon):
        for x, scores in ((-179.5, [1.0]), (179.5, [1.0]), (-178.5, []), (178.5, [])):
            assert found(coupon, {"point": [x, 0], "text": "pizza"}) == scores


def test_what_was_replaced_counts_until_then():
    log = [
        (0, b"c", json.dumps(COUPON).encode()),
        (2, b"c", json.dumps(COUPON | {"score": 3}).encode()),
    ]
    log.append((4, b"c", None))
    ledger = read_log([log], WORDS)
    scores = [[s for s, _ in top_k(ledger, EVENT, WORDS, {0: at}, 9)] for at in (-1, 0, 1, 2, 3, 4)]
    assert scores == [[], [2.0], [2.0], [3.0], [3.0], []]


def test_a_mistake_is_found():
    right = [("a", 2.0), ("b", 1.0)]
    assert agree(right, [("a", 2.0), ("b", 1.0 + 1e-12)])
    for wrong in (
        [("b", 2.0), ("a", 1.0)],
        right[:1],
        [*right, ("c", 1.0)],
        [("a", 2.0), ("b", 1.1)],
    ):
        assert not agree(right, wrong)
