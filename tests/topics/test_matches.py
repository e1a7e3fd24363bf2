import json
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from topics.codecs.byte_strings import ByteStrings
from topics.matches import EventPlace, Hits, Match, MatchRecord, decode, encode_many, event_place

TOPIC = "podium.ads.events"

awkward_ids = st.one_of(
    st.text(max_size=8),
    st.text(alphabet='"\\/\x00\x1f\x7f\n\u2028é🐞,]}', min_size=1, max_size=6),
    st.just("x" * 256),
)
finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, -1.7976931348623157e308, 1e16, 123456789.0, 0.1]),
    st.integers(-(2**53), 2**53).map(float),
)
offsets_in_kafka = st.one_of(
    st.integers(0, 2**63 - 1), st.sampled_from([0, 9, 10, 99, 2**62, 10**18, 2**63 - 1])
)
events = st.lists(
    st.tuples(offsets_in_kafka, st.lists(st.tuples(awkward_ids, finite), max_size=4)), max_size=6
)


def hits_of(per_event, spell=json.dumps):
    """The columns of these hits; the id texts lie in another order than the hits."""
    flat = [hit for hits in per_event for hit in hits]
    texts = [spell(id).encode() for id, _ in flat]
    lengths = np.array([len(text) for text in texts], np.int32)
    ends = np.cumsum(lengths[::-1], dtype=np.int64)[::-1]
    return Hits(
        np.array([len(hits) for hits in per_event], np.int64),
        np.array([score for _, score in flat], np.float64),
        ends - lengths,
        lengths,
        np.frombuffer(b"".join(reversed(texts)), np.uint8),
    )


def encoded(topic, partition, given, spell=json.dumps):
    offsets = np.array([offset for offset, _ in given], np.int64)
    return encode_many(topic, partition, offsets, hits_of([hits for _, hits in given], spell))


def bits(number):
    return struct.pack("<d", number)


@settings(max_examples=200, deadline=None)
@given(given=events, partition=st.integers(0, 2**31 - 1), plain=st.booleans())
@example(given=[(0, []), (2**62, [("ad", 1.0)]), (7, [])], partition=0, plain=True)
def test_records_are_the_json_that_the_standard_library_writes(given, partition, plain):
    spell = json.dumps if plain else lambda id: json.dumps(id, ensure_ascii=False)
    expected = [
        {
            "event": f"{TOPIC}[{partition}]@{offset}",
            "matches": [{"id": id, "score": score} for id, score in hits],
        }
        for offset, hits in given
    ]
    # By way of the standard library's own text, so that both are what a consumer reads.
    expected = [json.loads(json.dumps(record)) for record in expected]
    assert [json.loads(value) for value in encoded(TOPIC, partition, given, spell)] == expected


@settings(max_examples=100, deadline=None)
@given(scores=st.lists(finite, min_size=1, max_size=20))
def test_scores_are_read_back_to_the_bit_and_in_order(scores):
    hits = [(str(i), score) for i, score in enumerate(scores)]
    (value,) = encoded(TOPIC, 0, [(5, hits)])
    read = json.loads(value)["matches"]
    assert [match["id"] for match in read] == [id for id, _ in hits]
    assert [bits(match["score"]) for match in read] == list(map(bits, scores))


def test_a_record_is_written_as_the_module_shows():
    (value,) = encoded(TOPIC, 3, [(1042, [("ad-7", 9.1), ("ad-1", 2.0)])])
    assert value == (
        b'{"event":"podium.ads.events[3]@1042",'
        b'"matches":[{"id":"ad-7","score":9.1},{"id":"ad-1","score":2.0}]}'
    )


@pytest.mark.parametrize("offset", [0, 9, 10, 2**31, 2**62, 2**63 - 1])
def test_an_event_without_matches_has_an_empty_list(offset):
    assert encoded(TOPIC, 0, [(offset, [])]) == [
        f'{{"event":"{TOPIC}[0]@{offset}","matches":[]}}'.encode()
    ]


def test_many_records_with_the_longest_offsets_are_written_whole():
    given = [(2**63 - 1 - i, []) for i in range(100)]
    assert [decode(value).event for value in encoded(TOPIC, 9, given)] == [
        f"{TOPIC}[9]@{offset}" for offset, _ in given
    ]


def test_no_events_are_no_records():
    assert encoded(TOPIC, 0, []) == []


def test_many_events_with_many_hits_keep_their_order():
    rng = np.random.default_rng(7)
    given = [
        (offset, [(f"ad-{offset}-{i}", float(rng.normal())) for i in range(offset % 30)])
        for offset in range(0, 1500, 3)
    ]
    read = [json.loads(value) for value in encoded(TOPIC, 1, given)]
    assert [event_place(record["event"]).offset for record in read] == [o for o, _ in given]
    assert [[(m["id"], m["score"]) for m in record["matches"]] for record in read] == [
        hits for _, hits in given
    ]


def test_id_texts_of_a_packed_column_are_copied_as_they_are():
    texts = ByteStrings.pack([rb'"caf\u00e9"', '"café"'.encode()])
    lengths = texts.lengths
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    hits = Hits(np.array([2]), np.array([2.0, 1.0]), starts, lengths, texts.data)
    (value,) = encode_many(TOPIC, 0, np.array([1]), hits)
    assert rb'{"id":"caf\u00e9","score":2.0}' in value
    assert '{"id":"café","score":1.0}'.encode() in value


def test_a_record_is_decoded():
    value = b'{"matches": [{"score": 9.1, "id": "ad-7"}], "event": "podium.ads.events[3]@1042"}'
    assert decode(value) == MatchRecord("podium.ads.events[3]@1042", [Match("ad-7", 9.1)])


@settings(max_examples=50, deadline=None)
@given(given=events)
def test_what_is_encoded_is_decoded(given):
    assert [decode(value) for value in encoded(TOPIC, 2, given)] == [
        MatchRecord(f"{TOPIC}[2]@{offset}", [Match(*hit) for hit in hits]) for offset, hits in given
    ]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(
            "podium.ads.events[3]@1042", EventPlace("podium.ads.events", 3, 1042), id="plain"
        ),
        pytest.param("a[1][2]@3", EventPlace("a[1]", 2, 3), id="brackets-in-the-name"),
        pytest.param(f"t[0]@{2**63 - 1}", EventPlace("t", 0, 2**63 - 1), id="largest"),
    ],
)
def test_a_record_id_says_where_its_event_lies(event, expected):
    assert event_place(event) == expected


@pytest.mark.parametrize(
    "event", ["", "events", "events[3]", "events@7", "[3]@7", "t[-1]@7", "t[3]@-7", "t[3]@7 "]
)
def test_another_text_is_not_a_record_id(event):
    with pytest.raises(ValueError, match=r"expected topic\[partition\]@offset") as caught:
        event_place(event)
    assert f"got {event!r}" in str(caught.value)
