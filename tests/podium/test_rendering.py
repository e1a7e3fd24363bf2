import json

import pytest

from podium.rendering import Received, as_json, as_line


def record(topic="podium.ads.events", value=b"{}", key=b"k", **headers):
    names = {name.replace("_", "-"): content for name, content in headers.items()}
    return Received(topic, 3, 1042, 17, key, value, names)


def match(count, **headers):
    hits = [{"id": f"ad-{i}", "score": 9.5 - i} for i in range(count)]
    value = {"event": "podium.ads.events[3]@1042", "matches": hits}
    return record("podium.ads.matches", json.dumps(value).encode(), **headers)


def test_a_match_is_the_event_its_best_and_what_it_was_computed_from():
    line = as_line(match(2, podium_as_of=b"0@41,1@40"))
    assert line == "podium.ads.events[3]@1042  ad-0 9.5 · ad-1 8.5  as of 0@41,1@40"


def test_a_long_match_is_cut_and_an_empty_one_says_so():
    assert as_line(match(12)).endswith("ad-9 0.5 … 2 more")
    assert as_line(match(0)) == "podium.ads.events[3]@1042  no match"


@pytest.mark.parametrize("value", [b"not JSON", b"[]", b'{"event": 1}', b"\xff", None, b"[" * 9999])
def test_a_value_that_is_no_match_is_shown_as_it_is(value):
    assert as_line(record("podium.ads.matches", value)).startswith("podium.ads.matches[3]@1042  k")


def test_an_unsubscription_says_so():
    line = as_line(record("podium.ads.subscriptions", None, b"ad-7"))
    assert line == "podium.ads.subscriptions[3]@1042  ad-7  unsubscribe"


def test_an_event_shows_its_options():
    line = as_line(record(key=None, podium_k=b"5", podium_after=b"0@1"))
    assert line == "podium.ads.events[3]@1042  (no key)  {}  podium-k=5  podium-after=0@1"


def test_a_dead_letter_says_where_it_was_and_what_was_wrong():
    line = as_line(
        record(
            "podium.ads.events.dlq",
            b'{"age": "old"}',
            podium_error=b"age: got text, expected a number",
            podium_error_field=b"age",
            podium_topic=b"podium.ads.events",
            podium_partition=b"1",
            podium_offset=b"77",
        )
    )
    assert line == (
        "podium.ads.events.dlq[3]@1042  from podium.ads.events[1]@77  "
        'age: got text, expected a number  k  {"age": "old"}'
    )


def test_what_a_record_holds_cannot_steer_the_terminal():
    line = as_line(record(value=b"\x1b[2J\nx", key=b"\x07", podium_k=b"\x1b]0;x\x07"))
    assert line.isprintable()


def test_json_keeps_the_value_as_it_was_written_on_one_line():
    text = as_json(record(value=b'{\n "a": 1.50,\n "b": 12345678901234567890123}', podium_k=b"5"))
    assert b'"value":{"a":1.50,"b":12345678901234567890123}' in text
    assert b"\n" not in text
    assert json.loads(text) | {"value": None} == {
        "topic": "podium.ads.events",
        "partition": 3,
        "offset": 1042,
        "timestamp": 17,
        "key": "k",
        "headers": {"podium-k": "5"},
        "value": None,
        "value_encoding": "json",
    }


@pytest.mark.parametrize(
    ("value", "shown", "encoding"),
    [
        (b"not JSON", "not JSON", "text"),
        (b'{"a": NaN}', '{"a": NaN}', "text"),
        (b"\xff\x00", "/wA=", "base64"),
        (b'{"a": "\xff"}', "eyJhIjogIv8ifQ==", "base64"),
        (b"[" * 9999, "[" * 9999, "text"),
        (None, None, None),
    ],
)
def test_other_bytes_are_marked_as_such(value, shown, encoding):
    told = json.loads(as_json(record(value=value)))
    assert (told["value"], told.get("value_encoding")) == (shown, encoding)
