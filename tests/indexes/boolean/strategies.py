"""Predicates and events over few attributes and tiny domains, so that all that can meet does."""

import math
from typing import Any

from hypothesis import strategies as st

from indexes.boolean import Predicate

ATTRIBUTES = ("a", "b", "c")
NUMBERS = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]
STRINGS = ["x", "y", "z"]

numbers = st.sampled_from(NUMBERS)
strings = st.sampled_from(STRINGS)
weights = st.sampled_from([0.0, 0.1, 0.25, 1.0, 3.0])
ends = st.one_of(numbers, st.sampled_from([-math.inf, math.inf]))


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    attribute, weight = draw(st.sampled_from(ATTRIBUTES)), draw(weights)
    op = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "in", "not in", "between"]))
    value: Any
    if op == "between":
        value = sorted([draw(ends), draw(ends)])
    elif op in ("in", "not in"):
        value = draw(st.lists(draw(st.sampled_from([numbers, strings])), min_size=1, max_size=3))
    elif op in ("=", "!="):
        value = draw(st.one_of(numbers, strings))
    else:
        value = draw(numbers)
    return Predicate(attribute, op, value, weight)


conjunctions = st.lists(predicates(), min_size=1, max_size=4)
alternatives = st.lists(conjunctions, min_size=1, max_size=3)
ids = st.integers(0, 30)
_values = st.one_of(numbers, strings, st.sampled_from([1.5, "unheard of"]))
_given = st.one_of(_values, st.tuples(_values, st.sampled_from([0.0, 0.3, 1.0, 2.0])))
events = st.dictionaries(st.sampled_from([*ATTRIBUTES, "nobody asks"]), _given)
