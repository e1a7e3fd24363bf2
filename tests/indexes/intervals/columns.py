"""What the index suites share: rows as columns, everything observable, and refusals."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest

from indexes.hits import Hit, HitTable
from tests.oracles import intervals as oracle

INF = oracle.INF
ID_ERRORS = (ValueError, KeyError)  # where the design leaves the choice open
SHRINKING = pytest.mark.timeout(900)  # a failing state machine is made small for minutes
PROBES = [-1e300, -5.0, -4.0, -2.5, -1.0, -0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 1e300]

Errors = type[Exception] | tuple[type[Exception], ...]


class Row(NamedTuple):
    id: int
    low: float
    high: float
    score: float


class Subject(NamedTuple):
    """One way of making an index of a class: the same contract holds for each."""

    cls: Any
    options: dict[str, int]

    def empty(self) -> Any:
        return self.cls(**self.options)

    def build(self, rows: Sequence[Row]) -> Any:
        return self.cls.build(*columns(rows), **self.options)

    def __str__(self) -> str:
        return self.cls.__name__ + "".join(f"-{value}" for value in self.options.values())


def columns(rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.array([row.id for row in rows], dtype=np.int64),
        np.array([row.low for row in rows], dtype=np.float64),
        np.array([row.high for row in rows], dtype=np.float64),
        np.array([row.score for row in rows], dtype=np.float64),
    )


def scanned(rows: Sequence[Row]) -> oracle.Intervals:
    intervals = oracle.Intervals()
    for row in rows:
        intervals.insert(*row)
    return intervals


def assert_same_answers(index: Any, expected: oracle.Intervals) -> None:
    """Every hit of every probe, one by one, in one batch and as one interval."""
    index.check()
    n = len(expected.live)
    assert len(index) == n
    for value in PROBES:
        assert list(index.scan(value)) == expected.scan(value), f"scan({value})"
    assert_table(index.top_k_many(PROBES, n + 1), [expected.scan(v) for v in PROBES], n + 1)
    assert index.top_k_between(-INF, INF, n) == expected.top_k_between(-INF, INF, n)


def assert_table(table: Any, expected: Sequence[Sequence[tuple[int, float]]], k: int) -> None:
    """Shape, dtypes, order and padding of a `HitTable` whose rows should be `expected`."""
    assert type(table) is HitTable
    assert (table.counts.dtype.str, table.counts.shape) == ("<i8", (len(expected),))
    assert (table.ids.dtype.str, table.ids.shape) == ("<i8", (len(expected), k))
    assert (table.scores.dtype.str, table.scores.shape) == ("<f8", (len(expected), k))
    for row, hits in enumerate(expected):
        count = table.counts[row]
        found = zip(
            table.ids[row, :count].tolist(), table.scores[row, :count].tolist(), strict=True
        )
        assert list(found) == list(hits), f"row {row}"
        assert (table.ids[row, count:] == -1).all(), f"row {row}: ids after the count"
        assert np.isnan(table.scores[row, count:]).all(), f"row {row}: scores after the count"


def assert_plain(hits: Sequence[Any]) -> None:
    """Hits leave the arrays as Python numbers, so that they print and serialise as such."""
    for hit in hits:
        assert (type(hit), type(hit.id), type(hit.score)) == (Hit, int, float)


def array_bytes(arrays: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    """Dtype, shape and bytes of each array; fails for anything that would need pickle."""
    if isinstance(arrays, np.ndarray):
        assert not arrays.dtype.hasobject
        return [(arrays.dtype.str, arrays.shape, arrays.tobytes())]
    assert isinstance(arrays, tuple), f"got {type(arrays)} when a tuple of arrays was expected"
    assert hasattr(arrays, "_fields")
    return [part for array in arrays for part in array_bytes(array)]


def fingerprint(index: Any) -> list[Any]:
    """All that a caller can see of an interval index."""
    answers = [list(index.scan(value)) for value in PROBES]
    everything = index.top_k_between(-INF, INF, len(index))
    return [len(index), index.nbytes, answers, everything, array_bytes(index.to_arrays())]


@contextmanager
def refused(index: Any, error: Errors, *named: object, see: Any = None) -> Iterator[None]:
    """The block raises `error` with each of `named` in its message, and changes nothing.

    `see` gives all that can be seen of the structure; `fingerprint` unless told.
    """
    see = see or fingerprint
    before = see(index)
    with pytest.raises(error) as caught:
        yield
    for value in named:
        assert str(value) in str(caught.value), f"{caught.value!r} does not name {value}"
    index.check()
    assert see(index) == before
