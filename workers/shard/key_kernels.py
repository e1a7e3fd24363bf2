"""Compiled parts of `KeyTable`: texts found by what they spell, rows by their offset.

Layout: a row has an offset and a text; texts lie one after the other in `arena`.  Both `by_text`
and `by_offset` are open-addressing tables of rows, as those of `indexes.id_map`.  A free row has
the offset -2 - the next free row.  The bytes of a text that is gone stay until the table is
written anew.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.id_map import ABSENT, find, link, unlink

# Fields of `Table.state`.
FREE_ROW, USED_ROWS, LIVE_ROWS = 0, 1, 2
USED_BYTES, LIVE_BYTES = 3, 4
SEED = 5
STATE_FIELDS = 6

MIXED_UP = -1  # in place of a count

_QUOTE, _BACKSLASH, _LEAST_PLAIN = 0x22, 0x5C, 0x20


class Table(NamedTuple):
    offsets: np.ndarray  # i8[rows]
    starts: np.ndarray  # i8[rows]  of the texts
    lengths: np.ndarray  # i4[rows]
    hashes: np.ndarray  # u4[rows]  of the texts
    arena: np.ndarray  # u1[...]
    by_text: np.ndarray  # i4[size]  rows, or ABSENT
    by_offset: np.ndarray  # i4[size]
    state: np.ndarray  # i8[STATE_FIELDS]


@njit(cache=True, nogil=True)
def is_plain(data):
    """Whether JSON spells these bytes of UTF-8 as they are."""
    escaped = 0
    for byte in data:
        escaped += byte < _LEAST_PLAIN or byte in (_QUOTE, _BACKSLASH)
    return escaped == 0


@njit(cache=True, nogil=True)
def quoted(lengths, data):
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
def find_texts(t, lengths, data, hashes, rows):
    """The hash of each text, and the row that spells it, or ABSENT."""
    start = 0
    for i in range(len(lengths)):
        mixed = _hash(t.state[SEED], data, start, lengths[i])
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
    row = t.state[FREE_ROW]
    if row != ABSENT:
        t.state[FREE_ROW] = -2 - t.offsets[row]
    else:
        row = t.state[USED_ROWS]
        t.state[USED_ROWS] += 1
    at = t.state[USED_BYTES]
    t.arena[at : at + length] = data[start : start + length]
    t.starts[row], t.lengths[row], t.hashes[row] = at, length, mixed
    t.state[USED_BYTES] += length
    t.state[LIVE_BYTES] += length
    t.state[LIVE_ROWS] += 1
    _link_text(t.by_text, t.hashes, row)
    return row


@njit(cache=True, nogil=True)
def put_texts(t, lengths, data, hashes, rows, offsets, gone):
    """Give texts offsets; the offsets that known ones had go to `gone`, return how many.

    MIXED_UP if a row is not that of its text: then rows are from before the table changed.
    """
    start, count = 0, 0
    for i in range(len(lengths)):
        row = np.int64(rows[i])
        if row == ABSENT:
            row = _new_row(t, hashes[i], data, start, lengths[i])
        elif not _spells(t, row, data, start, lengths[i]):
            return MIXED_UP
        else:
            gone[count] = t.offsets[row]
            count += 1
            unlink(t.by_offset, t.offsets, t.offsets[row])
        t.offsets[row] = offsets[i]
        link(t.by_offset, t.offsets, row)
        start += lengths[i]
    return count


@njit(cache=True, nogil=True)
def remove_rows(t, rows, gone):
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
        t.offsets[row] = -2 - t.state[FREE_ROW]
        t.state[FREE_ROW] = row
        t.state[LIVE_BYTES] -= t.lengths[row]
    t.state[LIVE_ROWS] -= count
    return count


# For a frame, which is answered sooner than the GIL may be had back; those below are for more.
@njit(cache=True)
def lengths_at(t, offsets, rows):
    """The row of each offset, and the length of its text; `KeyError` if one is not known."""
    lengths = np.empty(len(offsets), np.int32)
    for i in range(len(offsets)):
        rows[i] = find(t.by_offset, t.offsets, offsets[i])
        if rows[i] == ABSENT:
            raise KeyError("a subscription of the index has no key")
        lengths[i] = t.lengths[rows[i]]
    return lengths


@njit(cache=True)
def gather(t, rows, data):
    at = 0
    for row in rows:
        start, length = t.starts[row], t.lengths[row]
        data[at : at + length] = t.arena[start : start + length]
        at += length


@njit(cache=True, nogil=True)
def lengths_aside(t, offsets, rows):
    return lengths_at(t, offsets, rows)


@njit(cache=True, nogil=True)
def gather_aside(t, rows, data):
    gather(t, rows, data)
