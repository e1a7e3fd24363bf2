"""A set of whole numbers below a bound, as a tree of 32-bit words.

Layout: bit i of level 0 is set for a member i; bit w of a level above is set where word w of
the level below is not zero; the last level is one word.  A million slots take 132 kB, so
the set stays in the processor's cache, and each operation touches a word or two a level.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.kernels.bits import highest_bit, lowest_bit

__all__ = [
    "SlotSet",
    "add_slot",
    "drop_slot",
    "first_slot",
    "last_slot_to",
    "new_slots",
    "slot_from",
]


class SlotSet(NamedTuple):
    words: np.ndarray  # u4[words]  the levels one behind the other, the lowest first
    levels: np.ndarray  # i8[height + 1]  where each level begins, and the end


def new_slots(bound: int) -> SlotSet:
    sizes = [max(-(-bound // 32), 1)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // 32))
    levels = np.cumsum([0, *sizes])
    return SlotSet(np.zeros(levels[-1], np.uint32), levels)


@njit(cache=True)
def add_slot(s, slot):
    for level in range(len(s.levels) - 1):
        at = s.levels[level] + (slot >> 5)
        word = np.int64(s.words[at])
        s.words[at] = word | (1 << (slot & 31))
        if word:
            return
        slot >>= 5


@njit(cache=True)
def drop_slot(s, slot):
    for level in range(len(s.levels) - 1):
        at = s.levels[level] + (slot >> 5)
        word = np.int64(s.words[at]) & ~(1 << (slot & 31))
        s.words[at] = word
        if word:
            return
        slot >>= 5


@njit(cache=True)
def first_slot(s):
    """The least member of a set that is not empty."""
    slot = 0
    for level in range(len(s.levels) - 2, -1, -1):
        slot = (slot << 5) + lowest_bit(np.int64(s.words[s.levels[level] + slot]))
    return slot


@njit(cache=True)
def slot_from(s, slot):
    """The least member that is not below `slot`; there must be one."""
    at = slot >> 5
    word = np.int64(s.words[at]) >> (slot & 31)
    if word:
        return slot + lowest_bit(word)
    level = 0
    while not word:
        level += 1
        after = at + 1
        at = after >> 5
        word = np.int64(s.words[s.levels[level] + at]) >> (after & 31)
    found = after + lowest_bit(word)
    for below in range(level - 1, -1, -1):
        found = (found << 5) + lowest_bit(np.int64(s.words[s.levels[below] + found]))
    return found


@njit(cache=True)
def last_slot_to(s, slot):
    """The greatest member that is not above `slot`; there must be one."""
    at = slot >> 5
    word = np.int64(s.words[at]) & ((2 << (slot & 31)) - 1)
    level = 0
    while not word:
        level += 1
        before = at
        at = before >> 5
        word = np.int64(s.words[s.levels[level] + at]) & ((1 << (before & 31)) - 1)
    found = (at << 5) + highest_bit(word)
    for below in range(level - 1, -1, -1):
        found = (found << 5) + highest_bit(np.int64(s.words[s.levels[below] + found]))
    return found
