"""Heads of equal boxes found by their ends: open addressing, as in `indexes.id_map`.

`s` is a `Store`; its `box_slots` hold rows, and its `bits` are what is hashed and compared.
"""

import numpy as np
from numba import njit

from indexes.kernels import NIL
from indexes.kernels.decorators import inlined

__all__ = ["NEWER", "OLDER", "PLACE", "box_slot", "link_boxes", "unlink_box"]

OLDER, NEWER, PLACE = range(3)  # columns of `links`
_MULTIPLIER = 0x61C88647  # 2**32 minus the golden ratio; a product with 32 bits fits an int64
_LOW = 0xFFFFFFFF


@inlined
def _home(s, row):
    # No step overflows an int64, so the same code is right without the compiler.  Ends are often
    # small whole numbers, whose bits are all at the top: the shift brings them down.
    hashed = 0
    for j in range(s.bits.shape[1]):
        end = s.bits[row, j]
        folded = (end ^ (end >> 32)) & _LOW
        hashed = ((hashed ^ folded) * _MULTIPLIER) & _LOW
        hashed ^= hashed >> 15
    return (((hashed * _MULTIPLIER) & _LOW) * len(s.box_slots)) >> 32


@inlined
def _same_box(s, row, other):
    j, width = 0, s.bits.shape[1]
    while j < width and s.bits[row, j] == s.bits[other, j]:
        j += 1
    return j == width


@inlined
def box_slot(s, row):
    """The slot of the head of this row's equals, or the free slot at which the search ends."""
    slot = _home(s, row)
    while s.box_slots[slot] != NIL and not _same_box(s, row, np.int64(s.box_slots[slot])):
        slot += 1
        if slot == len(s.box_slots):
            slot = 0
    return slot


@njit(cache=True)
def link_boxes(s, rows):
    for i in range(len(rows)):
        if s.links[rows[i], NEWER] == NIL:
            s.box_slots[box_slot(s, rows[i])] = rows[i]


@inlined
def unlink_box(s, row):
    """As `indexes.id_map.unlink`: later entries shift back, so that there are no tombstones."""
    size = len(s.box_slots)
    hole = box_slot(s, row)
    slot = hole
    while True:
        slot = slot + 1 if slot + 1 < size else 0
        if s.box_slots[slot] == NIL:
            break
        from_home = slot - _home(s, np.int64(s.box_slots[slot]))
        from_hole = slot - hole
        if from_home % size >= from_hole % size:
            s.box_slots[hole] = s.box_slots[slot]
            hole = slot
    s.box_slots[hole] = NIL
