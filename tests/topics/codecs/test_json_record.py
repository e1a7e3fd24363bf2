"""What a refusal says, for a contract of the test's own."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from topics.codecs.json_record import BadRecord, decode, refuse_oversized
from topics.dead_letters import DeadLetter
from topics.limits import PARSED_BYTES

DEEP = 100_000
GOOD = b' {"inner": {"numbers": [1, 2.5]}, "score": -0.0} '
EXPECTED = "an object of the test"


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    numbers: list[float]


class Document(msgspec.Struct, forbid_unknown_fields=True):
    inner: Inner
    score: float
    note: str = ""


DECODER = msgspec.json.Decoder(Document)


class Open(msgspec.Struct):
    """Fields that it does not name are skipped, whatever they hold."""

    score: float = 0.0


OPEN_DECODER = msgspec.json.Decoder(Open)


def refusal(value, decoder=DECODER):
    with pytest.raises(BadRecord) as caught:
        decode(decoder, value, EXPECTED)
    return caught.value


def test_a_good_document_is_decoded():
    assert decode(DECODER, GOOD, EXPECTED) == Document(Inner([1.0, 2.5]), 0.0)


def test_a_refusal_says_the_field_and_then_the_problem():
    bad = BadRecord("where.age", "got 3, expected an interval")
    assert (bad.field, str(bad)) == ("where.age", "where.age: got 3, expected an interval")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param(None, "got null, expected an object of the test", id="null"),
        pytest.param(b"", "got bytes that are not JSON (Input data was truncated)", id="empty"),
        pytest.param(b'{"score": 1', "got bytes that are not JSON", id="truncated"),
        pytest.param(b"score=1", "got bytes that are not JSON", id="not-json"),
        pytest.param(GOOD + GOOD, "got bytes that are not JSON", id="two-documents"),
        pytest.param(b'{"score": 1,}', "got bytes that are not JSON", id="trailing-comma"),
        pytest.param(b"\xff\xfe\x00", "got bytes that are not JSON", id="not-text"),
        pytest.param(b'{"score": 01}', "got bytes that are not JSON", id="leading-zero"),
        pytest.param(b'{"score": nan}', "got bytes that are not JSON", id="nan-spelt-otherwise"),
    ],
)
def test_what_is_not_json_is_refused_as_a_whole(value, problem):
    bad = refusal(value)
    assert bad.field == "value"
    assert problem in str(bad)
    assert EXPECTED in str(bad)


@pytest.mark.parametrize(
    ("value", "field", "got", "expected"),
    [
        pytest.param(b"[]", "value", "got array", "expected object", id="array"),
        pytest.param(b"null", "value", "got null", "expected object", id="json-null"),
        pytest.param(b'"text"', "value", "got str", "expected object", id="text"),
        pytest.param(
            b'{"inner": [], "score": 1}', "inner", "got array", "expected object", id="nested"
        ),
        pytest.param(
            b'{"inner": {"numbers": [1, "2"]}, "score": 1}',
            "inner.numbers[1]",
            "got str",
            "expected float",
            id="in-an-array",
        ),
        pytest.param(
            b'{"inner": {"numbers": []}, "score": true}',
            "score",
            "got bool",
            "expected float",
            id="boolean",
        ),
        pytest.param(
            b'{"inner": {"numbers": []}, "score": null}',
            "score",
            "got null",
            "expected float",
            id="null-field",
        ),
        pytest.param(
            b'{"inner": {"numbers": []}}', "score", "is missing", "expected a value", id="missing"
        ),
        pytest.param(
            b'{"inner": {}, "score": 1}',
            "inner.numbers",
            "is missing",
            "expected a value",
            id="missing-inside",
        ),
        pytest.param(
            b'{"inner": {"numbers": []}, "score": 1, "scores": 2}',
            "scores",
            "got a field that the contract does not know",
            "remove it",
            id="unknown",
        ),
        pytest.param(
            b'{"inner": {"numbers": [], "a b": 1}, "score": 1}',
            "inner.a b",
            "got a field that the contract does not know",
            "remove it",
            id="unknown-inside",
        ),
        pytest.param(
            b'{"inner": {"numbers": [-1e999]}, "score": 1}',
            "inner.numbers[0]",
            "got a number beyond the range of a float64",
            "expected a finite number",
            id="beyond-float64",
        ),
        pytest.param(
            b'{"inner": {"numbers": []}, "score": 1' + b"0" * 5000 + b"}",
            "score",
            "got a number beyond the range of a float64",
            "expected a finite number",
            id="five-thousand-digits",
        ),
    ],
)
def test_a_wrong_shape_names_the_field_and_both_sides(value, field, got, expected):
    bad = refusal(value)
    assert bad.field == field
    assert str(bad).startswith(f"{field}: ")
    assert got in str(bad)
    assert expected in str(bad)


@pytest.mark.parametrize(
    ("value", "field", "got"),
    [
        pytest.param(b'{"inner": {"numbers": []}, "score": NaN}', "score", "nan", id="nan"),
        pytest.param(
            b'{"inner": {"numbers": [0, Infinity]}, "score": 1}',
            "inner.numbers[1]",
            "inf",
            id="infinity",
        ),
        pytest.param(
            b'{"inner": {"numbers": [-Infinity]}, "score": NaN}',
            "inner.numbers[0]",
            "-inf",
            id="the-first-of-two",
        ),
        pytest.param(b"NaN", "value", "nan", id="nothing-else"),
        pytest.param(b"[[], [1, NaN]]", "value", "array", id="not-where-an-object-belongs"),
    ],
)
def test_a_nan_or_an_infinity_is_named_although_it_is_not_json(value, field, got):
    bad = refusal(value)
    assert bad.field == field
    assert f"got {got}" in str(bad)
    assert "expected" in str(bad)


def test_a_nan_in_a_field_that_is_skipped_is_named_too():
    bad = refusal(b'{"score": 1, "page": {"list": [1, {"x": -Infinity}]}}', OPEN_DECODER)
    assert bad.field == "page.list[1].x"
    assert str(bad) == "page.list[1].x: got -inf, expected a finite number"


def test_a_nan_far_down_is_refused_without_being_named():
    bad = refusal(b'{"page": ' + b"[" * 50 + b"NaN" + b"]" * 50 + b"}", OPEN_DECODER)
    assert bad.field == "value"
    assert EXPECTED in str(bad)


def test_a_byte_order_mark_is_refused():
    assert refusal(b'\xef\xbb\xbf{"score": 1}').field == "value"


@pytest.mark.parametrize(
    ("value", "decoder", "field"),
    [
        pytest.param(b"[" * DEEP + b"]" * DEEP, DECODER, "value", id="all-of-it"),
        pytest.param(b'{"a":' * DEEP, DECODER, "a", id="all-of-it-unfinished"),
        pytest.param(
            b'{"inner": ' + b"[" * DEEP + b"]" * DEEP + b"}", DECODER, "inner", id="known-field"
        ),
        pytest.param(
            b'{"x": ' + b"[" * DEEP + b"]" * DEEP + b"}", DECODER, "x", id="forbidden-field"
        ),
        pytest.param(
            b'{"x": ' + b"[" * DEEP + b"]" * DEEP + b"}", OPEN_DECODER, "value", id="skipped-arrays"
        ),
        pytest.param(
            b'{"x": ' + b'{"x":' * DEEP + b"1" + b"}" * DEEP + b"}",
            OPEN_DECODER,
            "value",
            id="skipped-objects",
        ),
        pytest.param(
            b'{"score": NaN, "x": ' + b"[" * DEEP + b"]" * DEEP + b"}",
            OPEN_DECODER,
            "value",
            id="skipped-beside-a-nan",
        ),
    ],
)
def test_a_deeply_nested_document_is_refused(value, decoder, field):
    bad = refusal(value, decoder)
    assert bad.field == field
    assert "expected" in str(bad) or "remove it" in str(bad)


def test_the_largest_record_passes_and_a_byte_more_is_refused_with_both_sizes():
    refuse_oversized(b"key!", bytes(PARSED_BYTES - 4))
    refuse_oversized(None, None)
    with pytest.raises(BadRecord) as caught:
        refuse_oversized(b"key!!", bytes(PARSED_BYTES - 4))
    assert caught.value.field == "value"
    assert f"got {PARSED_BYTES + 1} bytes" in str(caught.value)
    assert f"at most {PARSED_BYTES}" in str(caught.value)


def test_a_large_key_counts_as_well():
    with pytest.raises(BadRecord, match=f"got {2 * PARSED_BYTES} bytes"):
        refuse_oversized(bytes(2 * PARSED_BYTES), None)


def test_the_names_that_a_record_brings_are_shortened():
    bad = refusal(b'{"' + b"x" * 100_000 + b'": 1}')
    assert bad.field.startswith("x" * 100)
    assert "got a field that the contract does not know" in str(bad)
    letter = DeadLetter("events", 0, 7, None, None, [], str(bad), bad.field)
    assert sum(len(value) for _, value in letter.annotated_headers()) < 2000


# Text that is nearly JSON: names and values that are wrong in every way we could think of.
names = st.sampled_from(
    [
        b'"inner"',
        b'"numbers"',
        b'"score"',
        b'"note"',
        b'""',
        b'"a.b"',
        b'"\\u0000"',
        b'"\\ud800"',
        b'"\xff"',
        b'"` - at `$.y`"',
        '"é[0]"'.encode(),
        b"name",
    ]
)
leaves = st.sampled_from(
    [b"1", b"-2.5", b"NaN", b"-Infinity", b"1e999", b"true", b"null", b'"\xff"', b'"\\ud800"', b""]
)
nearly_json = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: b"[" + b",".join(items) + b"]"),
        st.lists(st.tuples(names, inner), max_size=4).map(
            lambda fields: b"{" + b",".join(b":".join(field) for field in fields) + b"}"
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(value=st.one_of(st.binary(max_size=20), nearly_json), strict=st.booleans())
@example(value=b'{"\xff": 1}', strict=True).via("a name that is not UTF-8")
@example(value=b'{"\\ud800": NaN}', strict=False).via("half of a surrogate pair, and a NaN")
def test_whatever_the_bytes_they_are_decoded_or_refused_with_headers_that_can_be_sent(
    value, strict
):
    try:
        decode(DECODER if strict else OPEN_DECODER, value, EXPECTED)
    except BadRecord as bad:
        letter = DeadLetter("events", 0, 7, None, value, [], str(bad), bad.field)
        headers = dict(letter.annotated_headers())
        assert headers["podium-error"].startswith(headers["podium-error-field"])


def test_headers_count_too():
    refuse_oversized(b"k", b"v", [("name", bytes(PARSED_BYTES - 4)), ("none", None)][:1])
    with pytest.raises(BadRecord, match=r"headers: got 1048580 bytes, expected at most 1048576"):
        refuse_oversized(b"k", b"v", [("name", bytes(PARSED_BYTES)), ("", None)])
