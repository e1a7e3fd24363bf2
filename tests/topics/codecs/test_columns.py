import struct

import numpy as np
import pytest

from topics.codecs.columns import CodecError, RecordLayout, bundle, unbundle

START = 16  # of the columns
WIDE, NARROW = 2, 3
LAYOUT = RecordLayout(
    b"TEST",
    3,
    [("wide", "I"), ("narrow", "I")],
    [
        ("offsets", "<i8", "wide"),
        ("values", "<f8", lambda header: 0 * header.wide),
        ("ks", "<i4", "narrow"),
        ("keys", "u1", lambda header: header.narrow - header.wide),
    ],
)


@pytest.fixture
def columns():
    return {
        "offsets": np.array([1, -2], "<i8"),
        "values": np.array([], "<f8"),
        "ks": np.array([7, 8, 9], "<i4"),
        "keys": np.array([255], "u1"),
    }


@pytest.fixture
def data(columns):
    return LAYOUT.write(wide=WIDE, narrow=NARROW, **columns)


def test_the_bytes_are_preamble_header_and_columns(data):
    expected = b"TEST" + struct.pack("<HHIIqq", 3, 0, 2, 3, 1, -2) + struct.pack("<iii", 7, 8, 9)
    assert data == expected + b"\xff"


def test_what_is_written_is_read_back(data, columns):
    read = LAYOUT.read(data)
    assert (read.wide, read.narrow) == (WIDE, NARROW)
    for name, given in columns.items():
        np.testing.assert_array_equal(getattr(read, name), given)
        assert getattr(read, name).dtype == given.dtype


def test_a_column_is_a_view(data, columns):
    whole = np.frombuffer(data, np.uint8)
    read = [getattr(LAYOUT.read(data), name) for name in columns]
    assert all(np.shares_memory(column, whole) for column in read if column.size)


def test_columns_that_are_not_contiguous_are_joined_in_order():
    grid = np.arange(6, dtype="<i8").reshape(2, 3)
    layout = RecordLayout(b"GRID", 1, [("n", "Q")], [("a", "<i8", "n"), ("b", "<i8", "n")])
    data = layout.write(n=6, a=grid.T, b=grid[::-1])
    assert layout.read(data).a.tolist() == [0, 3, 1, 4, 2, 5]
    assert layout.read(data).b.tolist() == [3, 4, 5, 0, 1, 2]


def test_a_name_that_is_missing_or_unknown_is_an_error_of_the_program(columns):
    with pytest.raises(TypeError, match="narrow"):
        LAYOUT.write(wide=WIDE, **columns)
    with pytest.raises(TypeError, match="weights"):
        LAYOUT.write(wide=WIDE, narrow=NARROW, weights=columns["values"], **columns)


def test_a_header_that_would_leave_columns_unaligned_is_refused():
    with pytest.raises(ValueError, match="got a header of 4 bytes"):
        RecordLayout(b"TEST", 1, [("n", "I")], [])


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
        LAYOUT.read(damage(data))


def test_columns_that_are_cut_are_refused_wherever_the_cut_is(data):
    for length in range(START, len(data)):
        with pytest.raises(CodecError, match=f"got {length} bytes, expected"):
            LAYOUT.read(data[:length])


def test_bytes_after_the_last_column_are_refused_with_both_lengths(data):
    with pytest.raises(CodecError, match=f"got {len(data) + 2} bytes, expected {len(data)}"):
        LAYOUT.read(data + b"\0\0")


def test_a_count_beyond_all_memory_is_refused_as_a_cut():
    layout = RecordLayout(b"TEST", 3, [("n", "Q")], [("values", "<f8", "n")])
    data = layout.write(n=2**64 - 1, values=np.zeros(2))
    with pytest.raises(CodecError, match=f"a column of {2**64 - 1} is cut"):
        layout.read(data)


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
