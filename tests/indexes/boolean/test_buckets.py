"""Buckets that are moved, repacked and cut short, against plain evaluation."""

import copy

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.boolean import Buckets, Predicate
from indexes.boolean.bucket_members import USED_BUCKETS
from tests.indexes.boolean import strategies as some
from tests.oracles.boolean import Expressions

# Equalities above all: few and many of the same, so that buckets outgrow their runs.
equalities = st.builds(Predicate, st.sampled_from("ab"), st.just("="), some.numbers, some.weights)
conjunctions = st.lists(equalities | some.predicates(), min_size=1, max_size=3)
PROBES = [{"a": a, "b": b} for a in (0.0, 1.0, "x") for b in (0.5, 2.0, "y")]


class BucketsAgainstScan(RuleBasedStateMachine):
    @initialize(spare=st.integers(0, 3))
    def start(self, spare):
        self.spare = spare
        self.index, self.expected = Buckets(spare), Expressions()

    @rule(made=st.lists(conjunctions, max_size=12), first=st.integers(0, 60))
    def insert_many(self, made, first):
        new = [id for id in range(first, first + len(made)) if id not in self.expected.live]
        self.index.insert_many(np.array(new, np.int64), made[: len(new)])
        for id, conjunction in zip(new, made, strict=False):
            self.expected.insert(id, conjunction)

    @rule(made=conjunctions, times=st.integers(1, 30))
    def insert_the_same(self, made, times):
        first = max(self.expected.live, default=0) + 1
        self.index.insert_many(np.arange(first, first + times), [made] * times)
        for id in range(first, first + times):
            self.expected.insert(id, made)

    @rule(wanted=st.sets(st.integers(0, 80), max_size=30))
    def delete_many(self, wanted):
        known = sorted(wanted & self.expected.live.keys())
        self.index.delete_many(np.array(known, np.int64))
        for id in known:
            self.expected.delete(id)

    @rule()
    def delete_most(self):
        self.delete_many(set(sorted(self.expected.live)[2:]))

    @rule()
    def go_on_with_a_copy(self):
        self.index = copy.deepcopy(self.index)

    @invariant()
    def answers_are_those_of_the_scan(self):
        self.index.check()
        assert len(self.index) == len(self.expected.live)
        assert self.index.match_many(PROBES) == [self.expected.match(event) for event in PROBES]
        table = self.index.top_k_many(PROBES, 3)
        for event, count, ids in zip(PROBES, table.counts, table.ids.tolist(), strict=True):
            assert ids[:count] == [hit[0] for hit in self.expected.top_k(event, 3)]


TestBucketsAgainstScan = BucketsAgainstScan.TestCase


def test_room_for_buckets_that_never_came_is_given_back():
    index = Buckets(spare=0)
    index.insert_many(np.arange(300), [[Predicate("a", "=", float(i % 3))] for i in range(300)])
    assert len(index._keys.columns) == index._members.state[USED_BUCKETS] == 4
    index.insert(300, [Predicate("a", "=", 7.0)])
    index.check()
    assert index.match({"a": 7.0}) == [300]
    assert len(index.match({"a": 1.0})) == 100
