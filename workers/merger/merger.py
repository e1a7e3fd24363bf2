"""The merger: `partials` in, one match record an event out.

Offsets are committed after the match records are acknowledged, and never beyond the first answer
of a frame that is not complete yet; what is out already travels with them, for a successor.
"""

import logging
import time
from collections import defaultdict

from confluent_kafka import Message, TopicPartition

from topics import partials
from topics.codecs.columns import CodecError, unbundle
from topics.codecs.json_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.kafka.producer import Outbox
from workers.merger.assembly import Assembly, MergedFrame
from workers.merger.progress import MergeProgress
from workers.merger.writing import MatchWriter
from workers.process import metrics
from workers.process.context import Context, wait_for_topics
from workers.process.group_reader import GroupReader
from workers.process.records import dead_letter
from workers.process.stages import MERGING

log = logging.getLogger(__name__)


class Merger:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._outbox = Outbox(context.client, **{"compression.type": "lz4"})
        self._matches = MatchWriter(context, self._outbox)
        self._assemblies: dict[int, Assembly] = defaultdict(Assembly)  # by partition
        self._following: dict[int, int] = {}  # next offset to read, by partition
        self._committed: dict[int, tuple[int, str]] = {}  # offset and marks
        self._reader = GroupReader(context, "partials", self)

    def run(self) -> None:
        self._reader.work(self._step, self._commit)

    def _step(self) -> None:
        batch = self._reader.read(self._context.settings.merger.poll_partials, _none)
        for message in batch.records:
            self._following[message.partition()] = message.offset() + 1
            for merged in self._take(message):
                self._count(merged)
                self._matches.write(merged)
        for unread in batch.unread:
            self._following[unread.partition] = unread.next_offset
            self._give_up(unread.letter)
        self._outbox.poll()

    def on_assigned(self, places: list[TopicPartition]) -> None:
        """Half-answered frames are read again from the committed offset, and others with them."""
        for place in places:
            self._assemblies[place.partition].resume(MergeProgress.decode(place.metadata or ""))

    def on_revoked(self, partitions: list[int]) -> None:
        self._commit()

    def on_gone(self, partitions: list[int]) -> None:
        for partition in partitions:
            self._assemblies.pop(partition, None)
            self._following.pop(partition, None)
            self._committed.pop(partition, None)

    def _take(self, message: Message) -> list[MergedFrame]:
        """The frames that these answers complete."""
        try:
            answers = [partials.decode(part) for part in unbundle(message.value() or b"")]
        except CodecError as error:
            # Internal records are not anybody's input: this is another version, or damage.
            self._give_up(dead_letter(message, BadRecord("value", str(error))))
            return []
        assembly, place = self._assemblies[message.partition()], message.offset()
        sent_at = message.timestamp()[1] / 1e3
        added = [assembly.add(partial, place, sent_at) for partial in answers]
        return [merged for merged in added if merged]

    def _give_up(self, letter: DeadLetter) -> None:
        self._outbox.send_dead_letter(letter, to=self._context.names.topic("events.dlq"))
        metrics.DEAD_LETTERS.labels(self._context.collection.name, "partials").inc()

    def _count(self, merged: MergedFrame) -> None:
        name, waited_s = self._context.collection.name, time.time() - merged.first_sent_at
        metrics.FRAMES.labels(name).inc()
        events = len(merged.offsets)
        metrics.STAGE_SECONDS.observe(name, MERGING, seconds=waited_s, events=events)

    def _commit(self) -> None:
        self._outbox.settle()
        name = self._context.collection.name
        assemblies = self._assemblies.values()
        metrics.PENDING_FRAMES.labels(name).set(sum(a.frames for a in assemblies))
        metrics.PENDING_BYTES.labels(name).set(sum(a.nbytes for a in assemblies))
        for assembly in assemblies:
            metrics.ORPHANED_FRAMES.labels(name).inc(assembly.orphaned)
            metrics.LOST_FRAMES.labels(name).inc(assembly.lost)
            if assembly.lost:
                log.error(
                    "%d frames that a shard has never had will not be answered: its matcher was"
                    " away for longer than retention.frames_minutes; backfill their events",
                    assembly.lost,
                )
            assembly.orphaned = assembly.lost = 0
        reached = {
            partition: (
                self._assemblies[partition].safe_place(following),
                self._assemblies[partition].marks().encode(),
            )
            for partition, following in self._following.items()
        }
        if reached != self._committed:
            safe = {partition: place for partition, (place, _) in reached.items()}
            marks = {partition: text for partition, (_, text) in reached.items()}
            if self._reader.commit(safe, marks):
                self._committed = reached


def _none() -> float:
    return 0.0


def run(context: Context) -> int:
    if wait_for_topics(context, ["partials", "matches", "events.dlq"]):
        Merger(context).run()
    return 0
