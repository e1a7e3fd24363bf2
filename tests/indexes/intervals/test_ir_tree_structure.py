"""What answers alone do not show: balance, pruning, memory, and which plan a matcher takes."""

import numpy as np
import pytest

from indexes.intervals import ExactMatcher, IRTree
from indexes.intervals.ir_layout import LIVE_BLOCKS, TOP
from indexes.kernels import NIL

N = 240  # small enough for a run without the compiler; with a branching of 2 there are 15 buckets


def starts(n=N):
    return np.arange(n, dtype=np.float64)


ARRANGEMENTS = {
    "sorted": (starts(), starts() + 3.0),
    "reversed": (starts()[::-1], starts()[::-1] + 3.0),
    "points": (starts(), starts()),
    "nested": (-starts(), starts()),
    "nested-outside-in": (-starts()[::-1], starts()[::-1]),
    "all-equal": (np.zeros(N), np.ones(N)),
    "unbounded": (np.full(N, -np.inf), np.full(N, np.inf)),
    "half-open": (starts(), np.full(N, np.inf)),
}


def depth_of(tree):
    t = tree._index.tree
    deepest, pending = 0, [(int(t.state[TOP]), 1)]
    while pending:
        node, depth = pending.pop()
        if node != NIL:
            deepest = max(deepest, depth)
            pending += [(int(t.left[node]), depth + 1), (int(t.right[node]), depth + 1)]
    return deepest


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("batch", [1, 37, N])
def test_every_order_of_inserts_and_deletes_keeps_the_tree_balanced(arrangement, batch):
    lows, highs = ARRANGEMENTS[arrangement]
    scores = np.arange(N) % 5.0
    tree = IRTree(branching=2)
    for start in range(0, N, batch):
        some = slice(start, start + batch)
        tree.insert_many(np.arange(N)[some], lows[some], highs[some], scores[some])
    tree.check()
    # A divided node outweighs half a bucket, and a child is at most 0.7 of its parent.
    assert depth_of(tree) <= 2 + np.log(N / 8) / np.log(1 / 0.7)
    for start in range(0, N - 20, batch):
        tree.delete_many(np.arange(N - 20)[start : start + batch])
    tree.check()
    assert len(tree) == 20
    assert depth_of(tree) <= 3


def test_a_query_looks_at_few_of_many_intervals():
    lows = np.arange(2000.0)
    tree = IRTree.build(np.arange(2000), lows, lows + 50.0, np.arange(2000) % 97.0, branching=8)
    before = tree.visited
    assert len(tree.top_k(1000.0, k=3)) == 3
    assert tree.visited - before < 200


def test_an_r_tree_block_that_the_query_misses_is_skipped():
    # The better half of the intervals around 0 end at 1: a query at 5 must not look at them.
    reach = np.where(np.arange(1000) < 500, 1.0, 10.0)
    tree = IRTree.build(np.arange(1000), -reach, reach, -np.arange(1000.0), branching=10)
    before = tree.visited
    assert tree.top_k(5.0, k=1)[0].id == 500
    assert tree.visited - before < 60


def test_a_node_is_searched_only_when_a_row_of_it_may_be_next():
    # Long intervals, all in the topmost node, and short ones below it, one of which is the best.
    n = 1000
    starts = np.arange(float(n))
    lows = np.concatenate((starts, np.full(n, -1.0)))
    highs = np.concatenate((starts + 0.5, np.full(n, n + 1.0)))
    scores = np.concatenate((np.ones(n), np.zeros(n)))
    scores[333] = 2.0
    tree = IRTree.build(np.arange(2 * n), lows, highs, scores, branching=10)

    def visited(k):
        before = tree.visited
        assert [hit.id for hit in tree.top_k(333.25, k)] == [333, 1000][:k]
        return tree.visited - before

    assert visited(1) < 25
    assert visited(2) > 35


def test_a_block_of_more_entries_than_are_tested_at_once_is_searched_to_its_end():
    # The lower half of the ids ends at 1, and is the better one; all blocks are leaves.
    reach = np.where(np.arange(200) < 100, 1.0, 10.0)
    tree = IRTree.build(np.arange(200), -reach, reach, -np.arange(200.0), branching=300)
    assert [hit.id for hit in tree.top_k(5.0, k=3)] == [100, 101, 102]
    assert [hit.id for hit in tree.scan(5.0)] == list(range(100, 200))
    assert [hit.id for hit in tree.top_k(0.0, k=200)] == list(range(200))
    assert tree.top_k(11.0, k=3) == []


