"""Producing to a real broker: what is settled is there, what cannot be delivered is said."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from topics.codecs.json_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.kafka.partitioner import partition_of
from topics.kafka.producer import DeliveryFailed, Outbox
from workers.process.records import dead_letter

MakeTopic = Callable[..., str]
KIB = 1024


@pytest.fixture
def make_topic(broker: str, unique_name: Callable[[str], str]) -> MakeTopic:
    """Creates a topic that no other test uses; `name` may be given."""
    admin = AdminClient({"bootstrap.servers": broker})

    def make(partitions: int = 1, name: str | None = None, **config: str) -> str:
        topic = name or unique_name("outbox")
        options = {option.replace("_", "."): value for option, value in config.items()}
        created = admin.create_topics([NewTopic(topic, partitions, 1, config=options)])
        created[topic].result(timeout=30)
        return topic

    return make


@pytest.fixture
def outbox(broker: str) -> Outbox:
    return Outbox({"bootstrap.servers": broker})


@pytest.fixture
def read(broker: str) -> Iterator[Callable[..., list[Message]]]:
    """Everything that is in one partition at this moment."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )

    def all_of(topic: str, partition: int = 0) -> list[Message]:
        place = TopicPartition(topic, partition, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=30)
        consumer.assign([place])
        messages: list[Message] = []
        while len(messages) < end:
            message = consumer.poll(30)
            assert message is not None, f"got {len(messages)} records when {end} were expected"
            assert message.error() is None, message.error()
            messages.append(message)
        return messages

    yield all_of
    consumer.close()


def test_what_is_settled_is_acknowledged_and_in_order(outbox, make_topic, read):
    topic = make_topic()
    for i in range(500):
        outbox.send(topic, b"%d" % i, key=b"key")
    outbox.settle()
    assert [message.value() for message in read(topic)] == [b"%d" % i for i in range(500)]


def test_settling_without_records_returns_at_once(outbox):
    began = time.monotonic()
    for _ in range(3):
        outbox.settle()
    assert time.monotonic() - began < 1.0  # what one flush that has to wait takes


def test_a_record_keeps_its_key_value_and_headers(outbox, make_topic, read):
    topic = make_topic()
    headers = [("podium-as-of", b"0@5"), ("raw", b"\xff\x00"), ("raw", b""), ("null", None)]
    outbox.send(topic, b"\x00\xff", key=b"", headers=headers)
    outbox.send(topic, None, key=b"gone")
    outbox.settle()
    full, tombstone = read(topic)
    assert (full.key(), full.value(), full.headers()) == (b"", b"\x00\xff", headers)
    assert full.timestamp()[0] == TIMESTAMP_CREATE_TIME
    assert (tombstone.key(), tombstone.value(), tombstone.headers()) == (b"gone", None, None)


def test_a_record_goes_to_the_partition_it_is_given(outbox, make_topic, read):
    topic = make_topic(partitions=3)
    for shard in (2, 0, 1):
        outbox.send(topic, b"%d" % shard, partition=shard)
    outbox.settle()
    for shard in range(3):
        assert [message.value() for message in read(topic, shard)] == [b"%d" % shard]


def test_a_key_goes_to_the_partition_that_murmur2_gives_it(outbox, make_topic, read):
    topic = make_topic(partitions=4)
    keys = [f"visitor-{i}".encode() for i in range(40)]
    for key in keys:
        outbox.send(topic, b"", key=key)
    outbox.settle()
    for partition in range(4):
        expected = [key for key in keys if partition_of(key, 4) == partition]
        assert [message.key() for message in read(topic, partition)] == expected


def test_a_record_too_large_for_its_topic_fails_the_settling(outbox, make_topic):
    topic = make_topic(max_message_bytes=str(10 * KIB))
    outbox.send(topic, bytes(20 * KIB))
    with pytest.raises(DeliveryFailed) as caught:
        outbox.settle()
    assert f"{topic}[0]" in str(caught.value)
    assert "too large" in str(caught.value).lower()


def test_after_a_failure_nothing_may_be_committed_any_more(outbox, make_topic, read):
    topic = make_topic(max_message_bytes=str(10 * KIB))
    outbox.send(topic, bytes(20 * KIB))
    with pytest.raises(DeliveryFailed):
        outbox.settle()
    outbox.send(topic, b"small")
    with pytest.raises(DeliveryFailed):
        outbox.settle()
    with pytest.raises(DeliveryFailed):
        outbox.poll()
    assert [message.value() for message in read(topic)] == [b"small"]


