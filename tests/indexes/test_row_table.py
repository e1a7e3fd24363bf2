"""The list of free rows against a dict: rows keep their numbers, and are taken again."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from numba import njit

from indexes import row_table
from indexes.row_table import LIVE, USED, check_rows, live_rows, new_state


@njit
def take(ids, state, id):
    row = row_table.take_row(ids, state)
    ids[row] = id
    return row


@njit
def give_back(ids, state, row):
    row_table.give_back_row(ids, state, row)


class FreeRowsAgainstDict(RuleBasedStateMachine):
    @initialize(capacity=st.integers(1, 12), further=st.integers(0, 2))
    def start(self, capacity, further):
        self.ids, self.state = np.empty(capacity, np.int64), new_state(further)
        self.rows = {}  # row -> id
        self.most = 0

    @rule(id=st.integers(0, 9))
    def take(self, id):
        if len(self.rows) == len(self.ids):
            return
        row = take(self.ids, self.state, id)
        assert row not in self.rows
        self.rows[row] = id
        self.most = max(self.most, len(self.rows))

    @rule(data=st.data())
    def give_back(self, data):
        if self.rows:
            row = data.draw(st.sampled_from(sorted(self.rows)))
            give_back(self.ids, self.state, row)
            del self.rows[row]

    @rule()
    def give_back_all(self):
        for row in list(self.rows):
            give_back(self.ids, self.state, row)
        self.rows = {}

    @invariant()
    def rows_are_those_of_the_dict(self):
        check_rows(self.ids, self.state)
        assert live_rows(self.ids, self.state).tolist() == sorted(self.rows)
        assert self.state[LIVE] == len(self.rows)
        # Free rows come first: no more are ever used than were live at once.
        assert self.state[USED] == self.most
        for row, id in self.rows.items():
            assert self.ids[row] == id
        assert not self.state[3:].any()


TestFreeRowsAgainstDict = FreeRowsAgainstDict.TestCase


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda ids, state: state.__setitem__(LIVE, 1), id="counted-wrongly"),
        pytest.param(lambda ids, state: ids.__setitem__(0, -2 - 0), id="a-circle"),
        pytest.param(lambda ids, state: ids.__setitem__(2, -1), id="free-but-not-chained"),
    ],
)
def test_check_knows_a_spoilt_list(spoil):
    ids, state = np.empty(4, np.int64), new_state()
    for id in range(3):
        take(ids, state, id)
    give_back(ids, state, 0)
    check_rows(ids, state)
    spoil(ids, state)
    with pytest.raises(AssertionError):
        check_rows(ids, state)
