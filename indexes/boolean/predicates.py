"""`Predicate`: one weighted condition on one attribute, refused when made if it makes no sense.

After Sadoghi and Jacobsen, Relevance Matters: Capitalizing on Less, §III-B.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["OPERATORS", "Predicate", "as_conjunction", "as_number", "as_weight"]

# In this order a conjunction is evaluated: what rejects most comes first.
OPERATORS = ("=", "in", "between", "<", "<=", ">", ">=", "!=", "not in")
_OF_STRINGS = frozenset(("=", "!=", "in", "not in"))

Value = float | str | tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """`attribute op value`, with what it adds to the score of a subscription that matches.

    `value` is a number or a string; a list of one or the other for `in` and `not in`; `[low,
    high]`, both ends included and either infinite if need be, for `between`.  Strings are not
    ordered.

    >>> Predicate("state", "in", ["CA", "NY"], weight=0.4)
    Predicate(attribute='state', op='in', value=('CA', 'NY'), weight=0.4)
    >>> Predicate("age", "between", [36, 22])
    Traceback (most recent call last):
    ValueError: predicate age between [36, 22]: got low > high when low <= high was expected
    """

    attribute: str
    op: str
    value: Any
    weight: float = 1.0

    def __post_init__(self) -> None:
        where = f"predicate {self.attribute} {self.op} {self.value!r}"
        if not isinstance(self.attribute, str):
            raise ValueError(f"{where}: got {self.attribute!r} when an attribute was expected")
        _require_text(self.attribute, where)
        if not isinstance(self.op, str) or self.op not in OPERATORS:
            wanted = ", ".join(OPERATORS)
            raise ValueError(f"{where}: got operator {self.op!r} when one of {wanted} was expected")
        object.__setattr__(self, "value", _checked_value(self.op, self.value, where))
        object.__setattr__(self, "weight", as_weight(self.weight, f"{where}: weight"))

    @property
    def is_text(self) -> bool:
        first = self.value[0] if isinstance(self.value, tuple) else self.value
        return isinstance(first, str)


def _checked_value(op: str, value: Any, where: str) -> Value:
    if op == "between":
        if isinstance(value, set | frozenset):
            raise ValueError(f"{where}: got a set, which has no order, when a list was expected")
        ends = _members(value, where)
        if len(ends) != 2:
            raise ValueError(f"{where}: got {len(ends)} ends when [low, high] was expected")
        low, high = (as_number(end, where, finite=False) for end in ends)
        if low > high:
            raise ValueError(f"{where}: got low > high when low <= high was expected")
        return low, high
    if op in ("in", "not in"):
        return _checked_list(_members(value, where), where)
    if isinstance(value, str):
        if op not in _OF_STRINGS:
            raise ValueError(f"{where}: got a string when {op} expected a number")
        _require_text(value, where)
        return value
    return as_number(value, where)


def _require_text(text: str, where: str) -> None:
    """Refuse what UTF-8 has no bytes for: it could not be saved."""
    try:
        text.encode()
    except UnicodeEncodeError as wrong:
        got = text[wrong.start : wrong.end]
        raise ValueError(
            f"{where}: got {got!r} when text without surrogates was expected"
        ) from None


def _members(value: Any, where: str) -> list[Any]:
    is_list = isinstance(value, list | tuple | set | frozenset)
    if not is_list and not (isinstance(value, np.ndarray) and value.ndim == 1):
        raise ValueError(f"{where}: got {value!r} when a list was expected")
    return list(value)


def _checked_list(values: list[Any], where: str) -> tuple[float, ...] | tuple[str, ...]:
    if not values:
        raise ValueError(f"{where}: got an empty list when at least one value was expected")
    if all(isinstance(value, str) for value in values):
        _require_text("".join(values), where)
        return tuple(str(value) for value in values)
    if any(isinstance(value, str) for value in values):
        raise ValueError(f"{where}: got strings and numbers when one of the two was expected")
    return tuple(as_number(value, where) for value in values)


def as_number(value: Any, where: str, finite: bool = True) -> float:
    """A float64; NaN and booleans are refused, infinity unless `finite` is false."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise ValueError(f"{where}: got {value!r} when a number was expected")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
        finite = True
    if math.isnan(number) or (finite and math.isinf(number)):
        raise ValueError(f"{where}: got {value!r} when a finite number was expected")
    return number


def as_weight(value: Any, where: str) -> float:
    weight = as_number(value, where)
    if weight < 0:
        raise ValueError(f"{where}: got {value!r} when a number >= 0 was expected")
    return weight + 0.0  # minus zero becomes zero


def as_conjunction(predicates: Sequence[Predicate]) -> list[Predicate]:
    if isinstance(predicates, Predicate | str | bytes) or not hasattr(predicates, "__iter__"):
        raise ValueError(f"predicates: got {predicates!r} when a list of Predicate was expected")
    conjunction = list(predicates)
    if not conjunction:
        raise ValueError("predicates: got none when at least one was expected")
    for predicate in conjunction:
        if not isinstance(predicate, Predicate):
            raise ValueError(f"predicates: got {predicate!r} when a Predicate was expected")
    weights = [predicate.weight for predicate in conjunction]
    if math.isinf(sum(weights)):
        raise ValueError(f"predicates: got weights {weights} when a finite sum was expected")
    return conjunction
