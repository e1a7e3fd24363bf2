"""What the driver says to the zones, and how it waits for them."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer

from spark_streaming.errors import JobError
from spark_streaming.kafka_options import DELIVERY
from topics import messages
from topics.catalogue import NO_GROUP
from topics.kafka.producer import Outbox
from topics.messages import ZoneRecord
from topics.zones.followed import ProgressReader
from topics.zones.told import Told, last_told

log = logging.getLogger(__name__)

PATIENCE_S = 120.0


class ZonesLate(JobError):
    """Zones did not do in time what the batch has to wait for; it is repeated."""


class ZoneVoice:
    """The records of `messages`, in order, and what `progress` says of them."""

    def __init__(
        self,
        client: Mapping[str, Any],
        messages_topic: str,
        progress_topic: str,
        zones: int,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._outbox = Outbox(client, **DELIVERY)
        self._topic, self._zones, self._patience_s = messages_topic, zones, patience_s
        options = {**client, "group.id": NO_GROUP, "enable.auto.commit": False}
        options["auto.offset.reset"] = "earliest"
        self._scout, self._follower = Consumer(options), Consumer(options)
        self.progress = ProgressReader(self._follower, progress_topic, zones)

    def last_told(self) -> list[Told]:
        """By zone, what was said to it last, by whomever."""
        deadline = time.monotonic() + self._patience_s
        told = last_told(self._scout, self._topic, self._zones, lambda: time.monotonic() > deadline)
        if told is None:
            raise JobError(f"{self._topic}: Kafka does not answer", "start the job again")
        return told

    def say(self, record: ZoneRecord) -> None:
        self._outbox.send(self._topic, messages.encode(record), partition=record.zone)

    def close(self) -> None:
        self._scout.close()
        self._follower.close()

    def settle(self) -> None:
        """Everything that was said is in `messages`."""
        self._outbox.settle()

    def wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        self.settle()
        deadline = time.monotonic() + self._patience_s
        self.progress.follow()
        while not is_so():
            if time.monotonic() > deadline:
                raise ZonesLate(
                    f"the zones did not {what} within {self._patience_s:.0f} s",
                    "see that a worker of each zone runs, and start the job again: it repeats the"
                    " batch",
                )
            self.progress.follow(0.1)
