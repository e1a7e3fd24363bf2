"""`podium lag` says what groups have not committed, for how long, and whether it grows."""

import json
import threading
import time
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from podium.stack.status.lag import LagRow


class Group:
    """Commits for a role of the collection, and writes what it reads."""

    def __init__(self, topics, role, topic):
        self._topic = topics.topic(topic)
        client = {"bootstrap.servers": topics.brokers}
        group = f"podium.{topics.name}.{role}"
        self._consumer = Consumer({**client, "group.id": group, "enable.auto.commit": False})
        self._producer = Producer(client)

    def write(self, count, age_s=0.0):
        written_at = int((time.time() - age_s) * 1000)
        for _ in range(count):
            self._producer.produce(self._topic, b"{}", partition=1, timestamp=written_at)
        assert self._producer.flush(30) == 0

    def commit(self, offset):
        place = TopicPartition(self._topic, 1, offset)
        self._consumer.commit(offsets=[place], asynchronous=False)

    def close(self):
        self._consumer.close()


@pytest.fixture
def router(topics):
    group = Group(topics, "router", "events")
    yield group
    group.close()


def lag(podium, topics, *options):
    ended = podium("lag", *topics.options, "--every", 0.1, "--json", *options)
    return ended.code, json.loads(ended.out)


def test_where_nothing_is_committed_nothing_runs(podium, topics):
    ended = podium("lag", *topics.options, "--every", 0.1)
    assert ended.code == 3
    assert ended.err == f"podium: no group of {topics.name} has committed anything\n"


def test_records_and_seconds_are_of_what_is_not_committed(podium, topics, router):
    router.write(7, age_s=100_000)
    router.write(3, age_s=20)
    router.commit(7)
    code, told = lag(podium, topics, "--most", 50_000)
    (row,) = told["partitions"]
    assert code == 0
    assert (row["group"], row["partition"]) == (f"podium.{topics.name}.router", 1)
    assert row["topic"] == topics.topic("events")
    assert (row["committed"], row["end"], row["behind"], row["trend"]) == (7, 10, 3, "steady")
    assert 20 <= row["behind_s"] < 50_000
    code, told = lag(podium, topics, "--most", 5)
    assert (code, told["late"]) == (1, 1)

    shown = podium("lag", *topics.options, "--every", 0.1)
    assert f"podium.{topics.name}.router is last: " in shown.out
    assert "nothing committed yet" in shown.err
    router.commit(10)
    code, told = lag(podium, topics, "--most", 0)
    assert (code, told["partitions"][0]["behind"], told["partitions"][0]["behind_s"]) == (0, 0, 0.0)
    assert "nothing is behind" in podium("lag", *topics.options, "--every", 0.1).out


def test_who_catches_up_is_not_late(podium, topics, router):
    router.write(5000, age_s=100)
    router.commit(0)
    catching_up = threading.Event()

    def commit():
        for offset in range(0, 4900, 50):
            router.commit(offset)
            if catching_up.wait(0.01):
                return

    thread = threading.Thread(target=commit)
    thread.start()
    try:
        code, told = lag(podium, topics, "--most", 5, "--every", 1)
    finally:
        catching_up.set()
        thread.join()
    (row,) = told["partitions"]
    assert row["trend"].startswith("catches up in ")
    assert row["per_s"] < 0
    assert code == 0


ROW = LagRow("g", "t", 0, 100, 1100, 1000, 30.0, 0.0, 500.0)


@pytest.mark.parametrize(
    ("per_s", "arrived_per_s", "trend", "late"),
    [
        pytest.param(0.0, 0.0, "steady", True, id="stands-still"),
        pytest.param(400.0, 500.0, "steady", True, id="less-than-a-second-of-records"),
        pytest.param(900.0, 500.0, "falls behind by 900 records/s", True, id="grows"),
        pytest.param(-50.0, 20.0, "catches up in 20 s", False, id="shrinks"),
    ],
)
def test_a_trend_in_words(per_s, arrived_per_s, trend, late):
    row = replace(ROW, per_s=per_s, arrived_per_s=arrived_per_s)
    assert row.trend == trend
    assert row.is_late(10.0) == late
    assert not row.is_late(30.0)
