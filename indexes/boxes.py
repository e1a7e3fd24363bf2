"""Boxes around what subscriptions match: all that routing has to know of an index.

An event that a subscription matches lies in one of its boxes.  A side without an end says nothing
about its attribute: an event that lacks it may be inside.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

# Boxes say nothing of further attributes, which makes them larger, but never wrong.
MOST_ATTRIBUTES = 32


class SubscriptionBoxes(NamedTuple):
    """Box i belongs to the subscription ids[i]; one has as many as its kind needs, or none."""

    ids: np.ndarray  # i8[b]
    places: np.ndarray  # i8[b]  which of the boxes of its subscription it is
    lows: np.ndarray  # f8[b, d]
    highs: np.ndarray  # f8[b, d]

    @classmethod
    def one_each(cls, ids: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> "SubscriptionBoxes":
        return cls(ids, np.zeros(len(ids), np.int64), lows, highs)


def box_around_all(ids: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> SubscriptionBoxes:
    """Of subscriptions whose intervals, NaN where there is none, must all hold: one box each."""
    lows, highs = lows[:, :MOST_ATTRIBUTES], highs[:, :MOST_ATTRIBUTES]
    constrained = ~np.isnan(lows)
    closed = np.where(constrained, lows, -np.inf), np.where(constrained, highs, np.inf)
    return SubscriptionBoxes.one_each(ids, *closed)


def box_around_each(ids: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> SubscriptionBoxes:
    """Of subscriptions of which one interval that holds is enough: a box for each interval.

    Such a box says nothing of the other attributes.  Any event may meet an interval that boxes do
    not know of: all of these together are one box.
    """
    further = ~np.isnan(lows[:, MOST_ATTRIBUTES:])
    lows, highs = lows[:, :MOST_ATTRIBUTES], highs[:, :MOST_ATTRIBUTES]
    dimensions = lows.shape[1]
    rows, places = np.nonzero(np.column_stack((~np.isnan(lows), further.any(axis=1))))
    ends = np.full((2, len(rows), dimensions), np.inf)
    ends[0] = -np.inf
    known = np.flatnonzero(places < dimensions)
    row, place = rows[known], places[known]
    ends[0, known, place], ends[1, known, place] = lows[row, place], highs[row, place]
    return SubscriptionBoxes(ids[rows], places, ends[0], ends[1])


def live_intervals(
    attributes: int, arrays: Mapping[str, np.ndarray], live: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, lows and highs of what is live in an index of intervals, by its arrays."""
    ids, lows, highs = arrays["ids"], arrays["lows"], arrays["highs"]
    if "delta_ids" in arrays:
        ids = np.concatenate((ids, arrays["delta_ids"]))
        lows = np.concatenate((lows, arrays["delta_lows"]))
        highs = np.concatenate((highs, arrays["delta_highs"]))
        known = np.isin(ids, live)
        ids, lows, highs = ids[known], lows[known], highs[known]
    shape = (len(ids), attributes)
    return ids, lows.reshape(shape), highs.reshape(shape)
