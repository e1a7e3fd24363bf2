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


def list_record(**fields):
    known = {
        "subscription": "watch-7",
        "since": "podium.parking.subscriptions[1]@88",
        "seq": 2,
        "first": False,
        "objects": "podium.parking.objects[0]@1041",
        "k": 2,
        "list": [{"id": "o-12", "x": 31.0, "y": 0.4}, {"id": "o-7", "x": 35.5, "y": 0.5}],
        "changes": [
            {"op": "leave", "id": "o-3", "from": 1, "why": "displaced"},
            {"op": "enter", "id": "o-12", "x": 31.0, "y": 0.4, "to": 0},
        ],
    }
    value = {name: content for name, content in (known | fields).items() if content is not ...}
    return record("podium.parking.matches", json.dumps(value).encode(), b"watch-7")


def test_a_list_is_its_subscription_its_objects_by_place_and_what_has_changed():
    assert as_line(list_record()) == (
        "watch-7  seq 2 since [1]@88  1. o-12 (31, 0.4) · 2. o-7 (35.5, 0.5)  "
        "o-3 leaves 2, displaced · o-12 enters at 1  as of objects @1041"
    )


def test_first_lists_and_empty_ones_say_so():
    line = as_line(list_record(first=True, changes=[], list=[], objects=None, approximate=0.5))
    assert line == (
        "watch-7  seq 2 since [1]@88  nothing in its range  first list  "
        "as of objects before any  approximate 0.5"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"op": "leave", "from": 0, "why": "removed"}, "o-1 leaves 1, removed"),
        ({"op": "leave", "from": 2, "why": "left"}, "o-1 leaves 3, left the range"),
        ({"op": "move", "x": 1, "y": 2, "from": 0, "to": 2}, "o-1 moves from 1 to 3"),
        ({"op": "update", "x": 1, "y": 2.5, "to": 0}, "o-1 is now (1, 2.5)"),
    ],
)
def test_changes_are_told_in_words(change, words):
    line = as_line(list_record(changes=[{"id": "o-1", **change}], list=...))
    assert line == f"watch-7  seq 2 since [1]@88  {words}  as of objects @1041"


def test_a_long_list_is_cut():
    many = [{"id": f"o-{i}", "x": i, "y": i} for i in range(12)]
    assert "10. o-9 (9, 9) … 2 more" in as_line(list_record(list=many, changes=...))


def test_nulls_of_lists_and_objects_say_what_they_mean():
    assert as_line(record("podium.parking.matches", None)).endswith("k  unsubscribed")
    assert as_line(record("podium.parking.objects", None)).endswith("k  removed")


def test_progress_says_how_far_a_zone_is():
    def line(value):
        return as_line(record("podium.parking.progress", value, b"1"))

    at = b'"at":1763440000000'
    assert (
        line(b'{"objects":1041,%b}' % at) == "zone 1  objects up to @1041  at 2025-11-18T04:26:40Z"
    )
    assert "no objects yet" in line(b'{"objects":null,%b}' % at)
    assert line(b'{"objects":1,%b,"lost":true}' % at).endswith("waits for its lists")
    assert line(b'{"objects":1,"at":1e99}').startswith("podium.parking.progress[3]@1042")
