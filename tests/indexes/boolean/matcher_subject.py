"""`BooleanMatcher`, as a subject of the matchers' contract."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from indexes.boolean import BooleanMatcher, Predicate
from tests.indexes.matcher_contract import Event, Subject, Subscription
from tests.oracles.boolean import Expressions

NAMES = ["age", "colour"]
COLOURS = ["red", "blue", "grün", ""]
numbers, texts = st.integers(0, 4).map(float), st.sampled_from(COLOURS)


@st.composite
def predicates(draw):
    name, weight = draw(st.sampled_from(NAMES)), draw(st.sampled_from([0.0, 0.5, 1.0, 2.0]))
    op = draw(st.sampled_from(["<", "<=", "=", "!=", ">=", ">", "in", "not in", "between"]))
    if op == "between":
        return Predicate(name, op, sorted([draw(numbers), draw(numbers)]), weight)
    of = draw(st.sampled_from([numbers, texts])) if op in ("=", "!=", "in", "not in") else numbers
    value = draw(st.lists(of, min_size=1, max_size=3)) if "in" in op else draw(of)
    return Predicate(name, op, value, weight)


expressions = st.lists(st.lists(predicates(), min_size=1, max_size=3), min_size=1, max_size=3)
weighted = st.tuples(numbers | texts, st.sampled_from([0.0, 1.0, 2.0]))


def named(batch: Sequence[Event]) -> Any:
    """A batch in columns, by the plainest way: every name and string as often as it is there."""
    names, strings, columns, values, weights, starts = [], [], [], [], [], [0]
    for event in batch:
        for name, (value, weight) in event.items():
            columns.append(len(names))
            names.append((name, isinstance(value, str)))
            if isinstance(value, str):
                strings.append((columns[-1], value))
                value = len(strings) - 1
            values.append(value)
            weights.append(weight)
        starts.append(len(columns))
    return SimpleNamespace(
        starts=np.array(starts, np.int64),
        values=np.array(values, np.float64),
        weights=np.array(weights, np.float64),
        columns=np.array(columns, np.int32),
        names=names,
        strings=strings,
    )


class Alternatives(Expressions):
    def insert(self, id: int, alternatives: Any) -> None:
        self.insert_any(id, alternatives)


class Boolean(Subject):
    name, has_bases = "BooleanMatcher", False
    subscriptions = st.tuples(expressions)
    events = st.dictionaries(st.sampled_from([*NAMES, "other"]), weighted)
    probes = (
        {},
        *({"age": (value, 1.0)} for value in (0.0, 1.0, 4.0, 9.0)),
        *({"colour": (text, 2.0), "age": (2.0, 0.5)} for text in COLOURS),
        {"age": ("red", 1.0), "colour": (3.0, 1.0), "other": (1.0, 1.0)},
    )
    sure_event: Mapping[str, Any] = {"age": (5.0, 1.0), "colour": ("red", 1.0)}

    def new(self) -> BooleanMatcher:
        return BooleanMatcher()

    def restored(self, arrays: Any) -> BooleanMatcher:
        return BooleanMatcher.from_arrays(arrays)

    def model(self) -> Alternatives:
        return Alternatives()

    def columns(self, subscriptions: Sequence[Subscription]) -> tuple[Any, ...]:
        return ([one[0] for one in subscriptions],)

    def forms(self, events: Sequence[Event]) -> list[Any]:
        return [named(events)]

    def sure(self, score: float) -> Subscription:
        return ([[Predicate("age", "<=", 9.0, score)]],)

    def crowd(self, count: int) -> list[Subscription]:
        rng = np.random.default_rng(count)
        ages, colours = rng.integers(0, 9, count), rng.integers(0, 4, count)
        return [
            (
                [
                    [
                        Predicate("age", "<=", float(ages[i]), 1 + i / count),
                        Predicate("colour", "!=", COLOURS[colours[i]], i % 50),
                    ],
                    [Predicate("age", "=", float(colours[i]), 2.0)],
                ],
            )
            for i in range(count)
        ]


BOOLEAN = Boolean()
