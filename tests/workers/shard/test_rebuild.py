"""Changes that wait: folded into one, or noted for an index that is built elsewhere."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.kinds import new_index
from workers.shard.shard import IndexChange, Rebuild, folded

NAMES = ("age", "visits")


class Strict(dict):
    """An index as a dict: id -> row.  What an index would refuse is an error here, too."""

    def delete_many(self, ids):
        assert len(set(ids.tolist())) == len(ids)
        for id in ids.tolist():
            del self[id]

    def insert_many(self, ids, *columns):
        assert len(set(ids.tolist())) == len(ids)
        for id, *row in zip(ids.tolist(), *columns, strict=True):
            assert id not in self
            self[id] = tuple(map(str, row))  # NaN is equal to itself then


def columns_of(made):
    """Intervals of the first attribute alone; the score tells rows apart."""
    lows, highs = np.full((2, len(made), 2), np.nan)
    lows[:, 0], highs[:, 0] = made, np.array(made) + 1.0
    return lows, highs, np.array(made, np.float64)


class WaitingChanges(RuleBasedStateMachine):
    """One index follows at once, one when changes are folded, one is a fork that catches up."""

    @initialize(rows=st.lists(st.integers(0, 9), max_size=20))
    def start(self, rows):
        self.next_id = 0
        self.live, self.later = Strict(), Strict()
        self.index, self.folding = new_index("ranked", NAMES), new_index("ranked", NAMES)
        self.waiting, self.rebuild = [], None
        self.change(rows, set())
        self.fold()

    @rule(rows=st.lists(st.integers(0, 9), max_size=6), gone=st.sets(st.integers(0, 40)))
    def change(self, rows, gone):
        """Of what is live some go, perhaps what came a moment ago; ids are never used again."""
        leaving = np.array(sorted(gone & self.live.keys()), np.int64)
        ids = np.arange(self.next_id, self.next_id + len(rows))
        self.next_id += len(rows)
        change = IndexChange(leaving, ids, columns_of(rows))
        for follower in (self.live, self.index):
            change.apply_to(follower)
        self.waiting.append(change)
        if self.rebuild is not None:
            self.rebuild.note(change)
            assert self.rebuild.behind > 0

    @rule()
    def the_latest_leave(self):
        self.change([], set(sorted(self.live)[-3:]))

    @rule()
    def fold(self):
        if self.waiting:
            net = folded(self.waiting)
            assert not set(net.gone.tolist()) & set(net.ids.tolist())
            assert set(net.gone.tolist()) <= self.later.keys()
            for follower in (self.later, self.folding):
                net.apply_to(follower)
            self.waiting = []
        assert self.later == self.live
        require_equal(self.folding, self.index)

    @rule()
    def begin(self):
        self.rebuild = Rebuild(self.index.fork())
        assert self.rebuild.behind == 0

    @rule(rebased=st.booleans())
    def catch_up(self, rebased):
        if self.rebuild is not None:
            if rebased:
                self.rebuild.index.rebase()
            self.rebuild.catch_up()
            assert self.rebuild.behind == 0
            self.rebuild.index.check()
            require_equal(self.rebuild.index, self.index)

    @rule()
    def swap(self):
        if self.rebuild is not None:
            self.rebuild.catch_up()
            self.index, self.rebuild = self.rebuild.index, None

    @invariant()
    def the_index_has_what_is_live(self):
        self.index.check()
        assert self.index.ids().tolist() == sorted(self.live)


def require_equal(one, other):
    for mine, theirs in zip(one.to_arrays(), other.to_arrays(), strict=True):
        assert mine.tobytes() == theirs.tobytes()


TestWaitingChanges = WaitingChanges.TestCase
TestWaitingChanges.settings = settings(max_examples=40, stateful_step_count=25)
