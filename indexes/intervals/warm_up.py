"""Compiles, or loads from the cache, what a worker calls, so that its first frame is quick."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from indexes.intervals.live_matcher import LiveMatcher
from indexes.intervals.matchers import ExactMatcher
from indexes.intervals.relaxed import RelaxedMatcher
from indexes.intervals.sopt_r_tree import SOPTRTree

__all__ = ["warm_up_exact", "warm_up_live", "warm_up_relaxed"]

Matcher = ExactMatcher | LiveMatcher | RelaxedMatcher
Scores = Callable[[np.ndarray], np.ndarray]

_SCORE = 1.0


def warm_up_exact(attributes: Sequence[str]) -> None:
    """Exercise a matcher over so many attributes in every way that a shard does."""
    _exercise(ExactMatcher(attributes), _one_per_row)


def warm_up_live(attributes: Sequence[str]) -> None:
    matcher = LiveMatcher(attributes)
    _exercise(matcher, _one_per_row)
    matcher.rebase()
    _ask(LiveMatcher.from_arrays(attributes, matcher.to_arrays()))


def warm_up_relaxed(attributes: Sequence[str]) -> None:
    for patience in (0.0, math.inf):
        _exercise(RelaxedMatcher(attributes, patience=patience), _one_per_interval)


def _one_per_row(points: np.ndarray) -> np.ndarray:
    return np.full(len(points), _SCORE)


def _one_per_interval(points: np.ndarray) -> np.ndarray:
    return np.full_like(points, _SCORE)


def _exercise(matcher: Matcher, scores: Scores) -> None:
    # Points far apart make a walk cheaper than a scan; points in one place outgrow a bucket, so
    # that a subtree is rebuilt.
    ids, columns = np.arange(4096), len(matcher.attributes)
    points = np.tile(ids[:, np.newaxis], columns).astype(np.float64)
    crowd = np.full((1024, columns), 0.5)
    late = ids[:1024] + len(ids)
    matcher.insert_many(ids, points, points, scores(points))
    matcher.insert_many(late, crowd, crowd, scores(crowd))
    _ask(matcher)
    _renew(matcher.fork(), points, scores)
    matcher.delete_many(late)


def _renew(matcher: Matcher, points: np.ndarray, scores: Scores) -> None:
    """Give the matcher bases of its own, change it, and give it others."""
    matcher.rebase()
    ids = np.arange(len(points))
    matcher.delete_many(ids[:64])
    matcher.insert_many(ids[:64] + 10_000, points[:64], points[:64], scores(points[:64]))
    _ask(matcher)
    ends = points.T
    trees = [SOPTRTree.build(ids, end, end, _one_per_row(end)) for end in ends]
    matcher.replace_base(trees, 5000)
    _ask(matcher)


def _ask(matcher: Matcher) -> None:
    # As the bytes of a frame are: numba compiles apart what cannot be written to.
    events = np.array([[1.0] * len(matcher.attributes), [math.nan] * len(matcher.attributes)])
    events.flags.writeable = False
    for k in (1, 4096):
        matcher.top_k_many(events, k)
