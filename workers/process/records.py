"""Reading records so that none of them can stop a worker: for router, merger and feed alike.

Some records cannot be read at all, such as a few kilobytes that unpack to more than fits.  The
client reports the batch that holds them again and again, and never moves on.  A batch that is
reported several times is given up: the reader steps over it and hands its owner a dead letter.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from topics.codecs.json_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.headers import Header, headers_of
from workers.process.context import Context
from workers.process.topic_watch import TopicReplaced

log = logging.getLogger(__name__)

# Of a batch itself: another try, or another broker, brings the same.
_UNREADABLE = {KafkaError._BAD_COMPRESSION, KafkaError._BAD_MSG, KafkaError._NOT_IMPLEMENTED}
_TRIES = 3
_STALLED_AFTER_S = 10.0
_LOOK_EVERY_S = 1.0
_PROBE_S = 5.0


class Unread(NamedTuple):
    """Records that were stepped over, and the letter that says so."""

    letter: DeadLetter
    next_offset: int

    @property
    def partition(self) -> int:
        return self.letter.partition


class Batch(NamedTuple):
    records: list[Message]
    # Behind all records of its partition that came before it; those after it come next time.
    unread: list[Unread]
    ends: dict[int, int]  # of the partitions that were read to their ends, where these are
    errors: list[Message]  # all others, which are the broker's, and have been logged


NOTHING = Batch([], [], {}, [])


def dead_letter(
    message: Message, bad: BadRecord, headers: Sequence[Header] | None = None
) -> DeadLetter:
    """Of a record that breaks its contract, with its headers, unless the caller has asked for them.

    Headers that nobody can read are left out.
    """
    if headers is None:
        try:
            headers = headers_of(message)
        except BadRecord:
            headers = []
    place = message.topic(), message.partition(), message.offset()
    return DeadLetter.of(*place, message.key(), message.value(), headers, bad)


class RecordReader:
    """Reads a topic by a consumer that its owner has assigned; it must report partition ends.

    While a partition has records that do not come, the worker is not ready.
    """

    def __init__(
        self,
        context: Context,
        consumer: Consumer,
        topic: str,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context, self._consumer, self._topic, self._now = context, consumer, topic, now
        self._assignment = 0
        self._last: dict[int, int] = {}  # offset that was read, by partition
        self._tries: Counter[tuple[int, int]] = Counter()  # by partition and offset
        self._moved: dict[int, tuple[int, float]] = {}  # position, and since when it is there
        self._looked_at = now()
        self._held_up: set[int] = set()  # the partitions that the worker is not ready for

    def forget(self) -> None:
        """What was known of the partitions is about another assignment."""
        self._assignment += 1
        self._last.clear()
        self._moved.clear()
        self._tries.clear()
        for partition in list(self._held_up):
            self._flows(partition)

    def _is_held_up(self, partition: int, why: str) -> None:
        self._held_up.add(partition)
        self._context.health.not_ready(self._part(partition), why)

    def _flows(self, partition: int) -> None:
        if partition in self._held_up:
            self._held_up.remove(partition)
            self._context.health.ready(self._part(partition))

    def _part(self, partition: int) -> str:
        return f"{self._topic.rpartition('.')[2]}[{partition}]"

    def read(self, wait_s: float, most: int, linger_s: Callable[[], float]) -> Batch:
        """The first record as soon as it is there, then what comes within the linger.

        Nothing if the assignment has changed meanwhile: its owner has to read again.
        `TopicReplaced` if the log has gone back: what follows is not what was read before.
        """
        assignment, first = self._assignment, self._consumer.poll(wait_s)
        if first is None:
            self._look_for_stalls()
            return NOTHING
        gathered = [first, *self._consumer.consume(most - 1, linger_s())]
        if assignment != self._assignment:
            return NOTHING
        batch = Batch([], [], {}, [])
        # In few steps, as there may be a hundred thousand records a second.
        for message in gathered:
            if message.error() is not None:
                self._sort_out(message, batch)
                continue
            partition, offset = message.partition(), message.offset()
            if offset <= self._last.get(partition, -1):
                raise self._went_back(partition, offset)
            self._last[partition] = offset
            batch.records.append(message)
            if batch.ends:
                batch.ends.pop(partition, None)
        for partition, offset in self._last.items():
            self._is_at(partition, offset + 1)
        self._look_for_stalls()
        return batch

    @property
    def positions(self) -> dict[int, int]:
        """The next offset to be read of each partition of which anything was heard."""
        return {partition: position for partition, (position, _) in self._moved.items()}

    def _went_back(self, partition: int, offset: int) -> TopicReplaced:
        return TopicReplaced(
            f"{self._topic}[{partition}]: got offset {offset}, expected one above"
            f" {self._last[partition]}; the topic was made anew, or has lost records"
        )

    def _sort_out(self, message: Message, batch: Batch) -> None:
        error, partition = message.error(), message.partition()
        if error.code() == KafkaError._PARTITION_EOF:
            batch.ends[partition] = message.offset()
            self._is_at(partition, message.offset())
        elif error.code() in _UNREADABLE:
            if unread := self._give_up(message):
                batch.unread.append(unread)
                batch.ends.pop(partition, None)
                self._is_at(partition, unread.next_offset)
        else:
            # Who needs a topic has waited for it; of `bases` there may be none.
            absent = error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
            level = logging.DEBUG if absent else logging.WARNING
            log.log(level, "reading %s: %s", self._topic, error.str())
            batch.errors.append(message)

    def _is_at(self, partition: int, position: int) -> None:
        known = self._moved.get(partition)
        if known is None or known[0] < position:
            self._moved[partition] = (position, self._now())
            self._flows(partition)

    def _give_up(self, message: Message) -> Unread | None:
        """Step over a batch that has been reported often enough."""
        place = TopicPartition(self._topic, message.partition(), message.offset())
        self._tries[place.partition, place.offset] += 1
        said = f"{self._topic}[{place.partition}]@{place.offset}: {message.error().str()}"
        self._is_held_up(place.partition, said)
        if self._tries[place.partition, place.offset] < _TRIES:
            return None
        try:
            following = self._behind(place)
            self._consumer.seek(TopicPartition(self._topic, place.partition, following))
        except KafkaException as error:  # the batch is reported again, and so given up later
            log.warning("%s; not stepped over yet: %s", said, error.args[0].str())
            return None
        del self._tries[place.partition, place.offset]
        bad = BadRecord(
            "value",
            f"records {place.offset} to {following - 1} cannot be read ({message.error().str()});"
            " send them in smaller batches, or raise kafka.most_unpacked_mib and send them again",
        )
        letter = DeadLetter.of(self._topic, place.partition, place.offset, None, None, [], bad)
        return Unread(letter, following)

    def _behind(self, place: TopicPartition) -> int:
        """The offset behind a batch, by halves: asked for any of its records, the broker sends it.

        What lies between the end of the batch and the next record is taken for a part of it.
        """
        scout = self._context.consumer("scout", {"enable.partition.eof": True})
        try:
            _, end = scout.get_watermark_offsets(place, timeout=_PROBE_S)
            low, high = place.offset + 1, max(end, place.offset + 1)
            while low < high:
                middle = (low + high) // 2
                if self._brings(scout, middle, place):
                    low = middle + 1
                else:
                    high = middle
            return low
        finally:
            scout.close()

    def _brings(self, scout: Consumer, offset: int, bad: TopicPartition) -> bool:
        """Whether reading at an offset brings the bad batch."""
        scout.assign([TopicPartition(self._topic, bad.partition, offset)])
        deadline = self._now() + _PROBE_S
        while self._now() < deadline:
            self._context.health.beat()
            found = scout.poll(0.5)
            if found is None:
                continue
            error = found.error()
            if error is None or error.code() == KafkaError._PARTITION_EOF:
                return False
            if error.code() in _UNREADABLE:
                return bool(found.offset() == bad.offset)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the broker does not answer"))

    def _look_for_stalls(self) -> None:
        if self._now() - self._looked_at < _LOOK_EVERY_S:
            return
        self._looked_at = self._now()
        for partition, (position, since) in self._moved.items():
            if self._now() - since >= _STALLED_AFTER_S:
                place = TopicPartition(self._topic, partition)
                _, end = self._consumer.get_watermark_offsets(place, cached=True)
                if end > position:
                    said = f"{self._topic}[{partition}]@{position}"
                    self._is_held_up(partition, f"{said}: there are records that do not come")
                else:  # nothing has come yet that could be late
                    self._moved[partition] = (position, self._now())
