import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topics import progress
from topics.progress import Progress

offsets = st.integers(0, 2**62)


@given(
    st.builds(
        Progress, st.none() | offsets, offsets, st.sampled_from(["", "0@88,1@90"]),
        offsets, st.booleans(),
    )
)  # fmt: skip
def test_progress_comes_out_as_it_went_in(said):
    assert progress.decode(progress.encode(said)) == said


def test_what_is_as_usual_is_left_out():
    assert progress.encode(Progress(1041, 1763440000000)) == (
        b'{"objects":1041,"at":1763440000000}'
    )
    assert progress.encode(Progress(None, 7)) == b'{"objects":null,"at":7}'


@pytest.mark.parametrize(
    "value", [b"", b"null", b"[]", b"{}", b'{"objects": 1.5, "at": 1}', b'{"objects": 1}']
)
def test_anything_else_is_refused(value):
    with pytest.raises(msgspec.MsgspecError):
        progress.decode(value)


def test_positions_are_by_shard():
    assert progress.positions_of("0@88,1@90") == {0: 88, 1: 90}
    assert progress.positions_of("") == {}
    for text in ("0", "0@x", "0@1;1@2", "@"):
        with pytest.raises(ValueError):  # noqa: PT011
            progress.positions_of(text)


def test_the_key_is_the_zone():
    assert progress.key_of(12) == b"12"
