"""The seed's adaptations of known indexes: what its figures show, and what its analysis says."""

import math
import os
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.intervals.interval_tree import NIL, ScoredIntervalTree
from indexes.intervals.r_tree import ScoredRTree
from indexes.intervals.scored_heap import drop_first, new_heap, push, replace_first
from indexes.intervals.scored_index import ScoredArrays
from indexes.intervals.scored_rows import check_ranks, ranked
from indexes.intervals.segment_tree import ScoredSegmentTree
from tests.indexes.intervals import strategies as some
from tests.indexes.intervals.columns import INF, Row, array_bytes, assert_table, columns, scanned
from tests.indexes.intervals.test_sopt_r_tree import figure, populations, work

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
BASELINES = [ScoredRTree, ScoredIntervalTree, ScoredSegmentTree]
baselines = pytest.mark.parametrize("cls", BASELINES, ids=lambda cls: cls.__name__)


def test_example_1_the_three_nodes_of_the_interval_tree():
    """The root stabs {1, 3, 10}; {5, 6, 9} lie to its left and {2, 4, 7, 8} to its right.

    The seed's medians 50, 20 and 80 are no ends; the ends 55, 30 and 90 divide alike.
    """
    tree = ScoredIntervalTree.build(*columns(figure()))
    tree.check()
    t = tree._tree
    assert t.center.tolist() == [55.0, 30.0, 90.0]
    assert (t.left.tolist(), t.right.tolist()) == ([1, NIL, NIL], [2, NIL, NIL])
    lists = [(t.rows[a:b] + 1).tolist() for a, b in zip(t.start, t.stop, strict=True)]
    assert lists == [[1, 3, 10], [5, 6, 9], [2, 4, 7, 8]]
    assert (t.least.tolist(), t.most.tolist()) == ([10, 0, 65], [100, 45, 100])


def test_example_2_the_lists_of_the_segment_tree():
    """Between 75 and 90 the path from the root meets {10, 2, 7, 4, 8} and nothing else."""
    tree = ScoredSegmentTree.build(*columns(figure()))
    tree.check()
    for value in (75.5, 80, 89.5):
        assert {hit.id for hit in tree.scan(value)} == {10, 2, 7, 4, 8}
        assert [hit.id for hit in tree.scan(value)] == [2, 4, 7, 8, 10]
    assert len(tree._tree.lists) > 10, "no interval is in more than one list"


