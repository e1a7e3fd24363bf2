"""Producing from a job or a task: all records acknowledged, or an exception."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, Message, Producer

from topics.dead_letters import DeadLetter, Header

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024


class DeliveryFailed(RuntimeError):
    """The broker refused a record for good; the batch is done again."""


class Outgoing(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None
    partition: int = -1
    headers: Sequence[Header] = ()

    @classmethod
    def dead_letter(cls, letter: DeadLetter) -> "Outgoing":
        letter = letter.fitting()
        headers = letter.annotated_headers()
        return cls(f"{letter.topic}.dlq", letter.key, letter.value, headers=headers)


def send_all(client: Mapping[str, Any], records: Iterable[Outgoing]) -> int:
    """Send and wait until all replicas have them; how many there were."""
    failures: list[str] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(f"{message.topic()}[{message.partition()}]: {error.str()}")

    producer = Producer(
        {
            **client,
            "enable.idempotence": True,
            "partitioner": "murmur2_random",
            "message.max.bytes": _MAX_MESSAGE_BYTES,
        }
    )
    sent = 0
    for record in records:
        _produce(producer, record, on_delivery)
        sent += 1
    producer.flush()
    if failures:
        raise DeliveryFailed(f"{len(failures)} records were not delivered, first {failures[0]}")
    return sent


def _produce(producer: Producer, record: Outgoing, on_delivery: Any) -> None:
    while True:
        try:
            producer.produce(
                record.topic,
                record.value,
                record.key,
                record.partition,
                on_delivery=on_delivery,
                headers=list(record.headers),
            )
            return
        except BufferError:  # the queue is full
            producer.poll(0.1)
