"""The demo's own verdict on lists: it sees every mistake that is planted."""

import json
from copy import deepcopy

import pytest

from podium.demo.parking.check import Subscription, applied, compare, listed, without_repeats
from podium.demo.parking.scan import Ask, lists_as_of

LOG = [
    (0, b"a", b'{"x":1,"y":0.3}'),
    (1, b"b", b'{"x":2,"y":0.2}'),
    (2, b"c", b'{"x":2,"y":0.2}'),
    (4, b"a", b'{"x":1,"y":0.1}'),
    (5, b"b", None),
    (7, b"c", b'{"x":9,"y":0.2}'),
]
SINCE = "podium.parking.subscriptions[1]@3"
SUBSCRIPTIONS = {"w": Subscription.of(SINCE, b'{"range":[0,5],"k":2}')}
A3, A1, B, C = ("a", 1.0, 0.3), ("a", 1.0, 0.1), ("b", 2.0, 0.2), ("c", 2.0, 0.2)


def record(seq, objects, items, *changes):
    return {
        "subscription": "w",
        "since": SINCE,
        "seq": seq,
        "first": seq == 1,
        "objects": f"podium.parking.objects[0]@{objects}",
        "k": 2,
        "list": [{"id": id, "x": x, "y": y} for id, x, y in items],
        "changes": list(changes),
    }


RECORDS = [
    record(1, 2, [B, C]),
    record(
        2,
        4,
        [A1, B],
        {"op": "leave", "id": "c", "from": 1, "why": "displaced"},
        {"op": "enter", "id": "a", "x": 1.0, "y": 0.1, "to": 0},
    ),
    record(
        3,
        5,
        [A1, C],
        {"op": "leave", "id": "b", "from": 1, "why": "removed"},
        {"op": "enter", "id": "c", "x": 2.0, "y": 0.2, "to": 1},
    ),
    record(4, 7, [A1], {"op": "leave", "id": "c", "from": 1, "why": "left"}),
]


def test_a_scan_knows_every_list_as_of_every_record():
    asks = [Ask(number, 0.0, 5.0, 3) for number in (-1, 0, 2, 3, 4, 5, 7)]
    found = lists_as_of(LOG, asks)
    expected = [[], [A3], [B, C, A3], [B, C, A3], [A1, B, C], [A1, C], [A1]]
    assert [found[ask] for ask in asks] == expected


def test_right_records_agree():
    agreement = compare(LOG, SUBSCRIPTIONS, {"w": RECORDS})
    assert (agreement.checked, agreement.agreed, agreement.records) == (1, 1, 4)
    assert agreement.first is None


def test_moves_and_updates_are_applied_in_the_new_list():
    before = [("a", 1.0, 1.0), ("b", 2.0, 2.0), ("c", 3.0, 3.0)]
    changes = [
        {"op": "move", "id": "c", "x": 3.0, "y": 0.5, "from": 2, "to": 0},
        {"op": "update", "id": "a", "x": 1.5, "y": 1.0, "to": 1},
    ]
    after = [("c", 3.0, 0.5), ("a", 1.5, 1.0), ("b", 2.0, 2.0)]
    assert applied(before, {"changes": changes}) == after


def _wrong_list(records):
    records[1]["list"].reverse()


def _wrong_change(records):
    records[2]["changes"].pop()


def _gap(records):
    del records[1]


def _nothing(records):
    records.clear()


def _one_is_missing_at_the_end(records):
    records.pop()


def _another_life(records):
    records[0]["since"] = "podium.parking.subscriptions[1]@2"


@pytest.mark.parametrize(
    "plant",
    [_wrong_list, _wrong_change, _gap, _nothing, _one_is_missing_at_the_end, _another_life],
)
def test_a_mistake_is_found(plant):
    records = deepcopy(RECORDS)
    plant(records)
    agreement = compare(LOG, SUBSCRIPTIONS, {"w": records})
    assert (agreement.checked, agreement.agreed) == (1, 0)
    assert agreement.first.subscription == "w"


def test_a_repeat_counts_once():
    values = [json.dumps(one).encode() for one in RECORDS]
    assert without_repeats([*values[:3], *values[1:]]) == RECORDS
    assert [len(listed(one)) for one in RECORDS] == [2, 2, 2, 1]
