"""Boxes over few attributes with few ends, so that all that can cover does; and tiny indexes."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from indexes.covering import KDCover, NaiveCover, ZOrderCover
from indexes.covering.store import RowTable

DIMENSIONS = 2
INF = math.inf
ENDS = [-INF, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, INF]


class TinyKDCover(KDCover):
    """Splits from the third box on, and its rows grow with most that come."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions, bucket=2)
        self.rows = RowTable(2 * dimensions, spare=1)


class TinyZOrderCover(ZOrderCover):
    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions, bucket=2)
        self.rows = RowTable(2 * dimensions, spare=1)


COVERS: list[Any] = [NaiveCover, KDCover, TinyKDCover, ZOrderCover, TinyZOrderCover]
TINY: list[Any] = [NaiveCover, TinyKDCover, TinyZOrderCover]

ids = st.integers(0, 25)
_sides = st.lists(st.sampled_from(ENDS), min_size=2, max_size=2).map(sorted)
boxes = st.lists(_sides, min_size=DIMENSIONS, max_size=DIMENSIONS).map(
    lambda sides: ([low for low, _ in sides], [high for _, high in sides])
)
events = st.lists(
    st.sampled_from([None, -1.0, 0.0, 0.25, 1.0, 3.0, 4.0]),
    min_size=DIMENSIONS,
    max_size=DIMENSIONS,
)


def random_boxes(count: int, dimensions: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    ends = np.sort(np.random.default_rng(seed).random((2, count, dimensions)), axis=0)
    return ends[0], ends[1]
