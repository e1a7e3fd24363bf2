"""Compiles, or loads from the cache, what a worker calls, so that its first frame is quick."""

import math
from collections.abc import Sequence

import numpy as np

from indexes.intervals.live_matcher import LiveMatcher
from indexes.intervals.matchers import ExactMatcher
from indexes.intervals.relaxed import RelaxedMatcher
from indexes.intervals.sopt_r_tree import SOPTRTree

__all__ = ["warm_up"]

Matcher = ExactMatcher | LiveMatcher | RelaxedMatcher

_SCORE = 1.0


def warm_up(kind: type[Matcher], attributes: Sequence[str]) -> None:
    """Exercise a kind of matcher over so many attributes in every way that a shard does."""
    if issubclass(kind, RelaxedMatcher):
        for patience in (0.0, math.inf):
            _exercise(RelaxedMatcher(attributes, patience=patience))
    else:
        _exercise(kind(attributes))


def _exercise(matcher: Matcher) -> None:
    # Points far apart make a walk cheaper than a scan; points in one place outgrow a bucket, so
    # that a subtree is rebuilt.
    ids, columns = np.arange(4096), len(matcher.attributes)
    points = np.tile(ids[:, np.newaxis], columns).astype(np.float64)
    crowd = np.full((1024, columns), 0.5)
    late = ids[:1024] + len(ids)
    _insert(matcher, ids, points)
    _insert(matcher, late, crowd)
    if not isinstance(matcher, RelaxedMatcher):
        matcher.update_scores(ids[:2], [1.0, 2.0])
    _ask(matcher)
    _renew(matcher.fork(), points)
    matcher.delete_many(late)


def _renew(matcher: Matcher, points: np.ndarray) -> None:
    """Give the matcher bases of its own, change it, and give it others."""
    matcher.rebase()
    ids = np.arange(len(points))
    matcher.delete_many(ids[:64])
    _insert(matcher, ids[:64] + 10_000, points[:64])
    _ask(matcher)
    scores = np.full(len(ids), _SCORE)
    trees = [
        SOPTRTree.build(ids, points[:, j], points[:, j], scores) for j in range(points.shape[1])
    ]
    matcher.replace_base(trees, 5000)
    _ask(matcher)
    if isinstance(matcher, LiveMatcher):
        _ask(LiveMatcher.from_arrays(matcher.attributes, matcher.to_arrays()))


def _insert(matcher: Matcher, ids: np.ndarray, points: np.ndarray) -> None:
    if isinstance(matcher, RelaxedMatcher):
        matcher.insert_many(ids, points, points, np.full_like(points, _SCORE))
    else:
        matcher.insert_many(ids, points, points, np.full(len(ids), _SCORE))


def _ask(matcher: Matcher) -> None:
    # As the bytes of a frame are: numba compiles apart what cannot be written to.
    events = np.array([[1.0] * len(matcher.attributes), [math.nan] * len(matcher.attributes)])
    events.flags.writeable = False
    for k in (1, 4096):
        matcher.top_k_many(events, k)
