"""All partitions of `subscriptions`, read by hand: a painter has one world for all of them."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from confluent_kafka import KafkaException, Message, TopicPartition

from topics.dead_letters import DeadLetter
from topics.subscriptions import RangeContract
from topics.zones.lives import LifeChanges, life_changes
from workers.process.context import Context
from workers.process.records import RecordReader, dead_letter

_REPLY_S = 5.0
_AHEAD = 20_000  # records of a shard that wait here, at most


class SubscriptionChanges(NamedTuple):
    """The net effect of a run of records of one shard."""

    shard: int
    lives: LifeChanges
    letters: list[DeadLetter]
    next_offset: int


class SubscriptionStream:
    """Batches by shard, from given offsets on."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._topic = context.names.topic("subscriptions")
        self._shards = context.collection.shards
        self._contract = RangeContract(k=context.collection.k)
        self._open_consumer()
        self._waiting: list[deque[Message]] = [deque() for _ in range(self._shards)]
        self._skipped: list[SubscriptionChanges] = []
        self._ends: dict[int, int] = {}
        self.letters_written = [0] * self._shards  # up to here, as committed

    def _open_consumer(self) -> None:
        self._consumer = self._context.consumer("subscriptions", {"enable.partition.eof": True})
        self._records = RecordReader(self._context, self._consumer, self._topic)

    def bounds(self, stopping: Callable[[], bool]) -> list[tuple[int, int]] | None:
        """First and next offsets by shard; None if told to stop before the broker answers."""
        places = [TopicPartition(self._topic, shard) for shard in range(self._shards)]
        while not stopping():
            try:
                committed = self._consumer.committed(places, timeout=_REPLY_S)
                found = [self._consumer.get_watermark_offsets(p, timeout=_REPLY_S) for p in places]
            except KafkaException:
                time.sleep(0.5)
                continue
            self.letters_written = [max(0, place.offset) for place in committed]
            return found
        return None

    def start(self, offsets: Mapping[int, int]) -> None:
        """Begin there, by a consumer that was nowhere else: it may still report ends from there."""
        for waiting in self._waiting:
            waiting.clear()
        self._ends.clear()
        self._skipped.clear()
        self._records.forget()
        self._consumer.close()
        self._open_consumer()
        places = [TopicPartition(self._topic, s, offset) for s, offset in offsets.items()]
        self._consumer.assign(places)

    def fill(self, wait_s: float = 0.0) -> None:
        """Read on, as far as there is room."""
        if max(map(len, self._waiting)) >= _AHEAD:
            return
        batch = self._records.read(wait_s, _AHEAD, lambda: 0.0)
        for message in batch.records:
            self._waiting[message.partition()].append(message)
        for unread in batch.unread:
            nothing = self._read(unread.partition, [], unread.next_offset)
            self._skipped.append(nothing._replace(letters=[unread.letter]))
        self._ends.update(batch.ends)

    def take(
        self, shard: int, most: int, below: int | None = None, each_end: bool = False
    ) -> SubscriptionChanges | None:
        """The next records of a shard, perhaps only those below an offset, or None.

        With `each_end` a life that begins among them does not end among them as well: a key that
        unsubscribes has its life in the world then, and the world knows its zone.
        """
        for skipped in self._skipped:
            if skipped.shard == shard and not self._waiting[shard]:
                self._skipped.remove(skipped)
                return skipped
        waiting = self._waiting[shard]
        records: list[Message] = []
        keys: set[bytes | None] = set()
        while waiting and len(records) < most and (below is None or waiting[0].offset() < below):
            if each_end and waiting[0].value() is None and waiting[0].key() in keys:
                break
            records.append(waiting.popleft())
            if each_end:
                keys.add(records[-1].key())
        if not records:
            return None
        return self._read(shard, records, records[-1].offset() + 1)

    def has_up_to(self, shard: int, offset: int) -> bool:
        """Whether everything below an offset was read, and what was not taken waits."""
        waiting = self._waiting[shard]
        last = waiting[-1].offset() if waiting else -1
        return last >= offset - 1 or self._ends.get(shard, 0) >= offset

    def is_past(self, shard: int, offset: int) -> bool:
        """Whether everything below an offset was read and taken."""
        waiting = self._waiting[shard]
        first = waiting[0].offset() if waiting else self._ends.get(shard, 0)
        return first >= offset

    def end_of(self, shard: int) -> int | None:
        """Where the partition ended when all of it was read: also behind what has no records."""
        return self._ends.pop(shard, None) if not self._waiting[shard] else None

    def _read(self, shard: int, records: list[Message], next_offset: int) -> SubscriptionChanges:
        changes = life_changes(
            self._contract,
            shard,
            self._shards,
            [message.key() for message in records],
            [message.value() for message in records],
            [message.offset() for message in records],
        )
        bad = changes.bad
        letters = [dead_letter(records[row], bad[row]) for row in sorted(bad)]
        return SubscriptionChanges(shard, changes, letters, next_offset)

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Up to where dead letters are written; where to go on is in the state."""
        places = [
            TopicPartition(self._topic, shard, offset)
            for shard, offset in offsets.items()
            if offset > self.letters_written[shard]
        ]
        if places:
            self._consumer.commit(offsets=places, asynchronous=False)
            for place in places:
                self.letters_written[place.partition] = place.offset

    def close(self) -> None:
        self._consumer.close()
