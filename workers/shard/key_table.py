"""The ids of a shard's subscriptions: by key to find them, as JSON text to report them.

Inside the index a subscription is the offset of its latest record.  A key is known by its text,
which says the same, so only texts are kept.  There is no Python object a key: millions of those
would take most of the memory, and of the time that frames wait for.
"""

import secrets
from collections.abc import Sequence

import msgspec
import numpy as np

from indexes.id_map import ABSENT, check_slots, empty_slots
from topics.codecs.byte_strings import ByteStrings
from workers.shard.key_kernels import (
    FREE_ROW,
    LIVE_BYTES,
    LIVE_ROWS,
    MIXED_UP,
    SEED,
    STATE_FIELDS,
    USED_BYTES,
    USED_ROWS,
    Table,
    find_texts,
    gather,
    gather_aside,
    is_plain,
    lengths_aside,
    lengths_at,
    put_texts,
    quoted,
    remove_rows,
)

_TEXT_BYTES = 16  # of a row that is not used yet
_MOST_AT_ONCE = 20_000  # texts that are looked up while other threads wait
# Of this process: ids that fall together in its tables cannot be found from outside.
_SEED = secrets.randbits(32)


class MixedUp(Exception):
    """A row is not that of the key it was found for: the table is not to be trusted any more."""


