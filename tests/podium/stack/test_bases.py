"""What `podium status` says of the bases, read from the topics alone."""

from uuid import uuid4

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from podium.stack.status.bases import newest_bases
from podium.stack.status.display import show_report
from podium.stack.status.report import Report
from tests.podium.processes import eventually
from topics.bases import VERSION, Base, StoredBlob, encode_record


@pytest.fixture
def collection(broker: str) -> str:
    name = f"shown-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker})
    topics = [NewTopic(f"podium.{name}.{topic}", 2, 1) for topic in ("subscriptions", "bases")]
    for made in admin.create_topics(topics).values():
        made.result(10)
    eventually(lambda: answers(broker, name))
    return name


def answers(broker: str, collection: str) -> bool:
    """A broker names the leaders of new topics before they answer."""
    try:
        newest_bases({"bootstrap.servers": broker}, "podium", collection)
    except KafkaException:
        return False
    return True


def announce(producer: Producer, collection: str, shard: int, next_offset: int) -> None:
    topic, blob = f"podium.{collection}.subscriptions", StoredBlob("state", 0, "00000000")
    base = Base(VERSION, "ranked", topic, "id", shard, next_offset, 2, "redis://", [], blob)
    producer.produce(f"podium.{collection}.bases", encode_record(base), str(shard).encode(), shard)


def test_the_newest_base_of_each_shard_is_shown_with_what_it_misses(
    broker: str, collection: str, capsys: pytest.CaptureFixture[str]
):
    client = {"bootstrap.servers": broker}
    producer = Producer(client)
    for _ in range(5):
        producer.produce(f"podium.{collection}.subscriptions", b"{}", b"a", 1)
    for next_offset in (1, 3):
        announce(producer, collection, 1, next_offset)
    producer.flush()
    (row,) = newest_bases(client, "podium", collection)
    assert (row.collection, row.shard, row.next_offset, row.behind) == (collection, 1, 3, 2)
    assert 0 <= row.age_s < 60
    show_report(Report("here", "ready", 1, bases=[row]))
    shown = capsys.readouterr().out
    assert f"base of {collection}, shard 1: 2 subscriptions, 2 records behind" in shown


def test_without_a_job_there_is_nothing_to_show(broker: str, collection: str):
    client = {"bootstrap.servers": broker}
    assert newest_bases(client, "podium", collection) == []
    assert newest_bases(client, "podium", "unheard-of") == []


def test_a_record_that_is_no_base_is_left_out(broker: str, collection: str):
    producer = Producer({"bootstrap.servers": broker})
    producer.produce(f"podium.{collection}.bases", b'{"version": 99}', b"0", 0)
    producer.flush()
    assert newest_bases({"bootstrap.servers": broker}, "podium", collection) == []
