import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import collection as oracle
from topics.codecs.json_record import BadRecord
from topics.events.contract import Options
from topics.events.numbers import Weighted
from topics.kinds import event_contract

ATTRIBUTES = ("age", "credit score", "visits")
DEEP = 100_000
LARGEST = 1.7976931348623157e308


@pytest.fixture(scope="module")
def contract():
    return event_contract("ranked", ATTRIBUTES, k=5, max_k=100, shards=3)


def refusal(read, argument):
    with pytest.raises(BadRecord) as caught:
        read(argument)
    return caught.value


def values(contract, *documents):
    return contract.form.columns([contract.form.row(document) for document in documents])


def test_a_token_has_at_most_one_part_a_shard(contract):
    assert contract.options([("podium-after", b"0@1,1@2,2@3")]).after == {0: 1, 1: 2, 2: 3}
    long = b",".join([b"0@1"] * 1_000_000)
    bad = refusal(contract.options, [("podium-after", long)])
    assert str(bad) == "podium-after: got 1000000 parts, expected at most one a shard"


def test_attributes_come_in_the_order_of_the_collection(contract):
    event = b'{"visits": 3, "page": "/home", "age": 28, "credit score": 441.5}'
    np.testing.assert_array_equal(values(contract, event), [[28.0, 441.5, 3.0]])


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(b"{}", id="nothing"),
        pytest.param(b'{"age": null, "visits": null}', id="null"),
        pytest.param(b'{"page": 1, "Age": 2, "credit": 3}', id="other-fields"),
    ],
)
def test_what_an_event_lacks_is_nan(contract, event):
    np.testing.assert_array_equal(values(contract, event), [[math.nan] * 3])


def test_a_weighted_value_counts_as_its_value(contract):
    event = b'{"age": {"value": 28, "weight": 0.3}, "visits": {"value": -1}}'
    assert contract.form.row(event)[0] == Weighted(28.0, 0.3)
    assert contract.form.row(event)[2] == Weighted(-1.0, 1.0)
    np.testing.assert_array_equal(values(contract, event), [[28.0, math.nan, -1.0]])


def test_weighted_plain_null_and_absent_values_mix_in_one_matrix(contract):
    matrix = values(
        contract, b'{"age": {"value": 28}}', b"{}", b'{"age": null, "visits": 2}', b'{"age": 1e300}'
    )
    nan = math.nan
    expected = [[28, nan, nan], [nan, nan, nan], [nan, nan, 2], [1e300, nan, nan]]
    np.testing.assert_array_equal(matrix, expected)
    assert matrix.dtype == np.float64


def test_a_matrix_has_its_columns_even_without_events(contract):
    assert contract.form.columns([]).shape == (0, 3)


def test_a_collection_without_attributes_has_events_without_columns():
    contract = event_contract("ranked", [], k=1, max_k=1, shards=1)
    assert contract.form.columns([contract.form.row(b'{"age": 1}')] * 2).shape == (2, 0)


@pytest.mark.parametrize(
    ("event", "field", "got", "expected"),
    [
        pytest.param(None, "value", "got null", 'such as {"age": 28}', id="null-value"),
        pytest.param(b"", "value", "not JSON", 'such as {"age": 28}', id="empty"),
        pytest.param(b'{"age": 2', "value", "truncated", 'such as {"age": 28}', id="truncated"),
        pytest.param(b"age=28", "value", "not JSON", 'such as {"age": 28}', id="not-json"),
        pytest.param(b"[28]", "value", "got array", "expected object", id="array"),
        pytest.param(b"28", "value", "got int", "expected object", id="number"),
        pytest.param(b'{"age": "28"}', "age", "got str", "expected float", id="text"),
        pytest.param(b'{"age": true}', "age", "got bool", "expected float", id="boolean"),
        pytest.param(b'{"age": [28]}', "age", "got array", "expected float", id="list"),
        pytest.param(b'{"age": NaN}', "age", "got nan", "expected a finite number", id="nan"),
        pytest.param(
            b'{"visits": 1, "credit score": -Infinity}',
            "credit score",
            "got -inf",
            "expected a finite number",
            id="infinity",
        ),
        pytest.param(
            b'{"age": 1e999}',
            "age",
            "beyond the range of a float64",
            "expected a finite number",
            id="beyond-float64",
        ),
        pytest.param(
            b'{"age": {"value": -1e999}}',
            "age.value",
            "beyond the range of a float64",
            "expected a finite number",
            id="weighted-beyond-float64",
        ),
        pytest.param(
            b'{"age": {"weight": 1}}',
            "age.value",
            "is missing",
            "expected a value",
            id="weight-without-value",
        ),
        pytest.param(
            b'{"age": {"value": null}}', "age.value", "got null", "expected float", id="null-inside"
        ),
        pytest.param(
            b'{"age": {"value": true}}',
            "age.value",
            "got bool",
            "expected float",
            id="boolean-inside",
        ),
        pytest.param(
            b'{"age": {"value": 1, "weight": NaN}}',
            "age.weight",
            "got nan",
            "expected a finite number",
            id="nan-weight",
        ),
        pytest.param(
            b'{"age": {"value": 1, "weigth": 1}}',
            "age.weigth",
            "got a field that the contract does not know",
            "remove it",
            id="misspelt-weight",
        ),
        pytest.param(
            b'{"age": {"value": 1, "weight": -0.5}}',
            "age.weight",
            "",
            "expected float >= 0",
            id="negative-weight",
        ),
        pytest.param(
            b'{"age": ' + b"[" * DEEP + b"]" * DEEP + b"}",
            "age",
            "got array",
            "expected float",
            id="deep-in-a-known-field",
        ),
        pytest.param(
            b'{"age": ' + b'{"value":' * DEEP + b"1" + b"}" * DEEP + b"}",
            "age.value",
            "got object",
            "expected float",
            id="deep-in-a-weighted-value",
        ),
        pytest.param(
            b'{"page": ' + b'{"x":[' * DEEP + b"]}" * DEEP + b"}",
            "value",
            "nested too deeply",
            'such as {"age": 28}',
            id="deep-in-an-unknown-field",
        ),
    ],
)
def test_a_bad_event_is_refused_with_its_field_and_both_sides(
    contract, event, field, got, expected
):
    bad = refusal(contract.form.row, event)
    assert bad.field == field
    assert got in str(bad)
    assert expected in str(bad)


