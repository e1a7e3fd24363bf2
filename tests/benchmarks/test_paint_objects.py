"""The workloads of the Paint paper are what their docstring says."""

import numpy as np
import pytest

from benchmarks.workloads.paint_objects import (
    CLUSTERS,
    back,
    events,
    gaussian_events,
    later,
    objects,
    ranges,
    stocks,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def assert_follow(start, given):
    """Each update starts where its object is by then."""
    now = dict(zip(start.x.tolist(), start.y.tolist(), strict=True))
    for x, old, new in zip(*(column.tolist() for column in given), strict=True):
        assert now[x] == old
        now[x] = new
    return now


@pytest.mark.parametrize("clustered", [False, True])
def test_objects_have_distinct_x(clustered):
    start = objects(5_000, rng(), clustered)
    assert len(np.unique(start.x)) == 5_000
    assert ((start.y >= 0) & (start.y < 1)).all()


def test_each_cluster_has_a_tenth_of_the_objects():
    start = objects(5_000, rng(), clustered=True)
    nearest = np.rint(start.x * (CLUSTERS + 1))
    counts = np.bincount(nearest.astype(int), minlength=CLUSTERS + 1)
    assert counts[0] == 0
    assert (np.abs(counts[1:] - 500) < 10).all()


def test_updates_go_up_or_down_to_a_y_between_there_and_the_end():
    start = objects(100, rng())
    given = events(start, 20_000, rng(1))
    assert_follow(start, given)
    rises = given.new_y > given.old_y
    assert abs(rises.mean() - 0.5) < 0.02
    ends = rises.astype(float)
    share = (given.new_y - given.old_y) / (ends - given.old_y)
    assert abs(share.mean() - 0.5) < 0.02
    assert ((share >= 0) & (share <= 1)).all()


@pytest.mark.parametrize("c", [0.25, 8.0])
def test_gaussian_steps_stay_on_the_axis(c):
    start = objects(100, rng())
    given = gaussian_events(start, 5_000, rng(1), c)
    assert_follow(start, given)
    assert ((given.new_y >= 0) & (given.new_y <= 1)).all()
    if c < 1:
        assert abs(np.std(given.new_y - given.old_y) - c / 8) < 0.003


def test_later_updates_start_where_the_first_ones_end():
    start = objects(20, rng())
    given = events(start, 100, rng(1))
    then, rest = later(start, given, 60, 30)
    assert_follow(then, rest)
    assert rest.x.tolist() == given.x[60:90].tolist()


def test_updates_and_the_same_taken_back_change_nothing():
    start = objects(20, rng())
    there = back(events(start, 100, rng(1)))
    assert assert_follow(start, there) == dict(zip(*(c.tolist() for c in start), strict=True))
    assert len(there.x) == 200


@pytest.mark.parametrize("kind", ["uniform", "clustered", "correlated", "anti"])
def test_ranges_are_ordered_and_the_same_for_the_same_seed(kind):
    asked, again = (ranges(3_000, rng(3), kind, 0.25) for _ in range(2))
    assert (asked.lows <= asked.highs).all()
    assert len(asked.lows) == 3_000
    for one, other in zip(asked, again, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_uniform_range_has_an_x_with_probability_2x_1_minus_x():
    asked = ranges(50_000, rng())
    for x in (0.1, 0.5):
        share = ((asked.lows <= x) & (x <= asked.highs)).mean()
        assert abs(share - 2 * x * (1 - x)) < 0.01


def test_anti_correlated_ranges_lie_between_the_clusters_of_objects():
    middles = np.arange(1, CLUSTERS + 1) / (CLUSTERS + 1)
    for kind, near in (("correlated", True), ("anti", False)):
        asked = ranges(2_000, rng(), kind)
        distance = np.abs((asked.lows + asked.highs)[:, None] / 2 - middles).min(axis=1)
        assert (np.median(distance) < 0.25 / (CLUSTERS + 1)) == near


def test_clustered_ranges_gather_more_for_a_smaller_spread():
    def filled(spread):
        """Cells of a coarse grid that have a range."""
        asked = ranges(2_000, rng(5), "clustered", spread)
        cells = np.floor(np.stack(asked) * 20).astype(int)
        assert (np.stack(asked) >= 0).all()
        assert (np.stack(asked) <= 1).all()
        return len(np.unique(cells, axis=1).T)

    assert filled(0.05) < filled(0.25) < filled(1.0)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="'even'"):
        ranges(10, rng(), "even")


def test_stocks_have_distinct_recommendations_and_small_steps():
    data = stocks(100, rng(), count=200)
    assert len(np.unique(data.objects.x)) == 200
    assert ((data.objects.x >= 1) & (data.objects.x <= 5)).all()
    assert len(data.events.x) == 59 * 200
    assert_follow(data.objects, data.events)
    assert np.abs(data.events.new_y / data.events.old_y - 1).max() < 0.1
