"""Conditions: words, decay and growth against plain Python, and arrays that restore them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pyproj import Geod

from indexes.spatial_text.areas import EARTH_RADIUS_METRES
from indexes.spatial_text.conditions import NO_DECAY, Areas, Conditions, Events, Words
from topics.areas import PLANE, SPHERE, areas_to_arrays, box_area, parse_area

GLOBE = Geod(a=EARTH_RADIUS_METRES, b=EARTH_RADIUS_METRES)
UNKNOWN = -1

SHAPES = [
    [0, 0, 3, 3],
    {"circle": [1, 1, 2]},
    {"type": "Polygon", "coordinates": [[[0, 0], [3, 0], [0, 3], [0, 0]]]},
    {
        "type": "MultiPolygon",
        "coordinates": [
            [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]], [[1, 1], [3, 1], [3, 3], [1, 3], [1, 1]]],
            [[[5, 5], [6, 5], [6, 6], [5, 5]]],
        ],
    },
]
# Whether a point is in a shape; that of a box is the index's to say.
INSIDE = [
    lambda x, y: True,
    lambda x, y: (x - 1) ** 2 + (y - 1) ** 2 <= 4,
    lambda x, y: x >= 0 and y >= 0 and x + y <= 3,
    lambda x, y: (
        (0 <= x <= 4 and 0 <= y <= 4 and not (1 < x < 3 and 1 < y < 3)) or (5 <= y <= x <= 6)
    ),
]


def areas_of(shapes, space=PLANE):
    parsed = [
        parse_area(space, SHAPES[shape], "area") if shape else box_area(space, SHAPES[shape], "box")
        for shape in shapes
    ]
    return Areas(**areas_to_arrays(parsed))


def words_of(rows):
    """Of (any, none, phrase) a row."""
    parts = [part for row in rows for part in row]
    starts = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)
    return Words(np.array([word for part in parts for word in part], np.int32), starts)


def events_of(events):
    """Of (x, y, words)."""
    starts = np.concatenate(([0], np.cumsum([len(words) for _, _, words in events])))
    places = np.array([[x, y, x, y] for x, y, _ in events], np.float64).reshape(-1, 4)
    words = [word for _, _, words in events for word in words]
    return Events(places, np.array(words, np.int32), starts.astype(np.int64))


def has_phrase(words, phrase):
    return any(words[i : i + len(phrase)] == phrase for i in range(len(words) - len(phrase) + 1))


def holds(condition, event):
    """Whether a condition (shape, (any, none, phrase), decay) holds, by its definition."""
    shape, (some, none, phrase), _ = condition
    x, y, words = event
    return (
        INSIDE[shape](x, y)
        and (not some or any(word in words for word in some))
        and not any(word in words for word in none)
        and (not phrase or has_phrase(words, phrase))
    )


def decayed(condition, event, score):
    metres, offset, x, y = condition[2]
    if math.isnan(metres):
        return score
    return score * 2 ** -(max(0.0, math.hypot(event[0] - x, event[1] - y) - offset) / metres)


word_lists = st.lists(st.integers(0, 4), max_size=3)
quarters = st.integers(-2, 26).map(lambda n: n / 4)
decays = st.one_of(
    st.just((NO_DECAY,) * 4),
    st.tuples(st.sampled_from([0.5, 2.0]), st.sampled_from([0.0, 1.0]), quarters, quarters),
)
conditions = st.tuples(
    st.integers(0, 3), st.tuples(word_lists, word_lists.map(lambda w: w[:1]), word_lists), decays
)
events = st.tuples(quarters, quarters, st.lists(st.integers(UNKNOWN, 4), max_size=8))


class ConditionsAgainstDefinitions(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.conditions = Conditions(is_sphere=False, spare=1, few_gaps=0)
        self.rows = {}

    @rule(new=st.dictionaries(st.integers(0, 12), conditions, max_size=4))
    def add(self, new):
        new = {row: one for row, one in new.items() if row not in self.rows}
        self.conditions.add(
            np.array(list(new), np.int64),
            areas_of([shape for shape, _, _ in new.values()]),
            words_of([words for _, words, _ in new.values()]),
            np.array([decay for _, _, decay in new.values()], np.float64).reshape(-1, 4),
        )
        self.rows |= new

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def remove(self, data):
        gone = data.draw(st.lists(st.sampled_from(sorted(self.rows)), unique=True))
        self.conditions.remove(np.array(gone, np.int64))
        for row in gone:
            del self.rows[row]

    @rule(events=st.lists(events, max_size=4), data=st.data())
    def hold(self, events, data):
        rows = (
            st.lists(st.sampled_from(sorted(self.rows)), max_size=6) if self.rows else st.just([])
        )
        candidates = [data.draw(rows) for _ in events]
        starts = np.concatenate(([0], np.cumsum([len(rows) for rows in candidates])))
        flat = np.array([row for rows in candidates for row in rows], np.int64)
        scores = np.full(len(flat), 3.0)
        found = self.conditions.hold(events_of(events), flat, starts.astype(np.int64), scores)
        pairs = [
            (self.rows[row], event)
            for event, rows in zip(events, candidates, strict=True)
            for row in rows
        ]
        assert found.tolist() == [holds(*pair) for pair in pairs]
        expected = [decayed(*pair, 3.0) for pair in pairs]
        assert scores[found] == pytest.approx(np.array(expected)[found])
        assert (scores <= 3.0).all()

    @rule()
    def restore(self):
        rows = np.array(sorted(self.rows), np.int64)
        exported = self.conditions.export(rows)
        restored = Conditions(is_sphere=False, spare=1, few_gaps=0)
        restored.add(rows, *exported)
        for old, new in zip(exported, restored.export(rows), strict=True):
            for one, other in zip(old, new, strict=True):
                assert one.tobytes() == other.tobytes()
        self.conditions = restored

    @invariant()
    def structure_holds(self):
        self.conditions.check()


ConditionsAgainstDefinitions.TestCase.settings = settings(max_examples=60, stateful_step_count=15)
TestConditionsAgainstDefinitions = ConditionsAgainstDefinitions.TestCase


def test_rows_that_ask_nothing_take_no_room():
    conditions = Conditions(is_sphere=True)
    rows = 1000
    areas = areas_of([0] * rows, SPHERE)
    words = words_of([((), (), ())] * rows)
    conditions.add(np.arange(rows), areas, words, np.full((rows, 4), NO_DECAY))
    assert conditions.nbytes < 200


@given(
    st.floats(-180, 180), st.floats(-90, 90), st.floats(-180, 180), st.floats(-90, 90),
    st.floats(0, 2e7), st.floats(1, 1e7),
)  # fmt: skip
def test_a_score_decays_by_the_great_circle(x, y, at_x, at_y, offset, metres):
    conditions = Conditions(is_sphere=True)
    decay = np.array([[metres, offset, at_x, at_y]])
    conditions.add(np.array([0]), areas_of([0], SPHERE), words_of([((), (), ())]), decay)
    scores = np.array([8.0])
    one = np.array([0, 1])
    assert conditions.hold(events_of([(x, y, [])]), np.array([0]), one, scores).all()
    away = GLOBE.inv(x, y, at_x, at_y)[2]
    assert scores[0] == pytest.approx(8 * 2 ** -(max(0, away - offset) / metres), rel=1e-6)
    assert scores[0] <= 8.0


def test_a_score_decays_from_the_centre_of_a_box_over_the_antimeridian():
    conditions = Conditions(is_sphere=True)
    decay = np.array([[100_000.0, 0.0, 180.0, 0.0]])
    conditions.add(np.array([0]), areas_of([0], SPHERE), words_of([((), (), ())]), decay)
    scores = np.array([8.0])
    event = Events(np.array([[170.0, -5, -170, 5]]), np.empty(0, np.int32), np.zeros(2, np.int64))
    conditions.hold(event, np.array([0]), np.array([0, 1]), scores)
    assert scores[0] == 8.0
