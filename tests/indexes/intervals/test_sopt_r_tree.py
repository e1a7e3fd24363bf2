"""The score-optimal R-tree: its graph, its arrangement, and what the seed proves of them."""

import math
import os
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.intervals.packed_r_tree import WORD
from indexes.intervals.r_tree import ScoredRTree
from indexes.intervals.scored_rows import ranked
from indexes.intervals.sopt_graph import NIL, constraint_graph
from indexes.intervals.sopt_r_tree import SOPTArrays, SOPTRTree
from indexes.intervals.sopt_slot_set import (
    add_slot,
    drop_slot,
    first_slot,
    last_slot_to,
    new_slots,
    slot_from,
)
from tests.indexes.intervals import strategies as some
from tests.indexes.intervals.columns import (
    INF,
    Row,
    array_bytes,
    assert_same_answers,
    assert_table,
    columns,
    scanned,
)

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"

# The ten intervals of the seed's figures, numbered by score.  The drawings give no numbers; these
# are the ends that Examples 1, 2, 4 and 5 leave possible:
#
#     0   10      30     45    55    65    75       90    100
#                 1------------1
#                                          2---------------2
#                        3-----3
#                                    4--------------4
#         5-------5
#     6-----------6
#                                          7---------------7
#                                          8--------8
#         9--------------9
#         10----------------------------------------------10
FIGURE = {
    1: (30, 55), 2: (75, 100), 3: (45, 55), 4: (65, 90), 5: (10, 30),
    6: (0, 30), 7: (75, 100), 8: (75, 90), 9: (10, 45), 10: (10, 100),
}  # fmt: skip


def figure(*numbers):
    return [Row(i, *FIGURE[i], 11 - i) for i in numbers or FIGURE]


def graph_edges(rows):
    """The constraint graph as pairs of ids."""
    in_rank = ranked(*columns(rows))
    by_low = np.lexsort((np.arange(len(rows)), in_rank.lows))
    graph, ids = constraint_graph(in_rank, by_low), in_rank.ids[by_low].tolist()
    pairs = []
    for node in range(len(rows)):
        edge = graph.first[node]
        while edge != NIL:
            pairs.append((ids[node], ids[graph.target[edge]]))
            edge = graph.other[edge]
    assert len(pairs) == len(graph.target)
    assert graph.incoming.tolist() == [sum(b == id for _, b in pairs) for id in ids]
    return sorted(pairs)


def predecessors(rows, id):
    return {a for a, b in graph_edges(rows) if b == id}


def points(rows):
    """A point of every kind: each end, and one between each two neighbours."""
    ends = sorted({end for row in rows for end in row[1:3]})
    return ends + [
        a / 2 + b / 2 if a != -INF and b != INF else _beside(a, b) for a, b in pairwise(ends)
    ]


def _beside(a, b):
    return 0.0 if (a, b) == (-INF, INF) else b - 1 if a == -INF else a + 1


def in_rank_order(rows):
    return sorted(rows, key=lambda row: (-row.score, row.id))


def edges_by_definition(rows):
    """An edge where some point lies in both and in none that ranks between them."""
    pairs = set()
    for point in points(rows):
        around = [row.id for row in in_rank_order(rows) if row.low <= point <= row.high]
        pairs.update(pairwise(around))
    return sorted(pairs)


def arrangement_by_definition(rows):
    """Algorithm 1 with neither graph nor heap."""
    waiting, arranged = in_rank_order(rows), []
    while waiting:
        free = [
            row
            for at, row in enumerate(waiting)
            if not any(other.low <= row.high and row.low <= other.high for other in waiting[:at])
        ]
        arranged.append(min(free, key=lambda row: row.low))
        waiting.remove(arranged[-1])
    return [row.id for row in arranged]


def arranged_ids(tree):
    arrays = tree.to_arrays()
    return arrays.ids[arrays.arranged].tolist()


