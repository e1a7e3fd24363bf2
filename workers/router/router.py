"""The router: `events` in, one frame a shard out.

Offsets are committed after every frame made of them is acknowledged, and always at the end of
a frame, so that a successor makes new frames of exactly the events that may be missing.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Sequence

from confluent_kafka import Message, TopicPartition

from topics import frames as frame_codec
from topics.codecs.columns import bundle
from topics.dead_letters import DeadLetter
from topics.kafka.producer import Outbox
from workers.process import metrics
from workers.process.context import Context, wait_for_topics
from workers.process.group_reader import GroupReader
from workers.process.stages import FRAMING
from workers.router.framing import (
    Accepted,
    contract_of,
    cut_into_frames,
    frames,
    group_by_record,
    linger_s,
    read_events,
)
from workers.router.progress import EventsProgress
from workers.router.rate import Rate
from workers.router.tokens import Tokens

log = logging.getLogger(__name__)


class Router:
    def __init__(self, context: Context) -> None:
        self._context = context
        collection = context.collection
        self._contract = contract_of(collection)
        self._outbox = Outbox(context.client)
        self._epochs: dict[int, int] = {}  # by partition
        self._next: dict[int, int] = {}  # offset to commit, by partition
        self._tokens = Tokens(self._end_of_subscriptions)
        self._rate = Rate()
        self._routes = None
        if collection.routing.enabled:
            from workers.router.routes import (
                RouteReader,  # with the index that it keeps them in
            )

            self._routes = RouteReader(context)
        # Routes and tokens are about the topic of subscriptions that was there at first.
        self._reader = GroupReader(context, "events", self, besides=["subscriptions", "frames"])

    def run(self) -> None:
        try:
            self._reader.work(self._step, self._commit)
        finally:
            if self._routes is not None:
                self._routes.close()

    def _step(self) -> None:
        batch = self._reader.read(self._context.settings.router.poll_events, self._linger)
        self._rate.saw(len(batch.records))
        if self._routes is not None:
            self._routes.poll()
        if batch.records:
            self._forward(batch.records)
        for unread in batch.unread:
            self._dead_letter(unread.letter)
            self._next[unread.partition] = unread.next_offset
        self._outbox.poll()

    def on_assigned(self, places: list[TopicPartition]) -> None:
        """A partition gets a new epoch, later than its predecessor's.

        It is committed at once, where reading starts, so that a successor knows it even if this
        router dies with frames on their way; the clock is for the case that this commit fails.
        """
        now_ms = time.time_ns() // 1_000_000
        for place in places:
            before = EventsProgress.decode(place.metadata or "").epoch
            self._epochs[place.partition] = max(now_ms, before + 1)
            start = place.offset if place.offset >= 0 else self._start_of_events(place.partition)
            self._next[place.partition] = start
        self._commit()

    def on_revoked(self, partitions: list[int]) -> None:
        self._commit()

    def on_gone(self, partitions: list[int]) -> None:
        for partition in partitions:
            self._epochs.pop(partition, None)
            self._next.pop(partition, None)

    def _linger(self) -> float:
        router = self._context.settings.router
        wait_s = linger_s(self._rate.per_s, router.linger_min_ms, router.linger_max_ms)
        metrics.LINGER.labels(self._context.collection.name).set(wait_s)
        return wait_s

    def _forward(self, messages: Sequence[Message]) -> None:
        name, began = self._context.collection.name, time.time()
        metrics.observe_waiting(name, messages, began)
        self._tokens.begin_batch()
        reading = read_events(messages, self._contract)
        letters, runs = reading.letters, list[Accepted]()
        most = self._context.settings.router.frame_events
        for events in reading.accepted.values():
            answerable, refused = self._tokens.answerable(events)
            letters += refused
            if answerable is not None:
                runs += cut_into_frames(answerable, most)
        for letter in letters:
            self._dead_letter(letter)
        for together in group_by_record(runs, most):
            self._send(together)
        for message in messages:
            self._next[message.partition()] = message.offset() + 1
        took_s = time.time() - began
        metrics.STAGE_SECONDS.observe(name, FRAMING, seconds=took_s, events=len(messages))

    def _send(self, runs: list[Accepted]) -> None:
        """One record a shard, with a frame for each run that has something for it."""
        topic, name = self._context.names.topic("frames"), self._context.collection.name
        by_shard: dict[int, list[bytes]] = defaultdict(list)
        for run in runs:
            partition = run.messages[0].partition()
            epoch = self._epochs[partition]
            answers = partition % self._context.collection.partitions.partials
            for frame in frames(run, self._contract, epoch, self._routes, answers):
                by_shard[frame.shard].append(frame_codec.encode(frame))
        for shard, same_shard in by_shard.items():
            self._outbox.send(topic, bundle(same_shard), partition=shard)
            metrics.FRAMES.labels(name).inc(len(same_shard))
        metrics.EVENTS.labels(name).inc(sum(len(run.messages) for run in runs))

    def _dead_letter(self, letter: DeadLetter) -> None:
        metrics.DEAD_LETTERS.labels(self._context.collection.name, "events").inc()
        self._outbox.send_dead_letter(letter)

    def _start_of_events(self, partition: int) -> int:
        return self._reader.bounds_of("events", partition)[0]

    def _end_of_subscriptions(self, shard: int) -> int:
        return self._reader.bounds_of("subscriptions", shard)[1]

    def _commit(self) -> None:
        """Everything sent is acknowledged first; the epoch travels as the commit's metadata."""
        self._outbox.settle()
        epochs = {p: EventsProgress(epoch).encode() for p, epoch in self._epochs.items()}
        if self._next and self._reader.commit(self._next, epochs):
            self._next.clear()


def run(context: Context) -> int:
    topics = ["events", "frames", "subscriptions", "events.dlq"]
    if context.collection.routing.enabled:
        topics.append("routes")
    if wait_for_topics(context, topics):
        Router(context).run()
    return 0
