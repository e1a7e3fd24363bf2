import struct

import numpy as np
import pytest

from topics.codecs.columns import (
    PREAMBLE,
    CodecError,
    bundle,
    columns_at,
    join,
    open_header,
    unbundle,
)

HEADER = struct.Struct("<II")
START = PREAMBLE.size + HEADER.size
LAYOUT = [("<i8", 2), ("<f8", 0), ("<i4", 3), ("u1", 1)]


@pytest.fixture
def columns():
    return [
        np.array([1, -2], "<i8"),
        np.array([], "<f8"),
        np.array([7, 8, 9], "<i4"),
        np.array([255], "u1"),
    ]


@pytest.fixture
def data(columns):
    return join(b"TEST", 3, HEADER.pack(2, 3), columns)


def test_the_bytes_are_preamble_header_and_columns(data):
    expected = b"TEST" + struct.pack("<HHIIqq", 3, 0, 2, 3, 1, -2) + struct.pack("<iii", 7, 8, 9)
    assert data == expected + b"\xff"


def test_what_is_joined_is_read_back(data, columns):
    assert open_header(data, b"TEST", 3, HEADER) == (2, 3)
    for got, given in zip(columns_at(data, START, LAYOUT), columns, strict=True):
        np.testing.assert_array_equal(got, given)
        assert got.dtype == given.dtype


def test_a_column_is_a_view(data):
    whole = np.frombuffer(data, np.uint8)
    assert all(np.shares_memory(c, whole) for c in columns_at(data, START, LAYOUT) if c.size)


def test_columns_that_are_not_contiguous_are_joined_in_order():
    grid = np.arange(6, dtype="<i8").reshape(2, 3)
    data = join(b"TEST", 3, HEADER.pack(0, 0), [grid.T, grid[:, ::2]])
    assert columns_at(data, START, [("<i8", 10)])[0].tolist() == [0, 3, 1, 4, 2, 5, 0, 2, 3, 5]


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        pytest.param(lambda data: b"", "got 0 bytes, expected a header of 16", id="empty"),
        pytest.param(
            lambda data: data[:15], "got 15 bytes, expected a header of 16", id="header-cut"
        ),
        pytest.param(
            lambda data: b"ELSE" + data[4:], "got magic b'ELSE', expected b'TEST'", id="foreign"
        ),
        pytest.param(
            lambda data: data[:4] + b"\x04\x00" + data[6:],
            "got version 4, expected 3",
            id="newer",
        ),
        pytest.param(
            lambda data: data[:4] + b"\x02\x00" + data[6:],
            "got version 2, expected 3",
            id="older",
        ),
    ],
)
def test_a_header_that_is_not_ours_is_refused_with_both_values(data, damage, complaint):
    with pytest.raises(CodecError, match=complaint):
        open_header(damage(data), b"TEST", 3, HEADER)


def test_columns_that_are_cut_are_refused_wherever_the_cut_is(data):
    for length in range(START, len(data)):
        with pytest.raises(CodecError, match=f"got {length} bytes, expected"):
            columns_at(data[:length], START, LAYOUT)


def test_bytes_after_the_last_column_are_refused_with_both_lengths(data):
    with pytest.raises(CodecError, match=f"got {len(data) + 2} bytes, expected {len(data)}"):
        columns_at(data + b"\0\0", START, LAYOUT)


def test_a_count_beyond_all_memory_is_refused_as_a_cut(data):
    with pytest.raises(CodecError, match=f"a column of {2**64 - 1} is cut"):
        columns_at(data, START, [("<f8", 2**64 - 1)])


PARTS = [b"", b"1", b"12345678", b"123456789"]


def test_the_parts_of_a_bundle_come_out_as_they_went_in():
    assert [bytes(part) for part in unbundle(bundle(PARTS))] == PARTS
    with pytest.raises(CodecError, match="got a bundle of nothing"):
        unbundle(bundle([]))


def test_the_parts_of_a_bundle_are_aligned_views():
    data = bundle(PARTS)
    start = np.frombuffer(data, np.uint8).__array_interface__["data"][0]
    for part in unbundle(data):
        if len(part):
            address = np.frombuffer(part, np.uint8).__array_interface__["data"][0]
            assert start < address < start + len(data)
            assert (address - start) % 8 == 0


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        pytest.param(b"PODB", "got 4 bytes, expected a header of 16", id="cut-in-the-header"),
        pytest.param(
            bundle(PARTS)[:24], "expected the lengths of 4 parts", id="cut-in-the-lengths"
        ),
        pytest.param(bundle(PARTS)[:-8], "expected", id="cut-in-a-part"),
        pytest.param(bundle(PARTS) + bytes(8), "expected", id="extended"),
        pytest.param(b"PODF" + bundle(PARTS)[4:], "got magic b'PODF'", id="foreign"),
        pytest.param(
            b"PODB\x09\x00" + bundle(PARTS)[6:], "got version 9, expected 1", id="newer-version"
        ),
    ],
)
def test_a_bundle_that_is_not_whole_is_refused(data, complaint):
    with pytest.raises(CodecError, match=complaint):
        unbundle(data)
