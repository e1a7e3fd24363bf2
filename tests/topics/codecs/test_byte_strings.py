import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topics.codecs.byte_strings import ByteStrings

optional_keys = st.lists(st.one_of(st.none(), st.binary(max_size=5)), max_size=12)


@settings(max_examples=100, deadline=None)
@given(keys=optional_keys)
def test_keys_come_out_as_they_went_in(keys):
    assert ByteStrings.pack(keys).unpack() == keys


@pytest.mark.parametrize(
    ("keys", "lengths", "data"),
    [
        pytest.param([], [], b"", id="none-at-all"),
        pytest.param([None], [-1], b"", id="null"),
        pytest.param([b""], [0], b"", id="empty"),
        pytest.param([b"ab", None, b"", b"c"], [2, -1, 0, 1], b"abc", id="mixed"),
    ],
)
def test_null_and_empty_are_told_apart_by_their_lengths(keys, lengths, data):
    packed = ByteStrings.pack(keys)
    assert packed.lengths.tolist() == lengths
    assert packed.data.tobytes() == data
    assert (packed.lengths.dtype, packed.data.dtype) == (np.int32, np.uint8)


def test_a_column_without_keys_unpacks_to_nothing():
    assert ByteStrings.pack([]).unpack() == []


def test_a_key_longer_than_a_byte_counts_is_kept_whole():
    keys = [bytes(70_000), b"x", bytes(range(256))]
    assert ByteStrings.pack(keys).unpack() == keys
