"""Hash map from int64 ids to whole numbers, stored as flat arrays.

Layout: `slots` is an open-addressing table of entry numbers, so a free slot costs four
bytes; an entry is a position in `keys`, which the table does not own.  Collisions go to
the next slot (linear probing).  A removal shifts the entries behind it back, so there are
no tombstones and lookups stay short whatever was deleted before.

An index that already has a column of ids uses `slots` over that column with `find`,
`link` and `unlink`; `IdMap` adds dense key and value columns of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from indexes.kernels.prefetch import prefetch
from indexes.validation import as_id, as_id_array, require_same_length

__all__ = [
    "ABSENT",
    "IdMap",
    "IdTable",
    "check_slots",
    "empty_slots",
    "find",
    "find_many",
    "link",
    "link_many",
    "unlink",
]

ABSENT = -1  # an empty slot; the answer for an id that is not there
_MULTIPLIER = 0x61C88647  # 2**32 minus the golden ratio; a product with 32 bits fits an int64
_AHEAD = 16  # slots that are prefetched before they are needed


class IdTable(NamedTuple):
    """What kernels take; entries [0, used) of `keys` and `values` are live, in any order."""

    slots: np.ndarray  # i4[size]  an entry, or ABSENT
    keys: np.ndarray  # i8[capacity]
    values: np.ndarray  # i8[capacity] or i4[capacity]
    used: np.ndarray  # i8[1]  boxed so that kernels can write it


class IdMap:
    """A map with bulk operations; values are >= 0.

    >>> rows = IdMap()
    >>> rows.put_many([40, 10], [0, 1])
    >>> rows.get_many([10, 11, 40]).tolist()
    [1, -1, 0]
    """

    def __init__(self, dtype: type[np.integer] = np.int64, spare: int = 8) -> None:
        """A table that grows gets at least so much room to spare."""
        self._table = _allocate(0, np.dtype(dtype))
        self._spare = spare

    def __len__(self) -> int:
        return int(self._table.used[0])

    def __contains__(self, id: int) -> bool:
        return bool(find(self._table.slots, self._table.keys, as_id(id)) != ABSENT)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._table)

    @property
    def table(self) -> IdTable:
        """The arrays for use inside kernels; growth replaces them, so ask anew after `put_many`."""
        return self._table

    def get(self, id: int) -> int:
        """The value of `id`, or -1."""
        return int(self.get_many([id])[0])

    def get_many(self, ids: ArrayLike | Sequence[int]) -> np.ndarray:
        """One value an id, -1 where it is absent; an id may be asked for twice."""
        wanted = as_id_array(ids, distinct=False)
        values = np.empty(len(wanted), self._table.values.dtype)
        _get_many(self._table, wanted, values)
        return values

    def put(self, id: int, value: int) -> None:
        self.put_many([id], [value])

    def put_many(self, ids: ArrayLike | Sequence[int], values: ArrayLike | Sequence[int]) -> None:
        """Set the value of each id, known or new."""
        keys = as_id_array(ids)
        new_values = as_id_array(values, name="values", distinct=False)
        require_same_length(ids=keys, values=new_values)
        most = np.iinfo(self._table.values.dtype).max
        if len(new_values) and new_values.max() > most:
            raise ValueError(f"values: got {new_values.max()} when at most {most} was expected")
        if len(self) + len(keys) > len(self._table.keys):
            self._table = _resized(self._table, len(self) + len(keys), self._spare)
        _put_many(self._table, keys, new_values)

    def remove(self, id: int) -> None:
        self.remove_many([id])

    def remove_many(self, ids: ArrayLike | Sequence[int]) -> None:
        """Forget the ids; one that is not there: `KeyError`, and none is forgotten."""
        keys = as_id_array(ids)
        unknown = keys[self.get_many(keys) == ABSENT]
        if len(unknown):
            raise KeyError(f"id {unknown[0]} is not in the map")
        _remove_many(self._table, keys)
        if 4 * len(self) < len(self._table.keys):
            self._table = _resized(self._table, len(self), self._spare)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        table, used = self._table, len(self)
        assert len(set(table.keys[:used].tolist())) == used
        assert (table.keys[:used] >= 0).all()
        assert (table.values[:used] >= 0).all()
        check_slots(table.slots, table.keys, np.arange(used))


def check_slots(slots: np.ndarray, keys: np.ndarray, entries: np.ndarray) -> None:
    """Raise `AssertionError` unless `slots` holds exactly `entries`, each within reach."""
    assert sorted(slots[slots != ABSENT].tolist()) == sorted(entries.tolist())
    assert len(entries) < len(slots), "linear probing needs a free slot to stop at"
    found = find_many(slots, keys, keys[entries])
    assert (found == entries).all()


def empty_slots(entries: int) -> np.ndarray:
    """A table with room for that many entries at a load of at most 0.8."""
    return np.full(entries * 5 // 4 + 4, ABSENT, np.int32)


def _allocate(entries: int, dtype: np.dtype) -> IdTable:
    return IdTable(
        slots=empty_slots(entries),
        keys=np.empty(entries, np.int64),
        values=np.empty(entries, dtype),
        used=np.zeros(1, np.int64),
    )


def _resized(table: IdTable, entries: int, spare: int) -> IdTable:
    """A copy with room for half as many entries again, so that growth stays rare."""
    used = int(table.used[0])
    copy = _allocate(entries + entries // 2 + spare, table.values.dtype)
    copy.keys[:used] = table.keys[:used]
    copy.values[:used] = table.values[:used]
    copy.used[0] = used
    link_many(copy.slots, copy.keys, np.arange(used))
    return copy


@njit(cache=True)
def _home(slots, id):
    # Fibonacci hashing spreads consecutive ids (Kafka offsets) evenly.  No step overflows
    # an int64, so the same code is right without the compiler.
    folded = (id ^ (id >> 32)) & 0xFFFFFFFF
    return (((folded * _MULTIPLIER) & 0xFFFFFFFF) * len(slots)) >> 32


@njit(cache=True)
def _slot_of(slots, keys, id):
    """The slot that holds `id`, or the free slot at which its search ends."""
    slot = _home(slots, id)
    while slots[slot] != ABSENT and keys[slots[slot]] != id:
        slot += 1
        if slot == len(slots):
            slot = 0
    return slot


@njit(cache=True)
def find(slots, keys, id):
    """The entry of `id`, or ABSENT."""
    return slots[_slot_of(slots, keys, id)]


@njit(cache=True, nogil=True)
def find_many(slots, keys, ids):
    entries = np.empty(len(ids), np.int32)
    for i in range(len(ids)):
        if i + _AHEAD < len(ids):
            prefetch(slots, _home(slots, ids[i + _AHEAD]))
        entries[i] = find(slots, keys, ids[i])
    return entries


@njit(cache=True)
def link(slots, keys, entry):
    """Add an entry whose key is set in `keys` and not in the table."""
    slots[_slot_of(slots, keys, keys[entry])] = entry


@njit(cache=True, nogil=True)
def link_many(slots, keys, entries):
    for i in range(len(entries)):
        if i + _AHEAD < len(entries):
            prefetch(slots, _home(slots, keys[entries[i + _AHEAD]]))
        link(slots, keys, entries[i])


@njit(cache=True)
def unlink(slots, keys, id):
    """Take a known id out; its key must still be in `keys`."""
    size = len(slots)
    hole = _slot_of(slots, keys, id)
    slot = hole
    while True:
        slot = slot + 1 if slot + 1 < size else 0
        if slots[slot] == ABSENT:
            break
        # An entry may fill the hole unless its home lies between the hole and itself.
        from_home = slot - _home(slots, keys[slots[slot]])
        from_hole = slot - hole
        if from_home % size >= from_hole % size:
            slots[hole] = slots[slot]
            hole = slot
    slots[hole] = ABSENT


@njit(cache=True, nogil=True)
def _get_many(table, ids, values):
    for i in range(len(ids)):
        entry = find(table.slots, table.keys, ids[i])
        values[i] = table.values[entry] if entry != ABSENT else ABSENT


@njit(cache=True, nogil=True)
def _put_many(table, ids, values):
    for i in range(len(ids)):
        slot = _slot_of(table.slots, table.keys, ids[i])
        if table.slots[slot] == ABSENT:
            entry = table.used[0]
            table.used[0] += 1
            table.keys[entry] = ids[i]
            table.slots[slot] = entry
        table.values[table.slots[slot]] = values[i]


@njit(cache=True, nogil=True)
def _remove_many(table, ids):
    """The last entry moves into the place of the removed one, so entries stay dense."""
    slots, keys = table.slots, table.keys
    for i in range(len(ids)):
        entry = find(slots, keys, ids[i])
        unlink(slots, keys, ids[i])
        table.used[0] -= 1
        last = table.used[0]
        if entry != last:
            slots[_slot_of(slots, keys, keys[last])] = entry
            keys[entry] = keys[last]
            table.values[entry] = table.values[last]
