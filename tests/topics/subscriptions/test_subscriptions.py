import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import collection as oracle
from topics.codecs.json_record import BadRecord
from topics.limits import PARSED_BYTES
from topics.subscriptions import MAX_ID_BYTES, MAX_ID_TEXT_BYTES, RankedContract, check_ids

ATTRIBUTES = ("age", "credit score", "visits")
DEEP = 100_000
LARGEST = 1.7976931348623157e308
INF, NAN = math.inf, math.nan


@pytest.fixture(scope="module")
def contract():
    return RankedContract(ATTRIBUTES)


def refusal(contract, value):
    with pytest.raises(BadRecord) as caught:
        contract.parse(value)
    return caught.value


def about_age(interval):
    return b'{"where": {"age": ' + interval + b'}, "score": 1}'


def ends(contract, interval):
    lows, highs, _ = contract.parse(about_age(interval))
    return lows[0], highs[0]


def test_a_subscription_becomes_a_low_and_a_high_an_attribute(contract):
    value = b'{"score": 7.5, "where": {"visits": {"ge": 3, "lt": 9}, "age": [20, 35]}}'
    lows, highs, score = contract.parse(value)
    np.testing.assert_array_equal(lows, [20.0, NAN, 3.0])
    np.testing.assert_array_equal(highs, [35.0, NAN, math.nextafter(9.0, -INF)])
    assert score == 7.5


def test_a_subscription_without_intervals_constrains_nothing(contract):
    lows, highs, score = contract.parse(b'{"where": {}, "score": -2}')
    np.testing.assert_array_equal([lows, highs], np.full((2, 3), NAN))
    assert score == -2.0


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        pytest.param(b"[20, 35]", (20.0, 35.0), id="closed"),
        pytest.param(b"[5, 5]", (5.0, 5.0), id="point"),
        pytest.param(b"[-0.0, 0]", (0.0, 0.0), id="both-zeros"),
        pytest.param(b"[3, null]", (3.0, INF), id="no-high"),
        pytest.param(b"[null, 3]", (-INF, 3.0), id="no-low"),
        pytest.param(b"[null, null]", (-INF, INF), id="no-end"),
        pytest.param(b'{"ge": 3}', (3.0, INF), id="ge"),
        pytest.param(b'{"le": 3}', (-INF, 3.0), id="le"),
        pytest.param(b'{"gt": 3}', (3.0000000000000004, INF), id="gt"),
        pytest.param(b'{"lt": 3}', (-INF, 2.9999999999999996), id="lt"),
        pytest.param(b'{"gt": 0, "lt": 1e-300}', (5e-324, 9.999999999999998e-301), id="open"),
        pytest.param(b'{"gt": -5e-324, "lt": 5e-324}', (0.0, 0.0), id="only-zero-between"),
        pytest.param(b'{"ge": 1, "gt": null, "le": 2}', (1.0, 2.0), id="null-is-no-end"),
        pytest.param(b'{"ge": null}', (-INF, INF), id="null-alone"),
        pytest.param(b"{}", (-INF, INF), id="no-ends-at-all"),
        pytest.param(b'{"ge": 4, "gt": 3}', (4.0, INF), id="two-lows-the-greater-holds"),
        pytest.param(b'{"ge": 3, "gt": 3}', (3.0000000000000004, INF), id="equal-lows"),
        pytest.param(b'{"le": 3, "lt": 4}', (-INF, 3.0), id="two-highs-the-lesser-holds"),
        pytest.param(b'{"le": 3, "lt": 3}', (-INF, 2.9999999999999996), id="equal-highs"),
        pytest.param(b'{"gt": 1.7976931348623157e308}', (INF, INF), id="above-the-largest"),
    ],
)
def test_ends_are_closed_and_a_missing_one_is_infinite(contract, interval, expected):
    assert ends(contract, interval) == expected


