"""Bounds of scores by rates: what sums of weights say, beside what is known of single columns.

A score is the sum of w * e over the columns of a subscription: its weights times the event's.  For
any rate,

    sum of w * e  =  rate * sum of w  +  sum of w * (e - rate).

In the second sum a weight is at most the l-node's cap for the column, and on the path at least its
floor: this bounds what columns add above the rate, and from it the score.  At rate 0 it is the
caps that count, at the event's greatest weight the sum of weights alone.  Every rate gives a
bound, and the least of them is a knapsack of that sum, filled with the columns the event values
most.  The paper's bound (uscore, §VI) is the one at the greatest weight.
"""

from typing import NamedTuple

import numpy as np

from indexes.boolean.kernels import bare, hot
from indexes.boolean.knapsacks import LANES, fill_knapsacks
from indexes.boolean.tree_layout import (
    BESIDE,
    CARD_LEVELS,
    DEPTH,
    FLOORS,
    FOLDS,
    GROUPS,
    OTHERS,
)
from indexes.boolean.tree_weights import rounded_up

SLACK = 1.0 + 1e-9  # more than sums of rounded products can be off
_SINGLE_SLACK = 1.0 + 1e-6  # ... in single precision
_LEAST, _MOST = 1e-30, 1e30  # beyond these single precision does not tell apart what is tested


class ScoreTest(NamedTuple):
    """What a member needs for a score: rate * its sum + unit * gains by column >= least."""

    gains: int  # columns that add something above the rate: `folds` and `gains` of the scratch
    more: int  # the most that columns add which a member has no room to tell
    rate: np.float32
    unit: np.float32
    least: np.float32


@bare
def rank_columns(events, i, worth, by_worth):
    """An event's columns, each plus 1, by their weights, the greatest first; how many."""
    count = 0
    for at in range(events.starts[i], events.starts[i + 1]):
        column = np.int64(events.columns[at]) + 1
        place = count
        while place > 0 and worth[by_worth[place - 1]] < worth[column]:
            by_worth[place] = by_worth[place - 1]
            place -= 1
        by_worth[place] = column
        count += 1
    return count


@hot
def _rank_of(lane, columns):
    """Which of an event's weights, the greatest first, is the rate of a lane; lane 0 has none."""
    return lane * columns // LANES


@bare
def set_rates(s, columns):
    """Rates to choose from: 0, and weights of the event, evenly by their ranks."""
    for lane in range(LANES):
        s.rates[lane] = s.worth[s.by_worth[_rank_of(lane, columns)]] if lane else 0.0
    for i in range(columns):
        column = s.by_worth[i]
        s.ranks[column], s.fixed[i] = i, 0.0
        for lane in range(LANES):
            s.above[i, lane] = max(s.worth[column] - s.rates[lane], 0.0)


@hot
def leaf_bound(t, node, s, columns, ones):
    """No member of the l-node scores more.  Nor can more columns count than one member has."""
    best = np.float64(t.best[node])
    if ones or not best < np.inf:
        return best
    unit = np.float64(t.heaviest[node]) / 255.0
    for i in range(columns):
        s.counted[i] = np.float64(t.caps[node, (s.by_worth[i] - 1) & (GROUPS - 1)])
    floors, least = 0.0, 0.0
    for level in range(CARD_LEVELS):
        column = t.paths[node, level]
        if column == 0:
            break
        floor, rank = np.float64(t.cards[node, FLOORS + level]), s.ranks[column]
        floors += floor
        least += floor * s.worth[column]
        s.fixed[rank], s.counted[rank] = max(s.counted[rank] - floor, 0.0), 0.0
    rest = max(best / unit - floors, 0.0) if unit > 0.0 else 0.0
    for lane in range(LANES):
        s.filled[lane] = least + rest * s.rates[lane]
    others = np.int64(t.cards[node, OTHERS])
    lane = fill_knapsacks(s.counted, s.fixed, s.above, columns, others, s.filled)
    for level in range(CARD_LEVELS):
        s.fixed[s.ranks[t.paths[node, level]]] = 0.0  # without a column that of the first
    return min(s.filled[lane] * unit, best * s.worth[s.by_worth[0]]) * SLACK


@hot
def no_test():
    zero = np.float32(0.0)
    return ScoreTest(0, 0, zero, zero, np.float32(-np.inf))


@hot
def _above_path(t, node, s, rate):
    """The most that the columns of its path add to scores above a rate, in parts of `heaviest`."""
    most = 0.0
    for level in range(CARD_LEVELS):
        column = t.paths[node, level]
        if column == 0:
            break
        floor = np.float64(t.cards[node, FLOORS + level])
        cap = np.float64(t.caps[node, (column - 1) & (GROUPS - 1)])
        over = s.worth[column] - rate
        most += max(cap, floor) * over if over > 0.0 else floor * over
    return most


@hot
def _set_gains(t, node, s, lane, dearer):
    """What members gain by each of the event's dearest columns, in 255ths of the most; how many."""
    span, count = s.above[0, lane], 0
    for i in range(dearer - 1, -1, -1):  # of columns with the same fold the dearest comes last
        column = s.by_worth[i] - 1
        cap, over = np.float64(t.caps[node, column & (GROUPS - 1)]), s.above[i, lane]
        if cap > 0.0 and over > 0.0:
            s.folds[count] = column & (FOLDS - 1)
            s.gains[count] = min(255, int(cap * (over / span)) + 1)
            count += 1
    return count


@hot
def _keep_greatest(greatest, kept, most, value):
    """Put a value among the greatest, in order, of which there are at most so many."""
    if kept < most:
        kept += 1
    elif value <= greatest[most - 1]:
        return kept
    at = kept - 1
    while at > 0 and greatest[at - 1] < value:
        greatest[at] = greatest[at - 1]
        at -= 1
    greatest[at] = value
    return kept


@hot
def _most_gained(s, count, columns):
    """The sum of the greatest gains, of so many columns; of all, if these are many."""
    total, kept = np.int64(0), 0
    if columns > len(s.greatest):
        for i in range(count):
            total += np.int64(s.gains[i])
        return total
    for i in range(count):
        kept = _keep_greatest(s.greatest, kept, columns, np.int64(s.gains[i]))
    for i in range(kept):
        total += s.greatest[i]
    return total


@hot
def score_test(t, node, s, columns, score):
    """What a member of the l-node needs for a score, at a rate amid the event's weights."""
    if t.c[node, DEPTH] > CARD_LEVELS or not t.best[node] < np.inf:
        return no_test()
    lane = LANES // 2
    rate, unit = s.rates[lane], np.float64(t.heaviest[node]) * (SLACK / 255.0)
    least = score - _above_path(t, node, s, rate) * unit
    if not _LEAST <= least <= _MOST:
        return no_test()
    gains = _set_gains(t, node, s, lane, _rank_of(lane, columns))
    untold = np.int64(t.cards[node, OTHERS]) - (BESIDE - 1)
    more = _most_gained(s, gains, untold) if untold > 1 else 0
    unit *= s.above[0, lane]
    return ScoreTest(
        gains,
        more,
        rounded_up(rate * _SINGLE_SLACK),
        rounded_up(unit * _SINGLE_SLACK),
        np.float32(least),
    )
