"""`ExactMatcher`: the best subscriptions all of whose intervals an event stabs.

Every attribute has an IR-tree of its own over the same rows.  Since all trees rank rows alike,
one of them is walked in rank order and the other attributes are looked up directly; which one,
or whether plainly reading subscriptions in rank order is cheaper, is estimated event by event
(`exact_kernels.choose_plans`).
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.hits import Hit, HitTable, empty_table, hits_of
from indexes.intervals.exact_boxes import (
    Boxes,
    decode_boxes,
    encode_boxes,
    encode_events,
    ends_of,
    new_boxes,
)
from indexes.intervals.exact_kernels import SCAN, Sample, choose_plans, scan, walk
from indexes.intervals.ir_build import Entries
from indexes.intervals.ir_cursor import top_k_rows
from indexes.intervals.ir_index import RowIndex
from indexes.intervals.rank_pages import RankPages, quantiles
from indexes.intervals.rows import RowTable

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


class ExactMatcher:
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
        self.attributes = validation.distinct_names(attributes)
        self._column = {name: j for j, name in enumerate(self.attributes)}
        self._branching = validation.as_count("branching", branching, least=2)
        self._rows = RowTable()
        self._boxes = new_boxes(0, len(self.attributes))
        self._trees = [RowIndex(self._branching) for _ in self.attributes]
        self._pages = RankPages(len(self.attributes), min(_PAGE, 8 * self._branching))
        self._sample = Sample(*new_boxes(len(self.attributes), 0))
        self._changes = 0  # since the sample was taken
        self._read = 0

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        arrays = sum(array.nbytes for array in (*self._boxes, *self._sample))
        trees = sum(tree.nbytes for tree in self._trees)
        others = self._rows.nbytes + self._pages.nbytes + sys.getsizeof(self._column)
        return arrays + trees + others

    @property
    def visited(self) -> int:
        """How many entries of blocks and pages all queries so far have looked at."""
        return self._read + sum(tree.visited for tree in self._trees)

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
        # Building anew is so much quicker that it pays from half as many rows again.
        if 2 * len(new) >= len(self):
            live = self._rows.live()
            self._rebuild(
                np.concatenate((self._rows.keys.ids[live], new)),
                np.concatenate((self._rows.keys.scores[live], score)),
                np.concatenate((self._boxes.lows[live], boxes.lows)),
                np.concatenate((self._boxes.highs[live], boxes.highs)),
            )
            return
        self._reserve(len(new))
        rows = self._rows.take(new, score)
        self._boxes.lows[rows], self._boxes.highs[rows] = boxes
        for j, tree in enumerate(self._trees):
            tree.insert(self._rows.keys, rows, boxes.lows[:, j].copy(), boxes.highs[:, j].copy())
        if self._has_pages:
            self._pages.insert(self._rows.keys, self._boxes, rows)
        self._note_changes(len(new))

    def delete(self, id: int) -> None:
        self.delete_many([id])

    def delete_many(self, ids: ArrayLike) -> None:
        """Forget ids, all of them or, where one is not indexed, none."""
        rows = self._rows.find(validation.as_id_array(ids))
        for tree in self._trees:
            tree.delete(self._rows.keys, rows)
        if self._has_pages:
            self._pages.delete(rows)
        self._rows.release(rows)
        if 4 * len(self) < self._rows.capacity:
            live, keys = self._rows.live(), self._rows.keys
            self._rebuild(keys.ids[live], keys.scores[live], *(ends[live] for ends in self._boxes))
        else:
            self._note_changes(len(rows))

    def update_score(self, id: int, score: float) -> None:
        self.update_scores([id], [score])

    def update_scores(self, ids: ArrayLike, scores: ArrayLike) -> None:
        """Give known ids new scores, all of them or, where one argument is refused, none."""
        known, score = validation.as_id_array(ids), validation.as_score_array(scores)
        validation.require_same_length(ids=known, scores=score)
        rows = self._rows.find(known)
        lifted = [tree.lift(self._rows.keys, rows) for tree in self._trees]
        if self._has_pages:
            self._pages.delete(rows)
        self._rows.keys.scores[rows] = score
        for tree, entries in zip(self._trees, lifted, strict=True):
            tree.drop(self._rows.keys, rows, entries)
        if self._has_pages:
            self._pages.insert(self._rows.keys, self._boxes, rows)

    def top_k(self, event: Mapping[str, float], k: int) -> list[Hit]:
        k = validation.as_count("k", k)
        return hits_of(self.top_k_many([event], min(k, len(self))), 0)

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
        keys, boxes = self._rows.keys, self._boxes
        if not self._has_pages:
            lowers, uppers = wanted.lowers[:, 0].copy(), wanted.uppers[:, 0].copy()
            top_k_rows(self._trees[0].tree, keys, lowers, uppers, table)
            return table
        plans = choose_plans(self._sample, wanted, len(self), k)
        for j in np.unique(plans[plans != SCAN]).tolist():
            chosen = np.flatnonzero(plans == j)
            given_up = walk(self._trees[j].tree, keys, boxes, wanted, chosen, j, table)
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
        for j, tree in enumerate(self._trees):
            tree.check(self._rows.keys, live)
            lows, highs = tree.intervals(live)
            assert (lows == self._boxes.lows[live, j]).all()
            assert (highs == self._boxes.highs[live, j]).all()
        if self._has_pages:
            self._pages.check(self._rows.keys, self._boxes, live)

    def ids(self) -> np.ndarray:
        """Every id, ascending."""
        return np.sort(self._rows.keys.ids[self._rows.live()])

    def to_arrays(self) -> MatcherArrays:
        live = self._rows.live()
        rows = live[np.argsort(self._rows.keys.ids[live], kind="stable")]
        lows, highs = decode_boxes(Boxes(*(ends[rows] for ends in self._boxes)))
        names = np.array(self.attributes)
        return MatcherArrays(
            names, self._rows.keys.ids[rows], lows, highs, self._rows.keys.scores[rows]
        )

    @classmethod
    def from_arrays(cls, arrays: MatcherArrays) -> "ExactMatcher":
        matcher = cls(arrays.attributes.tolist())
        matcher.insert_many(*arrays[1:])
        return matcher

    @property
    def _has_pages(self) -> bool:
        # With one attribute the tree reads nothing in vain, so nothing else is ever cheaper.
        return len(self.attributes) > 1

    def _reserve(self, more: int) -> None:
        self._rows.reserve(more)
        capacity = self._rows.capacity
        if capacity > len(self._boxes.lows):
            grown = new_boxes(capacity, len(self.attributes))
            for old, new in zip(self._boxes, grown, strict=True):
                new[: len(old)] = old
            self._boxes = grown
        for tree in self._trees:
            tree.reserve_rows(capacity)
        self._pages.reserve_rows(capacity)

    def _rebuild(
        self, ids: np.ndarray, scores: np.ndarray, lows: np.ndarray, highs: np.ndarray
    ) -> None:
        # Rows in rank order: what one query reads then lies close together.
        rank = np.lexsort((ids, -scores))
        self._rows.refill(ids[rank], scores[rank])
        self._boxes = Boxes(lows[rank], highs[rank])
        rows = np.arange(len(ids), dtype=np.int32)
        for j, tree in enumerate(self._trees):
            tree.clear(len(ids))
            entries = Entries(rows.copy(), *(ends[:, j].copy() for ends in self._boxes))
            tree.build(self._rows.keys, entries)
        self._learn(rows)

    def _note_changes(self, count: int) -> None:
        self._changes += count
        if 2 * self._changes > len(self):
            self._learn(self._pages.in_order())

    def _learn(self, rows: np.ndarray) -> None:
        """Adapt estimates and codes to the subscriptions there are; `rows` are in rank order."""
        self._changes = 0
        if self._has_pages:
            picked = rows[:: max(1, len(rows) // _SAMPLED)]
            sample = Boxes(*(ends[picked] for ends in self._boxes))
            self._sample = Sample(*(np.sort(ends.T, axis=1) for ends in sample))
            self._pages.rebuild(rows, self._boxes, quantiles(sample))
