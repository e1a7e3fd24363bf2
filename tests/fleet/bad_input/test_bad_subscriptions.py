"""Subscriptions that break the contract: to `subscriptions.dlq`; what was there before stays."""

import pytest
from confluent_kafka import KafkaError

from tests.fleet.fleet import Fleet
from tests.fleet.traffic import Sent, key_on
from tests.oracles import collection as oracle

DEEP = 100_000
ID = key_on(0, 2, "bad")

# All of them are sent as updates of a subscription that is in force.
BAD_VALUES = [
    # id, value, field, what the error says
    ("empty-value", b"", "value", ["expected an object"]),
    ("bad-json", b"{where: {}}", "value", ["not JSON", "expected an object"]),
    ("truncated-json", b'{"where": {"age": [1, 2]}, "sco', "value", ["not JSON"]),
    ("binary", bytes(range(256)), "value", ["not JSON"]),
    ("array", b'[{"where": {}, "score": 1}]', "value", ["expected object", "got array"]),
    ("json-null", b"null", "value", ["expected object", "got null"]),
    ("number", b"7", "value", ["expected object", "got int"]),
    ("missing-score", b'{"where": {}}', "score", ["missing", "expected"]),
    ("missing-where", b'{"score": 1}', "where", ["missing", "expected"]),
    ("unknown-field", b'{"where": {}, "score": 1, "wieght": 2}', "wieght", ["does not know"]),
    ("unknown-attribute", b'{"where": {"agee": [1, 2]}, "score": 1}', "where.agee", ["not know"]),
    ("text-as-score", b'{"where": {}, "score": "1"}', "score", ["expected float", "got str"]),
    ("boolean-as-score", b'{"where": {}, "score": true}', "score", ["expected float", "got bool"]),
    ("null-as-score", b'{"where": {}, "score": null}', "score", ["expected float", "got null"]),
    ("nan-score", b'{"where": {}, "score": NaN}', "score", ["got nan", "finite"]),
    ("infinite-score", b'{"where": {}, "score": Infinity}', "score", ["got inf", "finite"]),
    ("score-1e999", b'{"where": {}, "score": 1e999}', "score", ["float64", "finite"]),
    ("array-as-where", b'{"where": [], "score": 1}', "where", ["expected object", "got array"]),
    ("null-as-where", b'{"where": null, "score": 1}', "where", ["expected object", "got null"]),
    ("number-as-interval", b'{"where": {"age": 5}, "score": 1}', "where.age", ["expected", "int"]),
    ("null-as-interval", b'{"where": {"age": null}, "score": 1}', "where.age", ["expected"]),
    ("one-end", b'{"where": {"age": [5]}, "score": 1}', "where.age", ["expected", "length 2"]),
    ("three-ends", b'{"where": {"age": [5, 6, 7]}, "score": 1}', "where.age", ["length 2"]),
    (
        "text-as-end",
        b'{"where": {"age": ["1", 2]}, "score": 1}',
        "where.age[0]",
        ["expected float"],
    ),
    ("boolean-as-end", b'{"where": {"age": [1, true]}, "score": 1}', "where.age[1]", ["got bool"]),
    ("nan-as-end", b'{"where": {"age": [NaN, 2]}, "score": 1}', "where.age[0]", ["got nan"]),
    ("infinity-as-end", b'{"where": {"age": [1, Infinity]}, "score": 1}', "where.age[1]", ["inf"]),
    ("1e999-as-end", b'{"where": {"age": [1, 1e999]}, "score": 1}', "where.age[1]", ["finite"]),
    ("inverted", b'{"where": {"age": [35, 20]}, "score": 1}', "where.age", ["[35", "low <= high"]),
    ("inverted-ge-le", b'{"where": {"age": {"ge": 9, "le": 8}}, "score": 1}', "where.age", ["low"]),
    (
        "nothing-between",
        b'{"where": {"age": {"gt": 5, "lt": 5}}, "score": 1}',
        "where.age",
        ["low"],
    ),
    ("unknown-bound", b'{"where": {"age": {"min": 5}}, "score": 1}', "where.age.min", ["not know"]),
    ("text-as-bound", b'{"where": {"age": {"ge": "5"}}, "score": 1}', "where.age.ge", ["float"]),
    ("deep-array", b"[" * DEEP + b"]" * DEEP, "value", ["expected object", "got array"]),
    (
        "deep-interval",
        b'{"where": {"age": ' + b"[" * DEEP + b"]" * DEEP + b'}, "score": 1}',
        "where.age[0]",
        ["expected float", "got array"],
    ),
    (
        "deep-unknown-field",
        b'{"extra": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        "extra",
        ["does not know"],
    ),
]


@pytest.mark.parametrize(
    ("value", "field", "says"), [pytest.param(*c[1:], id=c[0]) for c in BAD_VALUES]
)
def test_a_bad_update_becomes_a_dead_letter_and_the_subscription_stays(
    fleet: Fleet, value: bytes, field: str, says: list[str]
):
    bad = check_that_only_this_is_refused(fleet, value)
    check_letter(fleet, bad, field, says)


def test_a_record_of_two_megabytes_is_refused(fleet: Fleet):
    bad = check_that_only_this_is_refused(
        fleet, b'{"where": {}, "score": 1%s}' % (b" " * 2_000_000)
    )
    fleet.refuse_beyond_oracle(bad)
    check_letter(fleet, bad, "value", ["got 2000030 bytes", "at most 1048576"])


