"""What a merger tells its successor, in the little room that a commit has for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topics.frames import FrameId
from workers.merger.progress import MergeProgress

marks = st.builds(
    MergeProgress,
    st.dictionaries(
        st.tuples(st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.integers(0, 2**48), st.integers(0, 2**62)),
    ),
    st.dictionaries(
        st.builds(FrameId, *[st.integers(0, 2**48)] * 4),
        st.lists(st.integers(0, 9), min_size=1).map(tuple),
        max_size=5,
    ),
)


@given(marks)
def test_marks_are_read_as_they_were_written(written):
    assert MergeProgress.decode(written.encode()) == written


@pytest.mark.parametrize("text", ["", "0", "by hand", "é", "eJw=", "e30=", "eJyrViqzMlaqBQAOOQLs"])
def test_metadata_of_others_is_no_mark(text):
    """The last is `{"v": 3}`, in our own form."""
    assert MergeProgress.decode(text) == MergeProgress({}, {})


def test_marks_stay_within_what_a_broker_takes():
    shards = range(300)
    rng = np.random.default_rng(1)
    passed = {(0, shard): (1_790_000_000_000, int(rng.integers(10**9))) for shard in shards}
    firsts = rng.integers(10**9, size=2000).tolist()
    ahead = {FrameId(0, 1, first, first + 9): (0, 1) for first in firsts}
    assert MergeProgress.decode(MergeProgress(passed, {}).encode()).passed == passed
    text = MergeProgress(passed, ahead).encode()
    kept = MergeProgress.decode(text)
    assert len(text) <= 4096
    assert kept.passed == passed
    assert kept.ahead.items() < ahead.items()
    many = {(p, 0): (p * p, p) for p in range(100_000)}
    text = MergeProgress(many, ahead).encode()
    assert len(text) <= 4096
    assert 0 < len(MergeProgress.decode(text).passed) < len(many)
