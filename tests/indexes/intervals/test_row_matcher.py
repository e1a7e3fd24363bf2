"""Matchers whose rows grow with every step, against a scan: columns, trees and pages grow along."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from indexes.intervals import ExactMatcher, RelaxedMatcher
from indexes.intervals.rows import RowTable

NAMES = ("age", "visits")
POINTS = np.array([[a, b] for a in (np.nan, 0.0, 1.5, 4.0) for b in (np.nan, 1.0, 3.0)])

ids = st.integers(0, 40)
sides = st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted) | st.none()
weights = st.sampled_from([0.25, 0.5, 1.0, 2.0])  # any sum of them is exact
documents = st.tuples(sides, sides, weights, weights).filter(lambda d: d[0] or d[1])


def holding(document, point):
    """One flag an attribute that is constrained."""
    pairs = zip(document[:2], point.tolist(), strict=True)
    return [side[0] <= value <= side[1] for side, value in pairs if side is not None]


def columns_of(made):
    lows, highs, weights = np.full((3, len(made), 2), np.nan)
    for i, document in enumerate(made):
        for j, side in enumerate(document[:2]):
            if side is not None:
                (lows[i, j], highs[i, j]), weights[i, j] = side, document[2 + j]
    return lows, highs, weights


def weights_of(document):
    return [document[2 + j] for j, side in enumerate(document[:2]) if side is not None]


def insert_ranked(index, ids, made):
    lows, highs, _ = columns_of(made)
    index.insert_many(ids, lows, highs, [document[2] for document in made])


def insert_weighed(index, ids, made):
    index.insert_many(ids, *columns_of(made))


def reweigh(index, id, document):
    pairs = zip(NAMES, document[:2], document[2:], strict=True)
    index.update_weights(id, {name: weight for name, side, weight in pairs if side is not None})


EXACT = SimpleNamespace(
    make=ExactMatcher,
    insert=insert_ranked,
    update=lambda index, id, document: index.update_score(id, document[2]),
    score=lambda document, point: document[2] if all(holding(document, point)) else None,
)
RELAXED = SimpleNamespace(
    make=RelaxedMatcher,
    insert=insert_weighed,
    update=reweigh,
    score=lambda document, point: (
        sum(
            w
            for w, held in zip(weights_of(document), holding(document, point), strict=True)
            if held
        )
        or None
    ),
)


class GrowingAgainstScan(RuleBasedStateMachine):
    """A row is added at a time where it can be, so that tables are replaced all the while."""

    kind = EXACT

    @initialize(made=st.lists(documents, max_size=8))
    def start(self, made):
        self.index = self.kind.make(NAMES, branching=2)
        self.index._rows = RowTable(spare=1)
        self.live = {}
        self.insert_many(dict(enumerate(made, 50)))

    @rule(items=st.dictionaries(ids, documents, max_size=4))
    def insert_many(self, items):
        new = {id: document for id, document in items.items() if id not in self.live}
        self.kind.insert(self.index, np.array(list(new), np.int64), list(new.values()))
        self.live |= new

    @rule(wanted=st.sets(ids | st.integers(50, 58), max_size=4))
    def delete_many(self, wanted):
        known = sorted(wanted & self.live.keys())
        self.index.delete_many(np.array(known, np.int64))
        for id in known:
            del self.live[id]

    @rule(id=ids | st.integers(50, 58), document=documents)
    def replace(self, id, document):
        """What goes and what comes in one step: the row that is free is used again at once."""
        if id in self.live:
            self.index.delete(id)
        self.kind.insert(self.index, np.array([id]), [document])
        self.live[id] = document

    @rule(id=ids | st.integers(50, 58), weighed=st.tuples(weights, weights))
    def update(self, id, weighed):
        if id in self.live:
            self.live[id] = (*self.live[id][:2], *weighed)
            self.kind.update(self.index, id, self.live[id])

    @rule()
    def rebase(self):
        self.index.rebase()

    @rule()
    def refresh(self):
        self.index.refresh()

    @rule()
    def go_on_with_a_fork(self):
        self.index = self.index.fork()

    @invariant()
    def answers_are_those_of_the_scan(self):
        self.index.check()
        assert self.index.ids().tolist() == sorted(self.live)
        table = self.index.top_k_many(POINTS, 4)
        for i, point in enumerate(POINTS):
            scored = ((id, self.kind.score(one, point)) for id, one in self.live.items())
            best = sorted((-score, id) for id, score in scored if score is not None)[:4]
            count = int(table.counts[i])
            assert table.ids[i, :count].tolist() == [id for _, id in best]
            assert table.scores[i, :count].tolist() == [-score for score, _ in best]


@pytest.mark.parametrize("kind", [EXACT, RELAXED], ids=["exact", "relaxed"])
def test_answers_stay_right_while_rows_come_and_go(kind):
    class Growing(GrowingAgainstScan):
        pass

    Growing.kind = kind
    run_state_machine_as_test(Growing)
