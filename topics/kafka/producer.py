"""Producing with confluent-kafka so that nothing is lost in silence."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from topics.dead_letters import DeadLetter
from topics.headers import Header
from topics.limits import DEAD_LETTER_KEPT_CUT, FRAME_BYTES

log = logging.getLogger(__name__)


class DeliveryFailed(RuntimeError):
    """The broker refused a record for good.  The worker must stop without committing."""


class Outbox:
    """Sends records; `settle()` returns when all of them are acknowledged by all replicas.

    librdkafka retries for as long as it takes (`message.timeout.ms=0`), so an unreachable broker
    delays records and a commit that waits for them, but loses none.
    """

    def __init__(self, client: Mapping[str, Any], **overrides: Any) -> None:
        self._producer = Producer(
            {
                **client,
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "linger.ms": 2,
                "message.timeout.ms": 0,
                "message.max.bytes": FRAME_BYTES,
                "queue.buffering.max.kbytes": 512 * 1024,
                # Reports of success would cost a Python call a record; a failure is enough.
                "delivery.report.only.error": True,
                **overrides,
            }
        )
        self._failure: str | None = None
        # Letters that were refused for their size: where to, and what may be kept of them now.
        self._too_large: list[tuple[str, DeadLetter, int]] = []

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int = -1,
        headers: Sequence[Header] | None = None,
        on_delivery: Callable[[KafkaError | None, Message], None] | None = None,
    ) -> None:
        """Queue one record, waiting while the queue is full."""
        while True:
            try:
                self._producer.produce(
                    topic,
                    value,
                    key,
                    partition,
                    on_delivery=on_delivery or self._on_delivery,
                    headers=headers,
                )
                return
            except BufferError:
                self._producer.poll(0.05)
                self._raise_failure()

    def send_dead_letter(self, letter: DeadLetter, to: str | None = None) -> None:
        """To the dead-letter topic of the topic it came from, unless `to` names another."""
        log.warning("%s refused: %s", letter.source, letter.error)
        self._send_letter(
            to or f"{letter.topic}.dlq", letter, letter.fitting(), DEAD_LETTER_KEPT_CUT
        )

    def _send_letter(self, topic: str, whole: DeadLetter, letter: DeadLetter, less: int) -> None:
        """If the topic takes less than it should, it gets `less` bytes of the whole letter."""

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE and less >= 0:
                self._too_large.append((topic, whole, less))
            else:
                self._on_delivery(error, message)

        headers = letter.annotated_headers()
        try:
            self.send(topic, letter.value, key=letter.key, headers=headers, on_delivery=delivered)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                raise
            self._too_large.append((topic, whole, less))

    def _send_cut_letters(self) -> None:
        refused, self._too_large = self._too_large, []
        for topic, whole, kept in refused:
            self._send_letter(topic, whole, whole.cut(kept), 0 if kept else -1)

    def poll(self) -> None:
        self._producer.poll(0)
        self._send_cut_letters()
        self._raise_failure()

    def settle(self) -> None:
        """Wait until everything sent so far is acknowledged, or raise `DeliveryFailed`."""
        while self._producer.flush(1.0) or self._too_large:
            self._send_cut_letters()
            self._raise_failure()
        self._raise_failure()

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failure = f"{message.topic()}[{message.partition()}]: {error.str()}"

    def _raise_failure(self) -> None:
        if self._failure:
            raise DeliveryFailed(self._failure)
