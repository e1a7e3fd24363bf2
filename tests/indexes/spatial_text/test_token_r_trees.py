"""How the packed R-trees are packed, anew when enough has changed, and what their tokens prune."""

import itertools

import numpy as np
import pytest

from indexes.spatial_text import InvertedRTree, RtTree
from indexes.spatial_text.token_r_trees import pack
from tests.oracles.spatial_text import Placed

WORDS = [f"w{i}" for i in range(30)]


def rows_of(n, seed):
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 100, (n, 2)).astype(float)
    boxes = np.column_stack((low, low + rng.integers(0, 4, (n, 2)))).tolist()
    token_lists = [list(rng.choice(WORDS, rng.integers(1, 4), replace=False)) for _ in range(n)]
    return boxes, token_lists, rng.integers(0, 5, n).astype(float)


@pytest.mark.parametrize("n", [0, 1, 2, 4, 5, 17, 300])
def test_every_box_is_in_one_run_and_every_node_has_one_parent(n):
    boxes = np.array(rows_of(n, 0)[0]).reshape(-1, 4)
    packed = pack(boxes, 4)
    assert sorted(packed.order) == list(range(n))
    levels = packed.levels.tolist()
    assert levels[-1] == len(packed.boxes)
    below = boxes[packed.order]
    shift = 0
    for first, stop in itertools.pairwise(levels):
        taken = []
        for node in range(first, stop):
            run = np.arange(packed.counts[node]) + packed.firsts[node] - shift
            assert 0 < len(run) <= 4
            taken += run.tolist()
            assert packed.boxes[node, :2].tolist() == below[run, :2].min(axis=0).tolist()
            assert packed.boxes[node, 2:].tolist() == below[run, 2:].max(axis=0).tolist()
        assert sorted(taken) == list(range(len(below)))
        below, shift = packed.boxes[first:stop], first
    assert n == 0 or len(below) == 1


@pytest.mark.parametrize("cls", [RtTree, InvertedRTree])
def test_trees_are_packed_anew_while_subscriptions_come_and_go(cls):
    tree, expected = cls(fanout=3), Placed()
    for turn in range(8):
        boxes, token_lists, scores = rows_of(90, turn)
        ids = list(range(90 * turn, 90 * turn + 90))
        tree.insert_many(ids, boxes, token_lists, scores)
        for id, *row in zip(ids, boxes, token_lists, scores.tolist(), strict=True):
            expected.insert(id, tuple(row[0]), *row[1:])
        gone = sorted(expected.live)[:: 2 if turn < 6 else 1][:-5]
        tree.delete_many(gone)
        for id in gone:
            expected.delete(id)
        tree.check()
        for box, said in (((20, 20, 60, 60), WORDS[:20]), ((50, 0, 50, 100), WORDS)):
            assert tree.match(box, said) == expected.match(box, said)
            assert tree.top_k(box, said, 3) == expected.top_k(box, said, 3)


def test_nodes_without_a_token_of_the_message_are_left_alone():
    boxes, _, scores = rows_of(500, 3)
    token_lists = [["often", f"n{i}"] for i in range(500)]
    visits = []
    for cls in (RtTree, InvertedRTree):
        tree = cls.build(range(500), boxes, token_lists, scores, fanout=4)
        before = tree.visited
        assert tree.match((0, 0, 200, 200), ["often", "n7"]) == [7]
        visits.append(tree.visited - before)
    # One token stands for a subscription, so the message goes down to one; all tokens: to all.
    assert visits[0] < 10
    assert visits[1] > 125


@pytest.mark.parametrize("fanout", [1, 257])
def test_a_fanout_out_of_range_is_refused(fanout):
    with pytest.raises(ValueError, match="fanout"):
        RtTree(fanout=fanout)
