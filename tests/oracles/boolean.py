"""Boolean expressions the slow way: the definition that the suites compare with.

Nothing of ours is imported here.  A predicate is anything with `attribute`, `op`, `value` and
`weight`; an event is a mapping of values or `(value, weight)` pairs; a hit is `(id, score)`.
Records have both in JSON: `boolean_subscription` and `mixed_values` read them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.oracles.json_values import json_of, number


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
        found = {id: best_score(terms, event) for id, terms in self.live.items()}
        return {id: score for id, score in found.items() if score is not None}

    def match(self, event: Mapping[str, Any]) -> list[int]:
        return sorted(self.scores(event))

    def top_k(self, event: Mapping[str, Any], k: int) -> list[tuple[int, float]]:
        return sorted(self.scores(event).items(), key=lambda hit: (-hit[1], hit[0]))[:k]


def best_score(alternatives: Sequence[Sequence[Any]], event: Mapping[str, Any]) -> float | None:
    """That of the best alternative of which everything holds."""
    return max(
        (score(one, event) for one in alternatives if all(holds(p, event) for p in one)),
        default=None,
    )


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


class Predicate(NamedTuple):
    attribute: str
    op: str
    value: Any
    weight: float


def boolean_subscription(value: bytes, attributes: Sequence[str]) -> list[list[Predicate]]:
    """Alternatives, each a list of predicates."""
    document = json_of(value)
    if not isinstance(document, dict) or document.keys() not in ({"all"}, {"any"}):
        raise ValueError("expected an object with the field all or the field any")
    alternatives = document.get("any", [document])
    if not isinstance(alternatives, list) or not alternatives:
        raise ValueError("any: expected a list, not empty")
    for alternative in alternatives:
        if not isinstance(alternative, dict) or alternative.keys() != {"all"}:
            raise ValueError("any: expected objects with the field all")
        if not isinstance(alternative["all"], list) or not 1 <= len(alternative["all"]) <= 1000:
            raise ValueError("all: expected a list of 1 to 1000 predicates")
    return [[predicate_of(one, attributes) for one in each["all"]] for each in alternatives]


def predicate_of(predicate: Any, attributes: Sequence[str]) -> Predicate:
    if not isinstance(predicate, dict):
        raise ValueError(f"got {predicate!r} when a predicate was expected")
    if not {"attr", "op", "value"} <= predicate.keys() <= {"attr", "op", "value", "weight"}:
        raise ValueError(f"{predicate}: expected attr, op, value and perhaps weight")
    name, op, value = predicate["attr"], predicate["op"], predicate["value"]
    if not isinstance(name, str) or len(name) > 256 or (attributes and name not in attributes):
        raise ValueError(f"attr: got {name!r}")
    weight = number(predicate.get("weight", 1.0), "weight")
    if not 0 <= weight <= 1e100:
        raise ValueError("weight: expected 0 to 1e100")
    return Predicate(name, op, operand(op, value), weight)


def operand(op: Any, value: Any) -> Any:
    if op in ("<", "<=", ">", ">="):
        return number(value, "value")
    if op in ("=", "!="):
        return value if isinstance(value, str) else number(value, "value")
    if op in ("in", "not in"):
        if not isinstance(value, list) or not value:
            raise ValueError("value: expected a list, not empty")
        if all(isinstance(one, str) for one in value):
            return tuple(value)
        return tuple(number(one, "value") for one in value)
    if op == "between":
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError("value: expected [low, high]")
        low, high = (None if end is None else number(end, "value") for end in value)
        ends = (-math.inf if low is None else low, math.inf if high is None else high)
        if ends[0] > ends[1]:
            raise ValueError(f"value: {low} > {high}")
        return ends
    raise ValueError(f"op: got {op!r}")


def boolean_score(
    parsed: list[list[Predicate]], values: Mapping[str, Any], attributes: Sequence[str]
) -> float | None:
    return best_score(parsed, values)


def mixed_values(event: Mapping[str, Any], attributes: Sequence[str]) -> dict[str, Any]:
    """Value and weight of what counts: with no attributes named, whatever makes sense."""
    values = {}
    for name, given in event.items():
        try:
            known = mixed_value(given, name)
        except ValueError:
            if attributes and name in attributes:
                raise
            continue
        if known is not None and (not attributes or name in attributes):
            values[name] = known
    return values


def mixed_value(given: Any, field: str) -> tuple[float | str, float] | None:
    if given is None:
        return None
    weight = 1.0
    if isinstance(given, dict):
        if not {"value"} <= given.keys() <= {"value", "weight"}:
            raise ValueError(f"{field}: expected the fields value and weight")
        weight = number(given.get("weight", 1.0), f"{field}.weight")
        if not 0 <= weight <= 1e100:
            raise ValueError(f"{field}.weight: expected 0 to 1e100")
        given = given["value"]
    return (given if isinstance(given, str) else number(given, field)), weight
