"""Where the quadtree puts subscriptions, what pivotal tokens prune, and that churn keeps both."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from indexes.spatial_text import PTQuadtree
from indexes.spatial_text.quadtree import (
    CHILD,
    COUNT,
    COVERS,
    DEPTH,
    HELD,
    LEAVES,
    OPEN,
    PIVOTS,
    SET,
    USED,
)
from tests.indexes.intervals.columns import SHRINKING
from tests.oracles.spatial_text import Placed

INF = math.inf
WORDS = "abcdefgh"
corner = st.integers(-6, 6).map(float)
side = st.sampled_from([0.0, 0.0, 1.0, 2.0, 9.0, INF])
tokens = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
OPTIONS = [
    {"tau_num": 1, "most_copies": 2.0},
    {"tau_num": 2, "leaves_only": True, "pivots": "greedy"},
    {"tau_num": 2, "mx_cif": True, "most_pivots": 2},
    {"tau_num": 3, "pivots": "greedy", "most_pivots": 3, "tau_area": 0.5},
]


@st.composite
def boxes(draw):
    x, y = draw(corner), draw(corner)
    return x, y, x + draw(side), y + draw(side)


class ManyNodes(RuleBasedStateMachine):
    """One history for trees of all placements and choices of pivotal tokens."""

    def __init__(self):
        super().__init__()
        self.expected = Placed()
        self.trees = [PTQuadtree(**options) for options in OPTIONS]
        self.next_id = 0

    @rule(rows=st.lists(st.tuples(boxes(), tokens, st.sampled_from([0.0, 1.0, 2.0])), max_size=12))
    def insert(self, rows):
        ids = range(self.next_id, self.next_id + len(rows))
        self.next_id += len(rows)
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        for tree in self.trees:
            tree.insert_many(ids, *columns)
        for id, row in zip(ids, rows, strict=True):
            self.expected.insert(id, *row)

    @precondition(lambda self: self.expected.live)
    @rule(step=st.integers(1, 4))
    def delete(self, step):
        gone = sorted(self.expected.live)[::step]
        for tree in self.trees:
            tree.delete_many(gone)
        for id in gone:
            self.expected.delete(id)

    @rule(box=boxes(), said=st.lists(st.sampled_from(WORDS), max_size=6))
    def ask(self, box, said):
        wanted = self.expected.match(box, said)
        for tree in self.trees:
            assert tree.match(box, said) == wanted
            for k in (1, 3):
                assert tree.top_k(box, said, k) == self.expected.top_k(box, said, k)

    @invariant()
    def structure_holds(self):
        for tree in self.trees:
            tree.check()


TestManyNodes = SHRINKING(ManyNodes.TestCase)


def grid_of_points(n=16):
    """A point in each of n * n places, its words by column and by quarter."""
    places = [(float(x), float(y)) for x in range(n) for y in range(n)]
    words = [["west" if x < n / 2 else "east", f"x{int(x)}"] for x, _ in places]
    return [(*place, *place) for place in places], words


def built(box_list, token_lists, **options):
    tree = PTQuadtree.build(range(len(box_list)), box_list, token_lists, **options)
    tree.check()
    return tree


def looked_at(tree, box, said):
    before = tree.work
    found = tree.match(box, said)
    return found, *(after - b for after, b in zip(tree.work, before, strict=True))


def tokens_of_root(tree):
    first, covers, pivots = tree.tree.nodes[0, [SET, COVERS, PIVOTS]].tolist()
    strings = [tree.dictionary.string(t) for t in tree.tree.sets[first : first + max(pivots, 0)]]
    return set(strings[:covers]), set(strings[covers:])


def test_a_point_message_looks_at_one_node_on_each_level():
    box_list, words = grid_of_points()
    tree = built(box_list, words, tau_num=4)
    deepest = int(tree.tree.nodes[: tree.tree.state[USED], DEPTH].max())
    found, nodes, entries, records = looked_at(tree, (3, 5, 3, 5), ["x3", "west", "x4"])
    assert found == [3 * 16 + 5]
    assert nodes <= deepest + 1
    assert entries <= 4
    assert records == 1


def test_a_message_without_a_pivotal_token_is_done_at_the_root():
    box_list, words = grid_of_points()
    for pivots in ("greedy", "rarest"):
        tree = built(box_list, words, tau_num=4, pivots=pivots)
        tree.insert(1_000, (0, 0, 1, 1), ["unusual", "x0", "west"])
        assert looked_at(tree, (0, 0, 15, 15), ["nothing of it"]) == ([], 0, 0, 0)  # not one known
        assert looked_at(tree, (0, 0, 15, 15), ["unusual"])[0] == []
    greedy = built(box_list, words, tau_num=4, pivots="greedy")
    assert tokens_of_root(greedy) == (set(), {"east", "west"})
    assert looked_at(greedy, (0, 0, 15, 15), ["x3", "x4"]) == ([], 1, 0, 0)


def test_tokens_that_all_children_have_cover_them():
    box_list, _ = grid_of_points()
    tree = built(box_list, [["all", f"n{i}"] for i in range(len(box_list))], tau_num=4,
                 pivots="greedy")  # fmt: skip
    assert tokens_of_root(tree) == ({"all"}, set())
    assert not tree.tree.nodes[1 : tree.tree.state[USED], PIVOTS].any()
    tree.insert(1_000, (3, 3, 3, 3), ["all", "new"])
    assert tokens_of_root(tree) == ({"all"}, set())
    tree.insert(1_001, (3, 3, 3, 3), ["other"])
    assert tokens_of_root(tree) == ({"all"}, {"other"})
    assert tree.match((3, 3, 3, 3), ["other", "all", "new"]) == [1_000, 1_001]
    tree.check()


def test_the_greedy_choice_takes_the_most_frequent_token_of_the_rest():
    token_lists = [["a", "b"], ["a", "c"], ["a", "d"], ["b", "d"], ["b", "e"], ["e", "f"]]
    tree = built([(0, 0, 1, 1)] * 6, token_lists, pivots="greedy")
    assert tokens_of_root(tree) == (set(), {"a", "b", "e"})
    rarest = built([(0, 0, 1, 1)] * 6, token_lists, pivots="rarest")
    assert tokens_of_root(rarest) == (set(), {"a", "c", "d", "e", "f"})


def test_a_set_that_is_too_large_is_open_and_its_cover_set_stays():
    box_list, _ = grid_of_points()
    words = [["all", f"n{i}"] for i in range(len(box_list))]
    tree = built(box_list, words, tau_num=4, pivots="greedy", most_pivots=3)
    for i in range(6):
        tree.insert(1_000 + i, (i, i, i, i), [f"other {i}"])
        tree.check()
    assert tree.tree.nodes[0, PIVOTS] == OPEN
    assert tree.tree.nodes[0, COVERS] == 1
    assert tree.match((3, 3, 3, 3), ["all", "n51"]) == [51]


def test_equal_boxes_are_not_divided_for_ever():
    for options in ({}, {"leaves_only": True}, {"mx_cif": True}):
        tree = built([(0, 0, 4, 4)] * 300, [["a"]] * 300, tau_num=8, **options)
        assert tree.tree.state[USED] == 1
        points = built([(1, 1, 1, 1)] * 300 + [(9, 9, 9, 9)], [["a"]] * 301, tau_num=8, **options)
        assert points.tree.state[USED] < 100
        assert points.tree.nodes[0, HELD] == 301


def test_no_region_is_divided_below_tau_area():
    box_list, words = grid_of_points()
    tree = built(box_list, words, tau_num=1, tau_area=15.0 * 15 / 16)
    assert tree.tree.nodes[: tree.tree.state[USED], DEPTH].max() == 2


def test_each_placement_has_its_copies():
    rng = np.random.default_rng(0)
    low = rng.uniform(0, 100, (2_000, 2))
    box_list = np.column_stack((low, low + rng.uniform(0, 3, (2_000, 2)))).tolist()
    box_list[:20] = [(-9.0, -9.0, 200.0, 200.0)] * 20
    words = [[f"n{i % 50}"] for i in range(2_000)]
    trees = {
        name: built(box_list, words, tau_num=16, **{name: True} if name != "spread" else {})
        for name in ("spread", "leaves_only", "mx_cif")
    }
    copies = {name: tree.tree.nodes[0, HELD] for name, tree in trees.items()}
    assert copies["mx_cif"] == 2_000
    assert min(copies["spread"], copies["leaves_only"]) > 2_000
    assert trees["spread"].tree.nodes[0, COUNT] >= 1  # what covers everything is at the root
    inner = trees["leaves_only"].tree.nodes[: trees["leaves_only"].tree.state[USED]]
    assert not inner[inner[:, CHILD] >= 0, COUNT].any()
    for box in ((50, 50, 50, 50), (0, 0, 100, 100), (30, 30, 40, 31)):
        said = [f"n{i}" for i in range(0, 50, 2)]
        assert len({tuple(tree.match(box, said)) for tree in trees.values()}) == 1


def test_estimates_are_about_what_the_filter_leaves():
    box_list, words = grid_of_points()
    tree = built(box_list, words, tau_num=4)
    leaves = tree.tree.nodes[0, LEAVES]
    point, everything, half = tree.estimates(
        np.array([(3.0, 5.0, 3.0, 5.0), (-INF, -INF, INF, INF), (0.0, 0.0, 7.0, 15.0)])
    )
    assert point[0] == 1
    assert 1 <= point[1] <= 4
    assert everything.tolist() == pytest.approx([leaves, len(box_list)])
    assert half == pytest.approx([leaves / 2, len(box_list) / 2], rel=0.2)


def test_the_best_are_found_without_a_look_at_all_nodes():
    box_list, _ = grid_of_points(32)
    n = len(box_list)
    tree = PTQuadtree(tau_num=4)
    tree.insert_many(range(n), box_list, [["a"]] * n, np.arange(n, dtype=float))
    before = tree.work.entries
    assert tree.top_k((0, 0, 31, 31), ["a"], 2) == [(n - 1, n - 1.0), (n - 2, n - 2.0)]
    assert tree.work.entries - before < n / 10


def test_the_region_follows_subscriptions_that_move_away():
    tree = PTQuadtree(tau_num=4)
    for start in (0.0, 1_000.0):
        box_list = [(start + i, start + i, start + i, start + i) for i in range(200)]
        tree.insert_many(np.arange(200) + int(start), box_list, [["a"]] * 200)
    tree.delete_many(range(200))
    for i in range(3_000, 3_200):
        tree.insert(i, (i, i, i, i), ["a"])
    tree.check()
    assert tree.region.x[1] > 3_000
    found, _, entries, _ = looked_at(tree, (3_100, 3_100, 3_100, 3_100), ["a"])
    assert found == [3_100]
    assert entries <= 4


def test_far_outliers_do_not_take_the_grid_from_the_rest():
    box_list, words = grid_of_points(40)
    tree = built([*box_list, (1e200, -1e300, INF, 1e300)], [*words, ["x0"]], tau_num=4)
    assert tree.region.x[1] < 100
    assert looked_at(tree, (3, 5, 3, 5), ["x3", "west"])[0] == [3 * 40 + 5]
    assert tree.match((1e250, 0, 1e250, 0), ["x0"]) == [1_600]


def test_lists_and_sets_that_grow_leave_no_more_gaps_than_they_fill():
    rng = np.random.default_rng(1)
    tree = PTQuadtree(tau_num=8, pivots="greedy")
    tree.insert_many(range(64), rng.uniform(0, 9, (64, 1)).repeat(4, 1), [["a"]] * 64)
    for turn in range(1, 40):
        ids = np.arange(64) + 64 * turn
        words = [[f"w{word}"] for word in rng.integers(0, 99, 64)]
        tree.insert_many(ids, rng.uniform(0, 9, (64, 1)).repeat(4, 1), words)
        tree.delete_many(ids - 64)
    tree.check()
    assert len(tree) == 64
    assert len(tree.tree.entries) < 2_000
    assert len(tree.tree.sets) < 60_000


@pytest.mark.parametrize(
    "options",
    [
        {"tau_num": 0}, {"tau_area": -1.0}, {"tau_area": math.nan}, {"most_pivots": 0},
        {"pivots": "best"}, {"most_copies": 2.5}, {"mx_cif": True, "leaves_only": True},
    ],
    ids=str,
)  # fmt: skip
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        PTQuadtree(**options)