def check_that_only_this_is_refused(fleet: Fleet, value: bytes) -> Sent:
    """Send it as an update, between good records of the same shard."""
    fleet.subscribe(ID, {"age": [0, 9]}, 3)
    fleet.subscribe(before := key_on(0, 2, "before"), {"age": [0, 9]}, 2)
    bad = fleet.send("subscriptions", value, ID.encode(), [("trace", b"\x00\xff"), ("trace", None)])
    fleet.subscribe(after := key_on(0, 2, "after"), {"age": [0, 9]}, 1)
    assert fleet.ask({"age": 5}) == [(ID, 3.0), (before, 2.0), (after, 1.0)]
    return bad


def check_letter(fleet: Fleet, sent: Sent, field: str, says: list[str]) -> None:
    letter = fleet.letter_of("subscriptions", sent)
    assert (letter.key(), letter.value()) == (sent.key, sent.value)
    assert letter.headers()[: len(sent.headers)] == sent.headers
    told = {name: value.decode() for name, value in letter.headers()[len(sent.headers) :]}
    error = told.pop("podium-error")
    assert error.startswith(f"{field}: ")
    assert all(text in error for text in says), error
    assert len(error) < 1000
    assert told == {
        "podium-error-field": field,
        "podium-topic": fleet.topic("subscriptions"),
        "podium-partition": str(sent.place.partition),
        "podium-offset": str(sent.place.offset),
        "podium-version": "1",
    }


GOOD = b'{"where": {"age": [0, 9]}, "score": 9}'


@pytest.mark.parametrize("value", [GOOD, None], ids=["subscribe", "unsubscribe"])
@pytest.mark.parametrize(
    ("key", "says"),
    [
        pytest.param(b"", ["empty", "the subscription's id"], id="empty-key"),
        pytest.param(b"\xff\xfe-7", ["UTF-8"], id="key-not-utf-8"),
    ],
)
def test_a_record_without_a_usable_id_is_refused(
    fleet: Fleet, key: bytes, says: list[str], value: bytes | None
):
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    bad = fleet.send("subscriptions", value, key)
    assert fleet.ask({"age": 5}) == [("a", 1.0)]
    check_letter(fleet, bad, "key", says)


@pytest.mark.parametrize("value", [GOOD, None], ids=["subscribe", "unsubscribe"])
def test_a_null_key_is_refused_by_the_broker_itself(fleet: Fleet, value: bytes | None):
    """A compacted topic takes none, so it is the producer who hears of it."""
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    fleet.deliver()  # the broker refuses a batch as a whole
    bad = fleet.send("subscriptions", value, None)
    fleet.deliver()
    assert bad.error is not None
    assert bad.error.code() == KafkaError.INVALID_RECORD
    assert fleet.ask({"age": 5}) == [("a", 1.0)]


@pytest.mark.parametrize("value", [GOOD, None], ids=["subscribe", "unsubscribe"])
def test_an_id_of_more_than_256_bytes_is_refused(fleet: Fleet, value: bytes | None):
    bad = fleet.send("subscriptions", value, b"k" * 257)
    fleet.refuse_beyond_oracle(bad)
    assert fleet.ask({"age": 5}) == []
    check_letter(fleet, bad, "key", ["257", "at most 256"])


def test_an_id_that_json_would_spell_too_long_is_refused(fleet: Fleet):
    """Each of these characters takes six bytes in a match record."""
    bad = fleet.send("subscriptions", GOOD, b"\x01" * 100)
    fleet.refuse_beyond_oracle(bad)
    assert fleet.ask({"age": 5}) == []
    check_letter(fleet, bad, "key", ["602 bytes of JSON text", "control characters"])


@pytest.mark.parametrize("value", [GOOD, None], ids=["subscribe", "unsubscribe"])
def test_a_key_on_another_partition_than_murmur2_gives_it_is_refused(
    fleet: Fleet, value: bytes | None
):
    fleet.subscribe(ID, {"age": [0, 9]}, 1)
    bad = fleet.send("subscriptions", value, ID.encode(), partition=1)
    assert fleet.ask({"age": 5}) == [(ID, 1.0)]
    check_letter(fleet, bad, "key", ["got partition 1", "murmur2 gives 0", "murmur2_random"])


def test_librdkafka_s_own_partitioner_would_put_keys_elsewhere():
    """So the refusal above is one that people will meet; it tells them the remedy."""
    from zlib import crc32

    ids = [b"ad-%d" % number for number in range(100)]
    elsewhere = [id for id in ids if crc32(id) % 2 != (oracle.murmur2(id) & 0x7FFFFFFF) % 2]
    assert 25 < len(elsewhere) < 75


def test_a_bad_first_record_subscribes_nothing(fleet: Fleet):
    bad = fleet.send("subscriptions", b'{"where": {"age": [0, 9]}}', b"new")
    assert fleet.ask({"age": 5}) == []
    check_letter(fleet, bad, "score", ["missing"])


def test_an_unsubscription_after_a_bad_update_still_counts(fleet: Fleet):
    fleet.subscribe(ID, {"age": [0, 9]}, 1)
    bad = fleet.send("subscriptions", b"bad", ID.encode())
    fleet.unsubscribe(ID)
    assert fleet.ask({"age": 5}) == []
    check_letter(fleet, bad, "value", ["not JSON"])


def test_many_bad_subscriptions_among_good_ones_change_nothing_else(fleet: Fleet):
    for number in range(400):
        if number % 4:
            fleet.subscribe(f"ad-{number % 90}", {"age": [number % 7, 9]}, number % 11)
        else:
            fleet.send("subscriptions", b'{"where": {}, "score": "high"}', b"ad-%d" % (number % 90))
    for age in range(12):
        fleet.ask({"age": age}, k=20)
    fleet.check_all()
