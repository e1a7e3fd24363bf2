import math
import struct
import zlib

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from storage import array_blob
from storage.array_blob import ALIGNMENT, DTYPES, BlobError

MAGIC, VERSION = b"PODX", 3

some_dtypes = st.sampled_from([*sorted(DTYPES), ">i4", ">f8", ">u2"]).map(np.dtype)
some_arrays = some_dtypes.flatmap(
    lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0))
)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5)
some_heads = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=5,
    ),
    max_size=4,
)
some_blobs = st.dictionaries(st.text(max_size=6), some_arrays, max_size=5)


def blob(head, arrays, magic=MAGIC, version=VERSION):
    return b"".join(array_blob.encode(magic, version, head, arrays))


def refusal(data, magic=MAGIC, version=VERSION):
    with pytest.raises(BlobError) as caught:
        array_blob.decode(magic, version, data)
    return caught.value


@settings(max_examples=150, deadline=None)
@given(head=some_heads, arrays=some_blobs)
def test_what_goes_in_comes_out_bit_by_bit(head, arrays):
    got_head, got = array_blob.decode(MAGIC, VERSION, blob(head, arrays))
    assert got_head == head
    assert got.keys() == arrays.keys()
    for name, array in arrays.items():
        assert got[name].shape == array.shape
        assert got[name].dtype == array.dtype.newbyteorder("<")
        assert got[name].tobytes() == array.astype(got[name].dtype).tobytes()


@settings(max_examples=50, deadline=None)
@given(head=some_heads, arrays=some_blobs, data=st.data())
def test_equal_content_gives_equal_bytes(head, arrays, data):
    other_head = dict(data.draw(st.permutations(list(head.items()))))
    other_arrays = dict(data.draw(st.permutations(list(arrays.items()))))
    spread = {name: np.repeat(array[None], 2, 0)[0] for name, array in other_arrays.items()}
    assert blob(other_head, spread) == blob(head, arrays)


def test_a_strided_array_is_the_same_as_its_copy():
    table = np.arange(60.0).reshape(6, 10)
    for view in (table[:, 3], table.T, table[::2, ::-3], np.asfortranarray(table)):
        assert blob({}, {"a": view}) == blob({}, {"a": view.copy(order="C")})


def test_arrays_are_aligned_read_only_views_of_the_data():
    arrays = {"b": np.arange(3, dtype=np.int8), "a": np.arange(100.0), "c": np.arange(7)}
    data = bytearray(blob({"x": 1}, arrays))
    whole = np.frombuffer(data, np.uint8)
    start = whole.ctypes.data
    for name, array in array_blob.decode(MAGIC, VERSION, data)[1].items():
        assert np.shares_memory(array, whole), name
        assert (array.ctypes.data - start) % ALIGNMENT == 0
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_data_that_starts_at_an_odd_address_still_gives_aligned_arrays():
    data = blob({}, {"a": np.arange(5.0)})
    odd = memoryview(b"?" + data)[1:]
    array = array_blob.decode(MAGIC, VERSION, odd)[1]["a"]
    assert array.flags.aligned
    assert not array.flags.writeable
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_contiguous_array_is_not_copied_on_its_way_out():
    array = np.arange(1000.0)
    views = [
        part for part in array_blob.encode(MAGIC, VERSION, {}, {"a": array}) if len(part) > 900
    ]
    assert any(np.shares_memory(np.frombuffer(part, np.uint8), array) for part in views)


def test_the_bytes_are_laid_out_as_the_module_says():
    payload = struct.pack("<hh", 7, -1)
    padded = payload.ljust(64, b"\0")
    table = msgspec.json.encode(
        {"head": {"n": 1, "z": None}, "arrays": [["a", "<i2", [2, 1], zlib.crc32(padded)]]}
    ).ljust(128, b"\0")
    start = struct.pack("<4sHHQQI", MAGIC, VERSION, 0, 256, 128, zlib.crc32(table)).ljust(60, b"\0")
    expected = start + struct.pack("<I", zlib.crc32(start)) + table + padded
    assert blob({"z": None, "n": 1}, {"a": np.array([[7], [-1]], np.int16)}) == expected


