"""Subscriptions by key, in columns: a million of them are stored without touching each.

A key has a row as long as its subscription lives; rows that were left are taken again.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["KeyedRanges", "Ranges"]

_COLUMNS = (("lives", np.int64), ("lows", np.float64), ("highs", np.float64), ("ks", np.int32))


class Ranges(NamedTuple):
    """Subscriptions in the order of their lives."""

    keys: list[bytes]
    lives: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    ks: np.ndarray  # i4[n]


class KeyedRanges:
    """
    >>> held = KeyedRanges()
    >>> held.add([b"u", b"v"], [7, 4], [0.0, 1.0], [2.0, 3.0], [5, 5])
    >>> held.remove([b"u", b"w"]).tolist()
    [0, -1]
    >>> held.by_life().keys
    [b'v']
    """

    def __init__(self, least_capacity: int = 1_024) -> None:
        self._row: dict[bytes, int] = {}
        self._keys: list[bytes] = []  # by row; b"" where it is free, so is a key without letters
        self._free: list[int] = []
        self.lives, self.lows, self.highs, self.ks = (
            np.empty(least_capacity, dtype) for _, dtype in _COLUMNS
        )

    def __len__(self) -> int:
        return len(self._row)

    @property
    def nbytes(self) -> int:
        """About: keys are objects of Python."""
        columns = (self.lives, self.lows, self.highs, self.ks)
        return sum(column.nbytes for column in columns) + 200 * len(self._row)

    def add(self, keys: Sequence[bytes], lives: Any, lows: Any, highs: Any, ks: Any) -> None:
        """Keys that are not there yet."""
        rows = list(self._rows_for(keys))
        self._reserve(len(self._keys))
        for column, values in zip(
            (self.lives, self.lows, self.highs, self.ks), (lives, lows, highs, ks), strict=True
        ):
            column[rows] = values
        self._row.update(zip(keys, rows, strict=True))

    def remove(self, keys: Sequence[bytes]) -> np.ndarray:
        """The rows that they had, -1 of those that are not there.

        What the columns have there stays until subscriptions are added.
        """
        rows = [self._row.pop(key, -1) for key in keys]
        for row in rows:
            if row >= 0:
                self._keys[row] = b""
                self._free.append(row)
        return np.array(rows, np.int64)

    def rows(self) -> np.ndarray:
        """Those in use, in the order in which their keys came."""
        return np.fromiter(self._row.values(), np.int64, len(self._row))

    def by_life(self, rows: np.ndarray | None = None) -> Ranges:
        """All subscriptions, or those of some rows."""
        chosen = self.rows() if rows is None else rows
        chosen = chosen[np.argsort(self.lives[chosen])]
        keys = [self._keys[row] for row in chosen.tolist()]
        return Ranges(
            keys, self.lives[chosen], self.lows[chosen], self.highs[chosen], self.ks[chosen]
        )

    def _rows_for(self, keys: Sequence[bytes]) -> Iterator[int]:
        for key in keys:
            if self._free:
                row = self._free.pop()
                self._keys[row] = key
            else:
                row = len(self._keys)
                self._keys.append(key)
            yield row

    def _reserve(self, rows: int) -> None:
        if rows > len(self.lives):
            room = max(rows, 2 * len(self.lives))
            for name, dtype in _COLUMNS:
                wider = np.empty(room, dtype)
                held = getattr(self, name)
                wider[: len(held)] = held
                setattr(self, name, wider)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        assert all(self._keys[row] == key for key, row in self._row.items())
        used = [*self._row.values(), *self._free]
        assert sorted(used) == list(range(len(self._keys)))
        assert len(self._keys) <= len(self.lives)