@pytest.mark.parametrize(
    ("interval", "got"),
    [
        pytest.param(b"[9, 1]", "[9.0,1.0]", id="pair"),
        pytest.param(b'{"ge": 9, "le": 1}', '{"ge":9.0,"le":1.0}', id="bounds"),
        pytest.param(b'{"ge": 9, "lt": 9}', '{"ge":9.0,"lt":9.0}', id="half-open-point"),
        pytest.param(b'{"gt": 9, "lt": 9}', '{"gt":9.0,"lt":9.0}', id="open-point"),
        pytest.param(
            b'{"gt": 1, "lt": 1.0000000000000002}',
            '{"gt":1.0,"lt":1.0000000000000002}',
            id="nothing-between-neighbours",
        ),
        pytest.param(
            b'{"ge": 1, "gt": 5, "le": 4}', '{"ge":1.0,"gt":5.0,"le":4.0}', id="by-the-second-low"
        ),
    ],
)
def test_an_inverted_interval_is_refused_as_it_was_given(contract, interval, got):
    bad = refusal(contract, about_age(interval))
    assert bad.field == "where.age"
    assert str(bad) == f"where.age: got {got}, expected low <= high"


NOT_JSON = 'expected an object such as {"where": {"age": [20, 35]}, "score": 7.5}'


@pytest.mark.parametrize(
    ("value", "field", "got", "expected"),
    [
        pytest.param(b"", "value", "not JSON", NOT_JSON, id="empty"),
        pytest.param(b'{"where": {}, "sc', "value", "truncated", NOT_JSON, id="truncated"),
        pytest.param(b"score: 1", "value", "not JSON", NOT_JSON, id="not-json"),
        pytest.param(b"null", "value", "got null", "expected object", id="json-null"),
        pytest.param(b"[]", "value", "got array", "expected object", id="array"),
        pytest.param(b'{"score": 1}', "where", "is missing", "expected a value", id="no-where"),
        pytest.param(b'{"where": {}}', "score", "is missing", "expected a value", id="no-score"),
        pytest.param(
            b'{"where": null, "score": 1}', "where", "got null", "expected object", id="null-where"
        ),
        pytest.param(
            b'{"where": [], "score": 1}', "where", "got array", "expected object", id="list-where"
        ),
        pytest.param(
            b'{"where": {}, "score": "7"}', "score", "got str", "expected float", id="text-score"
        ),
        pytest.param(
            b'{"where": {}, "score": true}', "score", "got bool", "expected float", id="bool-score"
        ),
        pytest.param(
            b'{"where": {}, "score": null}', "score", "got null", "expected float", id="null-score"
        ),
        pytest.param(
            b'{"where": {}, "score": NaN}', "score", "got nan", "finite number", id="nan-score"
        ),
        pytest.param(
            b'{"where": {}, "score": -Infinity}',
            "score",
            "got -inf",
            "finite number",
            id="infinite-score",
        ),
        pytest.param(
            b'{"where": {}, "score": 1e999}',
            "score",
            "beyond the range of a float64",
            "finite number",
            id="score-beyond-float64",
        ),
        pytest.param(
            b'{"where": {}, "score": 1' + b"0" * 400 + b"}",
            "score",
            "beyond the range of a float64",
            "finite number",
            id="long-integer-score",
        ),
        pytest.param(
            b'{"where": {}, "score": 1, "weights": {}}',
            "weights",
            "got a field that the contract does not know",
            "remove it",
            id="field-of-another-kind",
        ),
        pytest.param(
            b'{"where": {"height": [1, 2]}, "score": 1}',
            "where.height",
            "got a field that the contract does not know",
            "remove it",
            id="unknown-attribute",
        ),
        pytest.param(
            about_age(b'{"eq": 3}'),
            "where.age.eq",
            "got a field that the contract does not know",
            "remove it",
            id="unknown-bound",
        ),
        pytest.param(about_age(b"3"), "where.age", "got int", "expected object | array", id="int"),
        pytest.param(
            about_age(b"null"), "where.age", "got null", "expected object | array", id="null"
        ),
        pytest.param(
            about_age(b"true"), "where.age", "got bool", "expected object | array", id="boolean"
        ),
        pytest.param(about_age(b"[1]"), "where.age", "", "expected array of length 2", id="short"),
        pytest.param(
            about_age(b"[1, 2, 3]"), "where.age", "", "expected array of length 2", id="long"
        ),
        pytest.param(
            about_age(b'[1, "2"]'), "where.age[1]", "got str", "expected float | null", id="text"
        ),
        pytest.param(
            about_age(b"[false, 2]"),
            "where.age[0]",
            "got bool",
            "expected float | null",
            id="boolean-low",
        ),
        pytest.param(
            about_age(b"[NaN, 2]"), "where.age[0]", "got nan", "finite number", id="nan-low"
        ),
        pytest.param(
            about_age(b"[1, Infinity]"), "where.age[1]", "got inf", "finite number", id="inf-high"
        ),
        pytest.param(
            about_age(b"[1, 1e999]"),
            "where.age[1]",
            "beyond the range of a float64",
            "finite number",
            id="high-beyond-float64",
        ),
        pytest.param(
            about_age(b'{"ge": "3"}'),
            "where.age.ge",
            "got str",
            "expected float | null",
            id="text-bound",
        ),
        pytest.param(
            about_age(b'{"lt": true}'),
            "where.age.lt",
            "got bool",
            "expected float | null",
            id="boolean-bound",
        ),
        pytest.param(
            about_age(b'{"lt": NaN}'), "where.age.lt", "got nan", "finite number", id="nan-bound"
        ),
        pytest.param(
            b'{"where": {"credit score": ["1", 2]}, "score": 1}',
            "where.credit score[0]",
            "got str",
            "expected float | null",
            id="attribute-with-a-blank",
        ),
        pytest.param(
            about_age(b"[" * DEEP + b"]" * DEEP),
            "where.age[0]",
            "got array",
            "expected float | null",
            id="deep-in-a-known-field",
        ),
        pytest.param(
            b'{"where": {}, "score": 1, "x": ' + b'{"x":' * DEEP + b"1" + b"}" * DEEP + b"}",
            "x",
            "got a field that the contract does not know",
            "remove it",
            id="deep-in-an-unknown-field",
        ),
    ],
)
def test_a_bad_subscription_is_refused_with_its_field_and_both_sides(
    contract, value, field, got, expected
):
    bad = refusal(contract, value)
    assert bad.field == field
    assert got in str(bad)
    assert expected in str(bad)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b'{"\xff": 1}', id="in-the-record"),
        pytest.param(b'{"where": {"\xff": [1, 2]}, "score": 1}', id="in-where"),
        pytest.param(about_age(b'{"\xff": 1}'), id="in-the-bounds"),
    ],
)
def test_a_name_that_is_not_utf_8_is_refused(contract, value):
    assert "expected" in str(refusal(contract, value))


