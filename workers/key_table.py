"""The ids of a shard's subscriptions: by key to find them, as JSON text to report them.

Inside the index a subscription is the offset of its latest record.  Texts lie one after the other
in `arena`; a row says where.  Rows and texts are only ever appended; when more than half of them
belong to subscriptions that are gone, the table is written anew.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numba import njit

from indexes.id_map import IdMap
from topics.keys import Keys

_LEAST_ROWS = 1024
_TEXT_BYTES_GUESS = 16


class KeyTable:
    def __init__(self) -> None:
        self._offset_of: dict[bytes, int] = {}
        self._clear(_LEAST_ROWS, _LEAST_ROWS * _TEXT_BYTES_GUESS)

    def __len__(self) -> int:
        return len(self._offset_of)

    @property
    def nbytes(self) -> int:
        """Of the arrays; the dictionary of keys takes about as much again for each key."""
        return self._starts.nbytes + self._lengths.nbytes + self._arena.nbytes + self._row_of.nbytes

    def put_many(self, keys: Sequence[bytes], offsets: np.ndarray) -> None:
        """Add subscriptions whose keys are not here."""
        texts = [msgspec.json.encode(key.decode()) for key in keys]
        lengths = np.fromiter(map(len, texts), np.int32, len(texts))
        self._append(offsets, lengths, np.frombuffer(b"".join(texts), np.uint8))
        self._offset_of.update(zip(keys, offsets.tolist(), strict=True))

    def remove_many(self, keys: Sequence[bytes]) -> np.ndarray:
        """Forget these keys; the offsets of those that were here."""
        found = [self._offset_of.pop(key, None) for key in keys]
        offsets = np.array([offset for offset in found if offset is not None], np.int64)
        if len(offsets):
            self._row_of.remove_many(offsets)
            if len(self) < self._rows // 2 and self._rows > _LEAST_ROWS:
                self._rewrite()
        return offsets

    def texts(self, offsets: np.ndarray) -> Keys:
        """The ids of these subscriptions as JSON strings, all in one compiled call."""
        rows = self._row_of.get_many(offsets)
        lengths = self._lengths[rows]
        return Keys(lengths, _gather(self._arena, self._starts, rows, lengths))

    @classmethod
    def of_texts(cls, offsets: np.ndarray, texts: Keys) -> "KeyTable":
        """The table of these subscriptions, by ids as `texts` gives them."""
        table = cls()
        table._clear(max(_LEAST_ROWS, len(offsets)), max(1, len(texts.data)))
        table._append(offsets, texts.lengths, texts.data)
        keys = (_key_of(text) for text in texts.unpack() if text is not None)
        table._offset_of = dict(zip(keys, offsets.tolist(), strict=True))
        return table

    def check(self) -> None:
        """Raise `AssertionError` unless every invariant holds."""
        offsets = np.array(list(self._offset_of.values()), np.int64)
        assert len(self._row_of) == len(offsets) == len(set(offsets.tolist()))
        texts = self.texts(offsets).unpack()
        assert texts == [msgspec.json.encode(key.decode()) for key in self._offset_of]
        assert self._used == self._lengths[: self._rows].sum() <= len(self._arena)

    def _clear(self, rows: int, arena_bytes: int) -> None:
        self._row_of = IdMap()
        self._starts = np.empty(rows, np.int64)
        self._lengths = np.empty(rows, np.int32)
        self._arena = np.empty(arena_bytes, np.uint8)
        self._rows = self._used = 0

    def _append(self, offsets: np.ndarray, lengths: np.ndarray, data: np.ndarray) -> None:
        first, rows = self._rows, self._rows + len(lengths)
        start, used = self._used, self._used + len(data)
        self._starts = _with_room(self._starts, first, rows)
        self._lengths = _with_room(self._lengths, first, rows)
        self._arena = _with_room(self._arena, start, used)
        self._starts[first:rows] = start + np.cumsum(lengths, dtype=np.int64) - lengths
        self._lengths[first:rows] = lengths
        self._arena[start:used] = data
        self._row_of.put_many(offsets, np.arange(first, rows))
        self._rows, self._used = rows, used

    def _rewrite(self) -> None:
        offsets = np.array(list(self._offset_of.values()), np.int64)
        texts = self.texts(offsets)
        self._clear(max(_LEAST_ROWS, 2 * len(offsets)), max(1, 2 * len(texts.data)))
        self._append(offsets, texts.lengths, texts.data)


def _key_of(text: bytes) -> bytes:
    return text[1:-1] if b"\\" not in text else msgspec.json.decode(text, type=str).encode()


def _with_room(array: np.ndarray, used: int, wanted: int) -> np.ndarray:
    if wanted <= len(array):
        return array
    larger = np.empty(max(wanted, 2 * len(array)), array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(cache=True)
def _gather(arena, starts, rows, lengths):
    data = np.empty(lengths.sum(), np.uint8)
    at = 0
    for i in range(len(rows)):
        start = starts[rows[i]]
        for j in range(lengths[i]):
            data[at + j] = arena[start + j]
        at += lengths[i]
    return data
