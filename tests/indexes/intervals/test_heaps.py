"""The hand-written heaps against sorting: full ones, ties, and the same room used again."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from numba import njit

from indexes.boolean import ranking, tree_queue
from indexes.intervals import relaxed_heap
from indexes.intervals.scored_heap import drop_first, new_heap, push, replace_first


class RankHeapAgainstHeapq(RuleBasedStateMachine):
    @initialize(capacity=st.integers(1, 12))
    def start(self, capacity):
        self.heap, self.capacity = new_heap(capacity), capacity
        self.expected = []  # (rank, what came with it)

    ranks = st.integers(0, 8)

    @rule(rank=ranks, a=st.integers(0, 99))
    def push(self, rank, a):
        if len(self.expected) < self.capacity:
            push(self.heap, rank, a, -a)
            heapq.heappush(self.expected, (rank, a))

    @rule(rank=ranks, a=st.integers(0, 99))
    def replace_first(self, rank, a):
        if self.expected:
            self.expected.remove(self.first)
            replace_first(self.heap, rank, a, -a)
            heapq.heappush(self.expected, (rank, a))

    @rule()
    def drop_first(self):
        if self.expected:
            self.expected.remove(self.first)
            drop_first(self.heap)
            heapq.heapify(self.expected)

    @property
    def first(self):
        return tuple(self.heap.items[0, :2].tolist())

    @invariant()
    def contents_are_those_of_the_list(self):
        size = int(self.heap.size[0])
        items = self.heap.items[:size].tolist()
        assert sorted((rank, a) for rank, a, _ in items) == sorted(self.expected)
        assert all(b == -a for _, a, b in items)
        if size:
            assert self.first[0] == min(self.expected)[0]


TestRankHeapAgainstHeapq = RankHeapAgainstHeapq.TestCase


@njit
def _best_relaxed(hits_ids, hits_scores, ids, scores):
    found = 0
    for i in range(len(hits_ids)):
        found = relaxed_heap.offer(ids, scores, found, hits_ids[i], hits_scores[i])
    relaxed_heap.put_in_order(ids, scores, found)
    return found


@njit
def _best_boolean(hits_ids, hits_scores, ids, scores):
    found = 0
    for i in range(len(hits_ids)):
        found = ranking.offer(ids, scores, found, hits_ids[i], hits_scores[i], True)
    ranking.sort_best_first(ids, scores, found)
    return found


scores = st.sampled_from([0.0, 0.5, 1.0, 2.0])


def best_of(kernel, k, hits):
    ids, scores = np.full(k, -1), np.full(k, np.nan)  # whatever was there before
    given = np.array([id for id, _ in hits], np.int64), np.array([s for _, s in hits], np.float64)
    found = kernel(*given, ids, scores)
    return list(zip(ids[:found].tolist(), scores[:found].tolist(), strict=True))


def ranked(hits, k):
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]


@pytest.mark.parametrize("kernel", [_best_relaxed, _best_boolean])
@given(k=st.integers(1, 12), hits=st.dictionaries(st.integers(0, 60), scores), data=st.data())
def test_the_best_are_kept_in_whatever_order_they_come(kernel, k, hits, data):
    order = data.draw(st.permutations(list(hits.items())))
    assert best_of(kernel, k, order) == ranked(hits.items(), k)


@given(k=st.integers(1, 12), hits=st.lists(st.tuples(st.integers(0, 9), scores), max_size=40))
def test_of_an_id_that_comes_again_the_best_score_counts(k, hits):
    best = {}
    for id, score in hits:
        best[id] = max(score, best.get(id, 0.0))
    assert best_of(_best_boolean, k, hits) == ranked(best.items(), k)


@njit
def _drained(keys, items):
    tree_queue.heapify(keys, items, len(keys))
    size = len(keys)
    while size > 0:
        size = tree_queue.drop_best(keys, items, size)


@given(keys=st.lists(scores, max_size=40))
def test_partitions_leave_the_queue_by_their_bounds(keys):
    left, items = np.array(keys, np.float64), np.arange(len(keys))
    _drained(left, items)
    assert left.tolist() == sorted(keys)  # the best first, each behind what is left
    assert [keys[item] for item in items] == sorted(keys)