numbers = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(10**310), 10**310),
    st.floats(),
    st.sampled_from([LARGEST, -LARGEST, 5e-324, -5e-324, -0.0]),
    st.text(max_size=1),
)
intervals = st.one_of(
    st.lists(numbers, min_size=2, max_size=2),
    st.lists(numbers, max_size=3),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("ge", "gt", "le", "lt"), numbers)),
    st.fixed_dictionaries({"eq": numbers}),
    numbers,
)
subscriptions = st.fixed_dictionaries(
    {
        "where": st.fixed_dictionaries(
            {}, optional={**dict.fromkeys(ATTRIBUTES, intervals), "height": st.just([1, 2])}
        ),
        "score": numbers,
    },
    optional={"extra": st.just(0)},
)


@settings(max_examples=300, deadline=None)
@given(document=subscriptions)
def test_a_subscription_means_what_it_means_to_the_oracle(contract, document):
    value = json.dumps(document).encode()
    try:
        where, score = oracle.ranked_subscription(value, ATTRIBUTES)
    except ValueError:
        refusal(contract, value)
    else:
        lows, highs, got = contract.parse(value)
        expected = [where.get(name, (NAN, NAN)) for name in ATTRIBUTES]
        np.testing.assert_array_equal(np.array([lows, highs]).T, expected)
        assert got == score


def test_rows_become_columns_that_the_index_takes(contract):
    rows = [
        contract.parse(b'{"where": {"age": [1, 2]}, "score": 3}'),
        contract.parse(b'{"where": {"visits": [null, 4]}, "score": 5}'),
    ]
    lows, highs, scores = contract.columns(rows)
    np.testing.assert_array_equal(lows, [[1, NAN, NAN], [NAN, NAN, -INF]])
    np.testing.assert_array_equal(highs, [[2, NAN, NAN], [NAN, NAN, 4]])
    np.testing.assert_array_equal(scores, [3, 5])
    assert {column.dtype for column in (lows, highs, scores)} == {np.dtype(np.float64)}


