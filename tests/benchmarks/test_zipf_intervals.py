"""The workload is the paper's: what Table 1 and §4 say of it can be counted."""

from itertools import product

import numpy as np
import pytest

from benchmarks.workloads.region_cells import draw_cells
from benchmarks.workloads.zipf_intervals import Zipf, generate


def small(**changes):
    return generate(Zipf(**({"subscriptions": 20_000, "queries": 500} | changes)))


def test_the_defaults_are_those_of_table_1():
    table = Zipf()
    assert (table.k, table.subscriptions, table.queries, table.warm_up) == (20, 10**6, 1000, 100)
    assert (table.dimensions, table.skew_length, table.regions) == (1, 0.75, 10)
    assert (table.cells, table.volume) == (100, 1 / 20)
    assert (table.skew_across, table.skew_within) == (0.0, 1.0)


def test_the_same_seed_gives_the_same_workload_and_another_seed_another_one():
    first, again, other = small(seed=4), small(seed=4), small(seed=5)
    for name in ("lows", "highs", "scores", "queries", "warm_up"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))


@pytest.mark.parametrize("dimensions", [1, 3, 8])
def test_shapes_follow_the_workload(dimensions):
    data = small(dimensions=dimensions)
    for table in (data.lows, data.highs, data.scores):
        assert table.shape == (20_000, dimensions)
    assert data.queries.shape == (500, dimensions)
    assert data.warm_up.shape == (100, dimensions)


def test_a_score_is_one_minus_the_length_on_either_side_of_the_middle():
    data = small(dimensions=2)
    lengths = (data.highs - data.lows) / 2
    assert np.allclose(data.scores, 1 - lengths)
    assert lengths.min() >= 0
    assert lengths.max() < 1


def test_lengths_follow_a_zipf_law():
    lengths = 1 - small(subscriptions=200_000).scores[:, 0]
    counts = np.bincount((lengths * 100).astype(int), minlength=100)
    expected = np.arange(1, 101) ** -0.75
    expected *= len(lengths) / expected.sum()
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected.max())


def test_a_greater_skew_makes_intervals_shorter():
    means = [1 - small(skew_length=skew).scores.mean() for skew in (0.0, 0.75, 1.5)]
    assert means == sorted(means, reverse=True)
    assert means[0] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_points_fill_ten_regions_of_a_twentieth_of_the_grid(dimensions):
    data = small(dimensions=dimensions, subscriptions=200_000)
    middles = (data.lows + data.highs) / 2
    for points in (middles, data.queries):
        assert points.min() >= 0
        assert points.max() < 1
    # Rounding of the sides moves a region's volume a little; regions may overlap.
    cells = np.unique((middles * 100).astype(int), axis=0)
    volume = 100**dimensions / 20
    assert 2 * volume < len(cells) <= 10.5 * volume


def test_events_come_from_the_regions_of_the_subscriptions():
    data = small()
    middles = (data.lows + data.highs) / 2
    known = set((middles[:, 0] * 100).astype(int))
    assert set((data.queries[:, 0] * 100).astype(int)) <= known


def test_skew_across_prefers_some_regions():
    even, skewed = (
        np.bincount(((d.lows + d.highs)[:, 0] * 50).astype(int), minlength=100).max()
        for d in (small(), small(skew_across=2.0))
    )
    assert skewed > 2 * even


@pytest.mark.parametrize("widths", [(5,), (6,), (3, 4), (2, 5, 4)], ids=str)
@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0])
def test_the_nth_nearest_cell_has_the_weight_of_its_rank(widths, skew):
    """Against a list of all cells, by L1 distance, in which equally distant ones share evenly."""
    cells = np.array(list(product(*map(range, widths))))
    distances = np.abs(2 * cells - (np.array(widths) - 1)).sum(axis=1)
    order = np.argsort(distances, kind="stable")
    weights = np.empty(len(cells))
    weights[order] = np.arange(1, len(cells) + 1) ** -skew
    shared = np.array([weights[distances == distance].mean() for distance in distances])

    count = 100_000
    drawn = draw_cells(np.array(widths), count, skew, np.random.default_rng(0))
    counts = np.bincount(np.ravel_multi_index(drawn.T, widths), minlength=len(cells))
    expected = shared / shared.sum() * count
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected.max())


def test_a_box_too_large_to_list_is_drawn_towards_its_middle():
    drawn = draw_cells(np.full(8, 69), 2_000, 1.0, np.random.default_rng(0))
    even = draw_cells(np.full(8, 69), 2_000, 0.0, np.random.default_rng(0))
    assert drawn.min() >= 0
    assert drawn.max() < 69
    assert np.abs(drawn - 34).mean() < 0.8 * np.abs(even - 34).mean()
    assert np.abs(even - 34).mean() == pytest.approx(17.2, abs=0.5)
