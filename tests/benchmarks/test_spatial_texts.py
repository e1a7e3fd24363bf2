"""The generator makes what it says."""

import numpy as np
import pytest

from benchmarks.workloads.spatial_texts import (
    DENSE,
    LONG,
    SHORT,
    SpatialTexts,
    messages,
    subscriptions,
)

WORDS = {"twitter": (1, 5, 3.0), "usa": (1, 6, 3.5), "cities": (1, 5, 3.0)}


@pytest.mark.parametrize("data", WORDS)
def test_subscriptions_have_the_words_of_the_paper_and_towns(data):
    wanted = SpatialTexts(data, 4_000)
    made = subscriptions(wanted)
    least, most, mean = WORDS[data]
    counts = np.diff(made.starts)
    assert (counts.min(), counts.max()) == (least, most)
    assert abs(counts.mean() - mean) < 0.1
    assert (made.boxes[:, :2] <= made.boxes[:, 2:]).all()
    for start, stop in zip(made.starts, made.starts[1:], strict=False):
        assert len(set(made.tokens[start:stop].tolist())) == stop - start
    assert made.tokens.min() >= 0
    assert made.tokens.max() < wanted.vocabulary
    # Much is in the largest towns: a hundredth of all places has more than a tenth of the boxes.
    cells = np.unique(np.floor(made.boxes[:, :2]), axis=0, return_counts=True)[1]
    assert np.sort(cells)[::-1][: len(cells) // 100 + 1].sum() > len(counts) / 10


@pytest.mark.parametrize("data", WORDS)
@pytest.mark.parametrize("ranged", [False, True], ids=["point", "range"])
def test_messages_are_of_their_class(data, ranged):
    for words in (SHORT, LONG):
        made = messages(SpatialTexts(data, 10), 20, words, ranged)
        sizes = np.diff(made.starts)
        assert (sizes >= words[0]).all()
        assert (sizes <= words[1]).all()
        assert ((made.boxes[:, 2] > made.boxes[:, 0]) == ranged).all()
        for start, stop in zip(made.starts, made.starts[1:], strict=False):
            assert (np.diff(made.tokens[start:stop]) > 0).all()


def test_dense_messages_are_in_one_town():
    made = messages(SpatialTexts("twitter", 10), 50, SHORT, False, DENSE)
    assert (np.ptp(made.boxes, axis=0) < 4).all()


def test_the_same_seed_gives_the_same_bytes():
    wanted = SpatialTexts("cities", 500, seed=3)
    for a, b in zip(subscriptions(wanted), subscriptions(wanted), strict=True):
        assert a.tobytes() == b.tobytes()
    other = subscriptions(SpatialTexts("cities", 500, seed=4))
    assert other.boxes.tobytes() != subscriptions(wanted).boxes.tobytes()
