"""How far painter and zones say that they are behind `objects`."""

import threading
import time
from collections import deque

import pytest
from confluent_kafka import Producer
from prometheus_client import CollectorRegistry, Gauge

from configs import Collection, Settings
from podium.topics_setup import ensure_topics
from workers.process.context import Context, Names
from workers.process.health import Health
from workers.process.object_lag import ObjectLag


class Lag:
    """Of a collection with a record of `objects` for each second of its age; the clock stands."""

    def __init__(self, name, brokers):
        collection = Collection(name=name, kind="range_topk", zones=2)
        self.settings = Settings(kafka={"brokers": brokers})
        ensure_topics(self.settings, collection)
        names = Names.of(self.settings, collection)
        rest = Health([]), threading.Event(), deque(maxlen=1)
        context = Context("zone", self.settings, collection, names, *rest)
        self.registry, self.next, self.now = CollectorRegistry(), {}, round(time.time())
        gauges = (
            Gauge(name, "…", ["collection", "zone"], registry=self.registry)
            for name in ("records", "seconds")
        )
        self._lag = ObjectLag(context, *gauges, lambda: self.next, lambda: self.now)
        self._topic, self._brokers = names.topic("objects"), brokers

    def write(self, *ages_s):
        producer = Producer({"bootstrap.servers": self._brokers})
        for age_s in ages_s:
            at_ms = (self.now - age_s) * 1000
            producer.produce(self._topic, b'{"x": 1, "y": 1}', b"o", timestamp=at_ms)
        assert producer.flush(10) == 0

    def of(self, zone):
        labels = {"collection": "c", "zone": zone}
        return tuple(
            self.registry.get_sample_value(name, labels) for name in ("records", "seconds")
        )

    def look(self, **following):
        self.next = {("c", zone): offset for zone, offset in following.items()}
        self._lag.look()


@pytest.fixture
def lag(broker, unique_name):
    return Lag(unique_name("lag"), broker)


def test_records_and_seconds_are_those_that_are_missing(lag):
    lag.write(50, 40, 30, 20, 10)
    lag.look(a=1, b=4, c=5)
    assert lag.of("a") == (4, 40)
    assert lag.of("b") == (1, 10)
    assert lag.of("c") == (0, 0)


def test_seconds_go_on_while_nobody_takes_the_record_and_end_when_it_is_taken(lag):
    lag.write(10)
    lag.look(a=0)
    lag.now += 60
    lag.look(a=0)
    assert lag.of("a") == (1, 70)
    lag.look(a=1)
    assert lag.of("a") == (0, 0)


def test_a_record_behind_a_long_pause_is_not_late(lag):
    lag.write(3600)
    lag.look(a=1)
    lag.write(1)
    lag.look(a=1)
    assert lag.of("a") == (1, 1)


def test_a_zone_that_is_gone_is_not_shown(lag):
    lag.write(10)
    lag.look(a=0, b=0)
    lag.look(b=0)
    assert lag.of("a") == (None, None)
    assert lag.of("b") == (1, 10)
