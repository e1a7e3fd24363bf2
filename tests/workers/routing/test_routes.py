"""Routes: what a shard publishes, what the router makes of it, and that no match is ever lost."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.kinds import KINDS, new_index
from tests.fleet import places
from tests.oracles import collection as oracle
from topics.kinds import contract_for, event_contract
from topics.routes import BlobError, RouteRecord, decode, encode, key_of
from workers.router.routes import RouteTable
from workers.routing.route_set import RouteSet, grouped
from workers.shard.shard import IndexChange

ATTRIBUTES = ("age", "visits")
INF = float("inf")

ends = st.one_of(st.none(), st.integers(0, 6))
intervals = st.tuples(ends, ends).filter(lambda e: None in e or e[0] <= e[1]).map(list)
names = st.sampled_from(ATTRIBUTES)
where = st.dictionaries(names, intervals)
predicates = st.one_of(
    st.builds(
        lambda name, op, value: {"attr": name, "op": op, "value": value},
        st.sampled_from(ATTRIBUTES),
        st.sampled_from(["<", "<=", "=", "!=", ">=", ">"]),
        st.integers(0, 6),
    ),
    st.builds(
        lambda name, op, values: {"attr": name, "op": op, "value": values},
        st.sampled_from(ATTRIBUTES),
        st.sampled_from(["in", "not in"]),
        st.lists(st.integers(0, 6), min_size=1, max_size=3) | st.just(["red"]),
    ),
    st.builds(
        lambda name, value: {"attr": name, "op": "between", "value": value},
        st.sampled_from(ATTRIBUTES),
        intervals,
    ),
)
conjunctions = st.builds(lambda all: {"all": all}, st.lists(predicates, min_size=1, max_size=3))
documents = {
    "ranked": st.builds(lambda where: {"where": where, "score": 1}, where),
    "relaxed": st.builds(
        lambda where: {"where": where, "weights": dict.fromkeys(where, 1)},
        st.dictionaries(names, intervals, min_size=1),
    ),
    "boolean": conjunctions
    | st.builds(lambda any: {"any": any}, st.lists(conjunctions, min_size=1, max_size=3)),
    "spatial_text": st.randoms().map(lambda r: places.subscription(r, "sphere", ATTRIBUTES)),
}
values = st.one_of(st.none(), st.integers(0, 6))
events = st.fixed_dictionaries({"age": values, "visits": values})
placed = st.randoms().map(lambda r: places.event(r, "sphere", ATTRIBUTES))


class Side:
    """A shard's routes and the router's, with the records between them."""

    def __init__(self, kind: str, most: int, attributes: Sequence[str] = ATTRIBUTES) -> None:
        self.kind, self.contract = kind, contract_for(kind, attributes)
        self.attributes = attributes
        self.keeper = RouteSet(kind, attributes, most)
        self.table = RouteTable("id", KINDS[kind].axes(attributes), 1)
        self.live: dict[int, bytes] = {}
        self.next_offset = self.sequence = self.generation = 0

    def change(self, gone: Sequence[int], new: Sequence[Any]) -> IndexChange:
        leaving = [id for id in dict.fromkeys(gone) if id in self.live]
        for id in leaving:
            del self.live[id]
        ids = list(range(self.next_offset, self.next_offset + len(new)))
        self.next_offset += len(new)
        encoded = [json.dumps(document).encode() for document in new]
        self.live.update(zip(ids, encoded, strict=True))
        columns = self.contract.columns([self.contract.parse(value) for value in encoded])
        return IndexChange(np.array(leaving, np.int64), np.array(ids, np.int64), columns)

    def publish(self, changes: list[IndexChange], anew: bool) -> None:
        changed = self.keeper.advance(changes, anew or not self.generation)
        self.keeper.check()
        self.sequence = 0 if changed.anew else self.sequence + 1
        self.generation += changed.anew
        record = RouteRecord("id", self.generation, self.sequence, self.next_offset, *changed[1:])
        assert self.table.take(0, decode(encode(record), self.table.dimensions))

    def matches(self, event: dict) -> bool:
        records = [(id, b"k%d" % id, value) for id, value in sorted(self.live.items())]
        judge = oracle.Collection(self.kind, self.attributes, [records])
        return bool(judge.top_k(event, 1, [self.next_offset]))

    def passes(self, asked: list[dict]) -> list[bool]:
        contract = event_contract(self.kind, self.attributes, 1, 1, 1)
        rows = [contract.form.row(json.dumps(event).encode()) for event in asked]
        points = contract.form.numbers(contract.form.columns(rows))[
            :, : self.table.dimensions
        ].copy()
        return self.table.lets_through(0, points, np.full(len(asked), -1)).tolist()


# Of so many attributes routes know the first ones only; those that are asked for lie on both sides.
MANY = ("age", *(f"a{number}" for number in range(40)), "visits")


@pytest.mark.parametrize("attributes", [ATTRIBUTES, MANY], ids=["few", "many"])
@pytest.mark.parametrize("kind", list(documents))
@settings(max_examples=60, deadline=None)
@given(data=st.data(), most=st.sampled_from([2, 4, 100]))
def test_an_event_that_something_matches_is_let_through(kind, attributes, data, most):
    side = Side(kind, most, attributes)
    rounds = st.lists(
        st.tuples(
            st.lists(st.integers(0, 20), max_size=6),
            st.lists(documents[kind], max_size=6),
            st.booleans(),
            st.booleans(),
        ),
        max_size=5,
    )
    waiting = []
    for gone, new, publish, anew in data.draw(rounds):
        waiting.append(side.change(gone, new))
        if publish:
            side.publish(waiting, anew)
            waiting = []
    side.publish(waiting, anew=False)
    asked = data.draw(st.lists(placed if kind == "spatial_text" else events, max_size=8))
    for event, passed in zip(asked, side.passes(asked), strict=True):
        assert passed or not side.matches(event)
        if kind == "ranked" and most == 100 and attributes == ATTRIBUTES:
            assert passed == side.matches(event) or {"age", "visits"} & {
                name for name, value in event.items() if value is None
            }


def test_a_former_owner_does_not_take_newer_routes_back():
    table, (low, high) = RouteTable("id", ATTRIBUTES, 1), np.array([[[1.0, 1]], [[2.0, 2]]])
    none = np.empty(0, np.int64)
    table.take(0, RouteRecord("id", 7, 0, 100, none, np.array([0]), low, high))
    table.take(0, RouteRecord("id", 3, 0, 50, none, none, low[:0], high[:0]))
    assert table.next_offsets.tolist() == [100]
    table.take(0, RouteRecord("id", 7, 1, 101, none, np.array([1]), low + 5, high + 5))
    inside = np.array([[1.0, 1], [6, 6], [3, 3]])
    assert table.lets_through(0, inside, np.full(3, -1)).tolist() == [True, True, False]


@pytest.mark.parametrize("wanted", [{"visits": [1, 2]}, {"age": [4, 5], "visits": [1, 2]}])
def test_one_interval_that_routes_do_not_know_lets_every_event_through(wanted):
    side = Side("relaxed", 100, MANY)
    document = {"where": wanted, "weights": dict.fromkeys(wanted, 1)}
    side.publish([side.change([], [document])], anew=False)
    assert side.passes([{"visits": 1}, {"age": 3, "visits": 2}]) == [True, True]
    side.publish([side.change([0], [])], anew=False)
    assert side.passes([{"visits": 1}]) == [False]


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("ranked", ("age",)),
        ("ranked", ATTRIBUTES),
        ("relaxed", ATTRIBUTES),
        ("boolean", ATTRIBUTES),
        ("spatial_text", ATTRIBUTES),
    ],
)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_restored_index_has_the_routes_of_its_subscriptions(kind, attributes, data):
    contract = contract_for(kind, attributes)
    drawn = data.draw(st.lists(documents[kind], max_size=8))
    if len(attributes) == 1:
        drawn = [{"where": {"age": [i, i + 2]}, "score": i} for i in range(len(drawn))]
    rows = [contract.parse(json.dumps(document).encode()) for document in drawn]
    ids, index = np.arange(len(rows)), new_index(kind, attributes)
    columns = contract.columns(rows)
    if len(ids):
        index.insert_many(ids, *columns)
    gone = ids[::3]
    if len(gone):
        index.delete_many(gone)
    arrays = {n: a for n, a in index.to_arrays()._asdict().items() if n != "attributes"}
    restored = RouteSet(kind, attributes, 100)
    restored.restore(arrays, index.ids())
    followed = RouteSet(kind, attributes, 100)
    nothing = np.empty(0, np.int64)
    followed.advance([IndexChange(nothing, ids, columns)] if len(ids) else [])
    followed.advance([IndexChange(gone, nothing, contract.columns([]))])
    assert boxes(restored.advance([], anew=True)) == boxes(followed.advance([], anew=True))


def boxes(change):
    """As a set: which of two equal boxes is forwarded depends on the order."""
    ends = np.concatenate((change.lows, change.highs), axis=1)
    return {tuple(row) for row in ends.tolist()}


def a_record(generation=1, sequence=0, **changes):
    record = RouteRecord(
        "id",
        generation,
        sequence,
        10,
        np.empty(0, np.int64),
        np.array([sequence]),
        np.array([[sequence, -INF]], np.float64),
        np.array([[sequence, INF]], np.float64),
    )
    return record._replace(**changes)


def knows(table):
    points = np.array([[99.0, 99.0]])
    return not table.lets_through(0, points, np.array([-1]))[0]


def test_a_shard_that_has_published_nothing_gets_everything():
    assert not knows(RouteTable("id", ATTRIBUTES, 2))
    assert RouteTable("id", ATTRIBUTES, 2).next_offsets.tolist() == [0, 0]


def test_an_event_with_a_later_token_goes_there_anyway():
    table = RouteTable("id", ATTRIBUTES, 1)
    table.take(0, a_record())
    points = np.array([[99.0, 99.0]] * 3)
    assert table.lets_through(0, points, np.array([9, 10, 11])).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("records", "known"),
    [
        ([a_record(), a_record(sequence=1), a_record(sequence=2)], True),
        ([a_record(), a_record(sequence=2)], False),
        ([a_record(), a_record(sequence=1), a_record(sequence=1)], True),
        ([a_record(), a_record(generation=9, sequence=1)], True),
        ([a_record(sequence=1)], False),
        ([a_record(), a_record(sequence=2), a_record(generation=2)], True),
        ([a_record(), a_record(topic_id="another")], False),
    ],
    ids=["in-order", "missing", "repeated", "of-another", "no-beginning", "anew", "foreign"],
)
def test_routes_are_known_only_while_none_is_missing(records, known):
    table = RouteTable("id", ATTRIBUTES, 1)
    for record in records:
        table.take(0, record)
    assert knows(table) == known


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: b"x" + d[1:], lambda d: b""])
def test_a_damaged_record_is_refused(damage):
    with pytest.raises(BlobError):
        decode(damage(encode(a_record())), 2)


def test_a_record_of_other_attributes_or_version_is_refused():
    with pytest.raises(BlobError, match="over 3 attributes"):
        decode(encode(a_record()), 3)
    newer = bytearray(encode(a_record()))
    newer[4] += 1
    with pytest.raises(BlobError):
        decode(bytes(newer), 2)


def test_keys_of_a_generation_are_used_again():
    assert [key_of(3, sequence) for sequence in (0, 1, 2)] == [b"3", b"3+1", b"3+2"]


@settings(max_examples=100, deadline=None)
@given(
    given_=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0, 1, 2])), min_size=1
    ),
    most=st.integers(1, 9),
)
def test_groups_are_few_and_hold_every_box(given_, most):
    lows = np.array([[low, -INF if form == 1 else low] for low, _, form in given_], np.float64)
    highs = np.array(
        [[low + size, INF if form == 2 else low + size] for low, size, form in given_], np.float64
    )
    few_lows, few_highs = grouped(lows, highs, most)
    assert len(few_lows) <= most
    for low, high in zip(lows, highs, strict=True):
        assert ((few_lows <= low) & (few_highs >= high)).all(axis=1).any()
