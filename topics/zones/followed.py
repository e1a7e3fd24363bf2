"""How far the zones say that they are."""

import logging

from confluent_kafka import Consumer, TopicPartition

from topics.progress import Progress, decode, positions_of

log = logging.getLogger(__name__)


class ProgressReader:
    """What the zones have said last in `progress`; the consumer is its own."""

    def __init__(self, consumer: Consumer, topic: str, zones: int) -> None:
        self._consumer = consumer
        self._consumer.assign([TopicPartition(topic, zone, 0) for zone in range(zones)])
        self._latest: dict[int, Progress] = {}
        self._left: dict[int, dict[int, int]] = {}

    def follow(self, wait_s: float = 0.0) -> None:
        for message in self._consumer.consume(100, wait_s):
            if message.error() is not None:
                continue
            try:
                said = decode(message.value() or b"")
                left = positions_of(said.left)
            except ValueError as error:
                log.warning("progress of zone %d: %s", message.partition(), error)
                continue
            self._latest[message.partition()] = said
            self._left[message.partition()] = left

    def left(self, zone: int, shard: int) -> int:
        """The last subscription of a shard of which nothing more is written there; -1: none."""
        return self._left.get(zone, {}).get(shard, -1)

    def reset(self, zone: int) -> int:
        return self._latest[zone].reset if zone in self._latest else 0

    def lost(self) -> list[int]:
        """The zones that need their lists anew."""
        return [zone for zone, said in self._latest.items() if said.lost]
