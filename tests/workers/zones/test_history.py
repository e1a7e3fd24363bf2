"""Who has unsubscribed while a zone had no lists, from the records of `subscriptions`."""

import threading
from collections import deque

import pytest
from confluent_kafka import Producer

from configs import Collection, Settings
from podium.topics_setup import ensure_topics
from tests.fleet.traffic import key_on
from topics.messages import life_of
from workers.process.context import Context, Names
from workers.process.health import Health
from workers.zones.history import ended

GOOD, BAD = b'{"range": [0, 9]}', b'{"range": [9, 0]}'
SHARDS = 2


@pytest.fixture
def context(broker, unique_name):
    collection = Collection(name=unique_name("ended"), kind="range_topk", shards=SHARDS, k=3)
    settings = Settings(kafka={"brokers": broker})
    ensure_topics(settings, collection)
    rest = Health([]), threading.Event(), deque(maxlen=1)
    return Context("zone", settings, collection, Names.of(settings, collection), *rest)


@pytest.fixture
def write(context):
    """Values of one key, None for null; on its own partition, or on another."""
    producer = Producer(context.client)
    ends = [0] * SHARDS

    def write(key, *values, partition=0):
        for value in values:
            topic = context.names.topic("subscriptions")
            producer.produce(topic, value, key, partition)
            ends[partition] += 1
        assert producer.flush(10) == 0
        return ends[partition] - 1

    return write


def asked(context, *keys, below=(99, 99)):
    return dict(ended(context, set(keys), below, stopping=lambda: False))


def test_keys_end_by_their_unsubscriptions_but_not_by_bad_records(context, write):
    gone, stays, back, other = (key_on(0, SHARDS, s).encode() for s in ("gone", "st", "back", "o"))
    by = write(gone, GOOD, None)
    write(gone, BAD, b"{")
    write(stays, GOOD)
    write(stays, None, partition=1)  # where it does not belong
    write(back, GOOD, None, GOOD, BAD)
    write(other, GOOD, None)
    assert asked(context, gone, stays, back) == {gone: life_of(0, by, SHARDS)}


def test_what_comes_behind_the_painter_is_told_by_it(context, write):
    key = key_on(0, SHARDS, "late").encode()
    offset = write(key, GOOD, None)
    assert asked(context, key, below=(offset, 0)) == {}
    assert asked(context, key, below=(offset + 1, 0)) == {key: life_of(0, offset, SHARDS)}


def test_a_key_that_compaction_has_taken_has_ended(context, write):
    write(b"other", GOOD)
    assert asked(context, b"taken") == {b"taken": 0}
