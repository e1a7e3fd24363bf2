"""Reads the lists as they come, and how far the zones say that they are."""

import json
import re
import threading
from collections.abc import Sequence

import numpy as np
from confluent_kafka import Consumer, KafkaError, TopicPartition

from podium.clients import KafkaClients
from podium.demo.watch import BATCH, CONSUMER, POLL_S
from podium.terminal import Failure

_OBJECTS = re.compile(rb'"objects":"[^"]*@(\d+)"')
_FIRST = b'"first":true'


class ListWatcher(threading.Thread):
    """`kept` has the records of the chosen subscribers, as they came."""

    def __init__(
        self,
        clients: KafkaClients,
        matches: str,
        progress: str,
        zones: int,
        chosen: Sequence[bytes],
    ) -> None:
        super().__init__(name="lists", daemon=True)
        self.kept: dict[bytes, list[bytes]] = {key: [] for key in chosen}
        self.records = 0
        self.listed: set[bytes] = set()  # subscribers who have a list
        self._changed: list[tuple[int, int]] = []  # object offset, timestamp of the list
        self._matches, self._progress = matches, progress
        self._applied = [-1] * zones
        self._ends: dict[int, int] = {}  # by partition of matches, where all was read
        self._clients = clients
        self._stopping = threading.Event()
        self._failure: Exception | None = None

    def run(self) -> None:
        consumer = self._clients.consumer({**CONSUMER, "enable.partition.eof": True})
        try:
            known = consumer.list_topics(timeout=10).topics
            places = [
                TopicPartition(topic, partition, 0)
                for topic in (self._matches, self._progress)
                for partition in known[topic].partitions
            ]
            consumer.assign(places)
            while not self._stopping.is_set():
                self._read(consumer)
        except Exception as error:
            self._failure = error
        finally:
            consumer.close()

    def _read(self, consumer: Consumer) -> None:
        for message in consumer.consume(BATCH, POLL_S):
            error, topic = message.error(), message.topic()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                if topic == self._matches:  # also behind the marks of transactions
                    self._ends[message.partition()] = message.offset()
            elif error is not None:
                raise Failure(f"reading {topic}: {error.str()}")
            elif topic == self._progress:
                objects = json.loads(message.value())["objects"]
                self._applied[message.partition()] = -1 if objects is None else objects
            else:
                self._take(message.key(), message.value(), message.timestamp()[1])

    def _take(self, key: bytes, value: bytes, timestamp_ms: int) -> None:
        self.records += 1
        if key in self.kept:
            self.kept[key].append(value)
        if _FIRST in value:
            self.listed.add(key)
        elif objects := _OBJECTS.search(value):
            self._changed.append((int(objects[1]), timestamp_ms))

    @property
    def applied(self) -> int:
        """The last object record that all zones have applied."""
        return min(self._applied)

    def has_read(self, ends: Sequence[int]) -> bool:
        return all(self._ends.get(p, 0) >= end for p, end in enumerate(ends))

    def latencies_ms(self, sent_ms: np.ndarray, first: int, last: int) -> np.ndarray:
        """From each object record to each list that it has changed."""
        changed = np.array(self._changed, np.int64).reshape(-1, 2)
        chosen = changed[(changed[:, 0] >= first) & (changed[:, 0] <= last)]
        return chosen[:, 1] - sent_ms[chosen[:, 0]]

    def check(self) -> None:
        """Raise what has stopped the reading, if something has."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        self._stopping.set()
        if self.is_alive():
            self.join(5.0)
