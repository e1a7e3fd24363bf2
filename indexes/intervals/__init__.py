"""Scored interval indexes: the k best of the intervals that an event stabs.

After Machanavajjhala et al., Scalable Ranked Publish/Subscribe.
"""

import numpy as np

from indexes.intervals.interval_tree import ScoredIntervalTree
from indexes.intervals.ir_tree import IRArrays, IRTree
from indexes.intervals.live import LiveArrays, LiveSOPT
from indexes.intervals.matchers import ExactMatcher, MatcherArrays
from indexes.intervals.r_tree import ScoredRTree
from indexes.intervals.relaxed import RelaxedArrays, RelaxedMatcher
from indexes.intervals.scored_index import ScoredArrays
from indexes.intervals.segment_tree import ScoredSegmentTree
from indexes.intervals.sopt_r_tree import SOPTArrays, SOPTRTree

__all__ = [
    "ExactMatcher",
    "IRArrays",
    "IRTree",
    "LiveArrays",
    "LiveSOPT",
    "MatcherArrays",
    "RelaxedArrays",
    "RelaxedMatcher",
    "SOPTArrays",
    "SOPTRTree",
    "ScoredArrays",
    "ScoredIntervalTree",
    "ScoredRTree",
    "ScoredSegmentTree",
    "warm_up",
]


def warm_up() -> None:
    """Compile, or load from the cache, what a worker calls, so that its first frame is quick."""
    for attributes in (["a"], ["a", "b"]):
        _exercise(ExactMatcher(attributes))


def _exercise(matcher: ExactMatcher) -> None:
    # Points far apart make a walk cheaper than a scan; points in one place outgrow a bucket, so
    # that a subtree is rebuilt.
    ids, columns = np.arange(4096), len(matcher.attributes)
    points = np.tile(ids[:, np.newaxis], columns).astype(np.float64)
    matcher.insert_many(ids, points, points, np.zeros(len(ids)))
    crowd = np.full((1024, columns), 0.5)
    matcher.insert_many(ids[:1024] + len(ids), crowd, crowd, np.zeros(1024))
    matcher.update_scores(ids[:2], [1.0, 2.0])
    somewhere = dict.fromkeys(matcher.attributes, 1.0)
    for k in (1, 4096):
        matcher.top_k_many([somewhere, {}], k)
    matcher.delete_many(ids[:1024] + len(ids))
    type(matcher).from_arrays(matcher.to_arrays())
