"""What an l-node knows of its members' weights: the greatest sum, and bounds for each column."""

import numpy as np

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.row_words import COLUMN_MASK, PLACE_MASK, PLACE_SHIFT, place_of
from indexes.boolean.tree_groups import group_of, level_of, mark_of, path_of_card, spread_of
from indexes.boolean.tree_layout import CARD_LEVELS, GREATEST, GROUPS, LEAST, NOBODY, OTHERS
from indexes.kernels import NIL
from indexes.kernels.decorators import fused

ROOM_FOR_PARTS = MOST_PREDICATES + GROUPS + CARD_LEVELS


_GREATEST = float(np.finfo(np.float32).max)
_ROOM = 1.25


@fused
def rounded_up(number):
    """The next greater single; infinite beyond the greatest, where bounds leave nothing out."""
    if number > _GREATEST:
        return np.float32(np.inf)
    single = np.float32(number)
    if np.float64(single) < number:
        single = np.nextafter(single, np.float32(np.inf))
    return single


@fused
def _at_most(weight, scale):
    """A weight in parts, never too few."""
    return min(255, int(weight * scale) + 1) if weight > 0.0 else 0


@fused
def _at_least(weight, scale):
    """A weight in parts, never too many: short by more than rounding, and never `NOBODY`."""
    return max(0, int(weight * scale - 1e-6))


@fused
def _rescale(t, node, heaviest):
    """Express the bounds of weights, never too low or too high, in parts of a greater one."""
    ratio = max(np.float64(t.heaviest[node]), 0.0) / np.float64(heaviest) if heaviest > 0 else 0.0
    t.heaviest[node] = heaviest
    for group in range(GROUPS):
        t.caps[node, group] = _at_most(t.caps[node, group], ratio)
        if t.floors[node, group] != NOBODY:
            t.floors[node, group] = _at_least(t.floors[node, group], ratio)
    for level in range(CARD_LEVELS):
        greatest, least = t.cards[node, GREATEST + level], t.cards[node, LEAST + level]
        t.cards[node, GREATEST + level] = _at_most(greatest, ratio)
        if least != NOBODY:
            t.cards[node, LEAST + level] = _at_least(least, ratio)


@fused
def _spread_weights(r, row, path, factor, parts, groups, on_levels):
    """A row's weights by their places, groups and levels of the path; return how many others."""
    size, first, w, _ = place_of(r, row)
    on_levels[:] = 0.0
    for i in range(size):
        groups[group_of(factor, r.meta[first + i] & COLUMN_MASK)] = 0.0
    others = 0
    for i in range(size):
        meta, weight = r.meta[first + i], r.reals[w + i]
        parts[(meta >> PLACE_SHIFT) & PLACE_MASK] = weight
        level = level_of(path, meta & COLUMN_MASK)
        if level == NIL:
            groups[group_of(factor, meta & COLUMN_MASK)] += weight
            others += 1
        else:
            on_levels[level] += weight
    return others


@fused
def _bound_groups(t, r, node, row, path, factor, groups, scale):
    """Widen what the l-node knows of the groups in which a row has columns; return their marks."""
    size, first, _, _ = place_of(r, row)
    marks = np.int64(0)
    for i in range(size):
        column = r.meta[first + i] & COLUMN_MASK
        if level_of(path, column) == NIL:
            group = group_of(factor, column)
            cap, floor = _at_most(groups[group], scale), _at_least(groups[group], scale)
            t.caps[node, group] = max(t.caps[node, group], cap)
            t.floors[node, group] = min(t.floors[node, group], floor)
            marks |= mark_of(group)
    return marks


@fused
def weigh_member(t, r, node, at, row, parts):
    """A member's sum of weights and marks, and what it adds to the l-node's bounds."""
    groups = parts[MOST_PREDICATES : MOST_PREDICATES + GROUPS]
    on_levels = parts[MOST_PREDICATES + GROUPS : MOST_PREDICATES + GROUPS + CARD_LEVELS]
    path, factor = path_of_card(t, node), spread_of(t, node)
    others = _spread_weights(r, row, path, factor, parts, groups, on_levels)
    size, first, _, _ = place_of(r, row)
    total, heaviest = 0.0, 0.0
    for i in range(size):
        total += parts[i]
        heaviest = max(heaviest, groups[group_of(factor, r.meta[first + i] & COLUMN_MASK)])
    for level in range(CARD_LEVELS):
        heaviest = max(heaviest, on_levels[level])
    t.m_sum[at] = rounded_up(total)
    t.best[node] = max(t.best[node], t.m_sum[at])
    if heaviest > t.heaviest[node]:
        # With some room for the next: most of a filled l-node's members weigh about the same.
        room = min(_ROOM * np.float64(t.heaviest[node]), _GREATEST)
        _rescale(t, node, rounded_up(max(heaviest, room)))
    # In double precision without the compiler as well: floors must not be rounded up.
    scale = 255.0 / np.float64(t.heaviest[node]) if t.heaviest[node] > 0 else 0.0
    marks = _bound_groups(t, r, node, row, path, factor, groups, scale)
    t.m_beside[at] = np.uint32(marks)
    for level in range(CARD_LEVELS):
        least, greatest = _at_least(on_levels[level], scale), _at_most(on_levels[level], scale)
        t.cards[node, LEAST + level] = min(t.cards[node, LEAST + level], least)
        t.cards[node, GREATEST + level] = max(t.cards[node, GREATEST + level], greatest)
    t.cards[node, OTHERS] = max(t.cards[node, OTHERS], min(others, 255))
    t.oldest[node] = min(t.oldest[node], r.ids[row])
