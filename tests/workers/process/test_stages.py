"""Histograms that count events, as Prometheus reads them."""

import numpy as np
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from workers.process.stages import BOUNDS, EventSeconds, percentile, sampled


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def histogram(registry):
    return EventSeconds("podium_test_seconds", "Seconds of a test", ("stage",), registry)


def served(registry):
    """By label and upper bound; the sums and counts by label."""
    buckets, totals = {}, {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        assert family.type == "histogram"
        for sample in family.samples:
            stage = sample.labels["stage"]
            if sample.name.endswith("_bucket"):
                buckets.setdefault(stage, {})[float(sample.labels["le"])] = sample.value
            else:
                totals[stage, sample.name.rpartition("_")[2]] = sample.value
    return buckets, totals


def test_what_is_served_are_the_cumulative_counts_of_events(registry, histogram):
    random = np.random.default_rng(5)
    seconds = random.exponential(0.05, 500)
    histogram.observe("a", seconds=seconds)
    histogram.observe("a", seconds=0.25, events=100)
    histogram.observe("b", seconds=np.array([0.5, 60.0]), events=np.array([3, 2]))
    buckets, totals = served(registry)
    everything = np.concatenate((seconds, np.full(100, 0.25)))
    for bound in BOUNDS:
        assert buckets["a"][bound] == (everything <= bound).sum()
    assert totals["a", "count"] == buckets["a"][float("inf")] == 600
    assert totals["a", "sum"] == pytest.approx(everything.sum())
    assert (buckets["b"][0.5], buckets["b"][30.0], totals["b", "count"]) == (3, 3, 5)
    assert totals["b", "sum"] == 121.5


def test_a_clock_that_is_behind_counts_as_no_time(registry, histogram):
    histogram.observe("a", seconds=-3.0, events=2)
    buckets, totals = served(registry)
    assert buckets["a"][BOUNDS[0]] == 2
    assert totals["a", "sum"] == 0


def test_a_bound_belongs_to_its_bucket(registry, histogram):
    histogram.observe("a", seconds=np.array(BOUNDS))
    buckets, _ = served(registry)
    assert [buckets["a"][bound] for bound in BOUNDS] == list(range(1, len(BOUNDS) + 1))


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000, 5000])
def test_a_sample_is_small_and_stands_for_all(count):
    some, each = sampled(count)
    taken = len(range(count)[some])
    assert 1 <= taken <= 65
    assert taken * each == pytest.approx(count)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99, 1.0])
def test_a_percentile_lies_in_the_bucket_of_the_true_one(registry, histogram, share):
    seconds = np.random.default_rng(7).lognormal(-3.5, 1.0, 2000)
    histogram.observe("a", seconds=seconds)
    found = percentile(served(registry)[0]["a"], share)
    true = float(np.quantile(seconds, share, method="inverted_cdf"))
    edges = [0.0, *BOUNDS]
    place = np.searchsorted(BOUNDS, true)
    assert edges[place] <= found <= edges[min(place + 1, len(BOUNDS))]


def test_there_is_no_percentile_of_nothing():
    assert percentile({}, 0.5) is None
    assert percentile({0.1: 0.0, float("inf"): 0.0}, 0.5) is None
    assert percentile({0.1: 0.0, float("inf"): 4.0}, 0.5) == 0.1
