"""How far a worker is behind, and for how long at most."""

from itertools import count

import pytest
from prometheus_client import Gauge

from workers.process.lag import PartitionLag

NAMES = count()


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def gauges():
    number = next(NAMES)
    labels = ["topic", "partition"]
    return [Gauge(f"podium_lag_test_{what}_{number}", "x", labels) for what in ("r", "s")]


@pytest.fixture
def lag(clock, gauges):
    return PartitionLag(*gauges, ("events",), clock)


def told(gauges, partition=0):
    return tuple(gauge.labels("events", str(partition))._value.get() for gauge in gauges)


def test_nothing_is_missing_at_the_end(lag, gauges):
    lag.took(0, 10.0)
    lag.measure(0, 7, 7)
    assert told(gauges) == (0, 0)


def test_what_is_missing_is_younger_than_what_was_taken_up_last(lag, gauges, clock):
    lag.took(0, clock.now - 30)
    lag.measure(0, 7, 9)
    assert told(gauges) == (2, 30)
    lag.took(0, clock.now - 20)
    lag.took(0, clock.now - 25)  # timestamps need not grow
    lag.measure(0, 8, 9)
    assert told(gauges) == (1, 20)


def test_a_long_pause_before_a_record_is_no_lag(lag, gauges, clock):
    lag.took(0, clock.now)
    clock.now += 3600
    lag.measure(0, 7, 7)
    clock.now += 2
    lag.measure(0, 7, 8)
    assert told(gauges) == (1, 2)


def test_where_nothing_was_taken_up_yet_only_the_records_are_known(lag, gauges):
    lag.measure(0, 0, 5)
    assert told(gauges) == (5, 0)


def test_a_partition_that_another_has_is_not_told_of(lag, gauges):
    lag.measure(0, 0, 5)
    lag.measure(1, 0, 6)
    lag.forget(0)
    lag.forget(2)  # of which nothing was told
    assert list(gauges[0]._metrics) == [("events", "1")]
    assert list(gauges[1]._metrics) == [("events", "1")]
