"""Pages of two to five rows against a sorted list: split, joined, freed and used again."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.intervals.exact_boxes import Boxes, encode_boxes
from indexes.intervals.ir_layout import Rows
from indexes.intervals.rank_pages import RankPages, quantiles
from indexes.intervals.rows import by_rank

ROWS = 40
rows = st.integers(0, ROWS - 1)
scores = st.sampled_from([0.0, 1.0, 2.0])  # few, so that ids decide
ends = st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted) | st.just([np.nan, np.nan])


class RankPagesAgainstSorting(RuleBasedStateMachine):
    @initialize(page=st.integers(2, 5))
    def start(self, page):
        self.pages = RankPages(1, page)
        self.keys = Rows(np.full(0, -1), np.zeros(0))
        self.boxes = Boxes(np.zeros((0, 1)), np.zeros((0, 1)))
        self.live = set()
        self.next_id = 0

    def make_room(self, capacity):
        """As an index does it: row by row as far as they are needed, all arrays alike."""
        grown = Rows(np.full(capacity, -1), np.zeros(capacity))
        boxes = Boxes(np.zeros((capacity, 1)), np.zeros((capacity, 1)))
        for old, new in zip((*self.keys, *self.boxes), (*grown, *boxes), strict=True):
            new[: len(old)] = old
        self.keys, self.boxes = grown, boxes
        self.pages.reserve_rows(capacity)

    @rule(items=st.dictionaries(rows, st.tuples(scores, ends), max_size=15))
    def insert(self, items):
        """Into rows that are free, with ids that grow: what a row was before must not matter."""
        new = {row: item for row, item in items.items() if row not in self.live}
        if not new:
            return
        if max(new) >= len(self.keys.ids):
            self.make_room(max(new) + 1)
        for row, (score, (low, high)) in new.items():
            self.keys.ids[row], self.keys.scores[row] = self.next_id, score
            self.next_id += 1
            box = encode_boxes(np.array([[low]]), np.array([[high]]), ["age"])
            self.boxes.lows[row], self.boxes.highs[row] = box.lows[0], box.highs[0]
        self.pages.insert(self.keys, self.boxes, np.array(list(new), np.int32))
        self.live |= new.keys()

    @rule(wanted=st.sets(rows))
    def delete(self, wanted):
        known = np.array(sorted(wanted & self.live), np.int32)
        self.pages.delete(self.keys, known)
        self.live -= wanted

    @rule()
    def delete_most(self):
        self.delete(set(sorted(self.live)[1:]))

    @rule()
    def rebuild(self):
        live = self.in_order()
        sample = Boxes(*(column[live] for column in self.boxes))
        self.pages.rebuild(self.keys, self.boxes, live, quantiles(sample))

    def in_order(self):
        return by_rank(self.keys, np.array(sorted(self.live), np.int32))

    @invariant()
    def rows_are_in_order(self):
        self.pages.check(self.keys, self.boxes, np.array(sorted(self.live), np.int32))
        assert self.pages.in_order().tolist() == self.in_order().tolist()


TestRankPagesAgainstSorting = RankPagesAgainstSorting.TestCase
