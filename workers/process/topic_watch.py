"""Notices when a topic is deleted and made anew under a running worker.

The new topic has the old one's name, and other records at the same offsets.  Whoever reads on takes
them for those that follow, or waits for more than there are.  A worker that notices stops; started
again, it reads the new topic from its beginning.
"""

import logging
import threading
from collections.abc import Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from topics.kafka.topic_ids import find_topics
from workers.process.context import REPLY_S, TOPICS, Context, wrong_partitions

log = logging.getLogger(__name__)

EVERY_S = 2.0


class TopicReplaced(Exception):
    """Offsets of the topic mean something else from now on.  Restart the worker."""


class TopicWatch:
    """Looks at topics, by the names that the catalogue gives them, in a thread of its own."""

    def __init__(self, context: Context, topics: Sequence[str]) -> None:
        self._context = context
        self._names = [context.names.topic(topic) for topic in topics]
        self._admin = AdminClient(context.client)
        self._ids: dict[str, str] = {}
        self._replaced: TopicReplaced | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        """Look until the broker has answered for all of them, then again and again."""
        while not self._look() and not self._context.stopping.wait(0.5):
            self._context.health.beat()
        threading.Thread(target=self._go_on, name="topic-watch", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def id_of(self, topic: str) -> str:
        """Kafka's own id of a topic, as it was at first; empty if the worker stopped before."""
        return self._ids.get(self._context.names.topic(topic), "")

    def check(self) -> None:
        """`TopicReplaced` if one of them has been."""
        if self._replaced is not None:
            raise self._replaced

    def _go_on(self) -> None:
        while self._replaced is None and not self._stopping.wait(EVERY_S):
            try:
                self._look()
            except Exception:  # whatever it is, the next look may succeed, and must not be missing
                log.exception("the topics could not be looked at; trying again")

    def _look(self) -> bool:
        """Whether every topic is known; one that is being deleted has no id for a moment."""
        partitions = {}
        for name, found in find_topics(self._admin, self._names, REPLY_S).items():
            if isinstance(found, KafkaException):  # the probe of the broker says more of it
                log.debug("%s: %s", name, found.args[0].str())
                continue
            self._compare(name, found.topic_id)
            partitions[name] = found.partitions
        if wrong := wrong_partitions(self._context, partitions):
            self._context.health.not_ready(TOPICS, wrong)
        elif partitions:
            self._context.health.ready(TOPICS)
        return self._ids.keys() == set(self._names)

    def _compare(self, name: str, id: str) -> None:
        known = self._ids.setdefault(name, id)
        if id != known and self._replaced is None:
            self._replaced = TopicReplaced(
                f"{name} was made anew: got id {id}, expected {known}; its offsets begin again, so"
                " the worker starts again as well"
            )
