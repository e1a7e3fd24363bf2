"""The hand-written heaps against sorting: full ones, ties, and the same room used again."""

import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from numba import njit

from indexes.boolean import tree_queue
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


keys = st.sampled_from([0.0, 0.5, 1.0, 2.0])


@njit
def _drained(keys, items):
    tree_queue.heapify(keys, items, len(keys))
    size = len(keys)
    while size > 0:
        size = tree_queue.drop_best(keys, items, size)


@given(keys=st.lists(keys, max_size=40))
def test_partitions_leave_the_queue_by_their_bounds(keys):
    left, items = np.array(keys, np.float64), np.arange(len(keys))
    _drained(left, items)
    assert left.tolist() == sorted(keys)  # the best first, each behind what is left
    assert [keys[item] for item in items] == sorted(keys)
