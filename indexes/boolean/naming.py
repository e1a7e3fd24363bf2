"""What names its attributes and strings, in the columns and codes of a vocabulary."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from indexes.boolean.batches import BETWEEN, IN, KIND_OF, MOST_COLUMNS, NOT_IN, Batch, BooleanArrays
from indexes.boolean.events import EncodedEvents
from indexes.boolean.predicates import Predicate
from indexes.boolean.vocabulary import UNKNOWN, Vocabulary

__all__ = [
    "Expressions", "NamedEvents", "Term", "compile_expressions", "count_unplaced", "encode_named",
    "fitting",
]  # fmt: skip

_NOTHING = (Predicate("", "=", 0.0), Predicate("", "=", 1.0))  # no record names such an attribute


class Term(Protocol):
    """A predicate known to be right: see `Predicate` for what that means."""

    @property
    def attribute(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def value(self) -> Any: ...
    @property
    def weight(self) -> float: ...


Expressions = Sequence[Sequence[Sequence[Term]]] | np.ndarray
"""Of each expression its alternatives, of each of them the terms; or an array of such objects."""


class NamedEvents(Protocol):
    """Event i has the entries starts[i] to starts[i + 1]; names and strings travel with them."""

    @property
    def starts(self) -> np.ndarray: ...  # i8[m + 1]
    @property
    def values(self) -> np.ndarray: ...  # f8[e]  a number, or the position of a string
    @property
    def weights(self) -> np.ndarray: ...  # f8[e]
    @property
    def columns(self) -> np.ndarray: ...  # i4[e]  a position in `names`
    @property
    def names(self) -> Sequence[tuple[str, bool]]: ...  # attribute, whether of strings
    @property
    def strings(self) -> Sequence[tuple[int, str]]: ...  # position in `names`, string


def fitting(expressions: Expressions, vocabulary: Vocabulary) -> tuple[Expressions, int]:
    """The expressions with conjunctions that match nothing in the place of those without columns.

    One column is kept for what these ask for.  Also returns how many have no columns.
    """
    terms = sum(len(conjunction) for expression in expressions for conjunction in expression)
    if len(vocabulary) + terms < MOST_COLUMNS:
        return expressions, 0
    new: set[tuple[str, bool]] = set()

    def fitted(conjunction: Sequence[Term]) -> Sequence[Term]:
        wanted = {(term.attribute, _is_text(term.value)) for term in conjunction}
        wanted = {one for one in wanted if vocabulary.new_columns([one])} - new
        if len(vocabulary) + len(new) + len(wanted) >= MOST_COLUMNS:
            return _NOTHING if wanted else conjunction
        new.update(wanted)
        return conjunction

    fitted_ones = [[fitted(conjunction) for conjunction in one] for one in expressions]
    return fitted_ones, sum(one is _NOTHING for made in fitted_ones for one in made)


def count_unplaced(arrays: BooleanArrays) -> int:
    """How many conjunctions were saved without their columns."""
    nameless = np.flatnonzero((arrays.name_lengths == 0) & ~arrays.texts)
    return int(np.isin(arrays.columns, nameless).sum()) // len(_NOTHING)


def _is_text(value: Any) -> bool:
    return type(value[0] if isinstance(value, tuple | list) else value) is str


def compile_expressions(
    expressions: Expressions, vocabulary: Vocabulary
) -> tuple[Batch, np.ndarray]:
    """All alternatives as columns, and how many each expression has.

    What they name is added to the vocabulary.
    """
    conjunctions = [conjunction for expression in expressions for conjunction in expression]
    alternatives = np.array([len(expression) for expression in expressions], np.int64)
    return _compile(conjunctions, vocabulary), alternatives


def _compile(conjunctions: Sequence[Sequence[Term]], vocabulary: Vocabulary) -> Batch:
    columns: list[int] = []
    kinds: list[int] = []
    weights: list[float] = []
    firsts: list[float] = []
    seconds: list[float] = []
    lists: list[float] = []
    for conjunction in conjunctions:
        for term in conjunction:
            kind, value = KIND_OF[term.op], term.value
            second = 0.0
            if kind == BETWEEN:
                column = vocabulary.column(term.attribute, False)
                value, second = value
            elif kind in (IN, NOT_IN):
                column = vocabulary.column(term.attribute, type(value[0]) is str)
                if type(value[0]) is str:
                    value = [float(vocabulary.code(column, string)) for string in value]
                members = sorted(set(value))
                value, second = len(lists), len(members)
                lists += members
            else:
                is_text = type(value) is str
                column = vocabulary.column(term.attribute, is_text)
                value = vocabulary.code(column, value) if is_text else value
            columns.append(column)
            kinds.append(kind)
            weights.append(term.weight)
            firsts.append(value)
            seconds.append(second)
    return Batch(
        np.array([len(conjunction) for conjunction in conjunctions], np.int64),
        np.array(columns, np.int32),
        np.array(kinds, np.uint8),
        np.array(weights, np.float64),
        np.array(firsts, np.float64),
        np.array(seconds, np.float64),
        np.array(lists, np.float64),
    )


def encode_named(events: NamedEvents, vocabulary: Vocabulary) -> EncodedEvents:
    """In the columns and codes of this vocabulary, without what it does not know."""
    known = [
        (vocabulary.texts if is_text else vocabulary.numbers).get(name, -1)
        for name, is_text in events.names
    ]
    codes = [
        float(vocabulary.codes[known[place]].get(string, UNKNOWN)) if known[place] >= 0 else UNKNOWN  # type: ignore[union-attr]
        for place, string in events.strings
    ]
    columns = np.array(known, np.int32)[events.columns] if known else events.columns
    values = events.values
    if codes:
        is_text = np.array([is_text for _, is_text in events.names])[events.columns]
        values = values.copy()
        values[is_text] = np.array(codes)[values[is_text].astype(np.int64)]
    kept = columns >= 0
    starts = np.append(0, np.cumsum(kept))[events.starts]
    return EncodedEvents(
        starts,
        columns[kept],
        values[kept],
        events.weights[kept],
        vocabulary.size,
        vocabulary.stamp,
    )
