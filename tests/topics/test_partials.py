import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topics import frames, partials
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError
from topics.frames import FrameId
from topics.partials import Partial
from topics.traces import Traces

longs = st.integers(-(2**63), 2**63 - 1)


@st.composite
def some_partials(draw):
    events = draw(st.integers(0, 5))

    def column(values, dtype, size):
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype)

    def byte_strings(values, size):
        return ByteStrings.pack(draw(st.lists(values, min_size=size, max_size=size)))

    counts = column(st.integers(0, 3), np.int32, events)
    hits = int(counts.sum())
    return Partial(
        FrameId(draw(st.integers(0, 2**32 - 1)), draw(longs), draw(longs), draw(longs)),
        draw(st.integers(0, 2**16 - 1)),
        np.array(draw(st.lists(st.integers(0, 2**16 - 1), max_size=5)), np.uint16),
        draw(longs),
        column(longs, np.int64, events),
        column(longs, np.int64, events),
        column(st.integers(0, 2**31 - 1), np.int32, events),
        byte_strings(st.one_of(st.none(), st.binary(max_size=4)), events),
        counts,
        column(st.floats(allow_nan=False), np.float64, hits),
        column(longs, np.int64, hits),
        byte_strings(st.binary(min_size=2, max_size=6), hits),
        np.array(draw(st.lists(longs, max_size=3)), np.int64),
    )


def columns_of(partial):
    yield from (partial.taking_part, partial.offsets, partial.timestamps, partial.ks)
    yield from partial.keys
    yield from (partial.counts, partial.scores, partial.ids)
    yield from partial.id_texts
    yield partial.routes_as_of


def assert_same(got, given):
    assert (got.frame_id, got.shard, got.as_of) == (given.frame_id, given.shard, given.as_of)
    for one, other in zip(columns_of(got), columns_of(given), strict=True):
        np.testing.assert_array_equal(one, other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)


@settings(max_examples=100, deadline=None)
@given(partial=some_partials())
def test_a_partial_comes_out_as_it_went_in(partial):
    data = partials.encode(partial)
    assert_same(partials.decode(data), partial)
    assert partials.encode(partials.decode(data)) == data


@settings(max_examples=100, deadline=None)
@given(partial=some_partials())
def test_columns_are_aligned_views_of_the_bytes(partial):
    data = partials.encode(partial)
    whole = np.frombuffer(data, np.uint8)
    start = whole.__array_interface__["data"][0]
    for column in columns_of(partials.decode(data)):
        assert column.flags.aligned
        if column.size:
            assert np.shares_memory(column, whole)
            assert (column.__array_interface__["data"][0] - start) % column.itemsize == 0


TWO_EVENTS = Partial(
    FrameId(partition=3, epoch=9, first=40, last=42),
    shard=1,
    taking_part=np.array([0, 1], np.uint16),
    as_of=-1,
    offsets=np.array([40, 42], np.int64),
    timestamps=np.array([1000, 1001], np.int64),
    ks=np.array([5, 2], np.int32),
    keys=ByteStrings.pack([None, b"visitor"]),
    counts=np.array([0, 2], np.int32),
    scores=np.array([9.5, -0.0]),
    ids=np.array([7, 2**62], np.int64),
    id_texts=ByteStrings.pack([b'"ad-7"', b'"\\u0000"']),
    routes_as_of=np.array([12, 3], np.int64),
)
NO_HITS = TWO_EVENTS._replace(
    counts=np.zeros(2, np.int32),
    scores=np.zeros(0),
    ids=np.zeros(0, np.int64),
    id_texts=ByteStrings.pack([]),
)
NO_EVENTS = NO_HITS._replace(
    offsets=np.zeros(0, np.int64),
    timestamps=np.zeros(0, np.int64),
    ks=np.zeros(0, np.int32),
    keys=ByteStrings.pack([]),
    counts=np.zeros(0, np.int32),
)


def test_the_bytes_are_laid_out_as_the_module_says():
    expected = [
        b"PODP" + struct.pack("<HH", partials.VERSION, 0),
        struct.pack("<HH", 1, 2),
        struct.pack("<III", 3, 2, 2),
        struct.pack("<QQ", 7, 14),
        struct.pack("<qqqqQ", 9, 40, 42, -1, 2),
        struct.pack("<QQ", 1, 4),
        struct.pack("<qq", 12, 3),
        struct.pack("<qq", 40, 42),
        struct.pack("<qq", 1000, 1001),
        struct.pack("<dd", 9.5, -0.0),
        struct.pack("<qq", 7, 2**62),
        struct.pack("<ii", 5, 2),
        struct.pack("<ii", -1, 7),
        struct.pack("<ii", 0, 2),
        struct.pack("<ii", 6, 8),
        struct.pack("<i", 1),
        struct.pack("<ii", 3, 1),
        struct.pack("<HH", 0, 1),
        b"visitor",
        b'"ad-7""\\u0000"',
        b"00-s",
    ]
    traced = TWO_EVENTS._replace(traces=Traces.of([None, (b"00-", b"s")]))
    assert partials.encode(traced) == b"".join(expected)


@pytest.mark.parametrize("partial", [NO_HITS, NO_EVENTS], ids=["no-hits", "no-events"])
def test_an_answer_may_be_empty(partial):
    assert_same(partials.decode(partials.encode(partial)), partial)


def version(data, number):
    return data[:4] + struct.pack("<H", number) + data[6:]


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        pytest.param(lambda data: b"", "got 0 bytes, expected a header of 96", id="empty"),
        pytest.param(lambda data: data[:95], "got 95 bytes, expected a header of 96", id="short"),
        pytest.param(
            lambda data: data[:-1],
            "got {cut} bytes, expected more: a column of 14 is cut",
            id="truncated",
        ),
        pytest.param(lambda data: data + b"\0", "got {more} bytes, expected {all}", id="extended"),
        pytest.param(
            lambda data: frames.MAGIC + data[4:],
            "got magic b'PODF', expected b'PODP'",
            id="foreign",
        ),
        pytest.param(
            lambda data: version(data, partials.VERSION + 1),
            "got version 4, expected 3",
            id="newer",
        ),
        pytest.param(lambda data: version(data, 1), "got version 1, expected 3", id="older"),
    ],
)
def test_other_bytes_are_refused_with_both_values(damage, complaint):
    data = partials.encode(TWO_EVENTS)
    text = complaint.format(cut=len(data) - 1, more=len(data) + 1, all=len(data))
    with pytest.raises(CodecError, match=text):
        partials.decode(damage(data))


def test_a_partial_cut_anywhere_is_refused():
    data = partials.encode(TWO_EVENTS)
    for length in range(len(data)):
        with pytest.raises(CodecError, match=f"got {length} bytes, expected"):
            partials.decode(data[:length])


@settings(max_examples=200, deadline=None)
@given(at=st.integers(8, 71), byte=st.integers(0, 255))
def test_a_damaged_header_is_refused_or_says_something_else_but_fails_in_no_other_way(at, byte):
    data = bytearray(partials.encode(TWO_EVENTS))
    data[at] = byte
    with suppress(CodecError):
        assert partials.encode(partials.decode(bytes(data))) == data
