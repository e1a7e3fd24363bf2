"""Events of numbers, strings and weights: read, packed in columns, and back."""

import json
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import boolean as oracle
from topics.codecs.columns import CodecError
from topics.codecs.json_record import BadRecord
from topics.events.mixed import MixedColumns, MixedEvents, decode_columns, encode

NAMED, OPEN = MixedEvents(["age", "colour"]), MixedEvents([])

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-9, 9),
    st.sampled_from([10**400, -(10**400), 1e308]),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=1),
    st.fixed_dictionaries(
        {"value": st.one_of(st.none(), st.booleans(), st.floats(-9, 9), st.text(max_size=2))},
        optional={"weight": st.sampled_from([0, 1, 0.3, -1, "1", 1e100, 1e101]), "more": st.none()},
    ),
)
documents = st.dictionaries(st.sampled_from(["age", "colour", "other", ""]), values, max_size=4)


@pytest.mark.parametrize("rows", [NAMED, OPEN], ids=["named", "open"])
@given(document=documents)
def test_an_event_is_read_as_the_oracle_reads_it(rows, document):
    try:
        wanted = oracle.mixed_values(document, rows.attributes)
    except ValueError:
        wanted = None
    beyond = not rows.attributes and any(is_beyond(given) for given in document.values())
    if wanted is None or beyond:
        with pytest.raises(BadRecord):
            rows.row(json.dumps(document).encode())
    else:
        got = rows.row(json.dumps(document).encode())
        assert {name: (value, weight) for name, value, weight in got} == wanted


def is_beyond(given):
    """A number that no float64 holds is refused even in a field that nobody has named."""
    return type(given) is int and abs(given) > sys.float_info.max


@pytest.mark.parametrize("rows", [NAMED, OPEN], ids=["named", "open"])
@pytest.mark.parametrize("value", [None, b"", b"[]", b"3", b'{"age": NaN}', b"\xff"])
def test_what_is_no_object_of_json_is_refused(rows, value):
    with pytest.raises(BadRecord):
        rows.row(value)


def test_a_value_of_the_wrong_type_is_refused_with_its_field():
    with pytest.raises(BadRecord, match="got bool") as caught:
        NAMED.row(b'{"age": true}')
    assert caught.value.field == "age"
    with pytest.raises(BadRecord) as caught:
        NAMED.row(b'{"colour": {"value": "red", "weight": -1}}')
    assert caught.value.field == "colour.weight"


entries = st.tuples(
    st.sampled_from(["a", "b", "naïve", ""]),
    st.one_of(st.floats(allow_nan=False), st.text(max_size=3)),
    st.floats(0, 9),
)


@given(rows=st.lists(st.lists(entries, max_size=5), max_size=5))
def test_columns_hold_the_rows_and_survive_packing(rows):
    assert unpacked(MixedColumns.of(rows)) == rows
    received = decode_columns(encode(MixedColumns.of(rows)))
    assert unpacked(received) == rows
    assert len(received) == len(rows)


def unpacked(columns):
    rows = []
    for first, last in zip(columns.starts[:-1].tolist(), columns.starts[1:].tolist(), strict=True):
        rows.append([entry(columns, at) for at in range(first, last)])
    return rows


def entry(columns, at):
    place = int(columns.columns[at])
    name, is_text = columns.names[place]
    value = float(columns.values[at])
    if is_text:
        owner, value = columns.strings[int(value)]
        assert owner == place
    return name, value, float(columns.weights[at])


def test_a_name_and_a_string_travel_once_a_batch():
    columns = MixedColumns.of([[("colour", "red", 1.0)]] * 100 + [[("colour", 3.0, 1.0)]])
    assert columns.names == [("colour", True), ("colour", False)]
    assert columns.strings == [(0, "red")]


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_bytes_that_are_missing_are_noticed(cut):
    whole = encode(MixedColumns.of([[("colour", "red", 1.0)], [("age", math.pi, 0.5)]]))
    with pytest.raises(CodecError):
        decode_columns(whole[:-cut])
