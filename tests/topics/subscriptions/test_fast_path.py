import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topics.codecs.json_record import BadRecord
from topics.kinds import contract_for

ATTRIBUTES = ("age", "visits")
RANKED = contract_for("ranked", ATTRIBUTES)
USUAL = b'{"where": {"age": [1, 2]}, "score": 3}'


def one_by_one(values):
    """The columns that the contract gives, or None if it refuses one of the values."""
    try:
        return RANKED.columns([RANKED.parse(value) for value in values])
    except BadRecord:
        return None


def assert_same(columns, expected):
    for column, wanted in zip(columns, expected, strict=True):
        assert column.dtype == wanted.dtype
        np.testing.assert_array_equal(column, wanted)


numbers = st.one_of(st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False))
ends = st.one_of(st.none(), numbers)
intervals = st.one_of(
    st.lists(ends, min_size=2, max_size=2),
    st.lists(ends, max_size=3),
    st.dictionaries(st.sampled_from(["ge", "lt"]), ends),
)
records = st.fixed_dictionaries(
    {"where": st.dictionaries(st.sampled_from([*ATTRIBUTES, "other"]), intervals)},
    optional={"score": numbers, "more": numbers},
)
values = st.one_of(
    st.just(USUAL),
    records.map(lambda record: json.dumps(record).encode()),
    records.map(lambda record: json.dumps(record, indent=1).encode()),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(values, min_size=1, max_size=4))
def test_what_is_parsed_at_once_is_what_the_contract_says(batch):
    columns = RANKED.columns_at_once(batch)
    if columns is not None:
        expected = one_by_one(batch)
        assert expected is not None
        assert_same(columns, expected)


def test_usual_records_are_parsed_at_once():
    batch = [
        USUAL,
        b'{"score": -1.5, "where": {"visits": [null, 7], "age": [0.1, null]}}',
        b'{"where": {"age": [null, null]}, "score": 0}',
        b'{"where": {}, "score": 1e300}',
    ]
    columns = RANKED.columns_at_once(batch)
    assert columns is not None
    assert_same(columns, one_by_one(batch))
    np.testing.assert_array_equal(columns.lows[2], [-math.inf, math.nan])


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param([b'{"where": {"age": [1', b'2]}, "score": 3}', USUAL + USUAL], id="in-halves"),
        pytest.param([b'{"where": {"age": [1, 2]}', b', "score": 3}', USUAL], id="cut-short"),
        pytest.param([USUAL + USUAL], id="two-in-one"),
        pytest.param([USUAL + b" " + USUAL, USUAL], id="two-in-one-with-a-space"),
        pytest.param([USUAL + b"\n" + USUAL], id="two-lines"),
        pytest.param([USUAL.replace(b" ", b"\n")], id="written-in-lines"),
        pytest.param([b"", USUAL], id="an-empty-one"),
        pytest.param([b'{"where": {"age": [2, 1]}, "score": 3}'], id="inverted"),
        pytest.param([b'{"where": {"age": {"ge": 1}}, "score": 3}'], id="bounds"),
        pytest.param([b'{"where": {"age": [1e999, null]}, "score": 3}'], id="infinite"),
        pytest.param([b'{"where": {"age\n": [1, 2]}, "score": 3}'], id="a-line-break-in-a-string"),
        pytest.param([b'{"where": {"\xff": [1, 2]}, "score": 3}'], id="not-utf-8"),
    ],
)
def test_what_is_not_usual_is_left_to_the_contract(batch):
    assert RANKED.columns_at_once(batch) is None


def test_other_kinds_are_left_to_their_contracts():
    value = b'{"where": {"age": [1, 2]}, "weights": {"age": 1}}'
    assert contract_for("relaxed", ATTRIBUTES).columns_at_once([value]) is None