def test_no_rows_are_columns_of_the_right_width(contract):
    lows, highs, scores = contract.columns([])
    assert (lows.shape, highs.shape, scores.shape) == ((0, 3), (0, 3), (0,))


def test_a_collection_without_attributes_has_rows_without_ends():
    contract = RankedContract([])
    lows, highs, scores = contract.columns([contract.parse(b'{"where": {}, "score": 1}')] * 2)
    assert (lows.shape, highs.shape, scores.tolist()) == ((2, 0), (2, 0), [1.0, 1.0])


SHARDS = 4


def home(key):
    return (oracle.murmur2(key) & 0x7FFFFFFF) % SHARDS


def verdict(key, value=b"{}", partition=None):
    where = home(key or b"") if partition is None else partition
    return check_ids([(key, value)], where, SHARDS)[0]


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(b"ad-7", id="plain"),
        pytest.param("жук 🐞".encode(), id="unicode"),
        pytest.param(b'"\\\x00\n', id="to-be-escaped"),
        pytest.param(b"x" * MAX_ID_BYTES, id="longest"),
        pytest.param(b'"' * MAX_ID_BYTES, id="longest-as-json"),
    ],
)
def test_an_id_is_text_on_its_own_partition(key):
    assert verdict(key) is None
    assert verdict(key, None) is None


@pytest.mark.parametrize(
    ("key", "got", "expected"),
    [
        pytest.param(None, "got null", "expected the subscription's id", id="null"),
        pytest.param(b"", "got an empty key", "expected the subscription's id", id="empty"),
        pytest.param(b"caf\xe9", r"got b'caf\xe9'", "expected UTF-8 text", id="not-utf-8"),
        pytest.param(b"\xed\xa0\x80", r"\xed\xa0\x80", "expected UTF-8 text", id="surrogate"),
        pytest.param(
            b"x" * (MAX_ID_BYTES + 1),
            f"got {MAX_ID_BYTES + 1} bytes",
            f"at most {MAX_ID_BYTES}",
            id="too-long",
        ),
        pytest.param(
            b"\x01" * MAX_ID_BYTES,
            f"got {6 * MAX_ID_BYTES + 2} bytes of JSON text",
            f"at most {MAX_ID_TEXT_BYTES}; leave control characters out",
            id="too-long-as-json",
        ),
    ],
)
@pytest.mark.parametrize("value", [b"{}", None], ids=["subscribe", "unsubscribe"])
def test_a_bad_id_is_refused_with_both_sides(key, got, expected, value):
    bad = verdict(key, value)
    assert bad.field == "key"
    assert got in str(bad)
    assert expected in str(bad)


def test_an_id_on_a_foreign_partition_is_refused_with_both_and_the_remedy():
    bad = verdict(b"ad-7", partition=(home(b"ad-7") + 1) % SHARDS)
    assert bad.field == "key"
    assert f"got partition {(home(b'ad-7') + 1) % SHARDS} when murmur2 gives" in str(bad)
    assert f"murmur2 gives {home(b'ad-7')}" in str(bad)
    assert "partitioner=murmur2_random" in str(bad)


def test_an_oversized_record_is_refused_before_it_is_parsed():
    bad = verdict(b"ad-7", bytes(2 * PARSED_BYTES))
    assert bad.field == "value"
    assert f"got {2 * PARSED_BYTES + 4} bytes" in str(bad)
    assert f"at most {PARSED_BYTES}" in str(bad)


@settings(max_examples=50, deadline=None)
@given(keys=st.lists(st.one_of(st.none(), st.binary(max_size=6)), max_size=20))
def test_each_record_of_a_batch_gets_its_own_verdict(keys):
    verdicts = check_ids([(key, None) for key in keys], 1, SHARDS)
    assert list(map(str, verdicts)) == [str(verdict(key, None, partition=1)) for key in keys]
