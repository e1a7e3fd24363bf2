"""How far lists are behind `objects`: in records, and in seconds by the records' timestamps."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from confluent_kafka import KafkaException, TopicPartition
from prometheus_client import Gauge

from workers.process.context import REPLY_S, Context

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0
_FETCHED_BYTES = 64 * 1024  # one record is enough

Labels = tuple[str, ...]


class ObjectLag(threading.Thread):
    """Publishes for each of `following()`, the next offsets by labels, what it has yet to take.

    The seconds are those for which the oldest record that is missing has been there: 0 at the end
    of `objects`, and few for a record that has just come, however long the pause before it was.
    They go on while whoever should take it stands still, and while the broker is away.
    """

    def __init__(
        self,
        context: Context,
        records: Gauge,
        seconds: Gauge,
        following: Callable[[], Mapping[Labels, int]],
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(name="object-lag", daemon=True)
        self._context, self._now = context, now
        self._records, self._seconds, self._following = records, seconds, following
        self._topic = context.names.topic("objects")
        self._consumer = context.consumer(
            "scout", {"enable.partition.eof": True, "fetch.message.max.bytes": _FETCHED_BYTES}
        )
        self._end = 0
        self._written_at: dict[int, float | None] = {}  # by offset, of those that are missing
        self._shown: set[Labels] = set()

    def run(self) -> None:
        while not self._context.stopping.wait(_LOOK_EVERY_S):
            self.look()

    def look(self) -> None:
        nexts = dict(self._following())
        try:
            self._measure(set(nexts.values()))
        except KafkaException as error:  # the probe of the broker says so
            log.debug("lag of %s not known: %s", self._topic, error.args[0].str())
        for labels in self._shown - nexts.keys():  # another worker has it now
            for gauge in (self._records, self._seconds):
                with suppress(KeyError):
                    gauge.remove(*labels)
        self._shown = set(nexts)
        for labels, offset in nexts.items():
            written_at = self._written_at.get(offset)
            waiting_s = 0.0 if written_at is None else max(0.0, self._now() - written_at)
            self._records.labels(*labels).set(max(0, self._end - offset))
            self._seconds.labels(*labels).set(waiting_s)

    def _measure(self, offsets: set[int]) -> None:
        place = TopicPartition(self._topic, 0)
        _, self._end = self._consumer.get_watermark_offsets(place, timeout=REPLY_S)
        known = self._written_at
        self._written_at = {
            offset: known.get(offset) or self._timestamp(offset)
            for offset in offsets
            if offset < self._end
        }

    def _timestamp(self, offset: int) -> float | None:
        """Of the first record from there on; None if there are but marks of transactions."""
        self._consumer.assign([TopicPartition(self._topic, 0, offset)])
        message = self._consumer.poll(REPLY_S)
        self._consumer.unassign()
        if message is None or message.error() is not None or message.offset() < offset:
            return None
        return message.timestamp()[1] / 1e3
