"""The boxes that a cover holds, in columns."""

from typing import NamedTuple

import numpy as np

from indexes.covering.cover import Cover
from indexes.kernels import NIL

__all__ = ["Boxes", "boxes_of", "is_stored", "stored_boxes"]


class Boxes(NamedTuple):
    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n, d]
    highs: np.ndarray  # f8[n, d]


def is_stored(cover: Cover, ids: np.ndarray) -> np.ndarray:
    """Which of these ids are, b1[n]."""
    return cover.rows.rows_of(ids) != NIL


def boxes_of(cover: Cover, ids: np.ndarray) -> Boxes:
    """In this order; an id that is not stored: `KeyError`."""
    return _boxes(cover, cover.rows.find(ids))


def stored_boxes(cover: Cover) -> Boxes:
    """All of them, by ascending id."""
    live = cover.rows.live()
    return _boxes(cover, live[np.argsort(cover.rows.store.ids[live])])


def _boxes(cover: Cover, rows: np.ndarray) -> Boxes:
    points = cover.rows.store.points[rows]
    # As `points` has them: the negated low end, then the high one, attribute by attribute.
    return Boxes(cover.rows.store.ids[rows], 0.0 - points[:, 0::2], points[:, 1::2].copy())