def test_example_2_an_interval_is_in_the_highest_nodes_that_it_covers():
    """Interval 9 is in more than one node, and in no node whose parent it covers as well."""
    t = ScoredSegmentTree.build(*columns(figure()))._tree
    holding = [
        node
        for node in range(len(t.starts) - 1)
        if 9 - 1 in t.lists[t.starts[node] : t.starts[node + 1]]
    ]
    assert len(holding) > 1
    assert len({node // 2 for node in holding}) == len(holding)


def test_figure_4_one_value_makes_the_r_tree_visit_every_node():
    """Of the leaves {1, 2, 3, 4}, {5, 6, 7, 8} and {9, 10} each has an extent around 90."""
    tree = ScoredRTree.build(*columns(figure()), branching=4)
    assert tree._tree.lows[10:].tolist() == [30, 0, 10]
    assert tree._tree.highs[10:].tolist() == [100, 100, 100]
    assert work(tree, lambda tree: list(tree.scan(90))) == 10 + 3


@baselines
@given(
    rows=some.populations,
    queries=st.lists(some.intervals, max_size=4),
    values=st.lists(some.values, max_size=4),
    k=some.counts,
    branching=st.sampled_from([2, 3, 48]),
)
def test_baselines_agree_with_a_full_scan(cls, rows, queries, values, k, branching):
    index, expected = cls.build(*columns(rows), branching=branching), scanned(rows)
    index.check()
    assert_table(index.top_k_many(values, k), [expected.top_k(v, k) for v in values], k)
    for value in values:
        assert list(islice(index.scan(value), k)) == expected.top_k(value, k)
    for low, high in queries:
        assert index.top_k_between(low, high, k) == expected.top_k_between(low, high, k)


@baselines
@pytest.mark.parametrize("shape", sorted(populations(2)))
def test_larger_populations_agree_with_a_full_scan(cls, shape):
    n = 100 if INTERPRETED else 700
    rows = populations(n)[shape]
    index, expected = cls.build(*columns(rows), branching=5), scanned(rows)
    index.check()
    values = [row.low for row in rows[:: n // 9]] + [row.high for row in rows[:: n // 7]]
    for value in filter(math.isfinite, values):
        assert index.top_k(value, 10) == expected.top_k(value, 10)
        for high in (value, value + 0.3, value + n / 8, INF):
            assert index.top_k_between(value, high, 7) == expected.top_k_between(value, high, 7)
            assert index.top_k_between(-INF, high, n) == expected.top_k_between(-INF, high, n)


@baselines
def test_arrays_are_rows_in_rank_order_and_nobody_elses(cls):
    index = cls.build(*columns(figure()), branching=7)
    arrays = index.to_arrays()
    assert type(arrays) is ScoredArrays
    assert arrays.ids.tolist() == list(range(1, 11))
    assert arrays.branching.tolist() == [7]
    frozen = ScoredArrays(*(np.frombuffer(a.tobytes(), a.dtype) for a in arrays))
    restored = cls.from_arrays(frozen)
    restored.check()
    assert array_bytes(restored.to_arrays()) == array_bytes(arrays)
    for array in arrays:
        array[:] = 0
    for value in (20, 30, 80, 90):
        assert (
            list(index.scan(value)) == list(restored.scan(value)) == scanned(figure()).scan(value)
        )


def test_a_segment_tree_query_reads_one_path_and_the_hits():
    """§2.2.1: O(log n) lists to open, then one entry a hit, whatever the lists hold."""
    n = 200 if INTERPRETED else 3000
    rows = populations(n)["random"]
    tree = ScoredSegmentTree.build(*columns(rows))
    path = math.ceil(math.log2(2 * n)) + 1
    for value in (0.2, 0.5, 0.71):
        for k in (1, 10, 50):
            assert work(tree, lambda tree, at=value, k=k: tree.top_k(at, k)) <= path + k


def test_a_segment_tree_takes_more_memory_than_the_others():
    """§2.2: each interval is in O(log n) lists; Table 2 has it an order of magnitude larger."""
    rows = columns(populations(3000)["random"])
    r_tree, interval_tree, segment_tree = (cls.build(*rows).nbytes for cls in BASELINES)
    assert segment_tree > 2 * max(r_tree, interval_tree)


def test_an_interval_tree_walks_past_better_intervals_that_do_not_match():
    """§2.2.2: lists are in rank order, so what a value is not in has to be examined."""
    n = 300 if INTERPRETED else 2000
    tree = ScoredIntervalTree.build(*columns([Row(i, -i, i, -i) for i in range(n)]))
    at_rim, at_center = n - 1.5, 0.0
    assert work(tree, lambda tree: tree.top_k(at_rim, 1)) >= n
    assert work(tree, lambda tree: tree.top_k(at_center, 1)) <= 2


def test_an_interval_tree_skips_nodes_whose_intervals_do_not_reach_the_value():
    """The least low and greatest high of a node tell without a walk of its list."""
    n = 100 if INTERPRETED else 1000
    inside = [Row(i, 100 - i / n, 100 + i / n, i) for i in range(n)]
    tree = ScoredIntervalTree.build(*columns([*inside, Row(n, 0.0, 1.0, 1.0)]))
    assert work(tree, lambda tree: tree.top_k(0.5, 1)) <= 2


SPOILT = [
    pytest.param(ScoredRTree, lambda t: t.lows.__setitem__(10, -5.0), id="loose-extent"),
    pytest.param(ScoredRTree, lambda t: t.scores.__setitem__(3, 99.0), id="rank"),
    pytest.param(ScoredIntervalTree, lambda t: t.center.__setitem__(1, 50.0), id="center"),
    pytest.param(ScoredIntervalTree, lambda t: t.most.__setitem__(0, 60.0), id="most"),
    pytest.param(ScoredIntervalTree, lambda t: t.left.__setitem__(0, NIL), id="lost-subtree"),
    pytest.param(
        ScoredIntervalTree,
        lambda t: t.rows.__setitem__(slice(None), t.rows[::-1].copy()),
        id="order",
    ),
    pytest.param(ScoredSegmentTree, lambda t: t.lists.__setitem__(0, 4), id="list"),
    pytest.param(ScoredSegmentTree, lambda t: t.cuts.__setitem__(0, 7.0), id="cut"),
    pytest.param(ScoredSegmentTree, lambda t: t.highs.__setitem__(5, 45.0), id="covered"),
]


@pytest.mark.parametrize(("cls", "spoil"), SPOILT)
def test_check_knows_a_spoilt_structure(cls, spoil):
    index = cls.build(*columns(figure()), branching=4)
    index.check()
    spoil(index._tree)
    with pytest.raises(AssertionError):
        index.check()


@given(rows=some.populations)
def test_ranked_rows_are_in_the_order_of_answers(rows):
    in_rank = ranked(*columns(rows))
    check_ranks(in_rank.ids, in_rank.scores)
    expected = sorted(rows, key=lambda row: (-row.score, row.id))
    assert list(zip(*(column.tolist() for column in in_rank), strict=True)) == expected


@given(ranks=st.lists(st.integers(0, 30), max_size=30), replacements=st.lists(st.integers(0, 30)))
def test_a_heap_gives_the_best_rank_first(ranks, replacements):
    heap, expected = new_heap(len(ranks)), sorted(ranks)
    for rank in ranks:
        push(heap, rank, rank + 100, -rank)
    for rank in replacements if ranks else []:
        assert heap.items[0].tolist() == [expected[0], expected[0] + 100, -expected[0]]
        replace_first(heap, rank, rank + 100, -rank)
        expected = sorted([*expected[1:], rank])
    while heap.size[0]:
        assert heap.items[0].tolist() == [expected[0], expected[0] + 100, -expected[0]]
        drop_first(heap)
        expected = expected[1:]
    assert expected == []
