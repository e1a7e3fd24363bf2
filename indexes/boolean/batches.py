"""Conjunctions as columns: what `Predicate` objects are compiled to, and what an index is saved as.

A list operand is a run of `lists`: its first position and its length stand where the operands of
other predicates do.  Its values ascend, each once.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from indexes.boolean.predicates import OPERATORS, Predicate
from indexes.boolean.vocabulary import Vocabulary

__all__ = ["Batch", "BooleanArrays", "compile_batch"]

KIND_OF = {op: kind for kind, op in enumerate(OPERATORS)}
EQ, IN, BETWEEN, LT, LE, GT, GE, NE, NOT_IN = range(9)

MOST_COLUMNS = 1 << 18
MOST_PREDICATES = 1 << 10  # in one conjunction


class Batch(NamedTuple):
    """Conjunctions one after another, the predicates of each in the order given."""

    counts: np.ndarray  # i8[n]  predicates of each conjunction
    columns: np.ndarray  # i4[predicates]
    kinds: np.ndarray  # u1[predicates]  a position in OPERATORS
    weights: np.ndarray  # f8[predicates]
    firsts: np.ndarray  # f8[predicates]  the operand; a low end; the position of a list
    seconds: np.ndarray  # f8[predicates]  a high end; the length of a list; otherwise 0
    lists: np.ndarray  # f8[values]


class BooleanArrays(NamedTuple):
    """All subscriptions in the order of their ids: equal content gives equal bytes.

    A string is its position among the strings of its column.  Texts are UTF-8, one after another:
    numpy's own strings would all be as wide as the longest.
    """

    name_lengths: np.ndarray  # i4[columns]
    name_bytes: np.ndarray  # u1[...]  attributes by name, numbers before strings
    texts: np.ndarray  # b1[columns]  whether the column is of strings
    string_lengths: np.ndarray  # i4[strings]
    string_bytes: np.ndarray  # u1[...]  of the first column of strings, of the next, ...
    string_counts: np.ndarray  # i8[columns]
    ids: np.ndarray  # i8[n]  an id stands once for each of its alternatives
    counts: np.ndarray  # i8[n]
    columns: np.ndarray  # i4[predicates]
    kinds: np.ndarray  # u1[predicates]
    weights: np.ndarray  # f8[predicates]
    firsts: np.ndarray  # f8[predicates]
    seconds: np.ndarray  # f8[predicates]
    lists: np.ndarray  # f8[values]

    @property
    def batch(self) -> Batch:
        return Batch(*self[7:])


def compile_batch(conjunctions: Sequence[Sequence[Predicate]], vocabulary: Vocabulary) -> Batch:
    """Valid predicates as columns; what they name is added to the vocabulary."""
    predicates = [predicate for conjunction in conjunctions for predicate in conjunction]
    columns = np.empty(len(predicates), np.int32)
    kinds = np.empty(len(predicates), np.uint8)
    operands = np.zeros((2, len(predicates)))
    lists: list[float] = []
    for i, predicate in enumerate(predicates):
        kind, value = KIND_OF[predicate.op], predicate.value
        is_text = predicate.is_text
        column = columns[i] = vocabulary.column(predicate.attribute, is_text)
        kinds[i] = kind
        if kind == BETWEEN:
            operands[:, i] = value
        elif kind in (IN, NOT_IN):
            if is_text:
                value = [float(vocabulary.code(column, string)) for string in value]
            values = sorted(set(value))
            operands[:, i] = len(lists), len(values)
            lists += values
        else:
            operands[0, i] = vocabulary.code(column, value) if is_text else value
    return Batch(
        np.array([len(conjunction) for conjunction in conjunctions], np.int64),
        columns,
        kinds,
        np.array([predicate.weight for predicate in predicates], np.float64),
        operands[0],
        operands[1],
        np.array(lists, np.float64),
    )


def require_capacity(conjunctions: Sequence[Sequence[Predicate]], vocabulary: Vocabulary) -> None:
    """Refuse what the layout of a row cannot hold, before anything is changed."""
    longest = max((len(conjunction) for conjunction in conjunctions), default=0)
    if longest > MOST_PREDICATES:
        raise ValueError(f"predicates: got {longest} when at most {MOST_PREDICATES} were expected")
    require_columns(
        ((p.attribute, p.is_text) for conjunction in conjunctions for p in conjunction), vocabulary
    )


def require_columns(wanted: Iterable[tuple[str, bool]], vocabulary: Vocabulary) -> None:
    columns = len(vocabulary) + vocabulary.new_columns(wanted)
    if columns > MOST_COLUMNS:
        raise ValueError(f"attributes: got {columns} when at most {MOST_COLUMNS} were expected")
