"""The index that answers for each kind of collection, empty or restored."""

from collections.abc import Mapping, Sequence

import numpy as np

from indexes.boolean import BooleanArrays, BooleanMatcher
from indexes.intervals import (
    ExactMatcher,
    LiveArrays,
    LiveMatcher,
    MatcherArrays,
    RelaxedArrays,
    RelaxedMatcher,
)

__all__ = ["AnyIndex", "index_from", "new_index"]

AnyIndex = BooleanMatcher | ExactMatcher | LiveMatcher | RelaxedMatcher


def new_index(kind: str, attributes: Sequence[str]) -> AnyIndex:
    if kind == "boolean":
        return BooleanMatcher()
    if kind == "relaxed":
        return RelaxedMatcher(attributes)
    return LiveMatcher(attributes) if len(attributes) == 1 else ExactMatcher(attributes)


def index_from(kind: str, attributes: Sequence[str], arrays: Mapping[str, np.ndarray]) -> AnyIndex:
    """The index whose `to_arrays()` these are, without the names of the attributes."""
    if kind == "boolean":
        return BooleanMatcher.from_arrays(BooleanArrays(**arrays))
    if kind == "relaxed":
        return RelaxedMatcher.from_arrays(RelaxedArrays(np.array(attributes), **arrays))
    if len(attributes) == 1:
        return LiveMatcher.from_arrays(attributes, LiveArrays(**arrays))
    return ExactMatcher.from_arrays(MatcherArrays(np.array(attributes), **arrays))
