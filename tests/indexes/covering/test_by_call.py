"""Single calls find the arrays of an index by their addresses."""

import numpy as np
import pytest

from indexes.covering.signatures import signature, thresholds_of
from tests.indexes.covering import strategies as some


def box(ends, row):
    return ends[0][row].tolist(), ends[1][row].tolist()


@pytest.mark.parametrize(
    "cls",
    [
        some.TinyKDCover,
        pytest.param(some.NaiveCover, marks=pytest.mark.long),
        pytest.param(some.TinyZOrderCover, marks=pytest.mark.long),
    ],
)
def test_single_questions_follow_arrays_that_grow(cls):
    cover, ends = cls(2), some.random_boxes(200, 2)
    asked = some.random_boxes(20, 2, seed=1)
    for id in range(200):
        cover.insert(id, *box(ends, id))
        if id % 20 == 0:
            many = cover.covers_many(*asked)
            alone = [cover.covers(*box(asked, row)) for row in range(20)]
            assert [len(found) for found in alone] == [len(found) for found in many]
            cover.check()


def test_what_dominates_has_all_bits_of_what_it_dominates():
    rng = np.random.default_rng(0)
    for width in (2, 6, 16, 64):
        points = rng.integers(0, 9, (300, width)).astype(float)
        thresholds = thresholds_of(points)
        for lower in points[:20]:
            above = np.maximum(lower, points[rng.integers(300)])
            assert signature(thresholds, lower) & ~signature(thresholds, above) == 0
