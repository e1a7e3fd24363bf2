"""Boolean expressions the slow way: the definition that the suites compare with.

Nothing of ours is imported here.  A predicate is anything with `attribute`, `op`, `value` and
`weight`; an event is a mapping of values or `(value, weight)` pairs; a hit is `(id, score)`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class Expressions:
    """Every live subscription is evaluated for every event.

    >>> from types import SimpleNamespace as P
    >>> expressions = Expressions()
    >>> young = P(attribute="age", op="<", value=30, weight=2.0)
    >>> coast = P(attribute="state", op="in", value=["CA", "NY"], weight=0.5)
    >>> expressions.insert(7, [young, coast])
    >>> expressions.insert_any(3, [[young], [coast]])
    >>> expressions.top_k({"age": 28, "state": ("CA", 2.0)}, 5)
    [(7, 3.0), (3, 2.0)]
    >>> expressions.match({"state": "CA"})
    [3]
    """

    def __init__(self) -> None:
        self.live: dict[int, list[list[Any]]] = {}

    def insert(self, id: int, predicates: Iterable[Any]) -> None:
        self.live[id] = [list(predicates)]

    def insert_any(self, id: int, alternatives: Iterable[Iterable[Any]]) -> None:
        self.live[id] = [list(predicates) for predicates in alternatives]

    def delete(self, id: int) -> None:
        del self.live[id]

    def scores(self, event: Mapping[str, Any]) -> dict[int, float]:
        found = {}
        for id, alternatives in self.live.items():
            scored = [score(c, event) for c in alternatives if all(holds(p, event) for p in c)]
            if scored:
                found[id] = max(scored)
        return found

    def match(self, event: Mapping[str, Any]) -> list[int]:
        return sorted(self.scores(event))

    def top_k(self, event: Mapping[str, Any], k: int) -> list[tuple[int, float]]:
        return sorted(self.scores(event).items(), key=lambda hit: (-hit[1], hit[0]))[:k]


def weighted(event: Mapping[str, Any], attribute: str) -> tuple[Any, float]:
    given = event[attribute]
    return given if isinstance(given, tuple) else (given, 1.0)


def score(conjunction: Sequence[Any], event: Mapping[str, Any]) -> float:
    total = 0.0
    for predicate in conjunction:  # one by one: `sum` is more exact than float additions
        total += predicate.weight * weighted(event, predicate.attribute)[1]
    return total


def holds(predicate: Any, event: Mapping[str, Any]) -> bool:
    """False for what the event lacks and for a value of the other type, whatever the operator."""
    if predicate.attribute not in event:
        return False
    got, _ = weighted(event, predicate.attribute)
    wanted, op = predicate.value, predicate.op
    sample = wanted[0] if op in ("in", "not in", "between") else wanted
    if isinstance(sample, str) != isinstance(got, str):
        return False
    if not isinstance(got, str):
        got = float(got)
    if op == "in":
        return any(got == value for value in wanted)
    if op == "not in":
        return all(got != value for value in wanted)
    if op == "between":
        return bool(wanted[0] <= got <= wanted[1])
    return bool(
        {
            "=": lambda: got == wanted,
            "!=": lambda: got != wanted,
            "<": lambda: got < wanted,
            "<=": lambda: got <= wanted,
            ">": lambda: got > wanted,
            ">=": lambda: got >= wanted,
        }[op]()
    )
