"""What a top-k query answers: one `Hit`, or a `HitTable` for a batch of queries."""

from typing import NamedTuple

import numpy as np

__all__ = ["Hit", "HitTable", "empty_table", "hits_of"]


class Hit(NamedTuple):
    id: int
    score: float


class HitTable(NamedTuple):
    """Row i answers query i.  There are always k columns, also where fewer hits exist."""

    counts: np.ndarray  # i8[m]
    ids: np.ndarray  # i8[m, k]  valid up to counts[i], then -1
    scores: np.ndarray  # f8[m, k]  valid up to counts[i], then nan


def empty_table(queries: int, k: int) -> HitTable:
    """A table without hits, for a kernel to fill."""
    return HitTable(
        counts=np.zeros(queries, np.int64),
        ids=np.full((queries, k), -1, np.int64),
        scores=np.full((queries, k), np.nan, np.float64),
    )


def hits_of(table: HitTable, row: int) -> list[Hit]:
    """The hits of one query as plain Python numbers, best first."""
    count = int(table.counts[row])
    ids, scores = table.ids[row, :count].tolist(), table.scores[row, :count].tolist()
    return [Hit(id, score) for id, score in zip(ids, scores, strict=True)]
