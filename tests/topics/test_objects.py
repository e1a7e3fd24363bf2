import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topics.objects import parse_objects

GOOD = b'{"x": 31.0, "y": 0.4}'


def field_at_fault(key, value):
    parsed = parse_objects([b"a", key, b"b"], [GOOD, value, GOOD])
    assert (parsed.places, parsed.ids) == ([0, 2], [b"a", b"b"])
    (bad,) = parsed.bad.items()
    assert bad[0] == 1
    return bad[1].field


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (b"", "value"),
        (b"nonsense", "value"),
        (b"[31, 0.4]", "value"),
        (b"null", "value"),
        (b"{}", "x"),
        (b'{"x": 31}', "y"),
        (b'{"x": "31", "y": 1}', "x"),
        (b'{"x": 31, "y": null}', "y"),
        (b'{"x": true, "y": 1}', "x"),
        (b'{"x": NaN, "y": 1}', "x"),
        (b'{"x": 1, "y": Infinity}', "y"),
        (b'{"x": 1e999, "y": 1}', "x"),
        (b'{"x": 1, "y": -1e999}', "y"),
        (b'{"x": 1, "y": 1, "z": "' + b"a" * 2**20 + b'"}', "value"),
    ],
)
def test_a_bad_value_is_told_apart_with_its_field(value, field):
    assert field_at_fault(b"c", value) == field


@pytest.mark.parametrize("key", [None, b"", b"a" * 257, b"a" * 2**20, b"\xff", b"\x01" * 250])
@pytest.mark.parametrize("value", [GOOD, None])
def test_a_bad_key_is_told_apart(key, value):
    assert field_at_fault(key, value) in {"key", "value"}


def test_other_fields_are_ignored_and_null_removes():
    values = [b'{"x": 1, "place": "level 2", "y": 2}', None, b'{"x": -0.0, "y": -0.0}']
    parsed = parse_objects([b"a", b"a", b"\xc3\xa9"], values)
    assert parsed.ids == [b"a", b"a", b"\xc3\xa9"]
    assert parsed.x[0] == 1
    assert parsed.y[0] == 2
    assert np.isnan(parsed.y[1])
    assert not np.signbit([parsed.x[2], parsed.y[2]]).any()
    assert not parsed.bad


def test_nothing_is_nothing():
    parsed = parse_objects([], [])
    assert len(parsed.x) == len(parsed.y) == len(parsed.ids) == 0


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(finite, finite), max_size=5))
def test_numbers_come_out_as_they_are(points):
    values = [json.dumps({"x": x, "y": y}).encode() for x, y in points]
    parsed = parse_objects([b"a"] * len(points), values)
    assert list(zip(parsed.x.tolist(), parsed.y.tolist(), strict=True)) == points


@given(st.binary(max_size=60), st.binary(max_size=8))
def test_any_bytes_are_an_object_or_a_dead_letter(value, key):
    parsed = parse_objects([key], [value])
    assert len(parsed.ids) + len(parsed.bad) == 1
    assert np.isfinite(parsed.x).all()
    assert np.isfinite(parsed.y).all()
