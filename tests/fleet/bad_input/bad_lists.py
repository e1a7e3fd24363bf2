"""Objects and subscriptions that break the contract of a collection of lists with k = 3."""

from typing import NamedTuple

from tests.fleet.traffic import key_on

SHARDS = 2
MEGABYTE = 1_000_000
GOOD_OBJECT, GOOD_RANGE = b'{"x": 3, "y": -1}', b'{"range": [0, 9]}'
# Of records that would otherwise be good updates of an object and a subscription that there are.
OBJECT, SUBSCRIPTION = "taken", key_on(0, SHARDS, "kept")


class Bad(NamedTuple):
    """Named after what is wrong; `field` is what its dead letter names."""

    name: str
    value: bytes | None
    field: str
    key: bytes
    partition: int = -1


def _object(name: str, value: bytes | None, field: str, key: bytes = OBJECT.encode()) -> Bad:
    return Bad(name, value, field, key)


def _subscription(
    name: str,
    value: bytes | None,
    field: str,
    key: bytes = SUBSCRIPTION.encode(),
    partition: int = -1,
) -> Bad:
    return Bad(name, value, field, key, partition)


OBJECTS = [
    _object("bad JSON", b"{x: 3, y: 1}", "value"),
    _object("cut off", b'{"x": 3, "y": ', "value"),
    _object("empty", b"", "value"),
    _object("JSON null", b"null", "value"),
    _object("array", b"[3, 1]", "value"),
    _object("x is NaN", b'{"x": NaN, "y": 1}', "x"),
    _object("y is NaN", b'{"x": 3, "y": NaN}', "y"),
    _object("x is infinite", b'{"x": Infinity, "y": 1}', "x"),
    _object("x is beyond float64", b'{"x": 1e999, "y": 1}', "x"),
    _object("y is infinite", b'{"x": 3, "y": -Infinity}', "y"),
    _object("y is beyond float64", b'{"x": 3, "y": -1e999}', "y"),
    _object("no x", b'{"y": 1}', "x"),
    _object("no y", b'{"x": 3}', "y"),
    _object("x is text", b'{"x": "3", "y": 1}', "x"),
    _object("y is null", b'{"x": 3, "y": null}', "y"),
    _object("no id", GOOD_OBJECT, "key", b""),
    _object("id is not UTF-8", GOOD_OBJECT, "key", b"\xff\xfe"),
    _object("id of a megabyte", GOOD_OBJECT, "key", b"i" * MEGABYTE),
    _object("id of a mebibyte", GOOD_OBJECT, "key", b"i" * 1024 * 1024),
    _object("removed by an id of a megabyte", None, "key", b"i" * MEGABYTE),
    _object("value of two megabytes", GOOD_OBJECT + b" " * 2 * MEGABYTE, "value"),
]
SUBSCRIPTIONS = [
    _subscription("bad JSON", b"{range: [0, 9]}", "value"),
    _subscription("cut off", b'{"range": [0, ', "value"),
    _subscription("no range", b'{"k": 2}', "range"),
    _subscription("one end", b'{"range": [0]}', "range"),
    _subscription("low is NaN", b'{"range": [NaN, 9]}', "range[0]"),
    _subscription("high is infinite", b'{"range": [0, Infinity]}', "range[1]"),
    _subscription("high is beyond float64", b'{"range": [0, 1e999]}', "range[1]"),
    _subscription("inverted", b'{"range": [9, 0]}', "range"),
    _subscription("k above the collection's", b'{"range": [0, 9], "k": 4}', "k"),
    _subscription("k of 0", b'{"range": [0, 9], "k": 0}', "k"),
    _subscription("k is a fraction", b'{"range": [0, 9], "k": 1.5}', "k"),
    _subscription("unknown field", b'{"range": [0, 9], "limit": 1}', "limit"),
    _subscription("another partition", GOOD_RANGE, "key", partition=1),
    _subscription("unsubscribed on another partition", None, "key", partition=1),
    _subscription("no id", GOOD_RANGE, "key", b""),
    _subscription("id of a megabyte", GOOD_RANGE, "key", b"i" * MEGABYTE),
    _subscription("unsubscribed by an id of a megabyte", None, "key", b"i" * MEGABYTE),
]
