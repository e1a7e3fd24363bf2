"""Predicates and conjunctions held against an event, exactly."""

import numpy as np
from numba import njit

from indexes.boolean.batches import BETWEEN, EQ, GE, GT, IN, LE, LT, NE
from indexes.boolean.narrow import NARROW, unpacked
from indexes.boolean.row_words import COLUMN_MASK, KIND_SHIFT, PLACE_MASK, PLACE_SHIFT, place_of
from indexes.kernels.decorators import bare, fused


@fused
def in_list(lists, start, value):
    low, high = start + 1, start + 1 + int(lists[start])
    while low < high:
        middle = (low + high) // 2
        if lists[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low <= start + int(lists[start]) and lists[low] == value


@fused
def holds(kind, operands, o, lists, value):
    """Whether one predicate holds; never for NaN, which stands for what an event lacks."""
    wanted = operands[o]
    if kind == EQ:
        return value == wanted
    if kind == NARROW:
        low, high = unpacked(wanted)
        return low <= value and value <= high
    if kind == BETWEEN:
        return wanted <= value and value <= operands[o + 1]
    if kind == LT:
        return value < wanted
    if kind == LE:
        return value <= wanted
    if kind == GT:
        return value > wanted
    if kind == GE:
        return value >= wanted
    if kind == NE:
        return value < wanted or value > wanted
    if kind == IN:
        return in_list(lists, int(wanted), value)
    return value == value and not in_list(lists, int(wanted), value)


@njit(cache=True)
def holds_one(kind, operands, lists, value):
    return holds(kind, operands, 0, lists, value)


@bare
def interval_of(kind, operands, o, lists):
    """The least closed interval with all values that a predicate admits (Table I)."""
    wanted = operands[o]
    if kind == EQ:
        return wanted, wanted
    if kind == NARROW:
        return unpacked(wanted)
    if kind == BETWEEN:
        return wanted, operands[o + 1]
    if kind in (LT, LE):
        return -np.inf, wanted
    if kind in (GT, GE):
        return wanted, np.inf
    if kind == IN:
        start = int(wanted)
        return lists[start + 1], lists[start + int(lists[start])]
    return -np.inf, np.inf


@fused
def evaluate(r, row, values, event_weights, parts):
    """The score of a conjunction, its terms added in the order given, or -1 if it fails."""
    size, p, w, o = place_of(r, row)
    for i in range(size):
        meta = r.meta[p + i]
        kind, column = meta >> KIND_SHIFT, meta & COLUMN_MASK
        if not holds(kind, r.reals, o, r.lists, values[column]):
            return -1.0
        o += 2 if kind == BETWEEN else 1
        parts[(meta >> PLACE_SHIFT) & PLACE_MASK] = r.reals[w + i] * event_weights[column]
    score = 0.0
    for i in range(size):
        score += parts[i]
    return score


@fused
def score_of(r, row, event_weights, parts):
    """What `evaluate` gives if all predicates hold."""
    size, p, w, _ = place_of(r, row)
    for i in range(size):
        meta = r.meta[p + i]
        place = (meta >> PLACE_SHIFT) & PLACE_MASK
        parts[place] = r.reals[w + i] * event_weights[meta & COLUMN_MASK]
    score = 0.0
    for i in range(size):
        score += parts[i]
    return score


@fused
def about_score_of(r, row, event_weights):
    """As `score_of` but for rounding, and quicker: the terms need not wait for each other."""
    size, p, w, _ = place_of(r, row)
    even, odd = 0.0, 0.0
    for i in range(0, size - 1, 2):
        even += r.reals[w + i] * event_weights[r.meta[p + i] & COLUMN_MASK]
        odd += r.reals[w + i + 1] * event_weights[r.meta[p + i + 1] & COLUMN_MASK]
    if size & 1:
        last = size - 1
        even += r.reals[w + last] * event_weights[r.meta[p + last] & COLUMN_MASK]
    return even + odd


@fused
def all_hold(r, row, values):
    size, p, _, o = place_of(r, row)
    for i in range(size):
        meta = r.meta[p + i]
        kind = meta >> KIND_SHIFT
        if not holds(kind, r.reals, o, r.lists, values[meta & COLUMN_MASK]):
            return False
        o += 2 if kind == BETWEEN else 1
    return True
