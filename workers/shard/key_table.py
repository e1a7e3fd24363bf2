"""The ids of a shard's subscriptions: by key to find them, as JSON text to report them.

Inside the index a subscription is the offset of its latest record.  A key is known by its text,
which says the same, so only texts are kept.  There is no Python object a key: millions of those
would take most of the memory, and of the time that frames wait for.

Layout: a row has an offset and a text; texts lie one after the other in `arena`.  Both `by_text`
and `by_offset` are open-addressing tables of rows, as those of `indexes.id_map`.  Rows that are
free are used again (see `indexes.row_table`; the ids of these rows are the offsets).  The bytes of
a text that is gone stay until the table is written anew.
"""

import secrets
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numba import njit

from indexes.id_map import ABSENT, check_slots, empty_slots, find, link, unlink
from indexes.row_table import (
    LIVE,
    USED,
    check_rows,
    give_back_row,
    live_rows,
    new_state,
    take_row,
)
from topics.codecs.byte_strings import ByteStrings

# Fields of `_Table.state`, after those of `row_table`.
_USED_BYTES, _LIVE_BYTES, _SEED_FIELD = range(3, 6)

_MIXED_UP = -1  # in place of a count
_QUOTE, _BACKSLASH, _LEAST_PLAIN = 0x22, 0x5C, 0x20
_TEXT_BYTES = 16  # of a row that is not used yet
_MOST_AT_ONCE = 20_000  # texts that are looked up while other threads wait
# Of this process: ids that fall together in its tables cannot be found from outside.
_SEED = secrets.randbits(32)


class _Table(NamedTuple):
    offsets: np.ndarray  # i8[rows]
    starts: np.ndarray  # i8[rows]  of the texts
    lengths: np.ndarray  # i4[rows]
    hashes: np.ndarray  # u4[rows]  of the texts
    arena: np.ndarray  # u1[...]
    by_text: np.ndarray  # i4[size]  rows, or ABSENT
    by_offset: np.ndarray  # i4[size]
    state: np.ndarray  # i8[6]


class MixedUp(Exception):
    """A row is not that of the key it was found for: the table is not to be trusted any more."""


