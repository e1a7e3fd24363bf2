"""Boxes around what subscriptions match: all that routing has to know of a kind.

An event that a subscription matches lies in one of its boxes.  A side without an end says nothing
about its attribute: an event that lacks it may be inside.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from indexes.boolean import BooleanArrays, Hulls, hulls_of_arrays, hulls_of_expressions

# Boxes say nothing of further attributes, which makes them larger, but never wrong.
MOST_ATTRIBUTES = 32


class OwnedBoxes(NamedTuple):
    """Box i belongs to the subscription ids[i]; one has as many as its kind needs, or none."""

    ids: np.ndarray  # i8[b]
    places: np.ndarray  # i8[b]  which of the boxes of its subscription it is
    lows: np.ndarray  # f8[b, d]
    highs: np.ndarray  # f8[b, d]


def boxes_each(kind: str, attributes: int) -> int:
    """The most boxes that a subscription has: of `attributes` that boxes know of."""
    return attributes + 1 if kind == "relaxed" else 1


def hulls_of_columns(
    kind: str, attributes: Sequence[str], ids: np.ndarray, columns: Sequence[np.ndarray]
) -> OwnedBoxes:
    """Of subscriptions in the columns of their contract."""
    if kind == "boolean":
        return _one_each(hulls_of_expressions(ids, columns[0], attributes[:MOST_ATTRIBUTES]))
    return _of_intervals(kind, ids, columns[0], columns[1])


def hulls_of_index(
    kind: str, attributes: Sequence[str], arrays: Mapping[str, np.ndarray], live: np.ndarray
) -> OwnedBoxes:
    """Of an index by its arrays; `live` are its ids."""
    if kind == "boolean":
        return _one_each(hulls_of_arrays(BooleanArrays(**arrays), attributes[:MOST_ATTRIBUTES]))
    ids, lows, highs = arrays["ids"], arrays["lows"], arrays["highs"]
    if "delta_ids" in arrays:
        ids = np.concatenate((ids, arrays["delta_ids"]))
        lows = np.concatenate((lows, arrays["delta_lows"]))
        highs = np.concatenate((highs, arrays["delta_highs"]))
        known = np.isin(ids, live)
        ids, lows, highs = ids[known], lows[known], highs[known]
    shape = (len(ids), len(attributes))
    return _of_intervals(kind, ids, lows.reshape(shape), highs.reshape(shape))


def _of_intervals(kind: str, ids: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> OwnedBoxes:
    further = ~np.isnan(lows[:, MOST_ATTRIBUTES:])
    lows, highs = lows[:, :MOST_ATTRIBUTES], highs[:, :MOST_ATTRIBUTES]
    constrained = ~np.isnan(lows)
    closed = np.where(constrained, lows, -np.inf), np.where(constrained, highs, np.inf)
    if kind != "relaxed":
        return OwnedBoxes(ids, np.zeros(len(ids), np.int64), *closed)
    # One interval that holds is enough: a box for each, which says nothing of the others.  Any
    # event may meet an interval that boxes do not know of: all of these together are one box.
    dimensions = lows.shape[1]
    rows, places = np.nonzero(np.column_stack((constrained, further.any(axis=1))))
    ends = np.full((2, len(rows), dimensions), np.inf)
    ends[0] = -np.inf
    known = np.flatnonzero(places < dimensions)
    row, place = rows[known], places[known]
    ends[0, known, place], ends[1, known, place] = lows[row, place], highs[row, place]
    return OwnedBoxes(ids[rows], places, ends[0], ends[1])


def _one_each(hulls: Hulls) -> OwnedBoxes:
    return OwnedBoxes(hulls.ids, np.zeros(len(hulls.ids), np.int64), hulls.lows, hulls.highs)
