"""Records of `messages`: what goes in comes out, and whatever else comes is refused."""

import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import effort
from topics import messages
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError
from topics.messages import Coming, Leaving, Messages, States, ZoneRecord, life_of, place_of

longs = st.integers(-(2**63), 2**63 - 1)
numbers = st.floats(allow_nan=False)
texts = st.binary(max_size=5)


@st.composite
def zone_records(draw):
    def column(values, dtype, size):
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype)

    def strings(size):
        return ByteStrings.pack(draw(st.lists(texts, min_size=size, max_size=size)))

    def rows(size, count):
        return column(st.integers(0, max(0, count - 1)), np.int32, size if count else 0)

    few = st.integers(0, 4)
    leaving, coming, states, groups = (draw(few) for _ in range(4))
    shards = draw(few)
    counts = column(few if states else st.just(0), np.int32, coming)
    told, gone = (draw(few) if groups and states else 0 for _ in range(2))
    return ZoneRecord(
        zone=draw(st.integers(0, 2**32 - 1)),
        zones=draw(st.integers(0, 2**32 - 1)),
        low=draw(numbers),
        high=draw(numbers),
        epoch=draw(longs),
        world=draw(st.integers(0, 2**64 - 1)),
        objects=draw(longs),
        positions=column(longs, np.int64, shards),
        begun=column(longs, np.int64, shards),
        as_of=draw(longs),
        reset=draw(longs),
        phase=draw(st.integers(0, 5)),
        more=draw(st.booleans()),
        leaving=Leaving(
            column(longs, np.int64, leaving),
            column(longs, np.int64, leaving),
            column(st.integers(0, 1), np.uint8, leaving),
            strings(leaving),
        ),
        coming=Coming(
            column(longs, np.int64, coming),
            column(numbers, np.float64, coming),
            column(numbers, np.float64, coming),
            column(st.integers(1, 9), np.int32, coming),
            counts,
            rows(int(counts.sum()), states),
            strings(coming),
        ),
        states=States(strings(states), *(column(numbers, np.float64, states) for _ in range(2))),
        messages=Messages(
            column(longs, np.int64, groups),
            np.sort(rows(told, groups)),
            rows(told, states),
            *(column(numbers, np.float64, told) for _ in range(4)),
            np.sort(rows(gone, groups)),
            strings(gone),
            column(st.floats(), np.float64, gone),
        ),
    )


def assert_same(got, wanted):
    assert type(got) is type(wanted)
    for one, other in zip(got, wanted, strict=True):
        if isinstance(one, tuple):
            assert_same(one, other)
        else:
            np.testing.assert_array_equal(one, other)
            assert getattr(one, "dtype", None) == getattr(other, "dtype", None)


@settings(max_examples=effort(100, 1000), deadline=None)
@given(record=zone_records())
def test_a_record_comes_out_as_it_went_in(record):
    data = messages.encode(record)
    assert_same(messages.decode(data), record)
    assert messages.encode(messages.decode(data)) == data


@settings(max_examples=effort(100, 1000), deadline=None)
@given(record=zone_records(), data=st.data())
def test_a_record_with_a_changed_byte_is_a_record_or_refused(record, data):
    changed = bytearray(messages.encode(record))
    place = data.draw(st.integers(0, len(changed) - 1))
    changed[place] = data.draw(st.integers(0, 255))
    with suppress(CodecError):
        messages.decode(bytes(changed))


@settings(max_examples=effort(50, 500), deadline=None)
@given(record=zone_records(), data=st.data())
def test_a_record_that_is_cut_or_goes_on_is_refused(record, data):
    whole = messages.encode(record)
    with pytest.raises(CodecError):
        messages.decode(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(CodecError):
        messages.decode(whole + b"\0")


@settings(max_examples=effort(200, 2000), deadline=None)
@given(data=st.binary(max_size=400))
def test_any_bytes_are_a_record_or_refused(data):
    for whole in (data, messages.MAGIC + data, messages.MAGIC + b"\1\0\0\0" + data):
        with suppress(CodecError):
            messages.decode(whole)


def sample() -> ZoneRecord:
    ids = ByteStrings.pack([b"a", b"bc"])
    point = np.array([1.0, 2.0])
    one, bound = np.array([1], np.int32), np.array([1.0])
    return ZoneRecord(
        zone=0, zones=1, low=-np.inf, high=np.inf, epoch=1, world=7, objects=5,
        positions=np.array([3]), begun=np.array([4]),
        leaving=Leaving(np.array([4]), np.array([5]), np.array([1], np.uint8), ids._replace(
            lengths=ids.lengths[:1], data=ids.data[:1])),
        coming=Coming(
            np.array([6, 8]), point, point, np.array([2, 2], np.int32),
            np.array([2, 0], np.int32), np.array([1, 0], np.int32), ids),
        states=States(ids, point, point),
        messages=Messages(
            np.array([3, 4]), one, one, bound, bound, bound, bound, one,
            ByteStrings.pack([b"x"]), bound),
    )  # fmt: skip


def with_part(part, **changed):
    record = sample()
    return messages.encode(record._replace(**{part: getattr(record, part)._replace(**changed)}))


def lengths(*given):
    return ByteStrings(np.array(given, np.int32), np.frombuffer(b"abc", np.uint8))


REFUSED = [
    ("magic", lambda: b"PODF" + messages.encode(sample())[4:]),
    ("version 3", lambda: b"PODZ" + struct.pack("<H", 3) + messages.encode(sample())[6:]),
    ("a header of", lambda: b"PODZ"),
    ("states of lists from 0 to 2", lambda: with_part("coming", entries=np.array([2, 0], "i4"))),
    ("states of lists from -1", lambda: with_part("coming", entries=np.array([-1, 0], "i4"))),
    ("states of messages from 2", lambda: with_part("messages", state=np.array([2], "i4"))),
    ("groups of messages from 2", lambda: with_part("messages", group=np.array([2], "i4"))),
    ("groups of gone objects", lambda: with_part("messages", gone_group=np.array([9], "i4"))),
    ("add up to 2", lambda: with_part("coming", counts=np.array([2, 1], "i4"))),
    ("add up to 2", lambda: with_part("coming", counts=np.array([3, -1], "i4"))),
    ("object ids", lambda: with_part("states", ids=lengths(1, 3))),
    ("object ids", lambda: with_part("states", ids=lengths(-2, 3))),
    ("subscriptions that come", lambda: with_part("coming", keys=lengths(3, 3))),
]


@pytest.mark.parametrize(("expected", "data"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(expected, data):
    messages.decode(messages.encode(sample()))
    with pytest.raises(CodecError, match=expected):
        messages.decode(data())


def test_groups_are_in_order():
    record = sample()
    m = record.messages
    bounds = {name: np.repeat(getattr(m, name), 2) for name in messages.Messages._fields[3:7]}
    both = m._replace(group=np.array([1, 0], "i4"), state=np.array([0, 1], "i4"), **bounds)
    with pytest.raises(CodecError, match="not in order"):
        messages.decode(messages.encode(record._replace(messages=both)))


@given(st.integers(0, 2**40), st.integers(1, 1024), st.data())
def test_a_life_names_its_record(offset, shards, data):
    shard = data.draw(st.integers(0, shards - 1))
    assert place_of(life_of(shard, offset, shards), shards) == (shard, offset)
