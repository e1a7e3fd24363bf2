"""Records of lists: what is written is what `json.dumps` would say, and what the schema allows."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import effort
from tests.topics.test_schemas import valid
from topics import lists
from topics.lists import OPERATIONS, REASONS, ListWriter, Subscriber
from topics.messages import life_of

SHARDS = 3
ODD = ['quo"te', "back\\slash", "new\nline \x01", "ünï→😀", ',"x":1', "\u2028", "plain"]

texts = st.sampled_from(ODD) | st.text(min_size=1, max_size=5).filter(lambda t: t.isprintable())
numbers = st.floats(allow_nan=False, allow_infinity=False)


class States(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    handle: np.ndarray


class Changed(NamedTuple):
    ids: np.ndarray
    seq: np.ndarray
    number: np.ndarray
    list_count: np.ndarray
    change_count: np.ndarray
    entries: np.ndarray
    changes: np.ndarray


def states_of(points):
    x, y = (np.array([point[i] for point in points]) for i in range(2))
    return States(x, y, np.arange(len(points), dtype=np.int32))


def item(name, point):
    return {"id": name, "x": point[0], "y": point[1]}


def spelled(change, names, points):
    operation, row, old, new, why = change
    said = {"op": OPERATIONS[operation]}
    if said["op"] == "leave":
        return said | {"id": names[row], "from": old, "why": REASONS[why]}
    said |= item(names[row], points[row])
    return said | ({"from": old, "to": new} if said["op"] == "move" else {"to": new})


def expected(key, life, seq, number, k, listed, changes, emit, epsilon):
    offset, shard = divmod(life, SHARDS)
    record = {
        "subscription": key,
        "since": f"p.s[{shard}]@{offset}",
        "seq": seq,
        "first": seq == 1,
        "objects": None if number < 0 else f"p.o[0]@{number}",
        "k": k,
    }
    if emit != "changes":
        record["list"] = listed
    if emit != "list":
        record["changes"] = changes
    return record if epsilon is None else record | {"approximate": epsilon}


@settings(max_examples=effort(100, 1000), deadline=None)
@given(
    names=st.lists(texts, min_size=4, max_size=4, unique=True),
    points=st.lists(st.tuples(numbers, numbers), min_size=4, max_size=4),
    key=texts,
    rows=st.lists(st.integers(0, 3), max_size=4, unique=True),
    changes=st.lists(
        st.tuples(st.integers(0, 3), *[st.integers(0, 3)] * 3, st.integers(0, 2)), max_size=4
    ),
    emit=st.sampled_from(["list", "changes", "both"]),
    epsilon=st.none() | st.sampled_from([0.5, 1.0]),
    number=st.integers(-1, 10**12),
)
def test_a_record_is_the_json_that_is_expected(
    names, points, key, rows, changes, emit, epsilon, number
):
    writer = ListWriter("p.o", "p.s", SHARDS, emit, epsilon)
    states, ids = states_of(points), [name.encode() for name in names]
    life = life_of(1, 88, SHARDS)
    changed = Changed(
        np.array([life]), np.array([7]), np.array([number]),
        np.array([len(rows)], np.int32), np.array([len(changes)], np.int32),
        np.array(rows, np.int32), np.array(changes, np.int32).reshape(-1, 5),
    )  # fmt: skip
    whose = Subscriber(key.encode(), 5)
    listed = [item(names[row], points[row]) for row in rows]
    told = [spelled(change, names, points) for change in changes]
    for _ in range(2):  # the second time, texts are known
        ((got_whose, got_life, value),) = writer.records(changed, states, ids, lambda _: whose)
        assert (got_whose, got_life) == (whose, life)
        wanted = expected(key, life, 7, number, 5, listed, told, emit, epsilon)
        assert json.loads(value) == wanted
        assert list(json.loads(value)) == list(wanted)
        assert valid("matches.range_topk.json", wanted)
        assert lists.decode(value).seq == 7
    first = writer.first_record(whose, life, number, np.array(rows, np.int64), states, ids)
    begun = json.loads(first)
    both = expected(key, life, 1, number, 5, listed, [], "both", epsilon)
    if emit == "list":
        del both["changes"]
    assert begun == both, "the first list is in, whatever else is emitted"
    assert valid("matches.range_topk.json", begun)
    assert writer.as_of(life) == b"1@88"


def test_records_of_many_lists_are_cut_where_they_end():
    writer = ListWriter("p.o", "p.s", SHARDS)
    points = [(1.0, 2.0), (3.0, 4.0)]
    changed = Changed(
        np.array([3, 4, 5]), np.array([2, 3, 4]), np.array([9, 9, 10]),
        np.array([2, 0, 1], np.int32), np.array([1, 2, 0], np.int32),
        np.array([0, 1, 1], np.int32),
        np.array([[1, 0, -1, 0, 0], [0, 0, 0, -1, 1], [0, 1, 1, -1, 2]], np.int32),
    )  # fmt: skip
    found = writer.records(
        changed, states_of(points), [b"a", b"b"], lambda life: Subscriber(b"s%d" % life, 3)
    )
    records = [json.loads(value) for _, _, value in found]
    assert [[one["id"] for one in record["list"]] for record in records] == [["a", "b"], [], ["b"]]
    assert [[one["op"] for one in record["changes"]] for record in records] == [
        ["enter"], ["leave", "leave"], [],
    ]  # fmt: skip
    assert [one["why"] for one in records[1]["changes"]] == ["removed", "left"]


def test_states_in_other_rows_are_spelled_anew():
    writer = ListWriter("p.o", "p.s", SHARDS)
    whose, row = Subscriber(b"u", 1), np.array([0])
    writer.forget(0)
    first = writer.first_record(whose, 3, 1, row, states_of([(1.0, 1.0)]), [b"a"])
    writer.forget(1)
    second = writer.first_record(whose, 3, 1, row, states_of([(2.0, 2.0)]), [b"b"])
    assert [json.loads(one)["list"][0]["id"] for one in (first, second)] == ["a", "b"]


@pytest.mark.parametrize(
    "value",
    [
        b"{}",
        b'{"subscription":"u","since":"p.s[0]","seq":1,"first":true,"objects":null,"k":1}',
        b'{"subscription":"u","since":"p.s[0]@1","seq":0,"first":true,"objects":null,"k":1}',
    ],
)
def test_what_is_no_record_of_a_list_is_refused(value):
    with pytest.raises(ValueError, match=r"`\$|missing"):
        lists.decode(value)
