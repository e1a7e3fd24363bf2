"""Intervals the slow way: the definition that the suites compare with.

Nothing of ours is imported here.  Every answer is a filter over everything that is live and a sort;
a hit is the pair `(id, score)`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tests.oracles.json_values import number

INF = math.inf


class Intervals:
    """Scored closed intervals of one attribute.

    >>> intervals = Intervals()
    >>> intervals.insert(7, 0.0, 5.0, 1.0)
    >>> intervals.insert(3, 5.0, INF, 1.0)
    >>> intervals.insert(9, 5.0, 5.0, 2.0)
    >>> intervals.top_k(5.0, 2)
    [(9, 2.0), (3, 1.0)]
    >>> intervals.top_k_between(-INF, 4.0, 10)
    [(7, 1.0)]
    """

    def __init__(self) -> None:
        self.live: dict[int, tuple[float, float, float]] = {}

    def insert(self, id: int, low: float, high: float, score: float) -> None:
        self.live[id] = (low, high, score)

    def delete(self, id: int) -> None:
        del self.live[id]

    def update_score(self, id: int, score: float) -> None:
        low, high, _ = self.live[id]
        self.live[id] = (low, high, score)

    def scan(self, value: float) -> list[tuple[int, float]]:
        return self.top_k_between(value, value, len(self.live))

    def top_k(self, value: float, k: int) -> list[tuple[int, float]]:
        return self.scan(value)[:k]

    def top_k_between(self, low: float, high: float, k: int) -> list[tuple[int, float]]:
        """Closed intervals meet unless one ends before the other begins."""
        met = [(id, s) for id, (lo, hi, s) in self.live.items() if lo <= high and low <= hi]
        return best_first(met)[:k]


class ExactMatches:
    """Subscriptions over several attributes; all their intervals must hold.

    >>> matches = ExactMatches()
    >>> matches.insert(1, {"age": (20, 35), "visits": (3, INF)}, 7.5)
    >>> matches.insert(2, {}, 1.0)
    >>> matches.top_k({"age": 35, "visits": 3}, 5)
    [(1, 7.5), (2, 1.0)]
    >>> matches.top_k({"age": 35}, 5)
    [(2, 1.0)]
    """

    def __init__(self) -> None:
        self.live: dict[int, tuple[dict[str, tuple[float, float]], float]] = {}

    def insert(self, id: int, intervals: Mapping[str, tuple[float, float]], score: float) -> None:
        self.live[id] = (dict(intervals), score)

    def delete(self, id: int) -> None:
        del self.live[id]

    def top_k(self, event: Mapping[str, float], k: int) -> list[tuple[int, float]]:
        met = [(id, s) for id, (intervals, s) in self.live.items() if all_hold(intervals, event)]
        return best_first(met)[:k]


def best_first(hits: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def all_hold(intervals: Mapping[str, tuple[float, float]], event: Mapping[str, float]) -> bool:
    """An event without a constrained attribute does not match."""
    return all(a in event and low <= event[a] <= high for a, (low, high) in intervals.items())


class RelaxedMatches:
    """Subscriptions of weighted intervals over several attributes; at least one must hold.

    The score is the sum of the weights of those that hold, added in the order of `attributes`.

    >>> matches = RelaxedMatches(["age", "visits"])
    >>> matches.insert(1, {"age": (20, 35), "visits": (3, INF)}, {"age": 2.0, "visits": 1.0})
    >>> matches.insert(2, {"visits": (0, 9)}, {"visits": 2.5})
    >>> matches.top_k({"age": 35, "visits": 3}, 5)
    [(1, 3.0), (2, 2.5)]
    >>> matches.top_k({"age": 20}, 5)
    [(1, 2.0)]
    """

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = attributes
        self.live: dict[int, tuple[dict[str, tuple[float, float]], dict[str, float]]] = {}

    def insert(
        self,
        id: int,
        intervals: Mapping[str, tuple[float, float]],
        weights: Mapping[str, float],
    ) -> None:
        self.live[id] = (dict(intervals), dict(weights))

    def delete(self, id: int) -> None:
        del self.live[id]

    def update_weights(self, id: int, weights: Mapping[str, float]) -> None:
        self.live[id] = (self.live[id][0], dict(weights))

    def top_k(self, event: Mapping[str, float], k: int) -> list[tuple[int, float]]:
        scores = {
            id: relaxed_score(parsed, event, self.attributes) for id, parsed in self.live.items()
        }
        return best_first([(id, score) for id, score in scores.items() if score is not None])[:k]


def relaxed_score(
    parsed: tuple[dict[str, Any], dict[str, float]],
    values: Mapping[str, float],
    attributes: Sequence[str],
) -> float | None:
    """The weights of the intervals that hold, added in the order of the attributes."""
    intervals, weights = parsed
    score = None
    for name in attributes:
        if name in intervals and all_hold({name: intervals[name]}, values):
            score = (score or 0.0) + weights[name]  # one by one: `sum` is more exact than that
    return score


def interval(given: Any, field: str) -> tuple[float, float]:
    """The closed interval of `[low, high]` or of `{"ge", "gt", "le", "lt"}`; all ends hold."""
    if isinstance(given, list) and len(given) == 2:
        ends = {"ge": given[0], "le": given[1]}
    elif isinstance(given, dict) and given.keys() <= {"ge", "gt", "le", "lt"}:
        ends = given
    else:
        raise ValueError(f"{field}: expected [low, high] or an object of ge, gt, le, lt")
    at = {end: number(v, f"{field}.{end}") for end, v in ends.items() if v is not None}
    low, high = at.get("ge", -INF), at.get("le", INF)
    if "gt" in at:
        low = max(low, math.nextafter(at["gt"], INF))
    if "lt" in at:
        high = min(high, math.nextafter(at["lt"], -INF))
    if low > high:
        raise ValueError(f"{field}: {low} > {high}")
    return low, high


def event_values(event: Mapping[str, Any], attributes: Sequence[str]) -> dict[str, float]:
    """The numbers that count: null is missing, a weighted value is its value."""
    values = {}
    for name in attributes:
        given = event.get(name)
        if isinstance(given, dict):
            if not {"value"} <= given.keys() <= {"value", "weight"}:
                raise ValueError(f"{name}: expected the fields value and weight")
            if number(given.get("weight", 1.0), f"{name}.weight") < 0:
                raise ValueError(f"{name}.weight: below zero")
            values[name] = number(given["value"], f"{name}.value")
        elif given is not None:
            values[name] = number(given, name)
    return values