class KeyTable:
    """Never smaller than `least_rows`, so that a small one is not written anew all the time."""

    def __init__(self, least_rows: int = 1024) -> None:
        self._least_rows = least_rows
        self._table = _allocate(least_rows, _TEXT_BYTES * least_rows)

    def __len__(self) -> int:
        return int(self._table.state[LIVE_ROWS])

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._table)

    def put_many(self, keys: Sequence[bytes], offsets: np.ndarray) -> np.ndarray:
        """Give each of these keys, known or new, an offset; those that known ones had.

        No key may be among them twice.
        """
        return self._put(spelled(keys), offsets)

    def remove_many(self, keys: Sequence[bytes]) -> np.ndarray:
        """Forget these keys; the offsets of those that were here."""
        _, rows = self._find(spelled(keys))
        gone = np.empty(len(rows), np.int64)
        count = remove_rows(self._table, rows, gone)
        used = int(self._table.state[USED_ROWS])
        if count and len(self) < used // 2 and used > self._least_rows:
            self._rewrite(0, 0)
        return gone[:count]

    def texts(self, offsets: np.ndarray) -> ByteStrings:
        """The ids of these subscriptions as JSON strings, in two compiled calls.

        `KeyError` if the table does not know one of them.
        """
        rows = np.empty(len(offsets), np.int32)
        look_up = lengths_at if len(offsets) <= _MOST_AT_ONCE else lengths_aside
        lengths = look_up(self._table, offsets, rows)
        return ByteStrings(lengths, self._gathered(rows, int(lengths.sum(dtype=np.int64))))

    @classmethod
    def of_texts(
        cls, offsets: np.ndarray, texts: ByteStrings, least_rows: int = 1024
    ) -> "KeyTable":
        """The table of these subscriptions, by ids as `texts` gives them.

        `ValueError` unless they fit each other, as compiled code would read beyond their ends, and
        unless each id is there once.
        """
        lengths, data = texts
        if (
            lengths.shape != offsets.shape
            or lengths.dtype != np.int32
            or lengths.min(initial=0) < 0
        ):
            raise ValueError(
                f"lengths: got {lengths.dtype}{lengths.shape}, expected int32{offsets.shape} >= 0"
            )
        if data.shape != (lengths.sum(dtype=np.int64),) or data.dtype != np.uint8:
            total = lengths.sum(dtype=np.int64)
            raise ValueError(f"texts: got {data.dtype}{data.shape}, expected uint8({total},)")
        table = cls(least_rows)
        table._put(texts, offsets)
        _, rows = table._find(texts)
        found = np.zeros(len(offsets), np.bool_)
        found[rows] = True
        if not found.all():  # one that is there twice has two rows, of which only one is found
            raise ValueError(f"texts: got an id twice, expected {len(offsets)} different ones")
        return table

    def check(self) -> None:
        """Raise `AssertionError` unless every invariant holds."""
        t, used = self._table, int(self._table.state[USED_ROWS])
        live = np.flatnonzero(t.offsets[:used] >= 0).astype(np.int32)
        assert len(live) == len(self)
        check_slots(t.by_offset, t.offsets, live)
        assert sorted(t.by_text[t.by_text != ABSENT].tolist()) == live.tolist()
        texts = ByteStrings(t.lengths[live], self._gathered(live, int(t.state[LIVE_BYTES])))
        hashes, rows = self._find(texts)
        assert rows.tolist() == live.tolist()
        assert (hashes == t.hashes[live]).all()
        for text in texts.unpack():
            assert text is not None
            assert msgspec.json.encode(msgspec.json.decode(text)) == text
        assert t.state[LIVE_BYTES] <= t.state[USED_BYTES] <= len(t.arena)

        # Every row ever used is live or chained from the first free one, exactly once.
        free, row = set(), int(t.state[FREE_ROW])
        while row != ABSENT:
            assert row not in free
            free.add(row)
            row = -2 - int(t.offsets[row])
        assert free == set(range(used)) - set(live.tolist())

    def _find(self, texts: ByteStrings) -> tuple[np.ndarray, np.ndarray]:
        hashes = np.empty(len(texts.lengths), np.uint32)
        rows = np.empty(len(texts.lengths), np.int32)
        find_texts(self._table, *_writable(texts), hashes, rows)
        return hashes, rows

    def _put(self, texts: ByteStrings, offsets: np.ndarray) -> np.ndarray:
        hashes, rows = self._find(texts)
        new = rows == ABSENT
        if not self._has_room(int(new.sum()), int(texts.lengths[new].sum(dtype=np.int64))):
            self._rewrite(int(new.sum()), int(texts.lengths[new].sum(dtype=np.int64)))
            hashes, rows = self._find(texts)  # rows have other numbers now
        gone = np.empty(len(rows), np.int64)
        count = put_texts(self._table, *_writable(texts), hashes, rows, offsets, gone)
        if count == MIXED_UP:
            raise MixedUp("the row of a key belongs to another key")
        return gone[:count]

    def _has_room(self, rows: int, text_bytes: int) -> bool:
        t = self._table
        fits = len(self) + rows <= len(t.offsets)
        return fits and int(t.state[USED_BYTES]) + text_bytes <= len(t.arena)

    def _rewrite(self, rows: int, text_bytes: int) -> None:
        """Write the table anew, with room for this and for half as much again as it holds."""
        old, used = self._table, int(self._table.state[USED_ROWS])
        live = np.flatnonzero(old.offsets[:used] >= 0)
        kept, live_bytes = len(live), int(old.state[LIVE_BYTES])
        t = _allocate(
            max(self._least_rows, rows + kept + kept // 2),
            max(_TEXT_BYTES * self._least_rows, text_bytes + live_bytes + live_bytes // 2),
        )
        data = self._gathered(live.astype(np.int32), live_bytes)
        put_texts(
            t,
            old.lengths[live],
            data,
            old.hashes[live],
            np.full(kept, ABSENT, np.int32),
            old.offsets[live],
            np.empty(0, np.int64),
        )
        self._table = t

    def _gathered(self, rows: np.ndarray, text_bytes: int) -> np.ndarray:
        data = np.empty(text_bytes, np.uint8)
        copy = gather if len(rows) <= _MOST_AT_ONCE else gather_aside
        copy(self._table, rows, data)
        return data


def warm_up() -> None:
    """Compile also what only a large table needs."""
    table = _allocate(1, 1)
    lengths_aside(table, np.empty(0, np.int64), np.empty(0, np.int32))
    gather_aside(table, np.empty(0, np.int32), np.empty(0, np.uint8))


def spelled(keys: Sequence[bytes]) -> ByteStrings:
    """ByteStrings as JSON strings."""
    lengths = np.fromiter(map(len, keys), np.int32, len(keys))
    data = np.frombuffer(b"".join(keys), np.uint8)
    if is_plain(data):
        return ByteStrings(lengths + np.int32(2), quoted(lengths, data))
    return ByteStrings.pack([msgspec.json.encode(key.decode()) for key in keys])


def _writable(texts: ByteStrings) -> ByteStrings:
    """Also where they are views of bytes: one compiled form for all."""
    return ByteStrings(*(np.require(array, requirements="W") for array in texts))


def _allocate(rows: int, text_bytes: int) -> Table:
    state = np.zeros(STATE_FIELDS, np.int64)
    state[FREE_ROW], state[SEED] = ABSENT, _SEED
    return Table(
        offsets=np.empty(rows, np.int64),
        starts=np.empty(rows, np.int64),
        lengths=np.empty(rows, np.int32),
        hashes=np.empty(rows, np.uint32),
        arena=np.empty(text_bytes, np.uint8),
        by_text=empty_slots(rows),
        by_offset=empty_slots(rows),
        state=state,
    )
