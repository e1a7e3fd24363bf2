import time

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from topics.kafka.topic_ids import TopicFound, find_topic, find_topics

TIMEOUT_S = 10.0


@pytest.fixture
def client(broker):
    return {"bootstrap.servers": broker}


@pytest.fixture
def topic(client, unique_name):
    name, admin = unique_name(), AdminClient(client)
    create(admin, name, 3)
    yield name
    delete(admin, name)


def create(admin, name, partitions):
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
    wait_until(lambda: isinstance(find_topics(admin, [name], TIMEOUT_S)[name], TopicFound))


def delete(admin, name):
    admin.delete_topics([name])[name].result()
    wait_until(lambda: isinstance(find_topics(admin, [name], TIMEOUT_S)[name], KafkaException))


def wait_until(holds):
    """A broker hears of a change a moment after the controller has made it."""
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_topic_has_an_id_and_partitions(client, topic):
    found = find_topic(client, topic, TIMEOUT_S)
    assert found.partitions == 3
    assert found.topic_id
    assert find_topic(client, topic, TIMEOUT_S) == found


def test_a_topic_that_is_made_anew_has_another_id(client, unique_name):
    name, admin, ids = unique_name(), AdminClient(client), set()
    for _ in range(2):
        create(admin, name, 1)
        ids.add(find_topic(client, name, TIMEOUT_S).topic_id)
        delete(admin, name)
    assert len(ids) == 2


def test_a_topic_that_is_not_there_is_told_and_hides_no_other(client, topic):
    with pytest.raises(KafkaException) as caught:
        find_topic(client, f"{topic}.none", TIMEOUT_S)
    assert caught.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    found = find_topics(AdminClient(client), [f"{topic}.none", topic], TIMEOUT_S)
    assert isinstance(found[f"{topic}.none"], KafkaException)
    assert found[topic].partitions == 3


def test_a_broker_that_does_not_answer_is_told():
    with pytest.raises(KafkaException):
        find_topic({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, "t", 1.0)