def test_a_scan_pays_only_for_the_hits_that_are_taken():
    lows = np.arange(1000.0)
    tree = IRTree.build(np.arange(1000), -lows, lows, lows, branching=10)
    before = tree.visited
    assert next(tree.scan(0.0)).id == 999
    first = tree.visited - before
    assert first < 60
    assert len(list(tree.scan(0.0))) == 1000
    assert tree.visited - before > 1000


def test_a_scan_notices_that_the_tree_has_changed():
    tree = IRTree.build([1, 2], [0.0, 0.0], [1.0, 1.0], [2.0, 1.0])
    hits = tree.scan(0.5)
    assert next(hits).id == 1
    tree.delete(2)
    with pytest.raises(RuntimeError, match="changed during a scan"):
        next(hits)


def test_deleted_space_is_used_again():
    rng = np.random.default_rng(3)
    tree = IRTree(branching=4)
    sizes = []
    for turn in range(8):
        ids = np.arange(turn * 300, turn * 300 + 300)
        lows = rng.random(300)
        tree.insert_many(ids, lows, lows + rng.random(300), rng.random(300))
        if turn:
            tree.delete_many(ids - 300)
        sizes.append(tree.nbytes)
    tree.check()
    assert max(sizes[2:]) < 1.5 * sizes[1]


def test_memory_is_given_back_after_mass_deletion():
    lows = np.arange(4000.0)
    tree = IRTree.build(np.arange(4000), lows, lows + 9.0, lows)
    full = tree.nbytes
    tree.delete_many(np.arange(3990))
    tree.check()
    assert tree.nbytes < full / 20
    assert [hit.id for hit in tree.top_k(3995.0, k=3)] == [3995, 3994, 3993]
    tree.delete_many(np.arange(3990, 4000))
    assert tree.top_k(3995.0, k=3) == []


def test_an_interval_costs_at_most_64_bytes():
    rng = np.random.default_rng(4)
    n = 20_000
    lows = rng.random(n)
    arrays = (np.arange(n), lows, lows + 0.1 * rng.random(n) ** 4, rng.random(n))
    assert IRTree.build(*arrays).nbytes <= 64 * n
    tree = IRTree()
    for start in range(0, n, 2000):
        tree.insert_many(*(column[start : start + 2000] for column in arrays))
    assert tree.nbytes <= 64 * n


def test_blocks_stay_well_filled_when_scores_only_rise_or_fall():
    for scores in (np.arange(2000.0), -np.arange(2000.0)):
        tree = IRTree(branching=10)
        for start in range(0, 2000, 100):
            some = slice(start, start + 100)
            tree.insert_many(np.arange(2000)[some], -np.ones(100), np.ones(100), scores[some])
        t = tree._index.tree
        leaves = t.filled[(t.filled > 0) & (t.level == 0)]
        assert len(leaves) <= t.state[LIVE_BLOCKS]
        assert leaves.mean() > 7.0


def selective_matcher(n=4000):
    """Attribute `id` tells all subscriptions apart, `half` only two halves of them."""
    numbers = np.arange(float(n))
    lows = np.stack((numbers, np.where(numbers < n / 2, 0.0, 5.0)), axis=1)
    highs = np.stack((numbers, np.where(numbers < n / 2, 4.0, 9.0)), axis=1)
    matcher = ExactMatcher(["id", "half"])
    matcher.insert_many(np.arange(n), lows, highs, numbers % 11)
    return matcher


def test_a_matcher_walks_the_tree_of_a_selective_attribute():
    matcher = selective_matcher()
    before = matcher.visited
    assert [hit.id for hit in matcher.top_k({"id": 7.0, "half": 1.0}, k=5)] == [7]
    assert matcher.visited - before < 1000


def test_a_matcher_scans_in_rank_order_when_many_subscriptions_match():
    matcher = selective_matcher()
    free = np.full((1000, 2), np.nan)
    matcher.insert_many(np.arange(10_000, 11_000), free, free, np.full(1000, 50.0))
    before = matcher.visited
    assert [hit.id for hit in matcher.top_k({"half": 1.0}, k=3)] == [10_000, 10_001, 10_002]
    assert matcher.visited - before < 500


def test_a_walk_that_was_estimated_wrongly_falls_back_to_a_scan():
    # Every attribute alone is selective for this event, but the same subscriptions meet both
    # and all of them fail on the third: a walk would read them all.
    n = 6000
    lows = np.tile(np.arange(float(n))[:, np.newaxis], 3)
    lows[: n // 20] = (0.0, 0.0, 1.0)
    matcher = ExactMatcher(["a", "b", "c"])
    matcher.insert_many(np.arange(n), lows, lows, np.arange(n) % 7.0)
    before = matcher.visited
    assert matcher.top_k({"a": 0.0, "b": 0.0, "c": 0.0}, k=2) == []
    assert matcher.visited - before < 2 * n
    matcher.check()
