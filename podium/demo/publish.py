"""Sends ads as fast as they go, visitors at a steady pace or all at once."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, Message, Producer

from podium.clients import KafkaClients
from podium.demo.data import Record, visitor_number
from podium.send.sender import PRODUCER
from podium.terminal import Failure

TICK_S = 0.004
FULL_QUEUE_WAIT_S = 0.02
# Reports of success would cost a call a record; what is still queued tells as much.
ADS = {**PRODUCER, "delivery.report.only.error": True}
# Visitors are matched while they wait for the page: send them at once.
VISITORS = {**ADS, "linger.ms": 1}


class Publisher:
    """`sent_ms[number]` is the timestamp of that visitor's record.

    `check` raises when what it sends to is gone.
    """

    def __init__(
        self,
        clients: KafkaClients,
        ads_topic: str,
        visitors_topic: str,
        visitors: int,
        check: Callable[[], None],
    ) -> None:
        self._check = check
        self._ads_topic, self._visitors_topic = ads_topic, visitors_topic
        self._ads_producer: Producer = clients.producer(ADS)
        self._visitors_producer: Producer = clients.producer(VISITORS)
        self._failure: str | None = None
        self._ads_queued = self._visitors_queued = 0
        self.last_visitor = 0
        self.sent_ms = np.zeros(visitors + 1, np.int64)
        # Otherwise the first records would wait for the answer to this.
        self._ads_producer.list_topics(ads_topic, timeout=10)
        self._visitors_producer.list_topics(visitors_topic, timeout=10)

    @property
    def ads(self) -> int:
        """Records of ads that the broker has: new ones, new bids, unsubscriptions."""
        return self._ads_queued - len(self._ads_producer)

    @property
    def visitors(self) -> int:
        return self._visitors_queued - len(self._visitors_producer)

    def send_ads(self, records: Sequence[Record]) -> None:
        for key, value in records:
            self._queue(self._ads_producer, self._ads_topic, key, value)
            self._ads_queued += 1
        self._serve()

    def send_visitors(self, records: Sequence[Record]) -> None:
        for key, value in records:
            number, now_ms = visitor_number(key), time.time_ns() // 1_000_000
            self.sent_ms[number] = now_ms
            self._queue(self._visitors_producer, self._visitors_topic, key, value, timestamp=now_ms)
            self._visitors_queued += 1
            self.last_visitor = number
        self._serve()

    def stream(
        self,
        visitors: Sequence[Record],
        changes: Sequence[Record],
        rate: float,
        most_s: float,
        keeps_up: Callable[[], bool],
    ) -> int:
        """`rate` visitors a second, and the changes of ads evenly between them.

        Ends early after `most_s`, or as soon as the fleet does not keep up. Returns how many of the
        changes were sent.
        """
        began = time.monotonic()
        sent = changed = 0
        while sent < len(visitors) and keeps_up():
            elapsed_s = time.monotonic() - began
            if elapsed_s > most_s:
                break
            due = min(len(visitors), 1 + int(elapsed_s * rate))
            changes_due = len(changes) * due // len(visitors)
            self.send_visitors(visitors[sent:due])
            self.send_ads(changes[changed:changes_due])
            sent, changed = due, changes_due
            time.sleep(TICK_S)
        self.flush()
        return changed

    def rate(self, first: int) -> float:
        """Visitors a second from number `first` to the last one sent."""
        took_ms = self.sent_ms[self.last_visitor] - self.sent_ms[first]
        return float((self.last_visitor - first) * 1000 / max(took_ms, 1))

    def flush(self) -> None:
        """Wait until the broker has everything."""
        while self._ads_producer.flush(0.5) + self._visitors_producer.flush(0.5):
            self._serve()
        self._serve()

    def _queue(
        self, producer: Producer, topic: str, key: bytes, value: bytes | None, **options: Any
    ) -> None:
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=self._on_delivery, **options)
                return
            except BufferError:
                producer.poll(FULL_QUEUE_WAIT_S)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failure = f"a record for {message.topic()} was not delivered: {error.str()}"

    def _serve(self) -> None:
        self._ads_producer.poll(0)
        self._visitors_producer.poll(0)
        self._check()
        if self._failure:
            raise Failure(self._failure)