def bound(tree, k):
    """Theorem 3.2: at most 2k nodes of every level below the root's, each of b entries."""
    b, n = int(tree.to_arrays().branching[0]), len(tree)
    below, entries = 0, n
    while entries > b:
        entries = -(-entries // b)
        below += 1
    return b * (1 + 2 * k * below)


def work(tree, query):
    """Entries that `query` examined, by the tree's own counter."""
    before = tree.visited
    hits = query(tree)
    examined = tree.visited - before
    assert type(tree.visited) is int
    assert examined >= len(hits), "the counter does not count"
    return examined


def test_example_4_the_edges_of_the_figure():
    """(1, 3) and (1, 9) are edges, (1, 10) is not but is covered by the path (1, 3, 10).

    The others follow from the drawing.  (1, 5) and (3, 9) are there because closed intervals
    that touch at a point meet, which the seed's example passes over.
    """
    assert graph_edges(figure()) == [
        (1, 3), (1, 5), (1, 9), (2, 4), (2, 7), (3, 9), (3, 10), (4, 7), (4, 10),
        (5, 6), (6, 9), (7, 8), (7, 10), (8, 10), (9, 10),
    ]  # fmt: skip
    assert SOPTRTree.build(*columns(figure())).edges == 15


def test_example_5_the_visible_blocks_of_the_first_seven():
    """Seen from below, intervals 1 to 7 show 6, 1, 3, nothing, 4 and 7, from left to right."""
    seven = figure(1, 2, 3, 4, 5, 6, 7)
    seen = {
        (1, 29): {6},
        (31, 44): {1},
        (46, 54): {3},
        (56, 64): set(),
        (66, 74): {4},
        (76, 99): {7},
    }
    for (low, high), owners in seen.items():
        assert predecessors([*seven, Row(8, low, high, 0)], 8) == owners
    assert predecessors([*seven, Row(8, -INF, INF, 0)], 8) == {1, 3, 4, 6, 7}
    assert predecessors([*seven, Row(8, -9, -1, 0)], 8) == set()


def test_the_endpoint_at_30_is_visible_until_worse_intervals_obscure_it():
    """§3.2.2: with respect to 1..8 the end of 6 is visible at 30; with 1..10 it is not."""
    probe = Row(99, 30, 30, 0)
    assert predecessors([*figure(*range(1, 9)), probe], 99) == {6}
    assert predecessors([*figure(), probe], 99) == {10}


def test_figure_5_the_arrangement_and_its_answers():
    """Leftmost first of those that nothing better holds back: 1 frees 5, 5 frees 6, and so on."""
    tree = SOPTRTree.build(*columns(figure()), branching=4)
    tree.check()
    assert arranged_ids(tree) == [1, 5, 6, 3, 9, 2, 4, 7, 8, 10]
    for value in (-1, 0, 20, 30, 35, 45, 50, 60, 80, 90, 95, 100, 101):
        assert list(tree.scan(value)) == scanned(figure()).scan(value)
    assert [hit.id for hit in tree.scan(80)] == [2, 4, 7, 8, 10]  # Example 2


def test_what_only_touches_keeps_its_order():
    #      [0 . 2]            the better one is to the right: it still has to come first,
    #            [2 . 4]      because the value 2 is in both
    tree = SOPTRTree.build([1, 2], [0.0, 2.0], [2.0, 4.0], [1.0, 5.0], branching=2)
    assert (arranged_ids(tree), tree.edges) == ([2, 1], 1)
    apart = math.nextafter(2.0, INF)
    tree = SOPTRTree.build([1, 2], [0.0, apart], [2.0, 4.0], [1.0, 5.0], branching=2)
    assert (arranged_ids(tree), tree.edges) == ([1, 2], 0)


@given(rows=some.populations)
def test_the_graph_is_the_seeds_definition_point_by_point(rows):
    assert graph_edges(rows) == edges_by_definition(rows)
    assert SOPTRTree.build(*columns(rows)).edges == len(edges_by_definition(rows)) <= 3 * len(rows)


@given(rows=some.populations)
def test_every_pair_that_meets_is_joined_by_a_path(rows):
    below = {row.id: set() for row in rows}
    for row in in_rank_order(rows)[::-1]:
        for a, b in graph_edges(rows):
            if a == row.id:
                below[a] |= {b} | below[b]
    for at, row in enumerate(in_rank_order(rows)):
        meeting = {
            r.id for r in in_rank_order(rows)[at + 1 :] if r.low <= row.high and row.low <= r.high
        }
        assert meeting <= below[row.id]


@given(rows=some.populations)
def test_the_arrangement_is_the_seeds_algorithm_1(rows):
    assert arranged_ids(SOPTRTree.build(*columns(rows), branching=2)) == arrangement_by_definition(
        rows
    )


@given(rows=some.populations, branching=st.sampled_from([2, 3, 5]))
def test_no_query_enters_more_than_2k_nodes_of_a_level(rows, branching):
    tree = SOPTRTree.build(*columns(rows), branching=branching)
    tree.check()
    for value in [point for point in points(rows) if math.isfinite(point)]:
        for k in (1, 2, 5):
            assert work(tree, lambda tree, at=value, k=k: tree.top_k(at, k)) <= bound(tree, k)


def populations(n):
    """Shapes that leave holes in a careless arrangement."""
    random = np.random.default_rng(4)
    scores = random.permutation(n).astype(float).tolist()
    coarse = random.integers(0, 40, (n, 2)).astype(float).tolist()
    fine = random.random((n, 2)).tolist()
    return {
        "disjoint": [Row(i, i, i + 0.5, scores[i]) for i in range(n)],
        "chained": [Row(i, i, i + 1, scores[i]) for i in range(n)],
        "short": [Row(i, fine[i][0] * n, fine[i][0] * n + 3, scores[i]) for i in range(n)],
        "random": [Row(i, min(fine[i]), max(fine[i]), scores[i]) for i in range(n)],
        "coarse": [Row(i, min(coarse[i]), max(coarse[i]), scores[i] % 7) for i in range(n)],
        "nested": [Row(i, -i, i, -i) for i in range(n)],
        "nested-best-outside": [Row(i, -i, i, i) for i in range(n)],
        "all-equal": [Row(i, 1.0, 2.0, 3.0) for i in range(n)],
        "half-lines": [Row(i, i, INF, scores[i]) for i in range(n)],
        "points": [Row(i, i % 50, i % 50, scores[i]) for i in range(n)],
    }


SHAPES = sorted(populations(2))
BRANCHINGS = [2, 7, WORD, WORD + 1, 2 * WORD + 5]  # also nodes of more entries than a mask has bits


@pytest.mark.parametrize("branching", BRANCHINGS)
@pytest.mark.parametrize("shape", SHAPES)
def test_larger_populations_agree_with_a_full_scan_and_stay_within_the_theorem(shape, branching):
    n = 200 if INTERPRETED else 700
    rows = populations(n)[shape]
    tree, expected = SOPTRTree.build(*columns(rows), branching=branching), scanned(rows)
    tree.check()
    assert tree.edges <= 3 * n
    values = [row.low for row in rows[:: n // 9]] + [row.high for row in rows[:: n // 7]]
    for value in filter(math.isfinite, values):
        for k in (1, 10, n):
            assert tree.top_k(value, k) == expected.top_k(value, k)
        for k in (1, 10):
            assert work(tree, lambda tree, at=value, k=k: tree.top_k(at, k)) <= bound(tree, k)


@pytest.mark.parametrize("shape", SHAPES)
def test_interval_events_agree_with_a_full_scan_at_every_width(shape):
    n = 150 if INTERPRETED else 600  # three levels of the tournament over the lows
    rows = populations(n)[shape]
    tree, expected = SOPTRTree.build(*columns(rows)), scanned(rows)
    ends = sorted({end for row in rows[:: n // 8] for end in row[1:3]} | {-INF, -0.5, INF})
    for at, low in enumerate(ends):
        for high in ends[at :: 1 + at % 3]:
            for k in (1, 7, n):
                assert tree.top_k_between(low, high, k) == expected.top_k_between(low, high, k)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 255, 256, 257])
def test_interval_events_at_the_sizes_at_which_the_tournament_grows_a_level(n):
    rows = populations(n)["short"]
    tree, expected = SOPTRTree.build(*columns(rows)), scanned(rows)
    tree.check()
    for low, high in ((-INF, INF), (-INF, n / 2), (n / 2, INF), (n / 4, n / 2)):
        for k in (1, n):
            assert tree.top_k_between(low, high, k) == expected.top_k_between(low, high, k)


def test_interval_events_examine_few_entries_however_wide_they_are():
    n = 500 if INTERPRETED else 5000
    rows = populations(n)["short"]
    tree = SOPTRTree.build(*columns(rows), branching=4)
    fan, levels = 16, math.ceil(math.log(n, 16))
    most = bound(tree, 5) + fan * levels * (2 + 5)
    assert most < n or INTERPRETED
    for low, high in ((-INF, INF), (0.0, n / 2), (n / 3, n / 3 + 5), (n / 2, n / 2), (n / 4, INF)):
        assert work(tree, lambda tree, a=low, b=high: tree.top_k_between(a, b, 5)) <= most


def test_holes_that_stop_a_score_sorted_tree_do_not_stop_this_one():
    """Disjoint intervals, scores at random: rank order puts strangers into every node."""
    n = 500 if INTERPRETED else 4000
    rows = populations(n)["disjoint"]
    optimal, sorted_by_score = (
        cls.build(*columns(rows), branching=4) for cls in (SOPTRTree, ScoredRTree)
    )
    in_gaps = [i + 0.75 for i in range(n // 10, n, n // 10)]
    for value in in_gaps:
        assert work(optimal, lambda tree, at=value: tree.top_k(at, 1)) <= bound(optimal, 1)
    assert work(sorted_by_score, lambda tree: tree.top_k(in_gaps[4], 1)) > n / 2


def test_scan_is_lazy():
    n = 400 if INTERPRETED else 4000
    tree = SOPTRTree.build(*columns([Row(i, 0.0, 1.0, i) for i in range(n)]), branching=4)
    assert work(tree, lambda tree: list(islice(tree.scan(0.5), 1))) <= bound(tree, 1)
    assert work(tree, lambda tree: list(islice(tree.scan(0.5), 10))) <= bound(tree, 20)
    assert work(tree, lambda tree: list(tree.scan(0.5))) >= n


def test_a_batch_counts_the_work_of_all_its_queries():
    rows = populations(300)["random"]
    tree = SOPTRTree.build(*columns(rows), branching=4)
    values = [0.1, 0.2, 0.5, 0.9]
    singly = [work(tree, lambda tree, at=value: tree.top_k(at, 5)) for value in values]
    assert work(tree, lambda tree: tree.top_k_many(values, 5).ids.ravel()) == sum(singly)


def test_a_subscription_takes_at_most_48_bytes():
    n = 3000
    tree = SOPTRTree.build(*columns(populations(n)["short"]))
    assert 40 * n <= tree.nbytes <= 48 * n


def test_a_tree_restored_from_read_only_bytes_has_the_same_answers_and_bytes():
    rows = populations(200)["coarse"]
    tree = SOPTRTree.build(*columns(rows), branching=5)
    arrays = tree.to_arrays()
    frozen = SOPTArrays(*(np.frombuffer(a.tobytes(), a.dtype) for a in arrays))
    restored = SOPTRTree.from_arrays(frozen)
    restored.check()
    assert (len(restored), restored.edges, restored.nbytes) == (len(tree), tree.edges, tree.nbytes)
    assert array_bytes(restored.to_arrays()) == array_bytes(arrays)
    values = [float(value) for value in range(-1, 42)]
    expected = scanned(rows)
    assert_table(restored.top_k_many(values, 9), [expected.top_k(v, 9) for v in values], 9)
    assert restored.top_k_between(3, 8.5, 30) == expected.top_k_between(3, 8.5, 30)


def test_arrays_handed_out_or_in_are_not_the_trees_own():
    tree = SOPTRTree.build(*columns(figure()))
    arrays = tree.to_arrays()
    restored = SOPTRTree.from_arrays(arrays)
    for array in arrays:
        array[:] = 0
    for index in (tree, restored):
        assert_same_answers(index, scanned(figure()))


BAD_ARRAYS = [
    pytest.param({"arranged": np.array([0, 1, 1], np.int32)}, "each rank once", id="twice"),
    pytest.param({"arranged": np.array([0, 1, 3], np.int32)}, "each rank once", id="beyond"),
    pytest.param({"arranged": np.array([0, 1], np.int32)}, "2 arranged", id="short"),
    pytest.param({"scores": np.array([1.0, 0.5])}, "2 scores", id="columns"),
    pytest.param({"branching": np.array([1])}, "branching: got 1", id="branching"),
]


@pytest.mark.parametrize(("change", "named"), BAD_ARRAYS)
def test_arrays_that_no_tree_has_are_refused(change, named):
    arrays = SOPTRTree.build([1, 2, 3], [0, 5, 9], [1, 6, 9], [3, 2, 1]).to_arrays()
    with pytest.raises(ValueError, match=named):
        SOPTRTree.from_arrays(arrays._replace(**change))


@pytest.mark.parametrize("branching", [1, 0, -3, 2.5, True])
def test_a_branching_that_is_not_a_whole_number_above_one_is_refused(branching):
    with pytest.raises(ValueError, match=str(branching)):
        SOPTRTree.build([1], [0.0], [1.0], [1.0], branching=branching)


def rearranged(rows, ids, branching=2):
    """A tree with the given arrangement, right or wrong."""
    arrays = SOPTRTree.build(*columns(rows), branching=branching).to_arrays()
    rank = {id: at for at, id in enumerate(arrays.ids.tolist())}
    return SOPTRTree.from_arrays(arrays._replace(arranged=np.array([rank[id] for id in ids])))


def test_check_knows_an_arrangement_that_answers_wrongly():
    ids = [1, 5, 6, 3, 9, 2, 4, 7, 8, 10]
    rearranged(figure(), ids).check()
    for wrong in ([5, 1, *ids[2:]], [*ids[:-2], 10, 8], ids[::-1]):
        with pytest.raises(AssertionError):
            rearranged(figure(), wrong).check()


def test_check_knows_an_arrangement_with_holes_although_it_answers_rightly():
    rows = [Row(i, i, i + 0.5, (7 * i) % 16) for i in range(16)]
    tree = rearranged(rows, [row.id for row in in_rank_order(rows)])
    assert [list(tree.scan(i)) for i in range(16)] == [[(row.id, row.score)] for row in rows]
    with pytest.raises(AssertionError):
        tree.check()


def test_check_knows_a_loose_or_narrow_extent_a_wrong_rank_and_too_many_edges():
    def spoilt(spoil):
        tree = SOPTRTree.build(*columns(figure()), branching=2)
        tree.check()
        spoil(tree)
        with pytest.raises(AssertionError):
            tree.check()

    spoilt(lambda tree: tree._tree.lows.__setitem__(10, -5.0))
    spoilt(lambda tree: tree._tree.highs.__setitem__(-1, 50.0))
    spoilt(lambda tree: tree._tree.scores.__setitem__(0, -1.0))
    spoilt(lambda tree: tree._tree.ids.__setitem__(0, 3))
    spoilt(lambda tree: tree._left.ranks.__setitem__(slice(0, 2), tree._left.ranks[[1, 0]]))
    spoilt(lambda tree: setattr(tree, "_edges", 31))


def test_check_of_a_large_tree_looks_at_a_sample():
    n = 1100
    rows = populations(n)["short"]
    tree = SOPTRTree.build(*columns(rows), branching=8)
    tree.check()
    with pytest.raises(AssertionError):
        rearranged(rows, arranged_ids(tree)[::-1], branching=8).check()


@given(
    bound=st.sampled_from([1, 31, 32, 33, 1024, 1025, 40_000]),
    data=st.data(),
)
def test_a_slot_set_is_a_sorted_set(bound, data):
    slots, members = new_slots(bound), set()
    numbers = st.one_of(st.integers(0, bound - 1), st.sampled_from([0, bound - 1, bound // 2]))
    for slot in data.draw(st.lists(numbers, max_size=40)):
        if slot in members:
            drop_slot(slots, slot)
            members.discard(slot)
        else:
            add_slot(slots, slot)
            members.add(slot)
        if members:
            assert first_slot(slots) == min(members)
            probe = data.draw(st.integers(min(members), max(members)))
            assert slot_from(slots, probe) == min(m for m in members if m >= probe)
            assert last_slot_to(slots, probe) == max(m for m in members if m <= probe)
    assert slots.words.any() == bool(members)
