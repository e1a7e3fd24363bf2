"""Reading a topic as a member of a consumer group, without mixing assignments up."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from confluent_kafka import OFFSET_STORED, Consumer, KafkaException, Message, TopicPartition

from workers.context import Context

log = logging.getLogger(__name__)

_IDLE_S = 0.25
_COMMIT_EVERY_S = 1.0


class Owner(Protocol):
    """Whose partitions they are."""

    def on_assigned(self, places: list[TopicPartition]) -> None:
        """These are ours from now on; their offsets and metadata are what was committed last."""

    def on_revoked(self, partitions: list[int]) -> None:
        """The last moment to commit."""

    def on_gone(self, partitions: list[int]) -> None:
        """These are not ours any more; forget what came from them."""


class GroupReader:
    """Batches of one topic, each from the assignment that holds when it is returned.

    A rebalance can happen while a batch is being gathered.  What is in hand then may belong to
    others, or will be read again by us from the committed offset: it is dropped, and reading starts
    anew from what is committed.
    """

    def __init__(self, context: Context, topic: str, owner: Owner) -> None:
        self._context, self._topic, self._owner = context, topic, owner
        self._owned: set[int] = set()
        self._moved = False
        self._consumer: Consumer = context.consumer(context.role)
        # Questions on the connection of the other would wait behind its fetch of further records.
        self._scout: Consumer = context.consumer(context.role)
        self._consumer.subscribe(
            [topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def read(self, most: int, linger_s: Callable[[], float]) -> list[Message]:
        """The first record at once, then what comes within the linger; nothing when idle."""
        self._moved = False
        first = self._consumer.poll(_IDLE_S)
        if first is None:
            return []
        batch = [first, *self._consumer.consume(most - 1, linger_s())]
        if self._moved:
            self._start_anew()
            return []
        for message in batch:
            if message.error() is not None:
                log.warning("reading %s: %s", self._topic, message.error().str())
        return [message for message in batch if message.error() is None]

    def commit(self, offsets: Mapping[int, int], metadata: Mapping[int, str] | None = None) -> bool:
        """Commit by partition; False if the broker would not: then work is done again."""
        places = [
            TopicPartition(self._topic, p, offset, metadata=(metadata or {}).get(p, ""))
            for p, offset in offsets.items()
        ]
        try:
            self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            log.warning("offsets of %s not committed: %s", self._topic, error.args[0].str())
            return False
        return True

    def bounds_of(self, topic: str, partition: int) -> tuple[int, int]:
        """The first offset of any partition, and the one that its next record will get."""
        return self._scout.get_watermark_offsets(TopicPartition(topic, partition), timeout=5)

    def work(self, step: Callable[[], None], commit: Callable[[], None]) -> None:
        """Take steps until the worker is to stop, and commit every second."""
        health, committed_at = self._context.health, time.monotonic()
        health.ready(self._context.role)
        try:
            while not self._context.stopping.is_set():
                health.beat()
                step()
                if time.monotonic() - committed_at > _COMMIT_EVERY_S:
                    commit()
                    committed_at = time.monotonic()
            commit()
        finally:
            self._consumer.close()
            self._scout.close()

    def _start_anew(self) -> None:
        if self._owned:
            places = [TopicPartition(self._topic, p, OFFSET_STORED) for p in self._owned]
            self._consumer.assign(places)

    def _on_assign(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._moved = True
        self._owned.update(place.partition for place in places)
        log.info("assigned %s", _listed(places))
        self._owner.on_assigned(consumer.committed(places) if places else [])

    def _on_revoke(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._owner.on_revoked([place.partition for place in places])
        self._on_lost(consumer, places)

    def _on_lost(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._moved = True
        self._owned.difference_update(place.partition for place in places)
        log.info("gave up %s", _listed(places))
        self._owner.on_gone([place.partition for place in places])


def _listed(places: list[TopicPartition]) -> str:
    return ", ".join(f"{place.topic}[{place.partition}]" for place in places) or "nothing"
