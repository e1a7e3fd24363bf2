"""Scored intervals as columns in rank order, the order of every answer (see `indexes.hits`).

It is strict and total, so that wherever scores are compared, comparing ranks instead settles ties
as well.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.hits import is_ranked, rank_order

__all__ = ["ScoredRows", "check_ranks", "distinct", "ranked", "reordered"]


class ScoredRows(NamedTuple):
    """One interval a row, in an order that whoever holds them knows."""

    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    scores: np.ndarray  # f8[n]


def ranked(ids: ArrayLike, lows: ArrayLike, highs: ArrayLike, scores: ArrayLike) -> ScoredRows:
    """The given intervals, checked and copied, so that row i has rank i, 0 being the best."""
    rows = ScoredRows(
        validation.as_id_array(ids),
        validation.as_bound_array("lows", lows),
        validation.as_bound_array("highs", highs),
        validation.as_score_array(scores),
    )
    validation.require_same_length(**rows._asdict())
    validation.require_ordered(rows.lows, rows.highs)
    return reordered(rows, rank_order(rows.scores, rows.ids))


def reordered(rows: ScoredRows, order: np.ndarray) -> ScoredRows:
    return ScoredRows(*(column[order] for column in rows))


def distinct(values: np.ndarray) -> np.ndarray:
    """Each value once, ascending; unlike `np.unique` it leaves the interpreter lock alone."""
    in_order = np.sort(values)
    first = np.ones(len(in_order), np.bool_)
    first[1:] = in_order[1:] != in_order[:-1]
    return in_order[first]


def check_ranks(ids: np.ndarray, scores: np.ndarray) -> None:
    """Raise `AssertionError` unless the rows are in rank order, each id once."""
    assert (ids >= 0).all()
    assert np.isfinite(scores).all()
    assert is_ranked(scores, ids)
    assert len(np.unique(ids)) == len(ids)
