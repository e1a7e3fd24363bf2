"""Events that break the contract: to `events.dlq` as they came, while the others are answered."""

import json

import pytest
from confluent_kafka import KafkaError, Message, Producer

from tests.fleet.fleet import Fleet
from tests.fleet.traffic import Header, Place, Sent

DEEP = 100_000

BAD_VALUES = [
    # id, value, field, what the error says
    ("null-value", None, "value", ["null", "expected an object"]),
    ("empty-value", b"", "value", ["expected an object"]),
    ("blank-value", b"  \n", "value", ["expected an object"]),
    ("bad-json", b"{age: 5}", "value", ["not JSON", "expected an object"]),
    ("truncated-json", b'{"age": 5', "value", ["not JSON", "expected an object"]),
    ("truncated-string", b'{"age": 5, "page": "/ho', "value", ["not JSON"]),
    ("two-documents", b'{"age": 5} {"age": 6}', "value", ["not JSON"]),
    ("binary", bytes(range(256)), "value", ["not JSON"]),
    ("array", b'[{"age": 5}]', "value", ["expected object", "got array"]),
    ("number", b"5", "value", ["expected object", "got int"]),
    ("string", b'"age"', "value", ["expected object", "got str"]),
    ("json-null", b"null", "value", ["expected object", "got null"]),
    ("text-as-number", b'{"age": "5"}', "age", ["expected float", "got str"]),
    ("boolean-as-number", b'{"age": true}', "age", ["expected float", "got bool"]),
    ("array-as-number", b'{"age": [5]}', "age", ["expected float", "got array"]),
    ("nan", b'{"age": NaN}', "age", ["got nan", "expected a finite number"]),
    ("infinity", b'{"age": Infinity}', "age", ["got inf", "expected a finite number"]),
    ("minus-infinity", b'{"age": -Infinity}', "age", ["got -inf", "expected a finite number"]),
    ("nan-in-another-field", b'{"age": 5, "x": {"y": [0, NaN]}}', "x.y[1]", ["got nan", "finite"]),
    ("1e999", b'{"age": 1e999}', "age", ["float64", "expected a finite number"]),
    ("-1e999", b'{"age": -1e999}', "age", ["float64", "expected a finite number"]),
    ("weight-without-value", b'{"age": {"weight": 1}}', "age.value", ["missing", "expected"]),
    ("weighted-text", b'{"age": {"value": "5"}}', "age.value", ["expected float", "got str"]),
    ("weighted-null", b'{"age": {"value": null}}', "age.value", ["expected float", "got null"]),
    ("weighted-1e999", b'{"age": {"value": 1e999}}', "age.value", ["expected a finite number"]),
    ("negative-weight", b'{"age": {"value": 5, "weight": -1}}', "age.weight", ["expected", ">= 0"]),
    ("text-as-weight", b'{"age": {"value": 5, "weight": "1"}}', "age.weight", ["expected float"]),
    ("unknown-weight-field", b'{"age": {"value": 5, "wait": 1}}', "age.wait", ["does not know"]),
    ("two-megabytes", b'{"page": "%s"}' % (b"x" * 2_000_000), "value", ["1048576", "2000017"]),
    ("deep-array", b"[" * DEEP + b"]" * DEEP, "value", ["expected object", "got array"]),
    ("deep-attribute", b'{"age": ' + b"[" * DEEP + b"]" * DEEP + b"}", "age", ["expected float"]),
    (
        "deep-other-field",
        b'{"page": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        "value",
        ["nested too deeply", "expected an object"],
    ),
    (
        "deep-objects",
        b'{"page": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
        "value",
        ["nested too deeply", "expected an object"],
    ),
    ("deep-and-truncated", b'{"page": ' + b"[" * DEEP, "value", ["expected an object"]),
]

BAD_K = [
    # id, podium-k, what the error says
    ("negative-k", b"-1", ["'-1'", "0 to 20"]),
    ("text-as-k", b"many", ["'many'", "0 to 20"]),
    ("fraction-as-k", b"1.5", ["'1.5'", "0 to 20"]),
    ("k-above-max-k", b"21", ["'21'", "0 to 20"]),
    ("k-beyond-int64", b"9" * 30, ["0 to 20"]),
    ("empty-k", b"", ["''", "0 to 20"]),
    ("null-k", None, ["''", "0 to 20"]),
    ("signed-k", b"+3", ["'+3'", "0 to 20"]),
    ("k-in-other-digits", "٣".encode(), ["'٣'", "0 to 20"]),
    ("k-not-utf-8", b"\xff\xfe", ["expected text"]),
]


