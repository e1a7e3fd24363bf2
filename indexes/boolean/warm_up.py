"""Compiles what a `BooleanMatcher` will need, so that nobody waits for it later."""

from typing import NamedTuple

import numpy as np

from indexes.boolean.matcher import BooleanMatcher
from indexes.boolean.predicates import Predicate

_ROWS = 200  # so many that leaves are split


class _Events(NamedTuple):
    starts: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    columns: np.ndarray
    names: list[tuple[str, bool]]
    strings: list[tuple[int, str]]


def warm_up() -> None:
    matcher = BooleanMatcher()
    ids = np.arange(_ROWS)
    expressions = [_expression(number) for number in range(_ROWS)]
    matcher.insert_many(ids, expressions)
    matcher.delete_many(ids[-2:])
    matcher.insert_many(ids[-2:], expressions[-2:])
    matcher = BooleanMatcher.from_arrays(matcher.to_arrays())
    values, places = np.array([3.0, 0.0]), np.array([0, 1], np.int32)
    for column in (values, places):
        column.setflags(write=False)  # as those of received frames are, which are compiled apart
    names = [("number", False), ("text", True)]
    events = _Events(np.array([0, 2]), values, values, places, names, [(1, "3")])
    matcher.top_k_many(events, 1)


def _expression(number: int) -> list[list[Predicate]]:
    text = Predicate("text", "in", [str(number % 7)])
    between = Predicate("number", "between", [number % 11, number % 11 + 5])
    return [[text, between], [Predicate("number", "<", number % 5)]]