class KeyTable:
    """Never smaller than `least_rows`, so that a small one is not written anew all the time."""

    def __init__(self, least_rows: int = 1024) -> None:
        self._least_rows = least_rows
        self._table = _allocate(least_rows, _TEXT_BYTES * least_rows)

    def __len__(self) -> int:
        return int(self._table.state[LIVE])

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
        count = _remove_rows(self._table, rows, gone)
        used = int(self._table.state[USED])
        if count and len(self) < used // 2 and used > self._least_rows:
            self._rewrite(0, 0)
        return gone[:count]

    def texts(self, offsets: np.ndarray) -> ByteStrings:
        """The ids of these subscriptions as JSON strings, in two compiled calls.

        `KeyError` if the table does not know one of them.
        """
        rows = np.empty(len(offsets), np.int32)
        look_up = _lengths_at if len(offsets) <= _MOST_AT_ONCE else _lengths_aside
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
        t = self._table
        live = live_rows(t.offsets, t.state)
        check_rows(t.offsets, t.state)
        check_slots(t.by_offset, t.offsets, live)
        assert sorted(t.by_text[t.by_text != ABSENT].tolist()) == live.tolist()
        texts = ByteStrings(t.lengths[live], self._gathered(live, int(t.state[_LIVE_BYTES])))
        hashes, rows = self._find(texts)
        assert rows.tolist() == live.tolist()
        assert (hashes == t.hashes[live]).all()
        for text in texts.unpack():
            assert text is not None
            assert msgspec.json.encode(msgspec.json.decode(text)) == text
        assert t.state[_LIVE_BYTES] <= t.state[_USED_BYTES] <= len(t.arena)

    def _find(self, texts: ByteStrings) -> tuple[np.ndarray, np.ndarray]:
        hashes = np.empty(len(texts.lengths), np.uint32)
        rows = np.empty(len(texts.lengths), np.int32)
        _find_texts(self._table, *_writable(texts), hashes, rows)
        return hashes, rows

    def _put(self, texts: ByteStrings, offsets: np.ndarray) -> np.ndarray:
        hashes, rows = self._find(texts)
        new = rows == ABSENT
        if not self._has_room(int(new.sum()), int(texts.lengths[new].sum(dtype=np.int64))):
            self._rewrite(int(new.sum()), int(texts.lengths[new].sum(dtype=np.int64)))
            hashes, rows = self._find(texts)  # rows have other numbers now
        gone = np.empty(len(rows), np.int64)
        count = _put_texts(self._table, *_writable(texts), hashes, rows, offsets, gone)
        if count == _MIXED_UP:
            raise MixedUp("the row of a key belongs to another key")
        return gone[:count]

    def _has_room(self, rows: int, text_bytes: int) -> bool:
        t = self._table
        fits = len(self) + rows <= len(t.offsets)
        return fits and int(t.state[_USED_BYTES]) + text_bytes <= len(t.arena)

    def _rewrite(self, rows: int, text_bytes: int) -> None:
        """Write the table anew, with room for this and for half as much again as it holds."""
        old = self._table
        live = live_rows(old.offsets, old.state)
        kept, live_bytes = len(live), int(old.state[_LIVE_BYTES])
        t = _allocate(
            max(self._least_rows, rows + kept + kept // 2),
            max(_TEXT_BYTES * self._least_rows, text_bytes + live_bytes + live_bytes // 2),
        )
        data = self._gathered(live, live_bytes)
        _put_texts(
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
        copy = _gather if len(rows) <= _MOST_AT_ONCE else _gather_aside
        copy(self._table, rows, data)
        return data


def warm_up() -> None:
    """Compile also what only a large table needs."""
    table = _allocate(1, 1)
    _lengths_aside(table, np.empty(0, np.int64), np.empty(0, np.int32))
    _gather_aside(table, np.empty(0, np.int32), np.empty(0, np.uint8))


def spelled(keys: Sequence[bytes]) -> ByteStrings:
    """Keys as JSON strings."""
    lengths = np.fromiter(map(len, keys), np.int32, len(keys))
    data = np.frombuffer(b"".join(keys), np.uint8)
    if _is_plain(data):
        return ByteStrings(lengths + np.int32(2), _quoted(lengths, data))
    return ByteStrings.pack([msgspec.json.encode(key.decode()) for key in keys])


def _writable(texts: ByteStrings) -> ByteStrings:
    """Also where they are views of bytes: one compiled form for all."""
    return ByteStrings(*(np.require(array, requirements="W") for array in texts))


def _allocate(rows: int, text_bytes: int) -> _Table:
    state = new_state(further=3)
    state[_SEED_FIELD] = _SEED
    return _Table(
        offsets=np.empty(rows, np.int64),
        starts=np.empty(rows, np.int64),
        lengths=np.empty(rows, np.int32),
        hashes=np.empty(rows, np.uint32),
        arena=np.empty(text_bytes, np.uint8),
        by_text=empty_slots(rows),
        by_offset=empty_slots(rows),
        state=state,
    )


@njit(cache=True, nogil=True)
def _is_plain(data):
    """Whether JSON spells these bytes of UTF-8 as they are."""
    escaped = 0
    for byte in data:
        escaped += byte < _LEAST_PLAIN or byte in (_QUOTE, _BACKSLASH)
    return escaped == 0


@njit(cache=True, nogil=True)
def _quoted(lengths, data):
    """Each string between quotation marks."""
    texts = np.empty(len(data) + 2 * len(lengths), np.uint8)
    at, source = 0, 0
    for length in lengths:
        texts[at] = _QUOTE
        texts[at + 1 : at + 1 + length] = data[source : source + length]
        texts[at + 1 + length] = _QUOTE
        at += length + 2
        source += length
    return texts


@njit(cache=True, nogil=True)
def _hash(seed, data, start, length):
    """FNV-1a, then multiplied once more: slots are chosen by the upper bits.

    It begins with the table's seed: whoever does not know that cannot make up ids that fall
    together, each of which would be searched for through all others.
    """
    mixed = seed
    for i in range(start, start + length):
        mixed = ((mixed ^ np.int64(data[i])) * 0x01000193) & 0xFFFFFFFF
    return ((mixed ^ (mixed >> 15)) * 0x61C88647) & 0xFFFFFFFF


@njit(cache=True, nogil=True)
def _home(slots, mixed):
    return (np.int64(mixed) * len(slots)) >> 32


@njit(cache=True, nogil=True)
def _spells(t, row, data, start, length):
    if t.lengths[row] != length:
        return False
    own, i = t.starts[row], 0
    while i < length and t.arena[own + i] == data[start + i]:
        i += 1
    return i == length


@njit(cache=True, nogil=True)
def _find_texts(t, lengths, data, hashes, rows):
    """The hash of each text, and the row that spells it, or ABSENT."""
    start = 0
    for i in range(len(lengths)):
        mixed = _hash(t.state[_SEED_FIELD], data, start, lengths[i])
        slot = _home(t.by_text, mixed)
        row = t.by_text[slot]
        while row != ABSENT and not (
            t.hashes[row] == mixed and _spells(t, row, data, start, lengths[i])
        ):
            slot = slot + 1 if slot + 1 < len(t.by_text) else 0
            row = t.by_text[slot]
        hashes[i], rows[i] = mixed, row
        start += lengths[i]


@njit(cache=True, nogil=True)
def _link_text(slots, hashes, row):
    slot = _home(slots, hashes[row])
    while slots[slot] != ABSENT:
        slot = slot + 1 if slot + 1 < len(slots) else 0
    slots[slot] = row


@njit(cache=True, nogil=True)
def _unlink_text(slots, hashes, row):
    """Entries behind the hole move up, so there are no tombstones (see `indexes.id_map`)."""
    size = len(slots)
    hole = _home(slots, hashes[row])
    while slots[hole] != row:
        hole = hole + 1 if hole + 1 < size else 0
    slot = hole
    while True:
        slot = slot + 1 if slot + 1 < size else 0
        if slots[slot] == ABSENT:
            break
        if (slot - _home(slots, hashes[slots[slot]])) % size >= (slot - hole) % size:
            slots[hole] = slots[slot]
            hole = slot
    slots[hole] = ABSENT


@njit(cache=True, nogil=True)
def _new_row(t, mixed, data, start, length):
    row = take_row(t.offsets, t.state)
    at = t.state[_USED_BYTES]
    t.arena[at : at + length] = data[start : start + length]
    t.starts[row], t.lengths[row], t.hashes[row] = at, length, mixed
    t.state[_USED_BYTES] += length
    t.state[_LIVE_BYTES] += length
    _link_text(t.by_text, t.hashes, row)
    return row


@njit(cache=True, nogil=True)
def _put_texts(t, lengths, data, hashes, rows, offsets, gone):
    """Give texts offsets; the offsets that known ones had go to `gone`, return how many.

    _MIXED_UP if a row is not that of its text: then rows are from before the table changed.
    """
    start, count = 0, 0
    for i in range(len(lengths)):
        row = np.int64(rows[i])
        if row == ABSENT:
            row = _new_row(t, hashes[i], data, start, lengths[i])
        elif not _spells(t, row, data, start, lengths[i]):
            return _MIXED_UP
        else:
            gone[count] = t.offsets[row]
            count += 1
            unlink(t.by_offset, t.offsets, t.offsets[row])
        t.offsets[row] = offsets[i]
        link(t.by_offset, t.offsets, row)
        start += lengths[i]
    return count


@njit(cache=True, nogil=True)
def _remove_rows(t, rows, gone):
    """Free those that are not ABSENT; their offsets go to `gone`, return how many."""
    count = 0
    for i in range(len(rows)):
        row = np.int64(rows[i])
        if row == ABSENT:
            continue
        gone[count] = t.offsets[row]
        count += 1
        unlink(t.by_offset, t.offsets, t.offsets[row])
        _unlink_text(t.by_text, t.hashes, row)
        give_back_row(t.offsets, t.state, row)
        t.state[_LIVE_BYTES] -= t.lengths[row]
    return count


# For a frame, which is answered sooner than the GIL may be had back; those below are for more.
@njit(cache=True)
def _lengths_at(t, offsets, rows):
    """The row of each offset, and the length of its text; `KeyError` if one is not known."""
    lengths = np.empty(len(offsets), np.int32)
    for i in range(len(offsets)):
        rows[i] = find(t.by_offset, t.offsets, offsets[i])
        if rows[i] == ABSENT:
            raise KeyError("a subscription of the index has no key")
        lengths[i] = t.lengths[rows[i]]
    return lengths


@njit(cache=True)
def _gather(t, rows, data):
    at = 0
    for row in rows:
        start, length = t.starts[row], t.lengths[row]
        data[at : at + length] = t.arena[start : start + length]
        at += length


@njit(cache=True, nogil=True)
def _lengths_aside(t, offsets, rows):
    return _lengths_at(t, offsets, rows)


@njit(cache=True, nogil=True)
def _gather_aside(t, rows, data):
    _gather(t, rows, data)
