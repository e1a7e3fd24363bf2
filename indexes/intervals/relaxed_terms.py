"""Subscriptions of relaxed matching as terms, one an attribute, that either hold or add nothing.

Layout: f8[rows, d, 3] with low, high and weight together, so that looking a row up reads one
place.  An attribute that a subscription does not constrain has the term (inf, -inf, 0), which
never holds; neither does any term where the event is NaN, that is, lacks the attribute.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from indexes import validation
from indexes.intervals.exact_boxes import encode_events
from indexes.kernels.decorators import inner

LOW, HIGH, WEIGHT = 0, 1, 2
_POSITIVE = "a finite number > 0 was expected"


@inner
def score_of(terms, row, values):
    """The weights of the terms that hold, added in the order of the attributes."""
    score = 0.0
    for j in range(terms.shape[1]):
        if terms[row, j, 0] <= values[j] <= terms[row, j, 1]:
            score += terms[row, j, 2]
    return score


def totals_of(terms: np.ndarray) -> np.ndarray:
    """The score of an event that meets everything, added in the order of the attributes."""
    totals = np.zeros(len(terms))
    with np.errstate(over="ignore"):
        for j in range(terms.shape[1]):
            totals += terms[:, j, WEIGHT]
    return totals


def weights_of(
    weights: Mapping[str, float], constrained: Iterable[str], column: Mapping[str, int]
) -> np.ndarray:
    """One subscription's weights as f8[1, d], NaN where an attribute is not constrained."""
    expected = set(constrained)
    if set(weights) != expected:
        names = [name for name in column if name in expected]
        raise ValueError(f"weights: got {list(weights)} when the attributes {names} were expected")
    row = np.full((1, len(column)), np.nan)
    for name, given in weights.items():
        where = f"weights[{name!r}]"
        weight = validation.as_number_array(where, [given])[0]
        if not (np.isfinite(weight) and weight > 0):
            raise ValueError(f"{where}: got {given!r} when {_POSITIVE}")
        row[0, column[name]] = weight
    return row


def encode_terms(
    lows: np.ndarray, highs: np.ndarray, weights: np.ndarray, names: Sequence[str]
) -> np.ndarray:
    """Terms of f8[n, d] columns in which NaN, in all three, means "not constrained"."""
    free = np.isnan(lows)
    for j, name in enumerate(names):
        half = free[:, j] != np.isnan(highs[:, j])
        if half.any():
            got = f"[{lows[half, j][0]}, {highs[half, j][0]}]"
            raise ValueError(f"{name}: got {got} when nan at both ends or at neither was expected")
        validation.require_ordered(lows[:, j], highs[:, j], name)
        _require_weights(weights[:, j], free[:, j], name)
    if free.all(axis=1).any():
        row = int(np.flatnonzero(free.all(axis=1))[0])
        raise ValueError(f"intervals: got none in row {row} when at least one was expected")
    terms = np.stack(
        (np.where(free, np.inf, lows), np.where(free, -np.inf, highs), np.where(free, 0, weights)),
        axis=2,
    )
    require_finite_totals(terms)
    return terms


def require_finite_totals(terms: np.ndarray) -> None:
    endless = ~np.isfinite(totals_of(terms))
    if endless.any():
        got = terms[endless][0, :, WEIGHT].tolist()
        raise ValueError(f"weights: got {got} when weights with a finite sum were expected")


def decode_terms(terms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lows, highs and weights, each f8[n, d], as `encode_terms` takes them."""
    free = terms[:, :, WEIGHT] == 0
    lows, highs, weights = (np.where(free, np.nan, terms[:, :, i]) for i in (LOW, HIGH, WEIGHT))
    return lows, highs, weights


def values_of(
    events: Sequence[Mapping[str, float]] | np.ndarray, column: Mapping[str, int]
) -> np.ndarray:
    """Events as f8[m, d], NaN where one lacks an attribute."""
    points = encode_events(events, column)
    return np.where(points.lowers > points.uppers, np.nan, points.lowers)


def _require_weights(weights: np.ndarray, free: np.ndarray, name: str) -> None:
    bad = ~free & ~(np.isfinite(weights) & (weights > 0))
    if bad.any():
        raise ValueError(f"weights of {name}: got {weights[bad][0]} when {_POSITIVE}")
    idle = free & ~np.isnan(weights)
    if idle.any():
        got = f"got {weights[idle][0]} without an interval"
        raise ValueError(f"weights of {name}: {got} when nan was expected")
