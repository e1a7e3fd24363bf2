"""What the static interval indexes share: the public verbs over three hooks."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.hits import Hit, HitTable, hits_of
from indexes.intervals.scored_rows import ScoredRows, ranked

__all__ = ["BRANCHING", "ScoredArrays", "ScoredIndex"]

BRANCHING = 48  # the quickest from 16 to 64 at a million intervals; the seed's 50, in whole vectors


class ScoredArrays(NamedTuple):
    """All that an index is built from, in rank order: equal content gives equal bytes."""

    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    scores: np.ndarray  # f8[n]
    branching: np.ndarray  # i8[1]


class ScoredIndex(ABC):
    """Scored intervals, indexed once.  Answers are best first; ties go to the lower id."""

    _tree: Any  # a NamedTuple of arrays, `ids` among them

    @abstractmethod
    def __init__(self, rows: ScoredRows, branching: int) -> None:
        """`rows` are in rank order and the index's own."""
        self._visited = np.zeros(1, np.int64)

    @classmethod
    def build(
        cls,
        ids: ArrayLike,
        lows: ArrayLike,
        highs: ArrayLike,
        scores: ArrayLike,
        branching: int = BRANCHING,
    ) -> Self:
        """`branching` is taken by all, so that they are built alike; binary trees ignore it."""
        b = validation.as_count("branching", branching, least=2)
        return cls(ranked(ids, lows, highs, scores), b)

    def __len__(self) -> int:
        return len(self._tree.ids)

    def _columns(self) -> Iterable[np.ndarray]:
        """Every array that the index owns."""
        columns: Iterable[np.ndarray] = self._tree
        return columns

    @abstractmethod
    def _scan(self, value: float) -> Iterator[Hit]: ...

    @abstractmethod
    def _stab(self, values: np.ndarray, table: HitTable) -> None:
        """Fill every place of a table, the intervals around value i into row i."""

    @abstractmethod
    def _meet(self, low: float, high: float, table: HitTable) -> None:
        """Fill every place of a table of one row."""

    @property
    def nbytes(self) -> int:
        return self._visited.nbytes + sum(column.nbytes for column in self._columns())

    @property
    def visited(self) -> int:
        """How many entries all queries so far have looked at."""
        return int(self._visited[0])

    def scan(self, value: float) -> Iterator[Hit]:
        """Every interval around the value, best first, found as it is asked for."""
        return self._scan(float(validation.as_values("value", [value])[0]))

    def top_k(self, value: float, k: int) -> list[Hit]:
        return hits_of(self.top_k_many([value], min(validation.as_count("k", k), len(self))), 0)

    def top_k_many(self, values: ArrayLike, k: int) -> HitTable:
        """The k best intervals around each value, in one compiled call."""
        # Writable also where the caller's are not (bytes of a frame): one compiled form for all.
        points = np.require(validation.as_values("values", values), requirements="W")
        table = _unfilled(len(points), validation.as_count("k", k))
        self._stab(points, table)
        return table

    def top_k_between(self, low: float, high: float, k: int) -> list[Hit]:
        """The k best intervals that meet [low, high]; the ends may be infinite."""
        lows = validation.as_bound_array("low", [low])
        highs = validation.as_bound_array("high", [high])
        validation.require_ordered(lows, highs)
        table = _unfilled(1, min(validation.as_count("k", k), len(self)))
        self._meet(float(lows[0]), float(highs[0]), table)
        return hits_of(table, 0)


def _unfilled(queries: int, k: int) -> HitTable:
    """A table whose kernel also writes the places without a hit, while their line is at hand."""
    return HitTable(
        counts=np.empty(queries, np.int64),
        ids=np.empty((queries, k), np.int64),
        scores=np.empty((queries, k), np.float64),
    )
