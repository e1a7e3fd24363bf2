import math
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topics import frames, partials
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError
from topics.frames import Frame, FrameId
from topics.traces import Traces

longs = st.integers(-(2**63), 2**63 - 1)
attribute_values = st.one_of(st.floats(), st.just(math.nan))


@st.composite
def some_frames(draw):
    events, attributes = draw(st.integers(0, 6)), draw(st.integers(0, 3))

    def column(values, dtype, size=events):
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype)

    keys = st.lists(st.one_of(st.none(), st.binary(max_size=4)), min_size=events, max_size=events)
    numbers = column(attribute_values, np.float64, events * attributes).reshape(events, attributes)
    mixed = np.frombuffer(draw(st.binary(min_size=1, max_size=20)), np.uint8)
    return Frame(
        FrameId(draw(st.integers(0, 2**32 - 1)), draw(longs), draw(longs), draw(longs)),
        draw(st.integers(0, 2**16 - 1)),
        np.array(draw(st.lists(st.integers(0, 2**16 - 1), max_size=5)), np.uint16),
        draw(longs),
        column(longs, np.int64),
        column(longs, np.int64),
        draw(st.sampled_from([numbers, mixed])),
        column(st.integers(0, 2**31 - 1), np.int32),
        ByteStrings.pack(draw(keys)),
        np.array(draw(st.lists(longs, max_size=3)), np.int64),
    )


def columns_of(frame):
    yield from (frame.taking_part, frame.routes_as_of, frame.offsets, frame.timestamps, frame.ks)
    yield from frame.keys
    yield frame.payload


def assert_same(got, given):
    assert (got.frame_id, got.shard, got.after) == (given.frame_id, given.shard, given.after)
    for one, other in zip(columns_of(got), columns_of(given), strict=True):
        np.testing.assert_array_equal(one, other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)


@settings(max_examples=100, deadline=None)
@given(frame=some_frames())
def test_a_frame_comes_out_as_it_went_in(frame):
    data = frames.encode(frame)
    assert_same(frames.decode(data), frame)
    assert frames.encode(frames.decode(data)) == data


@settings(max_examples=100, deadline=None)
@given(frame=some_frames())
def test_columns_are_aligned_views_of_the_bytes(frame):
    data = frames.encode(frame)
    whole = np.frombuffer(data, np.uint8)
    start = whole.__array_interface__["data"][0]
    for column in columns_of(frames.decode(data)):
        assert column.flags.aligned
        if column.size:
            assert np.shares_memory(column, whole)
            assert (column.__array_interface__["data"][0] - start) % column.itemsize == 0


TWO_EVENTS = Frame(
    FrameId(partition=3, epoch=1_700_000_000_000, first=40, last=42),
    shard=1,
    taking_part=np.array([0, 1], np.uint16),
    after=17,
    offsets=np.array([40, 42], np.int64),
    timestamps=np.array([1000, -1], np.int64),
    payload=np.array([[28.0, math.nan], [-0.0, 5e-324]]),
    ks=np.array([5, 0], np.int32),
    keys=ByteStrings.pack([b"visitor", None]),
    routes_as_of=np.array([7, -1, 5], np.int64),
    answers=6,
    fingerprint=2**63 + 5,
)


def test_the_bytes_are_laid_out_as_the_module_says():
    nan = np.float64(math.nan).tobytes()
    expected = [
        b"PODF" + struct.pack("<HH", frames.VERSION, 0),
        struct.pack("<HHHH", 1, 2, 2, 3),
        struct.pack("<IIQ", 3, 2, 7),
        struct.pack("<qqqqQ", 1_700_000_000_000, 40, 42, 17, 0),
        struct.pack("<QQ", 6, 2**63 + 5),
        struct.pack("<QQ", 1, 4),
        struct.pack("<qqq", 7, -1, 5),
        struct.pack("<qq", 40, 42),
        struct.pack("<qq", 1000, -1),
        struct.pack("<d", 28.0) + nan + struct.pack("<dd", -0.0, 5e-324),
        struct.pack("<ii", 5, 0),
        struct.pack("<ii", 7, -1),
        struct.pack("<i", 1),
        struct.pack("<ii", 3, 1),
        struct.pack("<HH", 0, 1),
        b"visitor",
        b"00-s",
    ]
    traced = TWO_EVENTS._replace(traces=Traces.of([None, (b"00-", b"s")]))
    assert frames.encode(traced) == b"".join(expected)


def test_a_negative_zero_and_the_least_float_keep_their_bits():
    events = frames.decode(frames.encode(TWO_EVENTS)).payload
    assert events.tobytes() == TWO_EVENTS.payload.tobytes()


def test_a_null_key_stays_null_and_an_empty_one_empty():
    frame = TWO_EVENTS._replace(keys=ByteStrings.pack([b"", None]))
    assert frames.decode(frames.encode(frame)).keys.unpack() == [b"", None]


def version(data, number):
    return data[:4] + struct.pack("<H", number) + data[6:]


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        pytest.param(lambda data: b"", "got 0 bytes, expected a header of 104", id="empty"),
        pytest.param(
            lambda data: data[:103], "got 103 bytes, expected a header of 104", id="short"
        ),
        pytest.param(
            lambda data: data[:-1],
            "got {cut} bytes, expected more: a column of 7 is cut",
            id="truncated",
        ),
        pytest.param(lambda data: data + b"\0", "got {more} bytes, expected {all}", id="extended"),
        pytest.param(lambda data: data + data, "got {twice} bytes, expected {all}", id="twice"),
        pytest.param(
            lambda data: partials.MAGIC + data[4:],
            "got magic b'PODP', expected b'PODF'",
            id="foreign",
        ),
        pytest.param(
            lambda data: version(data, frames.VERSION + 1), "got version 5, expected 4", id="newer"
        ),
        pytest.param(lambda data: version(data, 1), "got version 1, expected 4", id="older"),
    ],
)
def test_other_bytes_are_refused_with_both_values(damage, complaint):
    data = frames.encode(TWO_EVENTS)
    size = len(data)
    text = complaint.format(cut=size - 1, more=size + 1, twice=2 * size, all=size)
    with pytest.raises(CodecError, match=text):
        frames.decode(damage(data))


def test_a_frame_cut_anywhere_is_refused():
    data = frames.encode(TWO_EVENTS)
    for length in range(len(data)):
        with pytest.raises(CodecError, match=f"got {length} bytes, expected"):
            frames.decode(data[:length])


@settings(max_examples=200, deadline=None)
@given(at=st.sampled_from([*range(8, 88)]), byte=st.integers(0, 255))
def test_a_damaged_header_is_refused_or_says_something_else_but_fails_in_no_other_way(at, byte):
    data = bytearray(frames.encode(TWO_EVENTS))
    data[at] = byte
    with suppress(CodecError):
        assert frames.encode(frames.decode(bytes(data))) == data
