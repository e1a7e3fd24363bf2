"""Why an event and a subscription match or do not: condition by condition, in plain Python.

An index answers millions of these questions a second and says only who has won.  Here one is
answered in the words of the subscription.  `topics.kinds` has the judge of each kind.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from topics.events.numbers import Weighted
from topics.subscriptions.boolean import Expression, Predicate


class Check(NamedTuple):
    """One condition, and what it was held against."""

    attribute: str
    condition: str  # in words, such as `20 to 35`
    got: Any  # None: the event has no such attribute
    held: bool
    adds: float | None = None  # to the score if it holds, where conditions have weights
    alternative: int = 0  # of which conjunction it is


class Judgement(NamedTuple):
    holds: bool
    score: float | None  # of a subscription that holds
    checks: list[Check]


Judge = Callable[[Sequence[str], Any, Any], Judgement]
"""Of the collection's attributes, a subscription as its contract parses it, and an event's row."""


def judge_ranked(attributes: Sequence[str], subscription: Any, event: Sequence[Any]) -> Judgement:
    """Every interval has to hold."""
    lows, highs, score = subscription
    checks = _intervals(attributes, lows, highs, [None] * len(attributes), event)
    holds = all(check.held for check in checks)
    return Judgement(holds, score if holds else None, checks)


def judge_relaxed(attributes: Sequence[str], subscription: Any, event: Sequence[Any]) -> Judgement:
    """One interval is enough, and the weights of those that hold are added up."""
    lows, highs, weights = subscription
    checks = _intervals(attributes, lows, highs, weights, event)
    holds = any(check.held for check in checks)
    return Judgement(holds, sum(c.adds or 0.0 for c in checks if c.held) if holds else None, checks)


def _intervals(
    attributes: Sequence[str],
    lows: Sequence[float],
    highs: Sequence[float],
    weights: Sequence[float | None],
    event: Sequence[Any],
) -> list[Check]:
    """Of the attributes that are constrained, which are those whose ends are numbers."""
    checks = []
    for name, low, high, weight, given in zip(attributes, lows, highs, weights, event, strict=True):
        if math.isnan(low):
            continue
        got = _number(given)
        held = got is not None and low <= got <= high
        checks.append(Check(name, interval_in_words(low, high), got, held, weight))
    return checks


def _number(given: Any) -> float | None:
    value = given.value if isinstance(given, Weighted) else given
    return None if value is None or value is UNSET or math.isnan(value) else value


def interval_in_words(low: float, high: float) -> str:
    """
    >>> interval_in_words(20, 35), interval_in_words(3, math.inf)
    ('20 to 35', '3 or more')
    """
    if math.isinf(low) and math.isinf(high):
        return "any number"
    if math.isinf(low):
        return f"{high!r} or less"
    return f"{low!r} or more" if math.isinf(high) else f"{low!r} to {high!r}"


def judge_boolean(
    attributes: Sequence[str], subscription: Expression, event: Sequence[tuple[str, Any, float]]
) -> Judgement:
    """Every predicate of one alternative has to hold; the best of those counts."""
    given = {name: (value, weight) for name, value, weight in event}
    checks, scores = [], []
    for number, conjunction in enumerate(subscription):
        told = [_predicate(predicate, given, number) for predicate in conjunction]
        checks += told
        if all(check.held for check in told):
            scores.append(sum(check.adds or 0.0 for check in told))
    return Judgement(bool(scores), max(scores, default=None), checks)


def _predicate(
    predicate: Predicate, given: dict[str, tuple[Any, float]], alternative: int
) -> Check:
    got, weight = given.get(predicate.attribute, (None, 0.0))
    held = got is not None and _holds(predicate.op, predicate.value, got)
    condition = f"{predicate.op} {_value_in_words(predicate)}"
    adds = predicate.weight * weight if got is not None else predicate.weight
    return Check(predicate.attribute, condition, got, held, adds, alternative)


def _value_in_words(predicate: Predicate) -> str:
    if predicate.op == "between":
        return interval_in_words(*predicate.value)
    if predicate.op in ("in", "not in"):
        return ", ".join(map(repr, predicate.value))
    return repr(predicate.value)


def _holds(op: str, wanted: Any, got: Any) -> bool:
    """A number against a string is false, whatever the operator."""
    sample = wanted[0] if isinstance(wanted, tuple) else wanted
    if isinstance(sample, str) != isinstance(got, str):
        return False
    return _OPERATORS[op](got, wanted)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda got, wanted: got < wanted,
    "<=": lambda got, wanted: got <= wanted,
    "=": lambda got, wanted: got == wanted,
    "!=": lambda got, wanted: got != wanted,
    ">=": lambda got, wanted: got >= wanted,
    ">": lambda got, wanted: got > wanted,
    "in": lambda got, wanted: got in wanted,
    "not in": lambda got, wanted: got not in wanted,
    "between": lambda got, wanted: wanted[0] <= got <= wanted[1],
}
