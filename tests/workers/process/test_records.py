"""Reading what cannot be read, on a real broker: stepped over, said, and nothing else is lost."""

import threading
from collections import deque
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from configs import Collection, Settings
from podium.topics_setup import ensure_topics
from tests.fleet.odd_headers import send_oddly
from tests.fleet.traffic import SILENT
from topics.codecs.json_record import BadRecord
from topics.headers import headers_of
from workers.process.context import Context, Names
from workers.process.health import Health
from workers.process.records import Batch, RecordReader, dead_letter
from workers.process.topic_watch import TopicReplaced

MIB = 1024 * 1024


class Lab:
    """A topic of events with one partition, and a reader of it."""

    def __init__(self, name: str, brokers: str, most_unpacked_mib: int) -> None:
        self.brokers = brokers
        settings = Settings(kafka={"brokers": brokers, "most_unpacked_mib": most_unpacked_mib})
        collection = Collection(
            name=name, kind="ranked", attributes=["age"], partitions={"events": 1}
        )
        ensure_topics(settings, collection)
        self.health, names = Health([]), Names.of(settings, collection)
        self.topic, stop = names.topic("events"), threading.Event()
        context = Context("router", settings, collection, names, self.health, stop, deque(maxlen=1))
        self.consumer: Consumer = context.consumer("test", {"enable.partition.eof": True})
        self.consumer.assign([TopicPartition(self.topic, 0, 0)])
        self.now = 0.0
        self.reader = RecordReader(context, self.consumer, self.topic, lambda: self.now)

    def send(self, *values: bytes, codec: str = "none", headers: list | None = None) -> None:
        """All of them in one batch."""
        producer = Producer(
            {
                "bootstrap.servers": self.brokers,
                "compression.type": codec,
                "message.max.bytes": 1_000_000_000,
                "batch.size": 1_000_000_000,
                "linger.ms": 2000,
                "logger": SILENT,
            }
        )
        failed: list[object] = []
        for value in values:
            producer.produce(
                self.topic,
                value,
                headers=headers,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
        assert producer.flush(60) == 0
        assert not failed

    def read(self, until: Callable[[Batch], bool] | None = None) -> Batch:
        """All that comes up to that moment, or to the end of the partition."""
        whole = Batch([], [], {}, [])
        _, end = self.consumer.get_watermark_offsets(TopicPartition(self.topic, 0))
        until = until or (lambda batch: batch.ends.get(0) == end)
        for _ in range(300):
            batch = self.reader.read(0.2, 1000, lambda: 0.0)
            for of_whole, part in zip(whole, batch, strict=True):
                of_whole.update(part) if isinstance(part, dict) else of_whole.extend(part)
            if until(batch):
                return whole
        raise AssertionError(f"not read to the end: {whole}")


@pytest.fixture
def lab(broker: str, unique_name: Callable[[str], str], request) -> Iterator[Lab]:
    made = Lab(unique_name("records"), broker, getattr(request, "param", 512))
    yield made
    made.consumer.close()


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4", "snappy", "zstd"])
def test_a_batch_of_good_records_is_read_however_small_it_was_packed(lab: Lab, codec: str):
    """Together 54 MB, unless they are not packed at all: then no batch is larger than 4 MiB."""
    values = [b"%d" % i + b"x" * 900_000 for i in range(3 if codec == "none" else 60)]
    lab.send(*values, codec=codec)
    batch = lab.read()
    assert [len(record.value()) for record in batch.records] == list(map(len, values))
    assert not batch.unread


@pytest.mark.parametrize("lab", [64], indirect=True)
def test_a_batch_that_unpacks_to_more_than_fits_is_stepped_over(lab: Lab):
    lab.send(b"before")
    lab.send(*[b"x" * MIB for _ in range(150)], codec="zstd")
    lab.send(b"y" * 200 * MIB, codec="zstd")
    lab.send(b"after", b"later")
    batch = lab.read()
    assert [(r.offset(), r.value()) for r in batch.records] == [
        (0, b"before"),
        (152, b"after"),
        (153, b"later"),
    ]
    assert [(u.letter.offset, u.next_offset) for u in batch.unread] == [(1, 151), (151, 152)]
    first = batch.unread[0].letter
    assert (first.value, first.headers, first.field) == (None, [], "value")
    assert "records 1 to 150 cannot be read" in first.error
    assert "most_unpacked_mib" in first.error
    assert not lab.health.reasons


@pytest.mark.parametrize("lab", [64], indirect=True)
def test_a_batch_at_the_end_that_cannot_be_read_is_stepped_over(lab: Lab):
    lab.send(b"x" * 200 * MIB, codec="zstd")
    batch = lab.read(lambda batch: bool(batch.unread))
    assert batch.unread[0].next_offset == 1
    lab.send(b"after")
    assert [record.value() for record in lab.read(lambda b: bool(b.records)).records] == [b"after"]


@pytest.mark.parametrize("lab", [64], indirect=True)
def test_a_worker_is_not_ready_while_a_batch_is_in_its_way(lab: Lab):
    lab.send(b"x" * 200 * MIB, codec="zstd")
    reasons: list[dict[str, str]] = []

    def seen(batch: Batch) -> bool:
        reasons.append(lab.health.reasons)
        return bool(batch.unread)

    lab.read(seen)
    assert any("Decompression" in said.get("events[0]", "") for said in reasons)
    assert not reasons[-1]


def test_a_worker_is_not_ready_while_records_do_not_come(lab: Lab):
    lab.send(b"a")
    lab.read()
    lab.consumer.pause([TopicPartition(lab.topic, 0)])
    lab.send(b"b")
    for _ in range(20):
        lab.now += 1.0
        # What the client remembers; an answer that was on its way may still say less.
        lab.consumer.get_watermark_offsets(TopicPartition(lab.topic, 0))
        lab.reader.read(0.05, 10, lambda: 0.0)
    reason = lab.health.reasons.get("events[0]", "")
    assert reason == f"{lab.topic}[0]@1: there are records that do not come"
    lab.consumer.resume([TopicPartition(lab.topic, 0)])
    lab.read(lambda batch: bool(batch.records))
    assert not lab.health.reasons


def test_what_was_in_the_way_of_an_assignment_is_forgotten_with_it(lab: Lab):
    lab.send(b"a")
    lab.read()
    lab.reader._is_held_up(0, "something")
    assert lab.health.reasons == {"events[0]": "something"}
    lab.reader.forget()
    assert not lab.health.reasons


def test_a_log_that_goes_back_is_noticed(lab: Lab):
    lab.send(b"a", b"b")
    lab.read()
    lab.consumer.seek(TopicPartition(lab.topic, 0, 1))
    with pytest.raises(TopicReplaced, match=r"\[0\]: got offset 1, expected one above 1"):
        lab.read(lambda batch: bool(batch.records))


def test_an_idle_partition_is_no_reason_not_to_be_ready(lab: Lab):
    lab.send(b"a")
    lab.read()
    for _ in range(40):
        lab.now += 1.0
        lab.reader.read(0.01, 10, lambda: 0.0)
    assert not lab.health.reasons


def test_headers_with_a_name_that_is_not_text_are_a_bad_record(lab: Lab):
    assert send_oddly(lab.brokers, lab.topic, 0, "key", "value") == 0
    lab.send(b"plain", headers=[("name", b"x"), ("none", None)])
    assert send_oddly(lab.brokers, lab.topic, 0, "key", "value") == 2
    odd, plain, again = lab.read().records
    with pytest.raises(BadRecord, match="headers: got a name that is not UTF-8"):
        headers_of(odd)
    letter = dead_letter(again, BadRecord("value", "x"))
    assert (letter.key, letter.value, letter.headers) == (b"key", b"value", [])
    assert headers_of(plain) == [("name", b"x"), ("none", None)]


def test_such_headers_are_noticed_however_often_others_have_been_read(lab: Lab):
    """Python calls otherwise what it has called often."""
    lab.send(*[b"plain"] * 300, headers=[("name", b"x")])
    for _ in range(3):
        send_oddly(lab.brokers, lab.topic, 0, "key", "value")
    verdicts = []
    for record in lab.read().records:
        try:
            verdicts.append(headers_of(record))
        except BadRecord:
            verdicts.append([])
    assert verdicts == [[("name", b"x")]] * 300 + [[]] * 3