def test_not_a_number_and_negative_zero_keep_their_bits():
    array = np.array([math.nan, -math.nan, -0.0, 5e-324])
    got = array_blob.decode(MAGIC, VERSION, blob({}, {"a": array}))[1]["a"]
    assert got.tobytes() == array.tobytes()


SMALL = blob(
    {"shard": 3}, {"ids": np.arange(9), "flags": np.array([True, False]), "e": np.empty(0)}
)


def test_every_truncation_is_refused_as_one():
    for length in range(len(SMALL)):
        assert refusal(SMALL[:length]).reason == "truncated", length


def test_every_flipped_bit_is_refused_with_its_reason():
    for at in range(len(SMALL)):
        for bit in range(8):
            damaged = bytearray(SMALL)
            damaged[at] ^= 1 << bit
            newer = int.from_bytes(damaged[4:6], "little") > VERSION
            version_reason = "newer" if newer else "foreign"
            expected = "foreign" if at < 4 else version_reason if at < 6 else "corrupt"
            assert refusal(damaged).reason == expected, (at, bit)


def test_bytes_after_the_end_are_refused():
    error = refusal(SMALL + b"\0")
    assert error.reason == "corrupt"
    assert str(error) == f"got {len(SMALL) + 1} bytes, expected {len(SMALL)}"


def with_table(table):
    """A blob whose checksums are right, whatever its table says."""
    packed = table + bytes(-len(table) % 64)
    start = struct.pack(
        "<4sHHQQI", MAGIC, VERSION, 0, 64 + len(packed), len(packed), zlib.crc32(packed)
    ).ljust(60, b"\0")
    return start + struct.pack("<I", zlib.crc32(start)) + packed


@pytest.mark.parametrize(
    ("data", "reason", "message"),
    [
        pytest.param(b"", "truncated", "got 0 bytes, expected 64", id="nothing"),
        pytest.param(b"PICKLE", "foreign", "got magic b'PICK', expected b'PODX'", id="foreign"),
        pytest.param(blob({}, {}, b"PODY"), "foreign", "got magic b'PODY'", id="other-magic"),
        pytest.param(blob({}, {}, version=4), "newer", "got version 4, expected 3", id="newer"),
        pytest.param(blob({}, {}, version=2), "foreign", "got version 2, expected 3", id="older"),
        pytest.param(with_table(b"{"), "corrupt", "cannot be read", id="table-is-no-json"),
        pytest.param(with_table(b"[]"), "corrupt", "cannot be read", id="table-is-a-list"),
        pytest.param(
            with_table(b'{"head":{},"arrays":[["a","|O",[1],0]]}'), "corrupt", "|O", id="objects"
        ),
        pytest.param(
            with_table(b'{"head":{},"arrays":[["a","<f8",[-1],0]]}'),
            "corrupt",
            "cannot be read",
            id="negative-length",
        ),
        pytest.param(
            with_table(b'{"head":{},"arrays":[["a","<f8",[1000000000000000],0]]}'),
            "corrupt",
            "got 128 bytes, expected 8000000000000128 by the table",
            id="more-than-there-is",
        ),
    ],
)
def test_refused_with_what_was_got_and_expected(data, reason, message):
    error = refusal(data)
    assert error.reason == reason
    assert message in str(error)


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.array([{}], object), id="objects"),
        pytest.param(np.array(["a"]), id="text"),
        pytest.param(np.array([1j]), id="complex"),
        pytest.param(np.zeros(1, [("x", "f8")]), id="records"),
        pytest.param(np.array(["2020-01-01"], "M8[D]"), id="dates"),
        pytest.param(np.zeros(1, np.longdouble), id="long-double"),
    ],
)
def test_arrays_that_would_not_come_back_alike_are_not_written(array):
    with pytest.raises(ValueError, match="array 'a' has dtype"):
        array_blob.encode(MAGIC, VERSION, {}, {"a": array})


def test_a_magic_has_four_bytes():
    with pytest.raises(ValueError, match="expected 4 bytes"):
        array_blob.encode(b"POD", 1, {}, {})
