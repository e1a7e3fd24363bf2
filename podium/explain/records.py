"""Reads single records and stretches of a collection's topics, with a bar for what takes long."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from rich.console import Console
from rich.progress import Progress

from podium.clients import KafkaClients
from podium.terminal import Failure
from topics.catalogue import NO_GROUP, topic_name
from topics.codecs.json_record import BadRecord
from topics.headers import ERROR, OFFSET, PARTITION, TOPIC, headers_of

ANSWER_S = 10.0
SILENCE_S = 30.0
_BATCH = 5000
_OPTIONS = {
    "group.id": NO_GROUP,
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "fetch.queue.backoff.ms": 5,
}
# Clocks of producers and workers differ; an answer may seem to be older than its event.
_EARLIER_MS = 60_000


class Letter(NamedTuple):
    place: str  # of the dead letter
    reason: str


class Records:
    """Of one collection.  To be closed."""

    def __init__(self, clients: KafkaClients, prefix: str, collection: str) -> None:
        self._clients, self._prefix, self._collection = clients, prefix, collection
        self._consumer: Consumer = clients.consumer(_OPTIONS)
        console = Console(stderr=True)
        self._bars = Progress(console=console, transient=True, disable=not sys.stderr.isatty())

    def __enter__(self) -> "Records":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()
        self._consumer.close()

    def topic(self, topic: str) -> str:
        return topic_name(self._prefix, self._collection, topic)

    def partitions(self, topic: str) -> int:
        """0 where there is no such topic."""
        name = self.topic(topic)
        with self._reaching():
            known = self._consumer.list_topics(timeout=ANSWER_S).topics
        return len(known[name].partitions) if name in known else 0

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """The first offset, and the one that the next record gets."""
        place = TopicPartition(self.topic(topic), partition)
        with self._reaching():
            low, end = self._consumer.get_watermark_offsets(place, timeout=ANSWER_S)
        return low, end

    def at(self, topic: str, partition: int, offset: int) -> Message | None:
        """The record at an offset; None if it is not there, or no longer."""
        low, end = self.bounds(topic, partition)
        if not low <= offset < end:
            return None
        found = next(self.read(topic, partition, offset, offset + 1), None)
        return found

    def since(self, topic: str, partition: int, timestamp_ms: int) -> int:
        """The offset of the first record written about then or later; the end if there is none.

        What a producer says of the future tells nothing: then it is the first of all.
        """
        is_past = timestamp_ms <= time.time() * 1e3 + _EARLIER_MS
        wanted = max(0, timestamp_ms - _EARLIER_MS) if is_past else 0
        place = TopicPartition(self.topic(topic), partition, wanted)
        with self._reaching():
            (found,) = self._consumer.offsets_for_times([place], timeout=ANSWER_S)
        return found.offset if found.offset >= 0 else self.bounds(topic, partition)[1]

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Message]:
        """What is there from `start` up to before `end`, in the order of the offsets."""
        low, last = self.bounds(topic, partition)
        start, end = max(start, low), min(end, last)
        if start >= end:
            return
        name = self.topic(topic)
        bar = self._bars.add_task(f"{name}[{partition}]", total=end - start)
        self._consumer.assign([TopicPartition(name, partition, start)])
        try:
            for message in self._until(end):
                yield message
                self._bars.update(bar, completed=message.offset() + 1 - start)
        finally:
            self._consumer.unassign()
            self._bars.remove_task(bar)

    def _until(self, end: int) -> Iterator[Message]:
        while True:
            # Asked for many at once, the client would wait until it has so many.
            first = self._consumer.poll(SILENCE_S)
            if first is None:
                raise Failure(f"no record for {SILENCE_S:g} s; is the broker overloaded?")
            for message in (first, *self._consumer.consume(_BATCH, 0)):
                error = message.error()
                if error is None and message.offset() < end:
                    yield message
                elif error is None or error.code() == KafkaError._PARTITION_EOF:
                    return
                elif not error.retriable():
                    raise Failure(f"{message.topic()}[{message.partition()}]: {error.str()}")
                if error is None and message.offset() + 1 >= end:
                    return

    def letter(self, topic: str, partition: int, offset: int, timestamp_ms: int) -> Letter | None:
        """The dead letter of a record that was written about then, if there is one."""
        letters = f"{topic}.dlq"
        wanted = {TOPIC: self.topic(topic), PARTITION: str(partition), OFFSET: str(offset)}
        for number in range(self.partitions(letters)):
            start = self.since(letters, number, timestamp_ms)
            for message in self.read(letters, number, start, sys.maxsize):
                headers = texts_of(message)
                if wanted.items() <= headers.items():
                    place = f"{message.topic()}[{number}]@{message.offset()}"
                    return Letter(place, headers.get(ERROR, "no reason given"))
        return None

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        with self._clients.reaching(self._consumer):
            yield


def texts_of(message: Message) -> dict[str, str]:
    """A record's headers as text; none of those that cannot be read."""
    try:
        headers = headers_of(message)
    except BadRecord:
        return {}
    return {name: (value or b"").decode(errors="replace") for name, value in headers}