def test_a_name_that_is_not_utf_8_is_skipped_outside_and_refused_inside_an_attribute(contract):
    np.testing.assert_array_equal(values(contract, b'{"\xff": 1, "age": 2}')[0, 0], 2.0)
    assert "expected" in str(refusal(contract.form.row, b'{"age": {"value": 1, "\xff": 1}}'))


given_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**310), 10**310),
    st.floats(),
    st.sampled_from([LARGEST, -LARGEST, 5e-324, -0.0]),
    st.text(max_size=2),
    st.fixed_dictionaries(
        {},
        optional={
            "value": st.one_of(st.none(), st.booleans(), st.floats(-9, 9)),
            "weight": st.one_of(st.booleans(), st.sampled_from([0, 1, 0.3, -0.0, -1])),
            "other": st.just(1),
        },
    ),
)


events = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(ATTRIBUTES, given_values),
        "unheard of": st.one_of(st.text(max_size=2), st.booleans(), st.just([{"age": 1}])),
    },
)


def is_faulty(event):
    try:
        oracle.event_values(event, ATTRIBUTES)
    except ValueError:
        return True
    return False


@settings(max_examples=200, deadline=None)
@given(event=events)
def test_an_event_counts_as_it_does_for_the_oracle(contract, event):
    text = json.dumps(event).encode()
    faulty = [name for name in event if is_faulty({name: event[name]})]
    if faulty:
        assert refusal(contract.form.row, text).field.split(".")[0] in faulty
    else:
        counted = oracle.event_values(event, ATTRIBUTES)
        row = [counted.get(name, math.nan) for name in ATTRIBUTES]
        np.testing.assert_array_equal(values(contract, text), [row])


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param(None, Options(5, {}), id="no-headers"),
        pytest.param([], Options(5, {}), id="empty"),
        pytest.param([("trace", b"\xff"), ("Podium-K", b"7")], Options(5, {}), id="others"),
        pytest.param([("podium-k", b"0")], Options(0, {}), id="k-of-zero"),
        pytest.param([("podium-k", b"100")], Options(100, {}), id="largest-k"),
        pytest.param([("podium-k", b"007")], Options(7, {}), id="leading-zeros"),
        pytest.param([("podium-after", b"2@7,0@-1")], Options(5, {2: 7, 0: -1}), id="after"),
        pytest.param([("podium-after", b"1@4,1@9,1@5")], Options(5, {1: 9}), id="after-twice"),
        pytest.param(
            [("x", None), ("podium-after", b"0@1"), ("podium-k", b"3")],
            Options(3, {0: 1}),
            id="both",
        ),
    ],
)
def test_headers_say_how_many_matches_and_after_what(contract, headers, expected):
    assert contract.options(headers) == expected


K_EXPECTED = "expected a whole number from 0 to 100"
AFTER_EXPECTED = "expected shard@offset,shard@offset"


@pytest.mark.parametrize(
    ("name", "value", "got", "expected"),
    [
        pytest.param("podium-k", b"101", "got '101'", K_EXPECTED, id="k-above-max"),
        pytest.param("podium-k", b"-1", "got '-1'", K_EXPECTED, id="negative-k"),
        pytest.param("podium-k", b"2.0", "got '2.0'", K_EXPECTED, id="fraction"),
        pytest.param("podium-k", b"1e1", "got '1e1'", K_EXPECTED, id="exponent"),
        pytest.param("podium-k", b" 3", "got ' 3'", K_EXPECTED, id="blank"),
        pytest.param("podium-k", b"", "got ''", K_EXPECTED, id="empty-k"),
        pytest.param("podium-k", None, "got ''", K_EXPECTED, id="null-k"),
        pytest.param("podium-k", "٣".encode(), "got '٣'", K_EXPECTED, id="other-digits"),
        pytest.param("podium-k", b"9" * 5000, "got '999", K_EXPECTED, id="endless-k"),
        pytest.param("podium-k", b"\xff", r"got b'\xff'", "expected text", id="k-not-text"),
        pytest.param("podium-after", b"", "got ''", AFTER_EXPECTED, id="empty-after"),
        pytest.param("podium-after", None, "got ''", AFTER_EXPECTED, id="null-after"),
        pytest.param("podium-after", b"7", "got '7'", AFTER_EXPECTED, id="no-shard"),
        pytest.param("podium-after", b"0@1,", "got '0@1,'", AFTER_EXPECTED, id="open-list"),
        pytest.param("podium-after", b"0@-2", "got '0@-2'", AFTER_EXPECTED, id="below-minus-one"),
        pytest.param("podium-after", b"3@0", "got shard 3", "one of 0 to 2", id="unknown-shard"),
        pytest.param("podium-after", b"\xff", r"got b'\xff'", "expected text", id="not-text"),
    ],
)
def test_a_bad_header_is_refused_by_its_name_with_both_sides(contract, name, value, got, expected):
    bad = refusal(contract.options, [("podium-k", b"1"), (name, value)])
    assert bad.field == name
    assert got in str(bad)
    assert expected in str(bad)
    assert len(str(bad)) < 500
