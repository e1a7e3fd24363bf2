"""A baseline that answers wrongly, or does less than the index, would make its ratio a lie."""

import numpy as np
import pytest

from benchmarks.baselines import (
    Ncls,
    NumbaScan,
    NumpyScan,
    RankedScan,
    SuperIntervals,
    columns_of,
)
from tests.oracles import intervals as oracle

ROWS = 200  # more than three blocks of a scan, and a part of one


def coarse(dimensions, seed=0):
    """Ends, weights and events on a coarse grid, so that ties and touching ends are common."""
    rng = np.random.default_rng(seed)
    lows = rng.integers(0, 8, (ROWS, dimensions)).astype(float)
    highs = lows + rng.integers(0, 4, lows.shape)
    weights = rng.integers(1, 4, lows.shape).astype(float)
    queries = rng.integers(-1, 13, (40, dimensions)) * 1.0
    queries[::4] += 0.5
    return lows, highs, weights, queries


def answered(answers):
    return [
        [(int(id), float(score)) for id, score in zip(ids, scores, strict=True) if id >= 0]
        for ids, scores in zip(answers.ids, answers.scores, strict=True)
    ]


def oracle_answers(lows, highs, scores, queries, k):
    intervals = oracle.Intervals()
    for id in range(ROWS):
        intervals.insert(id, lows[id, 0], highs[id, 0], scores[id, 0])
    return [intervals.top_k(value, k) for value in queries[:, 0]]


@pytest.mark.parametrize("k", [1, 5, ROWS + 1])
@pytest.mark.parametrize("baseline", [SuperIntervals, Ncls, RankedScan])
def test_one_dimension_is_answered_as_the_oracle_does(baseline, k):
    lows, highs, scores, queries = coarse(1)
    answers = baseline(columns_of(lows, highs, scores))(queries, k)
    assert answered(answers) == oracle_answers(lows, highs, scores, queries, k)


@pytest.mark.parametrize("k", [1, 5, ROWS + 1])
def test_the_numpy_scan_answers_as_the_oracle_does_where_scores_differ(k):
    """`argpartition` picks any of equal scores."""
    lows, highs, _, queries = coarse(1)
    scores = np.random.default_rng(1).permutation(ROWS).astype(float)[:, None]
    answers = NumpyScan(columns_of(lows, highs, scores))(queries, k)
    assert answered(answers) == oracle_answers(lows, highs, scores, queries, k)


@pytest.mark.parametrize("k", [1, 5, ROWS + 1])
@pytest.mark.parametrize("dimensions", [1, 3])
@pytest.mark.parametrize("blocked", [False, True], ids=["plain", "blocked"])
def test_exact_scans_answer_as_the_oracle_does(blocked, dimensions, k):
    lows, highs, weights, queries = coarse(dimensions)
    matches = oracle.ExactMatches()
    for id in range(ROWS):
        boxes = {str(j): (lows[id, j], highs[id, j]) for j in range(dimensions)}
        matches.insert(id, boxes, weights[id].sum())
    columns = columns_of(lows, highs, weights)
    events = [{str(j): value for j, value in enumerate(query)} for query in queries]
    wanted = [matches.top_k(event, k) for event in events]
    assert answered(NumbaScan(columns, "exact", blocked)(queries, k)) == wanted
    assert answered(RankedScan(columns)(queries, k)) == wanted


@pytest.mark.parametrize("k", [1, 5, ROWS + 1])
@pytest.mark.parametrize("dimensions", [1, 3])
@pytest.mark.parametrize("blocked", [False, True], ids=["plain", "blocked"])
def test_relaxed_scans_answer_as_the_oracle_does(blocked, dimensions, k):
    lows, highs, weights, queries = coarse(dimensions)
    names = [str(j) for j in range(dimensions)]
    matches = oracle.RelaxedMatches(names)
    for id in range(ROWS):
        boxes = {name: (lows[id, j], highs[id, j]) for j, name in enumerate(names)}
        matches.insert(id, boxes, dict(zip(names, weights[id], strict=True)))
    scan = NumbaScan(columns_of(lows, highs, weights), "relaxed", blocked)
    events = [{str(j): value for j, value in enumerate(query)} for query in queries]
    assert answered(scan(queries, k)) == [matches.top_k(event, k) for event in events]
