"""Reads match records as they come and knows how long each took."""

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from confluent_kafka import Consumer, TopicPartition

from podium.clients import KafkaClients
from podium.demo.data import visitor_number
from podium.terminal import Failure
from topics.catalogue import NO_GROUP
from topics.headers import AS_OF

BATCH = 5000
POLL_S = 0.1
CONSUMER = {
    "group.id": NO_GROUP,
    "enable.auto.commit": False,
    "fetch.queue.backoff.ms": 5,
}


class Delivered(NamedTuple):
    """A match record as it came."""

    key: bytes
    value: bytes
    as_of: str


class Percentiles(NamedTuple):
    p50_ms: float
    p99_ms: float


def percentiles(latencies_ms: np.ndarray) -> Percentiles | None:
    """
    >>> percentiles(np.arange(1, 102))
    Percentiles(p50_ms=51.0, p99_ms=100.0)
    >>> percentiles(np.array([])) is None
    True
    """
    if not len(latencies_ms):
        return None
    return Percentiles(*np.percentile(latencies_ms, (50, 99)).tolist())


class Watcher(threading.Thread):
    """`arrived_ms[number]` is the timestamp of that visitor's match record, 0 without one."""

    def __init__(self, clients: KafkaClients, topic: str, partitions: int, visitors: int) -> None:
        super().__init__(name="watcher", daemon=True)
        self.records: list[Delivered] = []
        self.arrived_ms = np.zeros(visitors + 1, np.int64)
        self.newest = 0  # the highest number of a visitor with a match record
        self._next = dict.fromkeys(range(partitions), 0)
        self._topic = topic
        self._consumer: Consumer = clients.consumer(CONSUMER)
        self._stopping = threading.Event()
        self._failure: Exception | None = None

    def run(self) -> None:
        try:
            self._consumer.assign([TopicPartition(self._topic, p, 0) for p in self._next])
            while not self._stopping.is_set():
                self._read()
        except Exception as error:
            self._failure = error
        finally:
            self._consumer.close()

    def _read(self) -> None:
        for message in self._consumer.consume(BATCH, POLL_S):
            if message.error() is not None:
                raise Failure(f"reading {self._topic}: {message.error().str()}")
            key, (_, timestamp_ms) = message.key(), message.timestamp()
            number = visitor_number(key)
            self.arrived_ms[number] = timestamp_ms
            self.newest = max(self.newest, number)
            as_of = dict(message.headers() or [])[AS_OF].decode()
            self.records.append(Delivered(key, message.value(), as_of))
            self._next[message.partition()] = message.offset() + 1

    def has_read(self, ends: Sequence[int]) -> bool:
        """Whether every partition is read up to its end."""
        return all(self._next[partition] >= end for partition, end in enumerate(ends))

    def check(self) -> None:
        """Raise what has stopped the reading, if something has."""
        if self._failure is not None:
            raise self._failure

    def latencies_ms(self, sent_ms: np.ndarray, first: int, last: int) -> np.ndarray:
        """Of the visitors from number `first` to `last` who have a match record by now."""
        arrived = self.arrived_ms[first : last + 1]
        return (arrived - sent_ms[first : last + 1])[arrived > 0]

    def stop(self) -> None:
        self._stopping.set()
        if self.is_alive():
            self.join(5.0)