def test_a_topic_that_does_not_exist_fails_the_settling(broker, unique_name):
    impatient = Outbox(
        {"bootstrap.servers": broker, "topic.metadata.propagation.max.ms": 100},
        **{"allow.auto.create.topics": False},
    )
    topic = unique_name("nowhere")
    impatient.send(topic, b"lost?")
    with pytest.raises(DeliveryFailed, match=topic):
        impatient.settle()


def test_a_full_queue_is_waited_for(broker, make_topic, read):
    topic = make_topic()
    narrow = Outbox({"bootstrap.servers": broker}, **{"queue.buffering.max.messages": 10})
    for i in range(300):
        narrow.send(topic, b"%d" % i)
    narrow.settle()
    assert len(read(topic)) == 300


def test_a_dead_letter_carries_the_original_and_says_what_was_wrong(outbox, make_topic, read):
    topic = make_topic()
    make_topic(name=f"{topic}.dlq")
    headers = [("trace", b"\xff"), ("podium-k", b"x"), ("null", None)]
    bad = Message(
        topic=topic, partition=3, offset=1042, key=b"\x00k", value=b'{"age": \xff', headers=headers
    )
    outbox.send_dead_letter(dead_letter(bad, BadRecord("age", "got …, expected a number")))
    outbox.settle()
    (letter,) = read(f"{topic}.dlq")
    assert (letter.key(), letter.value()) == (b"\x00k", b'{"age": \xff')
    assert letter.headers() == [
        *headers,
        ("podium-error", "age: got …, expected a number".encode()),
        ("podium-error-field", b"age"),
        ("podium-topic", topic.encode()),
        ("podium-partition", b"3"),
        ("podium-offset", b"1042"),
        ("podium-version", b"1"),
    ]


def test_a_dead_letter_may_be_without_key_and_value(outbox, make_topic, read):
    elsewhere = make_topic()
    letter = DeadLetter("frames", 0, 7, None, None, [], "value: got null", "value")
    outbox.send_dead_letter(letter, to=elsewhere)
    outbox.settle()
    (message,) = read(elsewhere)
    assert (message.key(), message.value()) == (None, None)
    assert dict(message.headers())["podium-topic"] == b"frames"


def test_a_dead_letter_is_logged_with_its_place(outbox, make_topic, caplog):
    letter = DeadLetter("podium.ads.events", 3, 9, None, b"{", [], "value: got {", "value")
    outbox.send_dead_letter(letter, to=make_topic())
    outbox.settle()
    assert "podium.ads.events[3]@9 refused: value: got {" in caplog.messages


def test_a_dead_letter_that_only_compression_made_small_enough_is_cut(outbox, make_topic, read):
    topic = make_topic()
    make_topic(name=f"{topic}.dlq", max_message_bytes=str(5 * 1024 * KIB))
    bad = Message(topic=topic, partition=0, offset=7, key=b"k", value=b" " * (20 * 1024 * KIB))
    outbox.send_dead_letter(dead_letter(bad, BadRecord("value", "got blanks")))
    outbox.settle()
    (kept,) = read(f"{topic}.dlq")
    assert kept.value() == b" " * (1024 * KIB)
    assert dict(kept.headers())["podium-cut"] == b"key 1 bytes, value 20971520 bytes"


@pytest.mark.parametrize(
    ("takes", "kept"), [(2 * 1024 * KIB, 1024 * KIB), (100 * KIB, 0)], ids=["some", "none"]
)
def test_a_dead_letter_that_its_topic_refuses_is_cut_and_sent_again(
    outbox, make_topic, read, takes, kept
):
    """The topic is somebody's own, and takes less than ours would."""
    topic = make_topic()
    make_topic(name=f"{topic}.dlq", max_message_bytes=str(takes))
    bad = Message(topic=topic, partition=0, offset=7, key=b"k", value=b" " * (4 * 1024 * KIB))
    outbox.send_dead_letter(dead_letter(bad, BadRecord("value", "got blanks")))
    outbox.settle()
    (letter,) = read(f"{topic}.dlq")
    assert letter.value() == b" " * kept
    assert dict(letter.headers())["podium-cut"] == b"key 1 bytes, value 4194304 bytes"


def test_a_topic_that_takes_no_dead_letter_at_all_is_an_error(outbox, make_topic):
    topic = make_topic()
    make_topic(name=f"{topic}.dlq", max_message_bytes="100")
    bad = Message(topic=topic, partition=0, offset=7, key=b"k", value=b" " * 1000)
    outbox.send_dead_letter(dead_letter(bad, BadRecord("value", "got blanks")))
    with pytest.raises(DeliveryFailed, match="too large"):
        outbox.settle()
