"""Subscriptions as boxes and events as points, so that one test decides a match.

A subscription matches when `low <= upper and high >= lower` in every attribute:

    subscription, not constrained  low = -inf      high = inf
    subscription, constrained      an infinite end becomes the greatest finite number
    subscription, infinite only    low = high = -inf, where no event is
    event, attribute present       lower = upper = value
    event, attribute missing       lower = inf     upper = -inf

Events are finite, so the greatest finite numbers say the same as an infinite end; and since no
constrained interval reaches from -inf to inf, an event without the attribute meets exactly the
subscriptions that do not constrain it.  A query at infinity, which asks an index for one attribute
the same, meets no others either.
"""

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np

from indexes import validation

GREATEST = np.finfo(np.float64).max


class Boxes(NamedTuple):
    lows: np.ndarray  # f8[rows, d]
    highs: np.ndarray  # f8[rows, d]


class Events(NamedTuple):
    lowers: np.ndarray  # f8[m, d]
    uppers: np.ndarray  # f8[m, d]


def new_boxes(rows: int, attributes: int) -> Boxes:
    return Boxes(np.empty((rows, attributes)), np.empty((rows, attributes)))


def ends_of(
    intervals: Mapping[str, tuple[float, float]], column: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """One subscription's ends as f8[1, d], NaN where an attribute is not constrained."""
    lows, highs = np.full((1, len(column)), np.nan), np.full((1, len(column)), np.nan)
    for name, ends in intervals.items():
        if name not in column:
            raise ValueError(f"intervals: got {name!r} when one of {list(column)} was expected")
        low, high = validation.as_interval(f"intervals[{name!r}]", ends)
        lows[0, column[name]], highs[0, column[name]] = low, high
    return lows, highs


def encode_boxes(lows: np.ndarray, highs: np.ndarray, names: Sequence[str]) -> Boxes:
    """Boxes of f8[n, d] ends in which NaN, at both ends, means "not constrained".

    A tree that is built elsewhere for a matcher has subscriptions as they are here.
    """
    free = np.isnan(lows)
    for j, name in enumerate(names):
        half = free[:, j] != np.isnan(highs[:, j])
        if half.any():
            got = f"[{lows[half, j][0]}, {highs[half, j][0]}]"
            raise ValueError(f"{name}: got {got} when nan at both ends or at neither was expected")
        validation.require_ordered(lows[:, j], highs[:, j], name)
    low = np.where((lows == -np.inf) & (highs > -np.inf), -GREATEST, lows)
    high = np.where(highs == np.inf, GREATEST, highs)
    never = lows == np.inf
    low, high = np.where(never, -np.inf, low), np.where(never, -np.inf, high)
    return Boxes(np.where(free, -np.inf, low), np.where(free, np.inf, high))


def decode_boxes(boxes: Boxes) -> tuple[np.ndarray, np.ndarray]:
    free = (boxes.lows == -np.inf) & (boxes.highs == np.inf)
    low = np.where(boxes.lows == -GREATEST, -np.inf, boxes.lows)
    high = np.where(boxes.highs == GREATEST, np.inf, boxes.highs)
    return np.where(free, np.nan, low), np.where(free, np.nan, high)


def encode_events(
    events: Sequence[Mapping[str, float]] | np.ndarray, column: Mapping[str, int]
) -> Events:
    """Events from mappings, or from f8[m, d] values in which NaN means "missing"."""
    if isinstance(events, np.ndarray):
        values = validation.as_table("events", events, len(column))
    else:
        values = np.full((len(events), len(column)), np.nan)
        for i, event in enumerate(events):
            for name in event.keys() & column.keys():
                values[i, column[name]] = _finite(i, name, event[name])
    for name, j in column.items():
        infinite = values[np.isinf(values[:, j]), j]
        if len(infinite):
            expected = "a finite number, or nan for none, was expected"
            raise ValueError(f"events: got {name} = {infinite[0]} when {expected}")
    missing = np.isnan(values)
    return Events(np.where(missing, np.inf, values), np.where(missing, -np.inf, values))


def _finite(event: int, name: str, value: float) -> float:
    if isinstance(value, Real):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:  # an int beyond any float: as good as infinite
            pass
    where = f"events[{event}][{name!r}]"
    raise ValueError(f"{where}: got {value!r} when a finite number was expected")
