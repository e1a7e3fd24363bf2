"""Scored interval indexes: the k best of the intervals that an event stabs.

After Machanavajjhala et al., Scalable Ranked Publish/Subscribe.
"""

from indexes.intervals.interval_tree import ScoredIntervalTree
from indexes.intervals.ir_tree import IRArrays, IRTree
from indexes.intervals.live import LiveArrays, LiveSOPT
from indexes.intervals.live_matcher import LiveMatcher
from indexes.intervals.matchers import ExactMatcher, MatcherArrays
from indexes.intervals.r_tree import ScoredRTree
from indexes.intervals.relaxed import RelaxedArrays, RelaxedMatcher
from indexes.intervals.scored_index import ScoredArrays
from indexes.intervals.segment_tree import ScoredSegmentTree
from indexes.intervals.sopt_r_tree import SOPTArrays, SOPTRTree
from indexes.intervals.warm_up import warm_up_exact, warm_up_live, warm_up_relaxed

__all__ = [
    "ExactMatcher",
    "IRArrays",
    "IRTree",
    "LiveArrays",
    "LiveMatcher",
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
    "warm_up_exact",
    "warm_up_live",
    "warm_up_relaxed",
]
