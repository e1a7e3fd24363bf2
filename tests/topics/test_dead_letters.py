import pytest

from topics.dead_letters import VERSION, DeadLetter
from topics.limits import DEAD_LETTER_KEPT_CUT as KEPT_BYTES
from topics.limits import DEAD_LETTER_KEPT_WHOLE as MOST_BYTES

ADDED = [
    "podium-error",
    "podium-error-field",
    "podium-topic",
    "podium-partition",
    "podium-offset",
    "podium-version",
]


def letter(**changes):
    return DeadLetter(
        topic="podium.ads.events",
        partition=3,
        offset=1042,
        key=b"visitor-1",
        value=b"{",
        headers=[("trace", b"\xff\x00"), ("podium-k", b"x"), ("empty", b""), ("null", None)],
        error="value: got bytes that are not JSON, expected …",
        field="value",
    )._replace(**changes)


def test_the_source_says_where_the_record_lies():
    assert letter().source == "podium.ads.events[3]@1042"


def test_the_original_headers_come_first_and_unchanged():
    headers = letter().annotated_headers()
    assert headers[:4] == letter().headers
    assert [name for name, _ in headers[4:]] == ADDED


def test_the_added_headers_say_what_was_wrong_and_where():
    added = dict(letter().annotated_headers()[4:])
    assert added == {
        "podium-error": "value: got bytes that are not JSON, expected …".encode(),
        "podium-error-field": b"value",
        "podium-topic": b"podium.ads.events",
        "podium-partition": b"3",
        "podium-offset": b"1042",
        "podium-version": str(VERSION).encode(),
    }


def test_a_letter_without_headers_gets_only_ours():
    assert [name for name, _ in letter(headers=()).annotated_headers()] == ADDED


def test_a_letter_that_was_sent_again_keeps_the_earlier_reason_before_the_new_one():
    first = letter(headers=[])
    again = letter(headers=first.annotated_headers(), error="score: second", field="score")
    reasons = [value for name, value in again.annotated_headers() if name == "podium-error-field"]
    assert reasons == [b"value", b"score"]


def test_half_of_a_surrogate_pair_is_spelt_out():
    added = dict(letter(field="where.\ud800", error="where.\ud800: got …").annotated_headers())
    assert added["podium-error-field"] == rb"where.\ud800"
    assert added["podium-error"] == r"where.\ud800: got …".encode()


def test_making_the_headers_leaves_the_letter_alone():
    given = letter()
    given.annotated_headers()
    assert given == letter()


def test_a_letter_that_its_topic_takes_is_kept_whole():
    letter = DeadLetter("t", 0, 1, b"k", bytes(MOST_BYTES - 1), [], "e", "f")
    assert letter.fitting() is letter


@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [
        pytest.param(b"k", bytes(MOST_BYTES), [], id="value"),
        pytest.param(bytes(MOST_BYTES + 1), None, [], id="key"),
        pytest.param(b"k", b"v", [("trace", bytes(MOST_BYTES))], id="headers"),
    ],
)
def test_of_a_larger_letter_the_beginning_is_kept_and_its_sizes_are_told(key, value, headers):
    kept = DeadLetter("t", 0, 1, key, value, headers, "e", "f").fitting()
    assert kept.nbytes < MOST_BYTES
    assert kept.key == key[:KEPT_BYTES]
    assert kept.value == (value and value[:KEPT_BYTES])
    told = dict(kept.annotated_headers())["podium-cut"].decode()
    assert told == f"key {len(key)} bytes, value {len(value or b'')} bytes"


@pytest.mark.parametrize(
    "headers",
    [[("\U0001f600" * 1_500_000, b"")], [("", None)] * 500_000],
    ids=["wide-characters", "many"],
)
def test_headers_count_as_the_bytes_that_kafka_writes(headers):
    letter = DeadLetter("t", 0, 1, b"k", b"v", headers, "e", "f")
    assert letter.nbytes > MOST_BYTES
    assert letter.fitting().headers == [("podium-cut", b"key 1 bytes, value 1 bytes")]
