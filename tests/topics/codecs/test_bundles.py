"""Bundles: the same bytes, however they were cut."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import bundle, unbundle

# Either side of the eight bytes that parts are filled up to.
parts = st.lists(st.integers(0, 17).map(lambda n: bytes(range(1, n + 1))), min_size=1, max_size=9)


@given(parts=parts, again=parts)
def test_a_bundle_has_its_parts_also_when_they_are_views_of_another(parts, again):
    data = bundle(parts)
    views = unbundle(data)
    assert [bytes(view) for view in views] == parts
    other = bundle([*map(bytes, views[1:]), *again])
    assert [bytes(view) for view in unbundle(other)] == parts[1:] + again
    assert [bytes(view) for view in views] == parts
    for view in views:
        assert len(view) == 0 or np.frombuffer(view, np.uint8).base is not None
    # Nothing but the zeros between them is beside the parts.
    assert len(data) == 16 + 8 * len(parts) + sum(len(part) + -len(part) % 8 for part in parts)


@given(columns=st.lists(st.lists(st.none() | st.binary(max_size=9), max_size=5), max_size=4))
def test_columns_that_are_laid_one_behind_the_other_keep_their_keys(columns):
    """As partials are merged: lengths of one do not shift what comes behind."""
    packed = [ByteStrings.pack(column) for column in columns]
    joined = ByteStrings(
        np.concatenate([np.empty(0, np.int32), *(keys.lengths for keys in packed)]),
        np.concatenate([np.empty(0, np.uint8), *(keys.data for keys in packed)]),
    )
    assert joined.unpack() == [key for column in columns for key in column]
