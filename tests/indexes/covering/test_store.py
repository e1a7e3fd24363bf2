"""Rows of boxes against a dict: equal boxes in one chain, whatever grows and whoever leaves."""

import copy

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.covering.store import (
    NEWER,
    PLACE,
    RowTable,
    add_row,
    remove_row,
    row_count,
    row_of,
    take_chain,
)
from indexes.kernels import NIL

ids = st.integers(0, 30)
EVERY_ID = np.arange(31)
# Few points, so that most boxes have equals.
points = st.tuples(*[st.sampled_from([0.0, 1.0, np.inf])] * 2)


class StoreAgainstDict(RuleBasedStateMachine):
    @initialize(spare=st.integers(0, 2))
    def start(self, spare):
        self.table = RowTable(2, spare)
        self.rows = {}  # id -> row, as it was told when the id came; by age
        self.points = {}
        self.twins = []

    @rule(items=st.dictionaries(ids, points, max_size=12))
    def add(self, items):
        new = {id: point for id, point in items.items() if id not in self.rows}
        self.table.reserve(len(new))
        for id, point in new.items():
            store = self.table.store
            self.rows[id] = int(add_row(store, id, np.array(point)))
            self.points[id] = point
            if self.chain(point) == [id]:  # what an index does with a box that is new
                store.links[self.rows[id], PLACE] = 1000 + hash(point) % 1000

    def chain(self, point, rows=None, points=None):
        """Ids with this box, newest first."""
        points = self.points if points is None else points
        return [id for id in reversed(self.rows if rows is None else rows) if points[id] == point]

    @rule(wanted=st.sets(ids))
    def remove(self, wanted):
        known = sorted(wanted & self.rows.keys())
        for id, row in zip(known, self.table.find(np.array(known, np.int64)), strict=True):
            remove_row(self.table.store, row)
            del self.rows[id], self.points[id]

    @rule()
    def remove_all(self):
        self.remove(set(self.rows))

    @rule(more=st.integers(0, 9))
    def reserve_in_vain(self, more):
        self.table.reserve(more)

    @rule()
    def copied(self):
        """A copy stays as it is, whatever becomes of the table."""
        self.twins = [(copy.deepcopy(self.table), dict(self.rows), dict(self.points))]

    @invariant()
    def contents_are_those_of_the_dict(self):
        for table, rows, boxes in [(self.table, self.rows, self.points), *self.twins]:
            table.check()
            store = table.store
            assert len(table) == row_count(store) == len(rows) <= table.capacity
            expected = [rows.get(id, NIL) for id in EVERY_ID.tolist()]
            assert table.rows_of(EVERY_ID).tolist() == expected
            assert [row_of(store, id) for id in EVERY_ID.tolist()] == expected
            for id, row in rows.items():
                assert tuple(store.points[row]) == boxes[id]
                if store.links[row, NEWER] == NIL:
                    self.require_chain(store, row, self.chain(boxes[id], rows, boxes))

    def require_chain(self, store, head, expected):
        """The newest has the place in the index, and the others follow it."""
        point, found = store.points[head].copy(), np.empty(len(expected), np.int64)
        assert store.links[head, PLACE] == 1000 + hash(tuple(point)) % 1000
        assert take_chain(store, head, point, len(found), False, found, 0) == len(expected)
        assert store.ids[found].tolist() == expected
        assert take_chain(store, head, point, len(found), True, found, 0) == 0


TestStoreAgainstDict = StoreAgainstDict.TestCase


def test_ids_that_are_not_as_expected_are_named():
    table = RowTable(2)
    table.reserve(1)
    add_row(table.store, 7, np.zeros(2))
    with pytest.raises(KeyError, match="id 8 is not stored"):
        table.find(np.array([7, 8]))
    with pytest.raises(KeyError, match="id 7 is already stored"):
        table.require_new(np.array([8, 7]))
