"""What is the k-d tree's own: how much it looks at, how it stays balanced, and events."""

import numpy as np
import pytest

from indexes.covering import KDCover, NaiveCover, ZOrderCover
from indexes.covering.kd_layout import DEPTH, LIVE_NODES
from tests.indexes.covering import strategies as some
from tests.indexes.covering.strategies import INF
from tests.oracles.covering import Boxes


def work(cover, lows, highs):
    before = cover.compared
    cover.covers_many(lows, highs)
    return cover.compared - before


@pytest.mark.parametrize("dimensions", [3, 8])
def test_few_points_are_compared_where_a_scan_compares_all(dimensions):
    lows, highs = some.random_boxes(2_000, dimensions)
    asked = some.random_boxes(40, dimensions, seed=1)
    done = {}
    for cls in (NaiveCover, KDCover, ZOrderCover):
        cover = cls(dimensions)
        cover.insert_many(np.arange(2_000), lows, highs)
        uncovered = [not found for found in cover.covers_many(*asked)]
        alone = [ends[uncovered] for ends in asked]
        done[cls] = work(cover, *alone)
    assert done[NaiveCover] == 2_000 * len(alone[0])
    assert done[KDCover] * 4 < done[NaiveCover]
    assert done[ZOrderCover] * 2 < done[NaiveCover]


def sorted_boxes(count):
    """Ever greater boxes: each goes to the rightmost leaf."""
    highs = np.arange(1.0, count + 1)[:, np.newaxis]
    return -highs, highs


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.large
def test_skewed_inserts_leave_the_tree_shallow(reverse):
    count = 1_500
    lows, highs = (ends[::-1] if reverse else ends for ends in sorted_boxes(count))
    cover = KDCover(1, bucket=4)
    for first in range(0, count, 50):
        cover.insert_many(np.arange(first, first + 50), lows[first:][:50], highs[first:][:50])
    cover.check()
    assert cover.index.state[DEPTH] <= 2 * np.log2(count)


def test_skewed_deletes_give_nodes_back():
    count = 2_000
    cover = KDCover(2, bucket=4)
    cover.insert_many(np.arange(count), *some.random_boxes(count, 2))
    nodes = cover.index.state[LIVE_NODES]
    lows = some.random_boxes(count, 2)[0]
    gone = np.flatnonzero(lows[:, 0] > 0.05)
    for first in range(0, len(gone), 100):
        cover.delete_many(gone[first : first + 100])
    cover.check()
    assert cover.index.state[LIVE_NODES] * 4 < nodes
    cover.delete_many(np.flatnonzero(lows[:, 0] <= 0.05))
    assert len(cover) == 0
    assert cover.index.state[LIVE_NODES] == 1


def test_points_that_no_cut_divides_evenly():
    """All on the axes: in each dimension most points are the same."""
    dimensions = 6
    cover, expected = KDCover(dimensions, bucket=2), Boxes()
    id = 0
    for j in range(dimensions):
        for high in range(1, 40):
            box = np.zeros(dimensions), np.zeros(dimensions)
            box[1][j] = high
            cover.insert(id, *box)
            expected.insert(id, *box)
            id += 1
    cover.check()
    for j in range(dimensions):
        asked = np.zeros(dimensions), np.zeros(dimensions)
        asked[1][j] = 20.5
        assert set(cover.covers(*asked, 500)) == expected.covers(*asked)


def test_the_same_history_gives_the_same_tree():
    first, again = KDCover(3, bucket=4), KDCover(3, bucket=4)
    for cover in (first, again):
        cover.insert_many(np.arange(300), *some.random_boxes(300, 3))
        cover.delete_many(np.arange(0, 300, 3))
    used = int(first.index.state[LIVE_NODES])
    assert (first.index.state == again.index.state).all()
    assert (first.index.nodes[:used] == again.index.nodes[:used]).all()
    asked = some.random_boxes(50, 3, seed=1)
    assert first.covers_many(*asked, 2) == again.covers_many(*asked, 2)


def test_events_lie_in_a_box_or_not():
    cover = KDCover(2)
    cover.insert(1, [0, 0], [1, 1])
    cover.insert(2, [5, -INF], [6, INF])
    nan = np.nan
    events = [[0, 1], [0, 1.5], [0, nan], [5, 99], [5.5, nan], [nan, 0.5], [nan, nan]]
    assert cover.stab_many(events).tolist() == [True, False, False, True, True, False, False]
    cover.insert(3, [-INF, -INF], [INF, INF])
    assert cover.stab_many(events).all()
    assert cover.stab_many(np.empty((0, 2))).tolist() == []


def test_a_half_bounded_box_needs_the_attribute():
    cover = KDCover(1)
    cover.insert(1, [-INF], [3])
    cover.insert(2, [4], [INF])
    assert cover.stab_many([[3], [3.5], [4], [np.nan]]).tolist() == [True, False, True, False]


def test_the_search_ends_at_the_first_box_that_holds_the_event():
    cover = KDCover(2)
    cover.insert_many(np.arange(2_000), *some.random_boxes(2_000, 2))
    before = cover.compared
    assert cover.stab_many(np.full((10, 2), 0.5)).all()
    assert cover.compared - before <= 10 * 64


@pytest.mark.parametrize(
    ("events", "named"),
    [
        pytest.param([[INF, 0]], "inf", id="infinite"),
        pytest.param([[0]], "1 columns", id="columns"),
        pytest.param([0, 0], "1 dimensions", id="one-event"),
        pytest.param([["x", "y"]], "points", id="text"),
    ],
)
def test_bad_events_are_refused(events, named):
    cover = KDCover(2)
    with pytest.raises(ValueError, match=named):
        cover.stab_many(events)


@pytest.mark.parametrize("cls", [KDCover, ZOrderCover])
def test_a_bucket_holds_at_least_two(cls):
    with pytest.raises(ValueError, match="bucket: got 1"):
        cls(2, bucket=1)


def test_a_bucket_of_the_tree_holds_no_more_than_a_word_has_bits():
    with pytest.raises(ValueError, match="bucket: got 65"):
        KDCover(2, bucket=65)


def test_what_most_boxes_lie_in_is_found_without_a_look_at_the_tree():
    cover = KDCover(3)
    cover.insert_many(np.arange(5_000), *some.random_boxes(5_000, 3))
    asked = some.random_boxes(200, 3, seed=1)
    covered = [bool(found) for found in cover.covers_many(*asked)]
    narrow = [ends[covered] for ends in asked]
    before = cover.visited
    cover.covers_many(*narrow)
    assert cover.visited - before < 5 * len(narrow[0])


def test_the_front_follows_what_comes_leaves_and_is_equal():
    cover, expected = KDCover(2, bucket=4), Boxes()
    lows, highs = some.random_boxes(60, 2)
    for turn in range(3):
        for id in range(60):
            for twin in (id, 100 + id):
                cover.insert(twin, lows[id], highs[id])
                expected.insert(twin, lows[id], highs[id])
        widest = np.argsort((lows - highs).sum(axis=1), kind="stable")
        for id in widest.tolist():
            cover.delete(id + 100 * (turn % 2))
            expected.delete(id + 100 * (turn % 2))
            cover.check()
            found = cover.covers(lows[id], highs[id], 200)
            assert sorted(found) == sorted(expected.covers(lows[id], highs[id]))
        for id in widest.tolist():
            cover.delete(id + 100 * (1 - turn % 2))
            expected.delete(id + 100 * (1 - turn % 2))
    cover.check()
    assert len(cover) == 0
