"""Exact matching by intersection, as the paper has it, to compare `ExactMatcher` with.

Every attribute's iterator returns the intervals around the event's value in score order; a
subscription that all of them return is a match, and matches come out in score order
(Machanavajjhala et al., Scalable Ranked Publish/Subscribe, §1).  Iterators are read in lists that
get longer until they hold the k best.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from indexes import validation
from indexes.hits import HitTable, better, empty_table
from indexes.intervals.exact_boxes import encode_events
from indexes.intervals.matchers import ExactMatcher
from indexes.intervals.row_cursor import Lists, list_rows
from indexes.kernels.decorators import inner

__all__ = ["Intersected", "intersect_many"]

_DEEPER = 4  # how much longer lists get when they were too short
_MOST_LISTED = 1 << 21  # rows in the lists of events that are answered together


class Intersected(NamedTuple):
    table: HitTable
    read: int  # calls of the paper's getnext()


def intersect_many(
    matcher: ExactMatcher, events: Sequence[Mapping[str, float]] | np.ndarray, k: int
) -> Intersected:
    """The answers of `matcher.top_k_many`, found by intersection."""
    k = validation.as_count("k", k)
    wanted = encode_events(events, matcher._column)
    table = empty_table(len(wanted.lowers), k)
    if not len(matcher) or not k:
        return Intersected(table, 0)
    left, depth, read = np.arange(len(table.counts)), k, 0
    while len(left):
        together = max(1, _MOST_LISTED // (depth * len(matcher.attributes)))
        parts = [left[start : start + together] for start in range(0, len(left), together)]
        undecided = []
        for chosen in parts:
            lists = _listed(matcher, wanted.lowers, wanted.uppers, chosen, depth)
            read += int(lists.counts.sum())
            undecided.append(chosen[~_intersect(lists, matcher._rows.keys, chosen, table)])
        left = np.concatenate(undecided)
        depth = min(_DEEPER * depth, len(matcher) + 1)
    return Intersected(table, read)


def _listed(
    matcher: ExactMatcher, lowers: np.ndarray, uppers: np.ndarray, chosen: np.ndarray, depth: int
) -> Lists:
    shape = len(chosen), len(matcher.attributes)
    lists = Lists(np.empty((*shape, depth), np.int32), np.empty(shape, np.int64))
    for j in range(shape[1]):
        list_rows(matcher._trees.of(j), matcher._rows.keys, lowers, uppers, chosen, j, lists)
    return lists


@inner
def _goes_before(keys, row, other):
    return better(keys.scores[row], keys.ids[row], keys.scores[other], keys.ids[other])


@inner
def _common(lists, keys, i, heads):
    """Move every head to the next row that all lists have; whether they have one."""
    target, agreed, j = lists.rows[i, 0, heads[0]], 1, 0
    while agreed < len(heads):
        j = (j + 1) % len(heads)
        while heads[j] < lists.counts[i, j] and _goes_before(
            keys, lists.rows[i, j, heads[j]], target
        ):
            heads[j] += 1
        if heads[j] == lists.counts[i, j]:
            return False
        row = lists.rows[i, j, heads[j]]
        agreed = agreed + 1 if row == target else 1
        target = row
    return True


@njit(cache=True)
def _intersect(lists, keys, chosen, table):
    """Fill the rows of the chosen events; which of them had lists that were long enough."""
    final = np.zeros(len(chosen), np.bool_)
    k, depth = table.ids.shape[1], lists.rows.shape[2]
    heads = np.empty(lists.rows.shape[1], np.int64)
    for i in range(len(chosen)):
        heads[:] = 0
        event, found = chosen[i], 0
        while found < k and heads[0] < lists.counts[i, 0] and _common(lists, keys, i, heads):
            row = lists.rows[i, 0, heads[0]]
            table.ids[event, found], table.scores[event, found] = keys.ids[row], keys.scores[row]
            found += 1
            heads += 1
        table.counts[event] = found
        # A list that has ended, and is complete, has no further match for anybody.
        ended = (heads == lists.counts[i]) & (lists.counts[i] < depth)
        final[i] = found == k or ended.any()
    return final
