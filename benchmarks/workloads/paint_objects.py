"""The workloads of the Paint paper, §V: objects, ranges of subscriptions, and updates.

Values of x and y lie in [0, 1].  What we found, or chose, where the paper leaves it open:

- An update takes a random object up or down, each with probability 1/2, to a y that is uniform
  between its old y and that end of the axis.  The paper says "uniformly random from the possible
  range of y-values"; a y over the whole axis does not fit its tables, this does.  Objects gather at
  both ends that way, so counts depend on how many updates there are.  The paper says 50,000 for
  batches only, but all calls per event that it prints are multiples of 1/50,000.
- Gaussian steps that would leave the axis are reflected at its ends.
- A uniform subscription is two uniform numbers in order, which is a uniform point of the half-plane
  low <= high.
- The paper gives the points of a grid of 10,000 x 10,000 the weights of ten Gaussian hills of one
  width and height.  We draw a hill and a point of its Gaussian, and draw both anew if the point is
  outside the domain: the same distribution, without the grid and its 10^8 weights.
- Both ends of a correlated subscription are Gaussian around the middle of a cluster, in order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = [
    "CLUSTERS", "Events", "Objects", "Ranges", "Stocks", "back", "events", "gaussian_events",
    "later", "objects", "ranges", "stocks",
]  # fmt: skip

CLUSTERS = 10
_WIDTH = 1 / (CLUSTERS + 1)  # of a segment between the middles of two clusters


class Objects(NamedTuple):
    x: np.ndarray  # f8[n]  distinct
    y: np.ndarray  # f8[n]

    @property
    def pairs(self) -> np.ndarray:
        return np.column_stack(self)


class Ranges(NamedTuple):
    lows: np.ndarray  # f8[m]
    highs: np.ndarray  # f8[m]


class Events(NamedTuple):
    """Updates one after the other: each old y is the object's by then."""

    x: np.ndarray  # f8[e]
    old_y: np.ndarray  # f8[e]
    new_y: np.ndarray  # f8[e]

    def head(self, count: int) -> "Events":
        return Events(*(column[:count] for column in self))


def objects(count: int, rng: np.random.Generator, clustered: bool = False) -> Objects:
    if not clustered:
        return Objects(rng.random(count), rng.random(count))
    middles = _WIDTH * (1 + rng.permutation(np.arange(count) % CLUSTERS))
    return Objects(middles + rng.normal(0, _WIDTH / 8, count), rng.random(count))


def ranges(
    count: int, rng: np.random.Generator, kind: str = "uniform", spread: float = 1.0
) -> Ranges:
    """Ranges of a kind: uniform, clustered (by `spread`, the paper's λ), correlated, anti."""
    if kind == "uniform":
        ends = rng.random((2, count))
    elif kind == "clustered":
        ends = _hills(count, rng, spread / 4)
    elif kind in ("correlated", "anti"):
        shift, clusters = (0.0, CLUSTERS) if kind == "correlated" else (0.5, CLUSTERS - 1)
        middles = _WIDTH * (1 + shift + rng.integers(0, clusters, count))
        ends = middles + rng.normal(0, _WIDTH / 8, (2, count))
    else:
        expected = "uniform, clustered, correlated or anti"
        raise ValueError(f"kind: got {kind!r} when {expected} was expected")
    return Ranges(*np.sort(ends, axis=0))


def _hills(count: int, rng: np.random.Generator, deviation: float) -> np.ndarray:
    """Points of ten Gaussian hills, as far as they lie in the half-plane of the domain."""
    middles = np.sort(rng.random((2, CLUSTERS)), axis=0)
    kept, have = [], 0
    while have < count:
        points = middles[:, rng.integers(0, CLUSTERS, count)]
        points = points + rng.normal(0, deviation, points.shape)
        inside = (points[0] >= 0) & (points[0] <= points[1]) & (points[1] <= 1)
        kept.append(points[:, inside])
        have += int(inside.sum())
    return np.concatenate(kept, axis=1)[:, :count]


def events(start: Objects, count: int, rng: np.random.Generator) -> Events:
    """Up or down, to a y that is uniform between the old one and that end of the axis."""
    rises, share = rng.random(count) < 0.5, rng.random(count)
    return _walk(start, count, rng, lambda i, y: y + (float(rises[i]) - y) * float(share[i]))


def gaussian_events(start: Objects, count: int, rng: np.random.Generator, c: float) -> Events:
    """Steps with a standard deviation of c/8 of the axis."""
    steps = rng.normal(0, c / 8, count)
    return _walk(start, count, rng, lambda i, y: _reflected(y + float(steps[i])))


def _reflected(y: float) -> float:
    y %= 2
    return min(y, 2 - y)


def _walk(
    start: Objects, count: int, rng: np.random.Generator, step: Callable[[int, float], float]
) -> Events:
    chosen = rng.integers(0, len(start.x), count)
    now, old, new = start.y.tolist(), np.empty(count), np.empty(count)
    for i, one in enumerate(chosen.tolist()):
        old[i] = now[one]
        new[i] = now[one] = step(i, now[one])
    return Events(start.x[chosen], old, new)


def later(start: Objects, given: Events, first: int, count: int) -> tuple[Objects, Events]:
    """The objects after the first updates, and the next ones."""
    order = np.argsort(start.x)
    y = start.y.copy()
    # Of several updates of an object the last one counts.
    y[order[np.searchsorted(start.x[order], given.x[:first])]] = given.new_y[:first]
    return Objects(start.x, y), Events(*(column[first : first + count] for column in given))


def back(there: Events) -> Events:
    """Updates, then the same ones taken back: afterwards everything is as it was."""
    columns = zip(there, (there.x, there.new_y, there.old_y), strict=True)
    return Events(*(np.concatenate([first, second[::-1]]) for first, second in columns))


@dataclass(frozen=True)
class Stocks:
    objects: Objects
    ranges: Ranges
    events: Events


def stocks(subscriptions: int, rng: np.random.Generator, count: int = 2_031) -> Stocks:
    """A workload in the manner of the paper's from Yahoo! Finance.  All of it is generated.

    x is an average recommendation of [1, 5], which has one decimal, moved within that decimal so
    that all differ.  y is a price-to-earnings ratio.  Prices open and close on 30 days, by steps of
    1.5 % within a day and 0.8 % overnight.  The distributions are our guesses; the numbers of
    stocks, days and subscriptions are the paper's, as is what x and y are.
    """
    rounded = np.round(np.clip(rng.normal(2.4, 0.5, count), 1.05, 4.95), 1)
    start = Objects(rounded + rng.uniform(-0.05, 0.05, count), rng.lognormal(2.9, 0.6, count))
    y, steps = start.y, []
    for moment in range(1, 60):
        change = rng.normal(0, 0.015 if moment % 2 else 0.008, count)
        order, new = rng.permutation(count), y * np.exp(change)
        steps.append(Events(start.x[order], y[order], new[order]))
        y = new
    columns = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    ends = np.sort(rng.uniform(1, 5, (2, subscriptions)), axis=0)
    return Stocks(start, Ranges(*ends), Events(*columns))
