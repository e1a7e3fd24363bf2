"""Reading a topic as a member of a consumer group, without mixing assignments up."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_STORED,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
)

from workers.process import metrics
from workers.process.context import Context
from workers.process.lag import PartitionLag
from workers.process.records import NOTHING, Batch, RecordReader
from workers.process.topic_watch import TopicWatch

log = logging.getLogger(__name__)

_IDLE_S = 0.25
_COMMIT_EVERY_S = 1.0
# At the end of a partition the client says so.  If it says nothing of any partition for so long, it
# is not reading: seen when it was assigned anew twice while the broker had much to do.
_SILENT_S = 10.0


class Owner(Protocol):
    """Whose partitions they are."""

    def on_assigned(self, places: list[TopicPartition]) -> None:
        """These are ours from now on; their offsets and metadata are what was committed last.

        The offset is negative where nothing was, or was for a topic that is made anew since.
        """

    def on_revoked(self, partitions: list[int]) -> None:
        """The last moment to commit."""

    def on_gone(self, partitions: list[int]) -> None:
        """These are not ours any more; forget what came from them."""


class GroupReader:
    """Batches of one topic, each from the assignment that holds when it is returned.

    A rebalance can happen while a batch is being gathered.  What is in hand then may belong to
    others, or will be read again by us from the committed offset: it is dropped, and reading starts
    anew from what is committed.

    With each offset the id of the topic is committed: in a topic that was made anew since, the same
    offset has another record.  `besides` are topics that must not be made anew either.
    """

    def __init__(
        self,
        context: Context,
        topic: str,
        owner: Owner,
        besides: Sequence[str] = (),
        now: Callable[[], float] = time.monotonic,
        group: str = "",
        instance_id: str | None = None,
    ) -> None:
        """`group` is the role's own if it is not named."""
        group = group or context.role
        self._context, self._topic, self._owner = context, context.names.topic(topic), owner
        self._watch = TopicWatch(context, [topic, *besides])
        self._watch.start()
        self._topic_id = self._watch.id_of(topic)
        self._starts: dict[int, int] = {}  # of the partitions that are ours, where reading began
        self._moved = False
        self._now = now
        self._silent_since: float | None = None  # the assignment of which nothing was heard yet
        member = {} if instance_id is None else {"group.instance.id": instance_id}
        self._consumer: Consumer = context.consumer(group, {"enable.partition.eof": True, **member})
        # Questions on the connection of the other would wait behind its fetch of further records.
        # What lies behind an open transaction exists, too.
        self._scout: Consumer = context.consumer(group, {"isolation.level": "read_uncommitted"})
        self._records = RecordReader(context, self._consumer, self._topic)
        self._lag = PartitionLag(
            metrics.LAG_RECORDS, metrics.LAG_SECONDS, (context.collection.name, topic)
        )
        self._latest: list[Message] = []  # what was read last
        self._consumer.subscribe(
            [self._topic],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def read(self, most: int, linger_s: Callable[[], float], wait_s: float = _IDLE_S) -> Batch:
        """The first record at once, then what comes within the linger; nothing when idle."""
        self._moved = False
        batch = self._records.read(wait_s, most, linger_s)
        if self._moved:
            self.start_anew()
            return NOTHING
        if batch.records:
            self._latest = batch.records
        if batch != NOTHING:
            self._silent_since = None
        elif self._silent_since is not None and self._now() - self._silent_since >= _SILENT_S:
            log.warning("%s: nothing was heard for %.0f s; reading anew", self._topic, _SILENT_S)
            self.start_anew()
        return batch

    def start_at(self, partition: int, offset: int) -> None:
        """Read one of our partitions from an offset on, whatever was committed."""
        if partition in self._starts:
            self._starts[partition] = offset
            self.start_anew()

    def commit(self, offsets: Mapping[int, int], metadata: Mapping[int, str] | None = None) -> bool:
        """Commit by partition; False if the broker would not: then work is done again."""
        told = metadata or {}
        places = [
            TopicPartition(self._topic, p, offset, metadata=f"{self._topic_id} {told.get(p, '')}")
            for p, offset in offsets.items()
        ]
        try:
            self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            log.warning("offsets of %s not committed: %s", self._topic, error.args[0].str())
            return False
        for partition in offsets:
            if self._starts.get(partition) == OFFSET_BEGINNING:
                self._starts[partition] = OFFSET_STORED
        return True

    def bounds_of(self, topic: str, partition: int) -> tuple[int, int]:
        """The first offset of any partition, and the one that its next record will get.

        Asked for until the broker answers, unless the worker is to stop.
        """
        place = TopicPartition(self._context.names.topic(topic), partition)
        while True:
            try:
                return self._scout.get_watermark_offsets(place, timeout=5)
            except KafkaException as error:
                log.warning("bounds of %s[%d]: %s", place.topic, partition, error.args[0].str())
                if self._context.stopping.wait(1.0):
                    raise

    def work(self, step: Callable[[], None], commit: Callable[[], None]) -> None:
        """Take steps until the worker is to stop, and commit every second."""
        health, committed_at = self._context.health, time.monotonic()
        health.ready(self._context.role)
        try:
            while not self._context.stopping.is_set():
                health.beat()
                self._watch.check()
                step()
                if time.monotonic() - committed_at > _COMMIT_EVERY_S:
                    commit()
                    self._measure_lag()
                    committed_at = time.monotonic()
            commit()
        finally:
            self._watch.stop()
            self._consumer.close()
            self._scout.close()

    def _measure_lag(self) -> None:
        for partition, message in {m.partition(): m for m in self._latest}.items():
            if partition in self._starts:
                self._lag.took(partition, message.timestamp()[1] / 1e3)
        for partition, position in self._records.positions.items():
            if partition in self._starts:
                place = TopicPartition(self._topic, partition)
                _, end = self._consumer.get_watermark_offsets(place, cached=True)
                self._lag.measure(partition, position, end)

    def start_anew(self) -> None:
        """Read all partitions from what is committed; what was read since is to be dropped."""
        if self._starts:
            self._records.forget()
            self._assign()

    def _assign(self) -> None:
        self._consumer.assign(self._places())
        self._silent_since = self._now() if self._starts else None

    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(self._topic, p, start) for p, start in self._starts.items()]

    def _on_assign(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._moved = True
        log.info("assigned %s", _listed(places))
        found = consumer.committed(places) if places else []
        committed = [understood(place, self._topic_id) for place in found]
        for place in committed:
            self._starts[place.partition] = OFFSET_STORED if place.offset >= 0 else OFFSET_BEGINNING
        self._records.forget()
        self._owner.on_assigned(committed)
        self._assign()

    def _on_revoke(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._owner.on_revoked([place.partition for place in places])
        self._on_lost(consumer, places)

    def _on_lost(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._moved = True
        for place in places:
            self._starts.pop(place.partition, None)
            self._lag.forget(place.partition)
        self._records.forget()
        log.info("gave up %s", _listed(places))
        self._owner.on_gone([place.partition for place in places])


def understood(place: TopicPartition, topic_id: str) -> TopicPartition:
    """What was committed for this topic; of one of the same name before it, no offset."""
    if place.error is not None:
        raise KafkaException(place.error)
    committed_for, is_told, told = (place.metadata or "").partition(" ")
    if not is_told:  # committed by other tools, or an older version
        return place
    offset = place.offset if committed_for == topic_id else OFFSET_BEGINNING
    return TopicPartition(place.topic, place.partition, offset, metadata=told)


def _listed(places: list[TopicPartition]) -> str:
    return ", ".join(f"{place.topic}[{place.partition}]" for place in places) or "nothing"
