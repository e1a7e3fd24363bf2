"""Events of places and words: read, packed in columns, and back."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import spatial_text as oracle
from topics.codecs.columns import CodecError
from topics.codecs.json_record import BadRecord
from topics.events.spatial_text import PlacedColumns, PlacedEvents, decode_columns, encode
from topics.kinds import event_contract

SPHERE = PlacedEvents(["age"], "sphere", "english")
PLANE = PlacedEvents(["age"], "plane")

numbers = st.sampled_from([-180, -7, 0, 2.5, 90, 180, 181, "1", None])
documents = st.fixed_dictionaries(
    {},
    optional={
        "point": st.lists(numbers, min_size=1, max_size=3),
        "box": st.lists(numbers, min_size=4, max_size=4),
        "text": st.sampled_from(["", "Happy hours!", "a b a", 3, None, "Straße…"]),
        "tokens": st.lists(st.sampled_from(["a", "b c", "", 3]), max_size=3),
        "age": st.sampled_from([None, 3, 4.5, "x", {"value": 2, "weight": 3}]),
        "other": st.just([1]),
    },
)
likely = st.builds(
    lambda one, more: {"point": [1, 2], "text": "a"} | one | more, documents, documents
)


@pytest.mark.parametrize("events", [SPHERE, PLANE], ids=["sphere", "plane"])
@given(document=documents | likely)
def test_an_event_is_read_or_refused_as_the_oracle_does(events, document):
    space, stemmer = ("sphere", "english") if events is SPHERE else ("plane", None)
    try:
        wanted = oracle.message_of(document, ["age"], space, stemmer)
    except ValueError:
        with pytest.raises(BadRecord) as caught:
            events.row(json.dumps(document).encode())
        assert caught.value.field.partition("[")[0] in document.keys() | {"point", "text"}
        return
    row = events.row(json.dumps(document).encode())
    west, south, east, north = row.box
    east += 360 * (west > east)
    assert (west, south, east, north) == tuple(map(float, wanted.box))
    assert row.words == wanted.words
    assert (
        {} if row.values[0] is None or math.isnan(row.values[0]) else {"age": row.values[0]}
    ) == (wanted.values)


@pytest.mark.parametrize("value", [None, b"", b"[]", b"3", b'{"point": [NaN, 1]}', b"\xff"])
def test_what_is_no_object_of_json_is_refused(value):
    with pytest.raises(BadRecord):
        SPHERE.row(value)


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"point": [1, 2], "text": "a " * 10_001}, "text"),
        ({"point": [1, 2], "text": "x" * 1_000_001}, "text"),
        ({"point": [1, 2], "tokens": ["a"] * 10_001}, "tokens"),
        ({"point": [1, 2], "tokens": ["a a"] * 5_001}, "tokens"),
        ({"point": [1, 2]}, "text"),
        ({"text": "a"}, "point"),
        ({"point": [1, 2], "box": [1, 2, 3, 4], "text": "a"}, "point"),
        ({"point": [1, 2], "tokens": ["a"], "text": "a"}, "text"),
        ({"point": [1, 91], "text": "a"}, "point[1]"),
        ({"box": [1, 4, 2, 3], "text": "a"}, "box"),
    ],
)
def test_what_is_too_much_or_too_little_is_named(event, field):
    with pytest.raises(BadRecord) as caught:
        SPHERE.row(json.dumps(event).encode())
    assert caught.value.field == field


rows = st.lists(
    st.tuples(
        st.sampled_from([(1.0, 2.0, 1.0, 2.0), (170.0, 0.0, -170.0, 5.0)]),
        st.lists(st.sampled_from(["a", "straße", "happi", "\u0301x"]), max_size=5),
        st.tuples(st.sampled_from([math.nan, None, 3.0])),
    ),
    max_size=4,
).map(lambda made: [SPHERE.row(b'{"point": [0, 0], "text": ""}')._replace(
    box=box, words=words, values=values) for box, words, values in made])  # fmt: skip


@given(rows=rows)
def test_packed_events_are_those_that_were_read(rows):
    columns = SPHERE.columns(rows)
    again = SPHERE.unpack(SPHERE.pack(columns))
    assert len(again) == len(rows)
    for name in ("starts", "boxes", "values", "sequence"):
        np.testing.assert_array_equal(getattr(again, name), getattr(columns, name))
    spelled = [again.vocabulary[word] for word in again.sequence]
    assert spelled == [word for row in rows for word in row.words]
    assert len(set(again.vocabulary)) == len(again.vocabulary)
    assert sum(map(SPHERE.packed_bytes, rows)) + 100 >= len(SPHERE.pack(columns))
    wanted = np.arange(len(rows))[::2]
    chosen = SPHERE.chosen(columns, rows, wanted)
    assert encode(chosen) == encode(SPHERE.columns(rows[::2]))


def test_what_is_no_frame_of_these_events_is_refused():
    row = SPHERE.row(b'{"point": [0, 0], "text": "a b"}')
    columns = SPHERE.columns([row, row])
    packed = encode(columns)
    assert len(decode_columns(packed)) == 2
    for wrong in (
        {"starts": np.array([0, 5, 4])},
        {"starts": np.array([1, 2, 4])},
        {"sequence": columns.sequence + 1},
        {"sequence": columns.sequence - 1},
    ):
        with pytest.raises(CodecError):
            decode_columns(encode(PlacedColumns(**(columns._asdict() | wrong))))
    for bytes_ in (packed[:-1], packed + b"x", packed[:40], packed[:-1] + b"\xff"):
        with pytest.raises(CodecError):
            decode_columns(bytes_)


@pytest.mark.parametrize(
    ("box", "seen"),
    [
        ([1, 2, 3, 4], [1, 3, 2, 4]),
        ([170, 0, -170, 5], [-180, 180, 0, 5]),
        ([180, 0, 180, 5], [-180, 180, 0, 5]),
        ([-180, 0, -170, 5], [-180, 180, 0, 5]),
        ([1, 2, 3, 90], [-180, 180, 2, 90]),
    ],
)
def test_routes_see_a_band_where_one_place_has_several_longitudes(box, seen):
    event = json.dumps({"box": box, "tokens": [], "age": 7}).encode()
    assert SPHERE.numbers(SPHERE.columns([SPHERE.row(event)])).tolist() == [[*seen, 7]]


def test_the_fingerprint_of_frames_tells_readings_apart():
    dialects = [{"space": "sphere", "stemmer": s} for s in (None, "english")]
    dialects.append({"space": "plane", "stemmer": None})
    prints = {event_contract("spatial_text", ["age"], 1, 1, 1, one).fingerprint for one in dialects}
    assert len(prints) == 3
