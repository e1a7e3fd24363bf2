"""Tight compiled scans: the least that an answer costs without an index.

One pass over contiguous columns with a heap of the k best so far.  A row is first held against
the k-th best score, which few rows beat once the heap is full, and only then against the event.
The `blocked` forms make these tests for 64 rows at a time, without branches, so that the compiler
uses vectors.  Rows are in the order of their ids, so that ties go to the lower id.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

_BLOCK = 64  # the quickest from 8 to 256 at a million rows


class Columns(NamedTuple):
    lows: np.ndarray  # f8[d, n]
    highs: np.ndarray  # f8[d, n]
    weights: np.ndarray  # f8[d, n]  one a dimension, for relaxed matching
    scores: np.ndarray  # f8[n]  their sum


class Answers(NamedTuple):
    """Row i answers query i; -1 and nan where there are fewer than k."""

    ids: np.ndarray  # i8[m, k]
    scores: np.ndarray  # f8[m, k]


def new_answers(queries: int, k: int) -> Answers:
    return Answers(np.full((queries, k), -1), np.full((queries, k), np.nan))


@njit(cache=True)
def exact_scan(columns, queries, answers):
    for i in range(len(queries)):
        ids, scores, worst = answers.ids[i], answers.scores[i], -np.inf
        ids[:], scores[:] = -1, worst
        for row in range(len(columns.scores)):
            if columns.scores[row] > worst and _holds(columns, queries[i], row):
                worst = _replace_worst(ids, scores, row, columns.scores[row])
        _sort_best_first(ids, scores)


@njit(cache=True)
def exact_scan_blocked(columns, queries, answers):
    n, possible = len(columns.scores), np.empty(_BLOCK, np.bool_)
    for i in range(len(queries)):
        ids, scores, worst = answers.ids[i], answers.scores[i], -np.inf
        ids[:], scores[:] = -1, worst
        for start in range(0, n, _BLOCK):
            if start + _BLOCK <= n:
                if not _beat(columns.scores[start : start + _BLOCK], worst):
                    continue
                if not _hold(columns, queries[i], start, worst, possible):
                    continue
            for row in range(start, min(start + _BLOCK, n)):
                if columns.scores[row] > worst and _holds(columns, queries[i], row):
                    worst = _replace_worst(ids, scores, row, columns.scores[row])
        _sort_best_first(ids, scores)


@njit(cache=True)
def ranked_scan(columns, rows, queries, answers):
    """Exact matching over columns in rank order: stops at the k-th match.  Takes no updates."""
    k = answers.ids.shape[1]
    for i in range(len(queries)):
        ids, scores, found = answers.ids[i], answers.scores[i], 0
        ids[:], scores[:] = -1, np.nan
        for row in range(len(columns.scores)):
            if found == k:
                break
            if _holds(columns, queries[i], row):
                ids[found], scores[found] = rows[row], columns.scores[row]
                found += 1


@njit(cache=True)
def relaxed_scan(columns, queries, answers):
    """A row's score is at most the sum of its weights, so that is what is tested first."""
    for i in range(len(queries)):
        ids, scores, worst = answers.ids[i], answers.scores[i], 0.0
        ids[:], scores[:] = -1, worst  # no weight is 0: what does not match never gets in
        for row in range(len(columns.scores)):
            if columns.scores[row] > worst:
                score = _relaxed_score(columns, queries[i], row)
                if score > worst:
                    worst = _replace_worst(ids, scores, row, score)
        _sort_best_first(ids, scores)


@njit(cache=True)
def relaxed_scan_blocked(columns, queries, answers):
    n, sums = len(columns.scores), np.empty(_BLOCK)
    for i in range(len(queries)):
        ids, scores, worst = answers.ids[i], answers.scores[i], 0.0
        ids[:], scores[:] = -1, worst
        for start in range(0, n, _BLOCK):
            size = min(_BLOCK, n - start)
            if size == _BLOCK and not _beat(columns.scores[start : start + _BLOCK], worst):
                continue
            _relaxed_scores(columns, queries[i], start, sums[:size])
            if size == _BLOCK and not _beat(sums, worst):
                continue
            for j in range(size):
                if sums[j] > worst:
                    worst = _replace_worst(ids, scores, start + j, sums[j])
        _sort_best_first(ids, scores)


@njit(cache=True)
def _beat(scores, worst):
    """How many of a full block's scores are better."""
    better = 0
    for j in range(_BLOCK):
        better += scores[j] > worst
    return better


@njit(cache=True)
def _hold(columns, query, start, worst, possible):
    """How many of a full block's rows match and are better."""
    scores = columns.scores[start : start + _BLOCK]
    for j in range(_BLOCK):
        possible[j] = scores[j] > worst
    for d in range(len(query)):
        value = query[d]
        lows = columns.lows[d, start : start + _BLOCK]
        highs = columns.highs[d, start : start + _BLOCK]
        for j in range(_BLOCK):
            possible[j] &= (lows[j] <= value) & (value <= highs[j])
    found = 0
    for j in range(_BLOCK):
        found += possible[j]
    return found


@njit(inline="always")
def _holds(columns, query, row):
    for d in range(len(query)):
        if not (columns.lows[d, row] <= query[d] and query[d] <= columns.highs[d, row]):
            return False
    return True


@njit(inline="always")
def _relaxed_score(columns, query, row):
    score = 0.0
    for d in range(len(query)):
        if columns.lows[d, row] <= query[d] and query[d] <= columns.highs[d, row]:
            score += columns.weights[d, row]
    return score


@njit(cache=True)
def _relaxed_scores(columns, query, start, sums):
    stop = start + len(sums)
    sums[:] = 0.0
    for d in range(len(query)):
        value, weights = query[d], columns.weights[d, start:stop]
        lows, highs = columns.lows[d, start:stop], columns.highs[d, start:stop]
        for j in range(len(sums)):
            held = (lows[j] <= value) & (value <= highs[j])
            sums[j] += weights[j] if held else 0.0


@njit(cache=True)
def _replace_worst(ids, scores, row, score):
    """Put a row in place of the worst, which is first in the heap; return the new worst score."""
    at, k = 0, len(ids)
    while 2 * at + 1 < k:
        child, other = 2 * at + 1, 2 * at + 2
        if other < k and _worse(scores[other], ids[other], scores[child], ids[child]):
            child = other
        if not _worse(scores[child], ids[child], score, row):
            break
        ids[at], scores[at] = ids[child], scores[child]
        at = child
    ids[at], scores[at] = row, score
    return scores[0]


@njit(inline="always")
def _worse(score, row, other_score, other_row):
    return score < other_score or (score == other_score and row > other_row)


@njit(cache=True)
def _sort_best_first(ids, scores):
    for i in range(1, len(ids)):
        row, score, at = ids[i], scores[i], i
        while at > 0 and _worse(scores[at - 1], ids[at - 1], score, row):
            ids[at], scores[at] = ids[at - 1], scores[at - 1]
            at -= 1
        ids[at], scores[at] = row, score
    for i in range(len(ids)):
        if ids[i] < 0:
            scores[i] = np.nan
