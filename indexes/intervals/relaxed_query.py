"""Answering a batch of events of a relaxed matcher, each in the way that looks cheapest.

Subscriptions are first sifted, the heaviest first.  If many are left that could be among the
best when this has taken as long as it takes to merge short lists of the best of each attribute,
the lists are merged, and then longer ones, until they have cost a part of what sifting the rest
would; then the rest is sifted.

Every step is one compiled call for all events that need it (one an attribute to list rows).
"""

from typing import NamedTuple

import numpy as np

from indexes.hits import HitTable
from indexes.intervals.ir_layout import Rows
from indexes.intervals.relaxed_levels import Levels
from indexes.intervals.relaxed_merge import merge
from indexes.intervals.relaxed_sieve import PAGE, Coarse, scan
from indexes.intervals.row_cursor import BaseAndDelta, Lists, list_rows

# Rows that are sifted in the time that listing and merging one takes, measured.  Both take the
# longer, the more attributes an event has.
_SIFTED_PER_LISTED = 4000
_DEEPER = 4  # how much longer lists get when they were too short
_MOST_LISTED = 1 << 21  # rows in the lists of events that are answered together


class Searched(NamedTuple):
    """What a matcher answers from."""

    trees: list[BaseAndDelta]
    ranks: list[Rows]  # the ids, and the weights in the attribute, that rank its trees
    keys: Rows  # the ids and total weights
    terms: np.ndarray  # f8[rows, d, 3]
    levels: Levels
    coarse: Coarse


def answer(index: Searched, values: np.ndarray, patience: float, table: HitTable) -> int:
    """Fill the table, whose rows are empty; how many rows of lists and pages were read."""
    m, k = table.ids.shape
    rows, read = len(index.keys.ids), 0
    floors, left = np.zeros(m), np.full(m, rows)  # left: pages to sift, 0 = answered
    depth = min(k, rows + 1)
    if patience < np.inf:
        least = _pages_worth(depth) / patience if patience else np.inf
        # With one attribute the first list is the answer, so nothing else is ever cheaper.
        several = np.count_nonzero(~np.isnan(values), axis=1) > 1
        events = np.flatnonzero(several) if patience else np.arange(m)
        read += _scan(index, values, events, least, floors, left, table)
    while True:
        events = np.flatnonzero(left)
        chosen = events[_pages_worth(depth) <= patience * left[events]]
        if not len(chosen):
            break
        read += _merge(index, values, chosen, depth, floors, left, table)
        depth = min(_DEEPER * depth, rows + 1)
    if len(events):
        read += _scan(index, values, events, np.inf, floors, left, table)
    return read


def _pages_worth(depth: int) -> float:
    """How many pages are sifted in the time that lists of this depth take."""
    return depth * _SIFTED_PER_LISTED / PAGE


def _scan(
    index: Searched,
    values: np.ndarray,
    events: np.ndarray,
    least: float,
    floors: np.ndarray,
    left: np.ndarray,
    table: HitTable,
) -> int:
    coarse, terms, keys = index.coarse, index.terms, index.keys
    return int(scan(coarse, terms, keys, values, events, least, floors, left, table))


def _merge(
    index: Searched,
    values: np.ndarray,
    events: np.ndarray,
    depth: int,
    floors: np.ndarray,
    left: np.ndarray,
    table: HitTable,
) -> int:
    attributes, read = len(index.trees), 0
    together = max(1, _MOST_LISTED // (depth * attributes))
    for start in range(0, len(events), together):
        chosen = events[start : start + together]
        lists = Lists(
            np.empty((len(chosen), attributes, depth), np.int32),
            np.empty((len(chosen), attributes), np.int64),
        )
        for j, (trees, ranks) in enumerate(zip(index.trees, index.ranks, strict=True)):
            list_rows(trees, ranks, values, values, chosen, j, lists)
        terms, ids, levels = index.terms, index.keys.ids, index.levels
        read += int(merge(lists, terms, ids, values, chosen, levels, floors, left, table))
    return read
