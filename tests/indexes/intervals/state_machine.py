"""A state machine over every update that an interval index takes, against a full scan."""

import math
from itertools import islice
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.indexes.intervals import strategies as some
from tests.indexes.intervals.columns import (
    ID_ERRORS,
    INF,
    Row,
    array_bytes,
    assert_same_answers,
    assert_table,
    columns,
    refused,
    scanned,
)


class UpdatesAgainstScan(RuleBasedStateMachine):
    """Ids come from a small pool, so known and unknown ones are met all the time."""

    kind: Any  # the index under test

    @initialize(
        branching=st.sampled_from([2, 3, 4]), population=some.populations, bulk=st.booleans()
    )
    def start(self, branching, population, bulk):
        self.branching = branching
        self.expected = scanned(population)
        if bulk:
            self.index = self.kind.build(*columns(population), branching=branching)
        else:
            self.index = self.kind(branching=branching)
            self.index.insert_many(*columns(population))

    def knows(self, id):
        return id in self.expected.live

    @rule(row=some.rows)
    def insert(self, row):
        if self.knows(row.id):
            with refused(self.index, KeyError, row.id):
                self.index.insert(*row)
        else:
            self.index.insert(*row)
            self.expected.insert(*row)

    @rule(id=some.ids, of=some.hot_ids)
    def insert_a_twin(self, id, of):
        if self.knows(of) and not self.knows(id):
            self.insert(Row(id, *self.expected.live[of]))

    @rule(batch=some.batches, fresh=st.booleans())
    def insert_many(self, batch, fresh):
        if fresh:
            batch = list({row.id: row for row in batch if not self.knows(row.id)}.values())
        ids = [row.id for row in batch]
        if len(set(ids)) < len(ids) or any(map(self.knows, ids)):
            with refused(self.index, ID_ERRORS):
                self.index.insert_many(*columns(batch))
        else:
            self.index.insert_many(*columns(batch))
            for row in batch:
                self.expected.insert(*row)

    @rule(
        batch=st.lists(some.rows, min_size=1, max_size=6, unique_by=lambda row: row.id),
        at=st.integers(0, 5),
        spoilt=st.sampled_from([{"low": math.nan}, {"low": 3.0, "high": 2.0}, {"score": INF}]),
    )
    def insert_many_with_a_bad_row(self, batch, at, spoilt):
        batch = [row for row in batch if not self.knows(row.id)] or [Row(99, 0.0, 1.0, 1.0)]
        batch[at % len(batch)] = batch[at % len(batch)]._replace(**spoilt)
        with refused(self.index, ValueError):
            self.index.insert_many(*columns(batch))

    @rule(id=some.ids)
    def delete(self, id):
        if self.knows(id):
            self.index.delete(id)
            self.expected.delete(id)
        else:
            with refused(self.index, KeyError, id):
                self.index.delete(id)

    @rule(row=some.rows)
    def move(self, row):
        if self.knows(row.id):
            self.delete(row.id)
            self.insert(row)

    @rule(id=some.hot_ids)
    def delete_and_bring_back_the_same(self, id):
        if self.knows(id):
            row = Row(id, *self.expected.live[id])
            self.delete(id)
            self.insert(row)

    @rule(ids=st.lists(some.ids, max_size=8), live=st.booleans())
    def delete_many(self, ids, live):
        if live:
            ids = list({id for id in ids if self.knows(id)})
        if len(set(ids)) == len(ids) and all(map(self.knows, ids)):
            self.index.delete_many(ids)
            for id in ids:
                self.expected.delete(id)
        else:
            with refused(self.index, ID_ERRORS):
                self.index.delete_many(ids)

    @rule(changes=st.lists(st.tuples(some.ids, some.scores), max_size=6), live=st.booleans())
    def update_scores(self, changes, live):
        if live:
            changes = list({id: (id, score) for id, score in changes if self.knows(id)}.values())
        ids, scores = [id for id, _ in changes], [score for _, score in changes]
        if len(set(ids)) == len(ids) and all(map(self.knows, ids)):
            self.index.update_scores(ids, scores)
            for id, score in changes:
                self.expected.update_score(id, score)
        else:
            with refused(self.index, ID_ERRORS):
                self.index.update_scores(ids, scores)

    @rule(id=some.ids, score=some.scores)
    def update_score(self, id, score):
        if self.knows(id):
            self.index.update_score(id, score)
            self.expected.update_score(id, score)
        else:
            with refused(self.index, KeyError, id):
                self.index.update_score(id, score)

    @rule(value=some.values, k=some.counts)
    def top_k(self, value, k):
        assert self.index.top_k(value, k) == self.expected.top_k(value, k)

    @rule(values=st.lists(some.values, max_size=5), k=some.counts)
    def top_k_many(self, values, k):
        wanted = [self.expected.top_k(value, k) for value in values]
        assert_table(self.index.top_k_many(values, k), wanted, k)

    @rule(query=some.intervals, k=some.counts)
    def top_k_between(self, query, k):
        low, high = query
        assert self.index.top_k_between(low, high, k) == self.expected.top_k_between(low, high, k)

    @rule(value=some.values, first=some.counts)
    def scan_prefix(self, value, first):
        assert list(islice(self.index.scan(value), first)) == self.expected.scan(value)[:first]

    @rule()
    def round_trip(self):
        arrays = self.index.to_arrays()
        self.index = self.kind.from_arrays(arrays)
        assert array_bytes(self.index.to_arrays()) == array_bytes(arrays)

    @invariant()
    def structure_holds(self):
        self.index.check()
        assert len(self.index) == len(self.expected.live)

    def teardown(self):
        if hasattr(self, "expected"):
            assert_same_answers(self.index, self.expected)
