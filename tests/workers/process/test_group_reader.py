"""What a committed offset says of the topic that is there now; a client that has fallen silent."""

import threading
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Producer, TopicPartition

from configs import Collection, Settings
from podium.topics_setup import ensure_topics
from workers.process import group_reader
from workers.process.context import Context, Names
from workers.process.group_reader import GroupReader
from workers.process.health import Health


def understood(metadata: str) -> tuple[int, str | None]:
    place = group_reader.understood(TopicPartition("t", 3, 41, metadata=metadata), "new")
    assert (place.topic, place.partition) == ("t", 3)
    return place.offset, place.metadata


def test_an_offset_of_this_topic_is_where_to_go_on():
    assert understood("new 1700") == (41, "1700")
    assert understood("new ") == (41, "")


def test_an_offset_of_a_topic_of_the_same_name_is_none_but_what_was_told_stays():
    assert understood("old 1700") == (OFFSET_BEGINNING, "1700")


def test_an_offset_that_names_no_topic_is_taken_as_it_is():
    assert understood("1700") == (41, "1700")
    assert understood("") == (41, "")


def test_an_offset_that_the_broker_could_not_say_is_an_error():
    """Taken for none at all, the beginning of the topic would be committed over it."""
    unknown: Any = SimpleNamespace(error=KafkaError(KafkaError._TIMED_OUT))
    with pytest.raises(KafkaException):
        group_reader.understood(unknown, "new")


class Owner:
    def on_assigned(self, places):
        """Nothing depends on it here."""

    on_revoked = on_gone = on_assigned


def test_a_client_that_says_nothing_of_its_partitions_is_told_again(broker, unique_name):
    """Its partitions are taken from it behind the reader's back."""
    settings = Settings(kafka={"brokers": broker})
    one = {"partitions": {"events": 1}}
    of = Collection(name=unique_name("silent"), kind="ranked", attributes=["age"], **one)
    ensure_topics(settings, of)
    names, time = Names.of(settings, of), [0.0]
    context = Context("router", settings, of, names, Health([]), threading.Event(), deque(maxlen=1))
    reader = GroupReader(context, "events", Owner(), now=lambda: time[0])
    try:
        while not reader._starts:
            reader.read(10, lambda: 0.0)
        reader._consumer.unassign()
        producer = Producer({"bootstrap.servers": broker})
        producer.produce(names.topic("events"), b"1")
        producer.flush()
        for _ in range(4):
            assert not reader.read(10, lambda: 0.0).records
        time[0] = 11.0
        found = []
        for _ in range(100):
            found += reader.read(10, lambda: 0.0).records
            if found:
                break
        assert [record.value() for record in found] == [b"1"]
    finally:
        reader._watch.stop()
        reader._consumer.close()
        reader._scout.close()
