"""The different weights of each attribute, as long as they are few.

Where weights repeat, ties are common, and knowing the next lower weight in use ends them early.
Too many different weights are not kept: any lower float counts as in use then.  Weights that
went out of use may stay until everything is built anew, which costs time only.
"""

from typing import NamedTuple

import numpy as np

from indexes.intervals.relaxed_terms import WEIGHT
from indexes.intervals.scored_rows import distinct
from indexes.kernels.decorators import inner

_MOST = 64
_TOO_MANY = -1


class Levels(NamedTuple):
    weights: np.ndarray  # f8[d, most]  ascending
    counts: np.ndarray  # i8[d]  valid weights, or _TOO_MANY


@inner
def lower_weight(weights, count, weight):
    """The greatest weight below the given one that a row may have in an attribute, or 0."""
    if count == _TOO_MANY:
        return np.nextafter(weight, 0.0)
    lower = 0.0
    for i in range(count):
        if weights[i] < weight:
            lower = weights[i]
    return lower


class WeightLevels:
    def __init__(self, attributes: int, most: int = _MOST) -> None:
        self.levels = Levels(np.zeros((attributes, most)), np.zeros(attributes, np.int64))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.levels)

    def clear(self) -> None:
        self.levels.counts[:] = 0

    def add(self, terms: np.ndarray) -> None:
        weights, counts = self.levels
        for j, count in enumerate(counts.tolist()):
            if count == _TOO_MANY:
                continue
            new = terms[:, j, WEIGHT]
            known = distinct(np.concatenate((weights[j, :count], new[new > 0])))
            counts[j] = len(known) if len(known) <= weights.shape[1] else _TOO_MANY
            weights[j, : max(counts[j], 0)] = known[: max(counts[j], 0)]

    def check(self, terms: np.ndarray) -> None:
        for j, count in enumerate(self.levels.counts.tolist()):
            known = self.levels.weights[j, : max(count, 0)]
            assert (np.diff(known) > 0).all()
            used = terms[:, j, WEIGHT]
            assert count == _TOO_MANY or np.isin(used[used > 0], known).all()
