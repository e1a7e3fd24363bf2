"""What an l-node knows of its members' weights: the greatest sum, and bounds for each column."""

import numpy as np

from indexes.boolean.batches import MOST_PREDICATES
from indexes.boolean.kernels import hot
from indexes.boolean.row_words import COLUMN_MASK, PLACE_MASK, PLACE_SHIFT, place_of
from indexes.boolean.tree_layout import CARD_LEVELS, FLOORS, GROUPS, OTHERS

ROOM_FOR_PARTS = MOST_PREDICATES + GROUPS + CARD_LEVELS


_GREATEST = float(np.finfo(np.float32).max)


@hot
def rounded_up(number):
    """The next greater single; infinite beyond the greatest, where bounds leave nothing out."""
    if number > _GREATEST:
        return np.float32(np.inf)
    single = np.float32(number)
    if np.float64(single) < number:
        single = np.nextafter(single, np.float32(np.inf))
    return single


@hot
def _rescale(t, node, heaviest):
    """Express the bounds of weights, never too low or too high, in parts of a greater one."""
    ratio = max(np.float64(t.heaviest[node]), 0.0) / np.float64(heaviest) if heaviest > 0 else 0.0
    for group in range(GROUPS):
        if t.caps[node, group] > 0:
            t.caps[node, group] = min(255, int(t.caps[node, group] * ratio) + 1)
    if t.heaviest[node] >= 0:
        for level in range(CARD_LEVELS):
            floor = t.cards[node, FLOORS + level]
            t.cards[node, FLOORS + level] = max(0, int(floor * ratio - 1e-6))
    t.heaviest[node] = heaviest


@hot
def _spread_weights(t, r, node, row, parts, groups, on_levels):
    """A row's weights by their places, groups and levels of the path; return how many others."""
    size, first, w, _ = place_of(r, row)
    on_levels[:] = 0.0
    for i in range(size):
        groups[r.meta[first + i] & (GROUPS - 1)] = 0.0
    others = size
    for i in range(size):
        meta, weight = r.meta[first + i], r.reals[w + i]
        parts[(meta >> PLACE_SHIFT) & PLACE_MASK] = weight
        groups[meta & (GROUPS - 1)] += weight
        for level in range(CARD_LEVELS):
            if t.paths[node, level] == np.int64(meta & COLUMN_MASK) + 1:
                on_levels[level] += weight
                others -= 1
    return others


@hot
def weigh_member(t, r, node, at, row, parts):
    """A member's sum of weights, and what it adds to the l-node's bounds."""
    groups = parts[MOST_PREDICATES : MOST_PREDICATES + GROUPS]
    on_levels = parts[MOST_PREDICATES + GROUPS : MOST_PREDICATES + GROUPS + CARD_LEVELS]
    others = _spread_weights(t, r, node, row, parts, groups, on_levels)
    size, first, _, _ = place_of(r, row)
    total, heaviest = 0.0, 0.0
    for i in range(size):
        total += parts[i]
        heaviest = max(heaviest, groups[r.meta[first + i] & (GROUPS - 1)])
    t.m_sum[at] = rounded_up(total)
    t.best[node] = max(t.best[node], t.m_sum[at])
    if heaviest > t.heaviest[node]:
        _rescale(t, node, rounded_up(heaviest))
    # In double precision without the compiler as well: floors must not be rounded up.
    scale = 255.0 / np.float64(t.heaviest[node]) if t.heaviest[node] > 0 else 0.0
    for i in range(size):
        group = r.meta[first + i] & (GROUPS - 1)
        if groups[group] * scale > t.caps[node, group]:
            t.caps[node, group] = min(255, int(groups[group] * scale) + 1)
    for level in range(CARD_LEVELS):
        # Short of the weight by more than rounding: what is left of a sum is never less than it is.
        floor = max(0, int(on_levels[level] * scale - 1e-6))
        t.cards[node, FLOORS + level] = min(t.cards[node, FLOORS + level], floor)
    t.cards[node, OTHERS] = max(t.cards[node, OTHERS], min(others, 255))
    t.oldest[node] = min(t.oldest[node], r.ids[row])
