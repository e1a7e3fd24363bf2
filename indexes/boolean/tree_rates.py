"""Bounds of scores by rates: what sums of weights say, beside what is known of single columns.

A score is the sum of w * e over the columns of a subscription: its weights times the event's.  For
any rate,

    sum of w * e  =  rate * sum of w  +  sum of w * (e - rate).

In the second sum a weight is at most the l-node's cap for the column, and at least its floor if a
member has the column: this bounds what columns add above the rate or take off below it, and from
it the score.  At rate 0 it is the caps that count, at the event's greatest weight the sum of
weights alone.  Every rate gives a bound.

Of an l-node it is known which columns all members have, those of its path.  Of the others the
dearest are assumed, and the least bound of several rates is a knapsack of the sum of weights,
filled with the columns the event values most.  The paper's bound (uscore, §VI) is the one at the
greatest weight.  A member bears marks of its columns: for it one rate is enough.
"""

from typing import NamedTuple

import numpy as np

from indexes.boolean.knapsacks import LANES, fill_knapsacks
from indexes.boolean.tree_groups import MARKS, group_of, level_of, mark_of, path_of_card, spread_of
from indexes.boolean.tree_layout import CARD_LEVELS, GREATEST, LEAST, NOBODY, OTHERS
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused

SLACK = 1.0 + 1e-9  # more than sums of rounded products can be off
_SINGLE_ERROR = 1.2e-7  # twice what rounding to single precision takes off, in parts of a number
_LEAST, _MOST = 1e-30, 1e30  # beyond these single precision does not tell apart what is tested
NORMAL = 1e-300  # ... and double precision not even with room for sums


class ScoreTest(NamedTuple):
    """What a member needs for a score: rate * its sum + what its marks add to that >= least.

    In parts of the l-node's `heaviest`.
    """

    gains: int  # marks that add something or take it off: `marks` and `gains` of the scratch
    rate: np.float32
    least: np.float32


@fused
def to_beat(scores):
    """The k-th best score, as bounds are held against it.

    Below the least normal numbers every product of weights is rounded by as much as it is: there
    only what has no weight at all is left out.
    """
    return scores[0] if scores[0] >= NORMAL else 0.0


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


@bare
def set_rates(s, columns):
    """Rates to choose from: 0, and weights of the event, evenly by their ranks.

    All in parts of the greatest weight, so that single precision tells them apart.
    """
    most = s.worth[s.by_worth[0]]
    most = most if most > 0.0 else 1.0
    for lane in range(LANES):
        s.rates[lane] = s.worth[s.by_worth[lane * columns // LANES]] / most if lane else 0.0
    for i in range(columns):
        column = s.by_worth[i]
        s.ranks[column], s.fixed[i] = i, 0.0
        for lane in range(LANES):
            s.above[i, lane] = max(s.worth[column] / most - s.rates[lane], 0.0)


@fused
def leaf_bound(t, node, s, columns, ones):
    """No member of the l-node scores more.  Nor can more columns count than one member has."""
    best = np.float64(t.best[node])
    if ones or not best < np.inf:
        return best
    unit, factor = np.float64(t.heaviest[node]) / 255.0, spread_of(t, node)
    most, floors, least = s.worth[s.by_worth[0]], 0.0, 0.0
    for i in range(columns):
        s.counted[i] = t.caps[node, group_of(factor, s.by_worth[i] - 1)]
    for level in range(CARD_LEVELS):
        column = t.paths[node, level]
        if column == 0:
            break
        floor, rank = np.float64(t.cards[node, LEAST + level]), s.ranks[column]
        floors += floor
        least += floor * s.worth[column]
        s.fixed[rank], s.counted[rank] = t.cards[node, GREATEST + level] - floor, 0.0
    least = least / most if most > 0.0 else 0.0
    rest = max(best / unit - floors, 0.0) if unit > 0.0 else 0.0
    for lane in range(LANES):
        s.filled[lane] = least + rest * s.rates[lane]
    others = np.int64(t.cards[node, OTHERS])
    lane = fill_knapsacks(s.counted, s.fixed, s.above, columns, others, s.filled)
    for level in range(CARD_LEVELS):
        s.fixed[s.ranks[t.paths[node, level]]] = 0.0  # `ranks` of no column is 0, as of the first
    bound = s.filled[lane] * (1.0 + _SINGLE_ERROR * (columns + 8)) + _LEAST
    return min(bound * unit, best * SLACK) * most


@fused
def no_test():
    return ScoreTest(0, np.float32(0.0), np.float32(-np.inf))


@fused
def _above_path(t, node, s, rate):
    """The most that the columns of its path add to scores above a rate, in parts of `heaviest`."""
    most = 0.0
    for level in range(CARD_LEVELS):
        column = t.paths[node, level]
        if column == 0:
            break
        over = s.worth[column] - rate
        most += over * t.cards[node, (GREATEST if over > 0.0 else LEAST) + level]
    return most


@fused
def _set_gains(t, node, s, columns, rate):
    """What members gain or lose by each mark that tells of the event's columns, in parts.

    Of columns in one group the dearest counts, as the group's bounds are of all their weights.
    Whoever bears the mark of two groups has either or both: of gains all count, of losses the less.
    Returns how many marks there are, and the sum of what they add and take off.
    """
    factor, path = spread_of(t, node), path_of_card(t, node)
    met, marked = np.int64(0), np.int64(0)
    count, size = 0, 0.0
    for i in range(columns):
        column = s.by_worth[i] - 1
        group = group_of(factor, column)
        cap, floor = t.caps[node, group], t.floors[node, group]
        if floor == NOBODY or met >> group & 1 or level_of(path, column) != NIL:
            continue
        met |= 1 << group
        over, mark = s.worth[column + 1] - rate, mark_of(group)
        gain = over * (cap if over > 0.0 else floor)
        size += abs(gain)
        if not marked & mark:
            marked |= mark
            s.places[group // 2] = count
            s.marks[count], s.gains[count] = mark, gain
            count += 1
        else:
            place = s.places[group // 2]
            before = s.gains[place]
            s.gains[place] = before + max(gain, 0.0) if before > 0.0 else max(before, gain)
    return count, size


@fused
def score_test(t, node, s, columns, score):
    """What a member of the l-node needs for a score, at a rate amid the event's weights."""
    unit = np.float64(t.heaviest[node]) / 255.0
    if not (t.best[node] < np.inf and unit > 0.0):
        return no_test()
    rate = s.worth[s.by_worth[columns // 3]]
    on_path, wanted, by_sum = _above_path(t, node, s, rate), score / unit, rate / unit
    gains, size = _set_gains(t, node, s, columns, rate)
    # In single precision sums are off by parts of all that was added to them or taken off.
    size += wanted + abs(on_path) + by_sum * np.float64(t.best[node])
    least = wanted - on_path - _SINGLE_ERROR * (MARKS + 8) * size
    if not _LEAST <= least <= _MOST or 0.0 < by_sum < _LEAST:
        return no_test()
    return ScoreTest(gains, np.float32(by_sum), np.float32(least))
