"""`LiveMatcher`: the verbs of `ExactMatcher` for one attribute, at the speed of a SOPT-R-tree.

Subscriptions are boxes as in `exact_boxes`: only one that does not constrain the attribute
reaches to infinity.  An event without the attribute therefore is a query at infinity.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.hits import Hit, HitTable, hits_of
from indexes.intervals import base_rules
from indexes.intervals.exact_boxes import encode_boxes, encode_events, ends_of
from indexes.intervals.live import LiveArrays, LiveSOPT
from indexes.intervals.sopt_r_tree import SOPTRTree

__all__ = ["LiveMatcher"]


class LiveMatcher:
    """Subscriptions of one interval, ranked by score, then by lower id.

    >>> ads = LiveMatcher(["age"])
    >>> ads.insert(1, {"age": (20, 35)}, score=7.5)
    >>> ads.insert(2, {}, score=1.0)
    >>> ads.top_k({"age": 28}, k=5)
    [Hit(id=1, score=7.5), Hit(id=2, score=1.0)]
    >>> ads.top_k({}, k=5)
    [Hit(id=2, score=1.0)]
    """

    def __init__(self, attributes: Iterable[str], live: LiveSOPT | None = None) -> None:
        self.attributes = validation.distinct_names(attributes)
        if len(self.attributes) != 1:
            got = list(self.attributes)
            raise ValueError(f"attributes: got {got} when exactly one was expected")
        self._column = {self.attributes[0]: 0}
        self._live = LiveSOPT() if live is None else live

    def __len__(self) -> int:
        return len(self._live)

    @property
    def nbytes(self) -> int:
        return self._live.nbytes

    @property
    def visited(self) -> int:
        return self._live.visited

    @property
    def delta_share(self) -> float:
        """How many of the subscriptions are not answered from the base, from 0 to 1."""
        return self._live.delta_share

    @property
    def is_worn(self) -> bool:
        """Whether so much has changed since the base was built that a new one pays."""
        return base_rules.is_worn(self._live.changed, len(self))

    @property
    def rebases_itself(self) -> bool:
        """With one attribute every event is answered from the base: to build one here pays."""
        return True

    @property
    def unplaced(self) -> int:
        return 0

    @property
    def is_stale(self) -> bool:
        """Whether it will soon set itself in order, which takes long: never, only its base ages."""
        return False

    def refresh(self) -> None:
        """Nothing is out of order but what `rebase()` mends."""

    def insert(self, id: int, intervals: Mapping[str, tuple[float, float]], score: float) -> None:
        self.insert_many([id], *ends_of(intervals, self._column), [score])

    def insert_many(
        self, ids: ArrayLike, lows: ArrayLike, highs: ArrayLike, scores: ArrayLike
    ) -> None:
        """As `ExactMatcher.insert_many`: f8[n, 1] ends, NaN where nothing is constrained."""
        low, high = validation.as_table("lows", lows, 1), validation.as_table("highs", highs, 1)
        validation.require_same_length(lows=low, highs=high)
        boxes = encode_boxes(low, high, self.attributes)
        self._live.insert_many(ids, boxes.lows[:, 0], boxes.highs[:, 0], scores)

    def delete(self, id: int) -> None:
        self._live.delete(id)

    def delete_many(self, ids: ArrayLike) -> None:
        self._live.delete_many(ids)

    def update_score(self, id: int, score: float) -> None:
        self._live.update_score(id, score)

    def update_scores(self, ids: ArrayLike, scores: ArrayLike) -> None:
        self._live.update_scores(ids, scores)

    def top_k(self, event: Mapping[str, float], k: int) -> list[Hit]:
        return hits_of(self.top_k_many([event], min(validation.as_count("k", k), len(self))), 0)

    def top_k_many(self, events: Sequence[Mapping[str, float]] | np.ndarray, k: int) -> HitTable:
        """The k best matches of each event, in one compiled call; NaN where one lacks it."""
        points = encode_events(events, self._column).lowers[:, 0]
        return self._live.stab_many(points, validation.as_count("k", k))

    def ids(self) -> np.ndarray:
        """Every id, ascending."""
        return self._live.ids()

    def rebase(self) -> None:
        self._live.rebase()

    def replace_base(self, trees: Sequence[SOPTRTree], since: int) -> None:
        """As `LiveSOPT.replace_base`; the one tree has them as `encode_boxes` gives them."""
        base_rules.require_trees(trees, self.attributes)
        self._live.replace_base(trees[0], since)

    def fork(self) -> "LiveMatcher":
        return LiveMatcher(self.attributes, self._live.fork())

    def check(self) -> None:
        self._live.check()
        lows, highs = self._live.ends()
        free = (lows == -np.inf) & (highs == np.inf)
        assert (highs[~free] < np.inf).all()

    def to_arrays(self) -> LiveArrays:
        return self._live.to_arrays()

    @classmethod
    def from_arrays(cls, attributes: Iterable[str], arrays: LiveArrays) -> "LiveMatcher":
        return cls(attributes, LiveSOPT.from_arrays(arrays))
