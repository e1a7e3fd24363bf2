"""Send records and keep count: what was acknowledged, what failed and in which line.

Nothing here grows with the number of records, so that a file of any size can pass through.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from podium.send.json_lines import Record
from topics.headers import format_token
from topics.limits import RECORD_BYTES

PRODUCER = {
    "partitioner": "murmur2_random",  # keys land where the Java clients put them
    "enable.idempotence": True,
    "compression.type": "lz4",
    "linger.ms": 20,
    "batch.size": 512 * 1024,
    "message.max.bytes": RECORD_BYTES,
    "message.timeout.ms": 60_000,
    "queue.buffering.max.kbytes": 64 * 1024,
}
SERVE_EVERY = 64  # records between two looks at the acknowledgements
FULL_QUEUE_WAIT_S = 0.1

Headers = list[tuple[str, str | bytes | None]]


class Sender:
    """`topics` are full names by `Record.topic`; `headers` go on every event.

    `failed` is called with the line and the reason of each record that did not arrive.
    """

    def __init__(
        self,
        producer: Producer,
        topics: Mapping[str, str],
        headers: Headers,
        failed: Callable[[int, str], None],
    ) -> None:
        self._producer, self._topics, self._headers = producer, topics, headers
        self._failed = failed
        self._since_served = 0
        self.acknowledged: Counter[str] = Counter()
        self.undelivered = 0
        self.timed_out = False
        self._last_offset: dict[int, int] = {}  # of subscriptions, by partition

    def send(self, line: int, record: Record) -> None:
        """Queue a record; waits while the queue is full.  Its fate shows later, in the counts."""
        headers = self._headers if record.topic == "events" else []
        acknowledge = partial(self._delivered, line, record.topic)
        while True:
            try:
                self._producer.produce(
                    self._topics[record.topic],
                    record.value,
                    record.key,
                    headers=headers,
                    on_delivery=acknowledge,
                )
                break
            except BufferError:
                self._producer.poll(FULL_QUEUE_WAIT_S)
            except KafkaException as error:
                self._not_delivered(line, error.args[0])
                break
        self._since_served += 1
        if self._since_served >= SERVE_EVERY:
            self._producer.poll(0)
            self._since_served = 0

    def finish(self, timeout_s: float) -> None:
        """Wait for the acknowledgements."""
        self._producer.flush(timeout_s)

    @property
    def unanswered(self) -> int:
        return len(self._producer)

    @property
    def token(self) -> str:
        """`podium-after` for events that must see every subscription acknowledged so far."""
        return format_token(self._last_offset)

    def _delivered(self, line: int, topic: str, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._not_delivered(line, error)
            return
        self.acknowledged[topic] += 1
        if topic == "subscriptions":
            partition, offset = message.partition(), message.offset()
            if partition is not None and offset is not None:
                known = self._last_offset.get(partition, -1)
                self._last_offset[partition] = max(known, offset)

    def _not_delivered(self, line: int, error: KafkaError) -> None:
        self.undelivered += 1
        self.timed_out |= error.code() == KafkaError._MSG_TIMED_OUT
        self._failed(line, error.str())
