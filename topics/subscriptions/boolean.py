"""Subscriptions of kind `boolean`: conjunctions of weighted predicates, one of which has to hold.

{"all": [{"attr": "state", "op": "in", "value": ["CA", "NY"], "weight": 0.4},
         {"attr": "pay", "op": ">=", "value": 28}]}
{"any": [{"all": [...]}, {"all": [...]}]}
"""

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType, field

from topics.codecs.json_record import BadRecord, decode

EXPECTED = 'an object such as {"all": [{"attr": "pay", "op": ">=", "value": 28}]}'
# Weights of subscription and event are multiplied and added up: below this no score is infinite.
MAX_WEIGHT = 1e100
MAX_PREDICATES = 1000  # in one conjunction
MAX_NAME_CHARACTERS = 256

Weight = Annotated[float, Meta(ge=0, le=MAX_WEIGHT)]


class Predicate(Struct, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="op"):
    """One condition on one attribute; false for an event that lacks it."""

    op: ClassVar[str]
    attribute: Annotated[str, Meta(max_length=MAX_NAME_CHARACTERS)] = field(name="attr")
    value: Any
    weight: Weight = 1.0


_Members = Annotated[
    tuple[float | str, ...], Meta(min_length=1, description="all numbers or all strings")
]
_Ends = Annotated[
    tuple[float | None, float | None],
    Meta(description="[low, high], both included; null is no end"),
]
# What each operator takes as a value, and what it is called in the JSON Schema.
_OPERATORS: dict[str, tuple[str, Any]] = {
    "<": ("Less", float),
    "<=": ("LessOrEqual", float),
    "=": ("Equal", float | str),
    "!=": ("NotEqual", float | str),
    ">=": ("GreaterOrEqual", float),
    ">": ("Greater", float),
    "in": ("In", _Members),
    "not in": ("NotIn", _Members),
    "between": ("Between", _Ends),
}
# A struct each, so that the decoder checks a value by its operator.
_STRUCTS = [
    msgspec.defstruct(
        title,
        [("value", type_of_value)],
        bases=(Predicate,),
        namespace={"op": op},
        module=__name__,
        kw_only=True,
        tag=op,
    )
    for op, (title, type_of_value) in _OPERATORS.items()
]
if TYPE_CHECKING:
    AnyPredicate = Predicate
else:
    AnyPredicate = reduce(or_, _STRUCTS)
Predicates = Annotated[tuple[AnyPredicate, ...], Meta(min_length=1, max_length=MAX_PREDICATES)]


class Conjunction(Struct, frozen=True, forbid_unknown_fields=True):
    all: Predicates


class BooleanSubscription(Struct, frozen=True, forbid_unknown_fields=True):
    """Matches an event when all predicates hold, of one alternative if there are several.

    The score is the sum over the predicates of weight times the event's weight of the attribute;
    of several alternatives the best counts.  Exactly one of the two fields is there.
    """

    all: Predicates | UnsetType = UNSET
    any: Annotated[tuple[Conjunction, ...], Meta(min_length=1)] | UnsetType = UNSET


Expression = tuple[tuple[Predicate, ...], ...]
"""Alternatives, each a conjunction of predicates."""


class BooleanColumns(NamedTuple):
    expressions: np.ndarray  # object[n]  of `Expression`


class BooleanContract:
    """Parses subscriptions of one Boolean collection; without attributes any may be named."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        self._known = frozenset(attributes)
        self._decoder = msgspec.json.Decoder(BooleanSubscription)

    def parse(self, value: bytes) -> Expression:
        """The alternatives of one record, or `BadRecord`."""
        record = decode(self._decoder, value, EXPECTED)
        if (record.all is UNSET) == (record.any is UNSET):
            got = "neither" if record.all is UNSET else "both"
            raise BadRecord("value", f"got {got} of all and any, expected one of them")
        if record.any is UNSET:
            return (self._checked(record.all, "all"),)
        return tuple(
            self._checked(one.all, f"any[{place}].all") for place, one in enumerate(record.any)
        )

    def _checked(self, predicates: tuple[Predicate, ...], at: str) -> tuple[Predicate, ...]:
        """What the types alone do not say; an open end of `between` becomes infinite."""
        checked: list[Predicate] = []
        for predicate in predicates:  # a replay takes millions of turns: no call in most of them
            if self._known and predicate.attribute not in self._known:
                wanted = ", ".join(self.attributes)
                problem = f"got {predicate.attribute!r}, expected one of {wanted}"
                raise BadRecord(f"{at}[{len(checked)}].attr", problem)
            check = _CHECKS.get(predicate.op)
            try:
                checked.append(predicate if check is None else check(predicate))
            except ValueError as wrong:
                raise BadRecord(f"{at}[{len(checked)}].value", str(wrong)) from None
        return tuple(checked)

    def columns_at_once(self, values: Sequence[bytes]) -> None:
        return None

    def columns(self, rows: Sequence[Expression]) -> BooleanColumns:
        expressions = np.empty(len(rows), object)
        for place, row in enumerate(rows):  # at once, numpy would look into the tuples
            expressions[place] = row
        return BooleanColumns(expressions)

    def to_arrays(self, columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Lines of JSON: the names and strings of a shard are kept as they were given."""
        lines = msgspec.json.Encoder().encode_lines(columns[0].tolist())
        return {"expressions": np.frombuffer(lines, np.uint8)}

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> BooleanColumns:
        stored = _STORED.decode_lines(arrays["expressions"].data)
        # JSON has no infinity: an end that was open is open again.
        return self.columns(
            [tuple(self._checked(one, "all") for one in expression) for expression in stored]
        )


def _of_one_type(predicate: Predicate) -> Predicate:
    first = type(predicate.value[0])
    for member in predicate.value:
        if type(member) is not first:
            got = f"{predicate.value[0]!r} and {member!r}"
            raise ValueError(f"got {got}, expected numbers or strings, not both")
    return predicate


def _closed(predicate: Predicate) -> Predicate:
    low, high = predicate.value
    if low is not None and high is not None:
        if low > high:
            raise ValueError(f"got [{low:g}, {high:g}], expected low <= high")
        return predicate
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    return msgspec.structs.replace(predicate, value=ends)


_CHECKS = {"in": _of_one_type, "not in": _of_one_type, "between": _closed}
_STORED = msgspec.json.Decoder(tuple[Predicates, ...])
