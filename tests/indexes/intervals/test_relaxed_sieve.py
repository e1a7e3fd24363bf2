"""What a relaxed matcher keeps by row beside its trees: pages that come with rows, and levels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.intervals.ir_layout import Rows
from indexes.intervals.relaxed_levels import WeightLevels
from indexes.intervals.relaxed_sieve import PAGE, Sieve
from indexes.intervals.relaxed_terms import WEIGHT, encode_terms, totals_of

ATTRIBUTES = ("age", "visits")
# Rows on either side of where a page ends.
rows = st.sampled_from([0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE - 1, 2 * PAGE, 3 * PAGE + 7])
terms = st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([1.0, 2.0, 30.0]))
documents = st.lists(st.none() | terms, min_size=2, max_size=2).filter(any)


def encoded(document):
    table = np.full((3, 1, 2), np.nan)
    for j, term in enumerate(document):
        if term is not None:
            table[:, 0, j] = min(term[:2]), max(term[:2]), term[2]
    return encode_terms(*table, ATTRIBUTES)


class SieveAgainstDict(RuleBasedStateMachine):
    @initialize()
    def start(self):
        self.sieve = Sieve(2)
        self.terms, self.keys = np.zeros((0, 2, 3)), Rows(np.zeros(0, np.int64), np.zeros(0))
        self.live = {}
        self.next_id = 0

    def make_room(self, capacity):
        terms = np.zeros((capacity, 2, 3))
        keys = Rows(np.zeros(capacity, np.int64), np.zeros(capacity))
        for old, new in zip((self.terms, *self.keys), (terms, *keys), strict=True):
            new[: len(old)] = old
        self.terms, self.keys = terms, keys
        self.sieve.reserve_rows(capacity)

    @rule(items=st.dictionaries(rows, documents, max_size=5))
    def insert(self, items):
        new = {row: document for row, document in items.items() if row not in self.live}
        if not new:
            return
        if max(new) >= len(self.keys.ids):
            self.make_room(max(new) + 1)
        for row, document in new.items():
            self.terms[row] = encoded(document)[0]
            self.keys.ids[row], self.next_id = self.next_id, self.next_id + 1
            self.keys.scores[row] = totals_of(self.terms[row : row + 1])[0]
        self.live |= new
        chosen = np.array(list(new), np.int32)
        if self.sieve.takes(self.keys.scores[chosen]):
            self.sieve.insert(self.terms, self.keys, chosen)
        else:
            self.rebuild()

    @rule(wanted=st.sets(rows))
    def delete(self, wanted):
        known = sorted(wanted & self.live.keys())
        self.sieve.delete(np.array(known, np.int32))
        for row in known:
            del self.live[row]

    @rule()
    def rebuild(self):
        self.sieve.rebuild(self.terms, self.keys, np.array(sorted(self.live), np.int32))

    @invariant()
    def what_is_coded_is_what_is_live(self):
        live = np.array(sorted(self.live), np.int32)
        self.sieve.check(self.terms, self.keys, live)
        coarse = self.sieve.coarse
        assert len(coarse.tops) * PAGE >= len(self.keys.ids)
        page, place = np.nonzero(coarse.steps.any(axis=1))
        assert (page * PAGE + place).tolist() == live.tolist()
        for row, document in self.live.items():
            constrained = coarse.steps[row // PAGE, :, row % PAGE] > 0
            assert constrained.tolist() == [term is not None for term in document]


TestSieveAgainstDict = SieveAgainstDict.TestCase

weights = st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, 8.0])] * 2), max_size=6)


@given(most=st.integers(1, 4), steps=st.lists(st.none() | weights, max_size=6))
def test_levels_are_the_distinct_weights_until_there_are_too_many(most, steps):
    """A step adds rows or, as None, begins anew."""
    levels, known = WeightLevels(2, most), [set(), set()]
    for step in steps:
        if step is None:
            levels.clear()
            known = [set(), set()]
            continue
        rows = np.zeros((len(step), 2, 3))
        rows[:, :, WEIGHT] = np.array(step).reshape(-1, 2)
        levels.add(rows)
        levels.check(rows)
        for j in range(2):
            if known[j] is not None:
                known[j] |= {row[j] for row in step} - {0.0}
                known[j] = known[j] if len(known[j]) <= most else None
            count = int(levels.levels.counts[j])
            assert (count < 0) == (known[j] is None)
            assert known[j] is None or levels.levels.weights[j, :count].tolist() == sorted(known[j])
