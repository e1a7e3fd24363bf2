"""Rows of interval indexes against a dict: they keep their numbers while the table grows."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.forking import forked
from indexes.intervals.rows import RowTable, by_rank
from indexes.kernels import NIL

ids = st.integers(0, 30)
EVERY_ID = np.arange(31)
scores = st.sampled_from([0.0, 0.5, 1.0, 2.0])


class RowTableAgainstDict(RuleBasedStateMachine):
    @initialize(spare=st.integers(0, 2))
    def start(self, spare):
        self.table = RowTable(spare)
        self.rows = {}  # id -> row, as `take` has told it, however long ago
        self.scores = {}
        self.forks = []

    @rule(items=st.dictionaries(ids, scores, max_size=20))
    def take(self, items):
        known = np.array(sorted(items.keys() & self.rows.keys()), np.int64)
        if len(known):
            with pytest.raises(KeyError, match=f"id {known[0]} is already indexed"):
                self.table.require_new(np.array(sorted(items), np.int64))
        new = {id: score for id, score in items.items() if id not in self.rows}
        fresh = np.array(list(new), np.int64)
        self.table.require_new(fresh)
        self.table.reserve(len(fresh))
        rows = self.table.take(fresh, np.array(list(new.values()), np.float64)).tolist()
        assert not set(rows) & set(self.rows.values())
        self.rows.update(zip(new, rows, strict=True))
        self.scores.update(new)

    @rule(more=st.integers(0, 9))
    def reserve_in_vain(self, more):
        self.table.reserve(more)

    @rule(wanted=st.sets(ids))
    def release(self, wanted):
        known = sorted(wanted & self.rows.keys())
        self.table.release(self.table.find(np.array(known, np.int64)))
        for id in known:
            del self.rows[id], self.scores[id]

    @rule()
    def release_all(self):
        self.release(set(self.rows))

    @rule()
    def refill(self):
        """All rows anew in the order of their ids: the only step that gives them other numbers."""
        order = sorted(self.rows)
        self.table.refill(
            np.array(order, np.int64), np.array([self.scores[id] for id in order], np.float64)
        )
        self.rows = {id: row for row, id in enumerate(order)}
        assert self.table.capacity == len(order)

    @rule()
    def fork(self):
        """A copy stays as it is, whatever becomes of the table."""
        self.forks = [(forked(self.table), dict(self.rows), dict(self.scores))]

    @invariant()
    def contents_are_those_of_the_dict(self):
        for table, rows, own in [(self.table, self.rows, self.scores), *self.forks]:
            table.check()
            assert len(table) == len(rows) <= table.capacity
            found = table.rows_of(EVERY_ID).tolist()
            assert found == [rows.get(id, NIL) for id in EVERY_ID.tolist()]
            assert table.live().tolist() == sorted(rows.values())
            for id, row in rows.items():
                assert (table.keys.ids[row], table.keys.scores[row]) == (id, own[id])
            ranked = table.keys.ids[by_rank(table.keys, table.live())].tolist()
            assert ranked == sorted(own, key=lambda id: (-own[id], id))


TestRowTableAgainstDict = RowTableAgainstDict.TestCase


def test_an_unknown_id_is_named():
    table = RowTable()
    table.reserve(1)
    table.take(np.array([7]), np.array([1.0]))
    with pytest.raises(KeyError, match="id 8 is not indexed"):
        table.find(np.array([7, 8]))