@pytest.mark.parametrize(
    ("value", "field", "says"), [pytest.param(*c[1:], id=c[0]) for c in BAD_VALUES]
)
def test_a_bad_event_becomes_a_dead_letter_and_the_others_are_answered(
    fleet: Fleet, value: bytes | None, field: str, says: list[str]
):
    headers: list[Header] = [("trace", b"\x00\xff"), ("podium-k", b"2"), ("trace", None)]
    bad = check_that_only_this_is_refused(fleet, value, headers)
    check_letter(fleet, bad, field, says)


@pytest.mark.parametrize(("k", "says"), [pytest.param(*case[1:], id=case[0]) for case in BAD_K])
def test_a_bad_podium_k_makes_a_dead_letter(fleet: Fleet, k: bytes | None, says: list[str]):
    bad = check_that_only_this_is_refused(fleet, b'{"age": 5}', [("podium-k", k)])
    check_letter(fleet, bad, "podium-k", says)


def check_that_only_this_is_refused(
    fleet: Fleet, value: bytes | None, headers: list[Header]
) -> Sent:
    """Send it between two good events of its partition; those get their answers."""
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    token = fleet.token()
    good = [fleet.publish({"age": 5}, b"before", after=token, partition=3)]
    bad = fleet.send("events", value, b"\x00bad\xff", headers, partition=3, refused=True)
    good.append(fleet.publish({"age": 5}, b"after", after=token, partition=3))
    assert [answer.hits for answer in fleet.answers_to(good)] == [[("a", 1.0)]] * 2
    return bad


def check_letter(fleet: Fleet, sent: Sent, field: str, says: list[str]) -> None:
    """The original, to the byte, and behind its headers what is wrong with it."""
    letter = fleet.letter_of("events", sent)
    assert (letter.key(), letter.value()) == (sent.key, sent.value)
    assert letter.headers()[: len(sent.headers)] == sent.headers
    added = letter.headers()[len(sent.headers) :]
    assert [name for name, _ in added] == [
        "podium-error",
        "podium-error-field",
        "podium-topic",
        "podium-partition",
        "podium-offset",
        "podium-version",
    ]
    told = {name: value.decode() for name, value in added}
    error = told.pop("podium-error")
    assert error.startswith(f"{field}: ")
    assert all(text in error for text in says), error
    assert len(error) < 1000
    assert told == {
        "podium-error-field": field,
        "podium-topic": fleet.topic("events"),
        "podium-partition": str(sent.place.partition),
        "podium-offset": str(sent.place.offset),
        "podium-version": "1",
    }


def test_an_event_of_just_under_a_mebibyte_is_answered(fleet: Fleet):
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    assert fleet.ask(b'{"age": 5, "page": "%s"}' % (b"x" * 1_048_000)) == [("a", 1.0)]


def test_of_a_record_that_was_larger_than_a_dead_letter_may_be_the_beginning_is_kept(
    fleet: Fleet, compressing: Producer
):
    """Only compressed can it have come through, so only then can it be too large."""
    value = b'{"page": "%s"}' % (b"x" * 9_000_000)
    sent = Sent(b"key", value, [("trace", b"lost")], refused=True)
    fleet.events.append(sent)

    def delivered(error: KafkaError | None, message: Message) -> None:
        sent.error, sent.place = error, Place(message.partition(), message.offset())

    compressing.produce(
        fleet.topic("events"), value, sent.key, headers=sent.headers, on_delivery=delivered
    )
    assert compressing.flush(30) == 0
    letter = fleet.letter_of("events", sent)
    told = dict(letter.headers())
    assert told["podium-cut"] == b"key 3 bytes, value 9000012 bytes"
    assert told["podium-error-field"] == b"value"
    assert b"1048576" in told["podium-error"]
    assert letter.key() == b"key"
    assert letter.value() == value[: 1024 * 1024]


@pytest.fixture
def compressing(fleet: Fleet) -> Producer:
    options = {"compression.type": "gzip", "message.max.bytes": 16_000_000}
    return Producer({"bootstrap.servers": fleet.brokers, **options})


def test_a_bad_event_with_any_key_is_kept_with_that_key(fleet: Fleet):
    keys = [None, b"", b"k" * 300_000]
    sent = [fleet.send("events", b"bad", key, refused=True) for key in keys]
    assert [fleet.letter_of("events", event).key() for event in sent] == keys


def test_many_bad_events_among_good_ones_lose_nothing(fleet: Fleet):
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    token = fleet.token()
    for number in range(600):
        if number % 3:
            fleet.publish({"age": number % 12}, b"%d" % number, after=token)
        else:
            fleet.publish(json.dumps({"age": "bad"}).encode(), b"%d" % number, refused=True)
    fleet.check_all()
