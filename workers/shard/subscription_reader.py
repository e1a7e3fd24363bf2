"""Reads the partition of `subscriptions` that belongs to one shard.

The group's committed offset does not say where to start, the shard does.  It says up to where
bad records are already in the dead-letter topic, so that a replay does not write them again.
"""

import logging
import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from topics.kafka.producer import Outbox
from workers.process import metrics
from workers.process.context import Context
from workers.process.records import RecordReader
from workers.shard.changes import Changes, nothing_but, read_changes, read_live
from workers.shard.shard import Shard

log = logging.getLogger(__name__)

_POLL_S = 0.1
_COMMIT_EVERY_S = 1.0
_LIVE_BATCH = 1000

# Nobody but the reader may decide where to go on when its offset is gone.
_OPTIONS = {"enable.partition.eof": True, "auto.offset.reset": "error"}


class RecordsLost(Exception):
    """Records were deleted that the shard has not read: its index is not to be trusted.

    Restart the worker, which builds the index anew from what is left.
    """


class SubscriptionReader:
    """Every method may block; a confluent consumer is used by one thread at a time."""

    def __init__(self, context: Context, shard: Shard, outbox: Outbox) -> None:
        self._context, self._shard, self._outbox = context, shard, outbox
        self._place = TopicPartition(context.names.topic("subscriptions"), shard.number)
        self.topic_id = ""  # of the topic that is read
        self.begin = 0  # of the partition, as it was when the reader was opened
        self.end = 0  # of the partition, as last seen
        self._letters_written = 0  # up to here, as committed
        self._committed_at = time.monotonic()
        self._consumer: Consumer | None = None
        self._records: RecordReader
        self._is_reading = False

    def open(self, should_stop: Callable[[], bool]) -> bool:
        """Ask the broker what there is to read, until it answers; False if told to stop before.

        One that is told to stop has lost the shard, perhaps, and is to disturb nobody.
        """
        self._consumer = self._context.consumer("feed", _OPTIONS)
        self._records = RecordReader(self._context, self._consumer, self._place.topic)
        while not should_stop():
            try:
                (committed,) = self._consumer.committed([self._place], timeout=5)
                offsets = self._consumer.get_watermark_offsets(self._place, timeout=5)
                self.begin, self.end = offsets
                self.topic_id = self._context.topic_id(self._place.topic)
            except KafkaException as error:
                log.warning("shard %d: %s; trying again", self._shard.number, error.args[0].str())
                time.sleep(1.0)
            else:
                self._letters_written = max(0, committed.offset)
                return not should_stop()
        return False

    def start(self) -> None:
        """Begin where the shard stands, or where the partition does."""
        assert self._consumer is not None
        if self._shard.next_offset < self.begin:
            log.warning(
                "shard %d: %s begins at offset %d, what was sent before is deleted: answers miss"
                " every subscription that has not been sent again since; send the missing"
                " subscriptions again, and set the topic's cleanup.policy to compact",
                self._shard.number,
                self._place.topic,
                self.begin,
            )
            self._shard.next_offset = self.begin
        place = TopicPartition(self._place.topic, self._place.partition, self._shard.next_offset)
        self._consumer.assign([place])
        self._is_reading = True

    def read(self, restored: bool) -> tuple[list[Changes], int | None]:
        """What the next records change, and the end of the partition if it was reached."""
        assert self._consumer is not None
        # The first record at once; only a restore waits for the rest of a large batch.
        most = _LIVE_BATCH if restored else self._context.settings.matcher.feed_batch
        batch = self._records.read(_POLL_S, most, lambda: 0 if restored else _POLL_S)
        for message in batch.errors:
            if message.error().code() == KafkaError._AUTO_OFFSET_RESET:
                raise RecordsLost(
                    f"{self._place.topic}[{self._place.partition}]@{self._shard.next_offset}:"
                    f" {message.error().str()}; restart the worker, which builds its index anew"
                    " from what is left, and send the subscriptions again that were deleted"
                )
        contract, shards = self._shard.contract, self._context.collection.shards
        changes = []
        if batch.records and restored:
            changes = read_live(batch.records, contract, shards)
        elif batch.records:
            changes = [read_changes(batch.records, contract, shards)]
        changes += [
            nothing_but(unread.letter, unread.next_offset, contract) for unread in batch.unread
        ]
        return changes, batch.ends.get(self._place.partition)

    def write_letters(self, changes: list[Changes]) -> None:
        """Of the bad ones among these records; returns when the broker has them."""
        letters = [letter for step in changes for letter in step.letters]
        new = [letter for letter in letters if letter.offset >= self._letters_written]
        for letter in new:
            metrics.DEAD_LETTERS.labels(self._context.collection.name, "subscriptions").inc()
            self._outbox.send_dead_letter(letter)
        if new:
            self._outbox.settle()

    def look_at_end(self) -> None:
        """The consumer knows it from what it fetches ahead, which is more than was read."""
        assert self._consumer is not None
        _, end = self._consumer.get_watermark_offsets(self._place, cached=True)
        self.end = max(self.end, end)  # it is negative until something was fetched

    def ask_end(self) -> int | None:
        """Where the partition ends, open transactions included; None if the broker does not say."""
        scout = self._context.consumer("scout", {"isolation.level": "read_uncommitted"})
        try:
            _, end = scout.get_watermark_offsets(self._place, timeout=5)
        except KafkaException as error:
            log.warning("shard %d: %s", self._shard.number, error.args[0].str())
            return None
        finally:
            scout.close()
        return int(end)

    def commit_now_and_then(self) -> None:
        if time.monotonic() - self._committed_at >= _COMMIT_EVERY_S:
            self._committed_at = time.monotonic()
            self.commit()

    def commit(self) -> None:
        assert self._consumer is not None
        position = self._shard.next_offset  # letters are written before a batch is applied
        try:
            if position > self._letters_written:
                place = TopicPartition(self._place.topic, self._place.partition, position)
                self._consumer.commit(offsets=[place], asynchronous=False)
                self._letters_written = position
        except KafkaException as error:
            log.warning("shard %d: not committed: %s", self._shard.number, error.args[0].str())

    def close(self) -> None:
        """In whatever state it is."""
        if self._is_reading:
            self.commit()
        if self._consumer is not None:
            self._records.forget()  # what is in the way is its next owner's affair
            self._consumer.close()
