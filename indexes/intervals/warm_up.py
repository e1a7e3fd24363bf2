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


def warm_up(kind: type[Matcher], attributes: Sequence[str]) -> None:
    """Exercise a kind of matcher over so many attributes in every way that a shard does."""
    if issubclass(kind, RelaxedMatcher):
        for patience in (0.0, math.inf):
            _exercise(RelaxedMatcher(attributes, patience=patience))
    else:
        _exercise(kind(attributes))
    if issubclass(kind, LiveMatcher):
        _renew(kind(attributes))


def _exercise(matcher: Matcher) -> None:
    # Points far apart make a walk cheaper than a scan; points in one place outgrow a bucket, so
    # that a subtree is rebuilt.
    ids, columns = np.arange(4096), len(matcher.attributes)
    points = np.tile(ids[:, np.newaxis], columns).astype(np.float64)
    crowd = np.full((1024, columns), 0.5)
    late = ids[:1024] + len(ids)
    if isinstance(matcher, RelaxedMatcher):
        matcher.insert_many(ids, points, points, np.ones_like(points))
        matcher.insert_many(late, crowd, crowd, np.ones_like(crowd))
    else:
        matcher.insert_many(ids, points, points, np.zeros(len(ids)))
        matcher.insert_many(late, crowd, crowd, np.zeros(len(late)))
        matcher.update_scores(ids[:2], [1.0, 2.0])
    _ask(matcher)
    matcher.delete_many(late)


def _renew(matcher: LiveMatcher) -> None:
    ids, points = np.arange(4096), np.arange(4096.0)[:, np.newaxis]
    matcher.insert_many(ids, points, points, np.zeros(len(ids)))
    twin = matcher.fork()
    twin.rebase()
    twin.delete_many(ids[:64])
    twin.insert_many(ids[:64] + len(ids), points[:64], points[:64], np.zeros(64))
    _ask(twin)
    twin.replace_base(SOPTRTree.build(ids, points[:, 0], points[:, 0], np.zeros(len(ids))), 4096)
    _ask(LiveMatcher.from_arrays(twin.attributes, twin.to_arrays()))


def _ask(matcher: Matcher) -> None:
    # As the bytes of a frame are: numba compiles apart what cannot be written to.
    events = np.array([[1.0] * len(matcher.attributes), [math.nan] * len(matcher.attributes)])
    events.flags.writeable = False
    for k in (1, 4096):
        matcher.top_k_many(events, k)
