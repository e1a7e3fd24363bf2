"""`ExactMatcher`: the best subscriptions all of whose intervals an event stabs.

Every attribute has trees of its own over the same rows (`row_matcher`).  Since all trees rank rows
alike, those of one attribute are walked in rank order and the other attributes are looked up
directly; which one, or whether plainly reading subscriptions in rank order is cheaper, is
estimated event by event (`exact_kernels.choose_plans`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.hits import HitTable, empty_table
from indexes.intervals.exact_boxes import (
    Boxes,
    decode_boxes,
    encode_boxes,
    encode_events,
    ends_of,
    new_boxes,
)
from indexes.intervals.exact_kernels import (
    SCAN,
    Sample,
    choose_plans,
    most_walked,
    scan,
    walk,
)
from indexes.intervals.rank_pages import RankPages, quantiles
from indexes.intervals.row_matcher import RowMatcher
from indexes.intervals.row_trees import Column

__all__ = ["ExactMatcher", "MatcherArrays"]

_PAGE = 256  # subscriptions whose codes are tested together
_SAMPLED = 256  # subscriptions looked at to estimate selectivity


class MatcherArrays(NamedTuple):
    """The subscriptions in the order of their ids: equal content gives equal bytes."""

    attributes: np.ndarray  # str[d]
    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n, d]  NaN = not constrained, in highs too
    highs: np.ndarray  # f8[n, d]
    scores: np.ndarray  # f8[n]


class ExactMatcher(RowMatcher):
    """Subscriptions of intervals over named attributes, ranked by score, then by lower id.

    >>> ads = ExactMatcher(["age", "visits"])
    >>> ads.insert(1, {"age": (20, 35), "visits": (3, float("inf"))}, score=7.5)
    >>> ads.insert(2, {}, score=1.0)
    >>> ads.top_k({"age": 28, "visits": 4}, k=5)
    [Hit(id=1, score=7.5), Hit(id=2, score=1.0)]
    >>> ads.top_k({"age": 28}, k=5)
    [Hit(id=2, score=1.0)]
    """

    def __init__(self, attributes: Iterable[str], branching: int = 50) -> None:
        names = validation.distinct_names(attributes)
        b = validation.as_count("branching", branching, least=2)
        self._pages = RankPages(len(names), min(_PAGE, 8 * b))
        self._sample = Sample(*new_boxes(len(names), 0))
        super().__init__(names, b, new_boxes(0, len(names)), self._pages)

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(ends.nbytes for ends in self._sample)

    def insert(self, id: int, intervals: Mapping[str, tuple[float, float]], score: float) -> None:
        lows, highs = ends_of(intervals, self._column)
        self.insert_many([id], lows, highs, [score])

    def insert_many(
        self, ids: ArrayLike, lows: ArrayLike, highs: ArrayLike, scores: ArrayLike
    ) -> None:
        """Add new ids, all of them or, where one argument is refused, none.

        `lows` and `highs` have a row a subscription and a column an attribute; NaN in both means
        that the attribute is not constrained.
        """
        new, score = validation.as_id_array(ids), validation.as_score_array(scores)
        low = validation.as_table("lows", lows, len(self.attributes))
        high = validation.as_table("highs", highs, len(self.attributes))
        validation.require_same_length(ids=new, lows=low, highs=high, scores=score)
        boxes = encode_boxes(low, high, self.attributes)
        self._rows.require_new(new)
        self._add(new, score, boxes)

    def update_score(self, id: int, score: float) -> None:
        self.update_scores([id], [score])

    def update_scores(self, ids: ArrayLike, scores: ArrayLike) -> None:
        """Give known ids new scores, all of them or, where one argument is refused, none."""
        known, score = validation.as_id_array(ids), validation.as_score_array(scores)
        validation.require_same_length(ids=known, scores=score)
        rows = self._rows.find(known)
        lifted = self._trees.lift(self._by_attribute(), rows)
        self._displace(rows)
        self._rows.keys.scores[rows] = score
        self._trees.drop(self._by_attribute(), rows, lifted)
        self._place(rows)

    def top_k_many(self, events: Sequence[Mapping[str, float]] | np.ndarray, k: int) -> HitTable:
        """The k best matches of each event, a fixed number of compiled calls for all of them.

        `events` are mappings, or an f8[m, d] array with a column an attribute and NaN where the
        event lacks it.
        """
        k = validation.as_count("k", k)
        wanted = encode_events(events, self._column)
        table = empty_table(len(wanted.lowers), k)
        if not len(self) or not k:
            return table
        keys, boxes, n = self._rows.keys, self._boxes, len(self)
        if not self._has_pages:
            every = np.arange(len(wanted.lowers))
            walk(self._trees.of(0), keys, boxes, wanted, every, 0, n, table)
            return table
        plans = choose_plans(self._sample, wanted, n, k)
        for j in np.unique(plans[plans != SCAN]).tolist():
            chosen = np.flatnonzero(plans == j)
            most = most_walked(n)
            given_up = walk(self._trees.of(j), keys, boxes, wanted, chosen, j, most, table)
            plans[chosen[given_up]] = SCAN
        chosen = np.flatnonzero(plans == SCAN)
        if len(chosen):
            self._read += int(scan(self._pages.pages, keys, boxes, wanted, chosen, k, table))
        return table

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self._rows.check()
        live = self._rows.live()
        assert len(self._boxes.lows) == len(self._boxes.highs) == self._rows.capacity
        self._trees.check(self._by_attribute(), live)
        if self._has_pages:
            self._pages.check(self._rows.keys, self._boxes, live)

    def to_arrays(self) -> MatcherArrays:
        """The subscriptions; bases are not among the arrays."""
        live = self._rows.live()
        rows = live[np.argsort(self._rows.keys.ids[live], kind="stable")]
        lows, highs = decode_boxes(Boxes(*(ends[rows] for ends in self._boxes)))
        names = np.array(self.attributes)
        return MatcherArrays(
            names, self._rows.keys.ids[rows], lows, highs, self._rows.keys.scores[rows]
        )

    @classmethod
    def from_arrays(cls, arrays: MatcherArrays) -> "ExactMatcher":
        """Restore without bases: `rebase()` makes them."""
        matcher = cls(arrays.attributes.tolist())
        matcher.insert_many(*arrays[1:])
        return matcher

    @property
    def _boxes(self) -> Boxes:
        return Boxes(*self._columns)

    @property
    def _has_pages(self) -> bool:
        # With one attribute the tree reads nothing in vain, so nothing else is ever cheaper.
        return len(self.attributes) > 1

    def _attribute(self, attribute: int) -> Column:
        keys, boxes = self._rows.keys, self._boxes
        return Column(keys.ids, boxes.lows[:, attribute], boxes.highs[:, attribute], keys.scores)

    def _place(self, rows: np.ndarray) -> None:
        if self._has_pages:
            self._pages.insert(self._rows.keys, self._boxes, rows)

    def _displace(self, rows: np.ndarray) -> None:
        if self._has_pages:
            self._pages.delete(self._rows.keys, rows)

    def _note_changes(self, count: int) -> None:
        if 4 * len(self) < self._rows.capacity:
            self._renew()
        else:
            super()._note_changes(count)

    def _make_coarse(self) -> None:
        self._learn(self._pages.in_order())

    def _learn(self, rows: np.ndarray) -> None:
        self._changes = 0
        if self._has_pages:
            picked = rows[:: max(1, len(rows) // _SAMPLED)]
            sample = Boxes(*(ends[picked] for ends in self._boxes))
            self._sample = Sample(*(np.sort(ends.T, axis=1) for ends in sample))
            self._pages.rebuild(self._rows.keys, self._boxes, rows, quantiles(sample))
