"""Reads `events`, has them answered, writes match records, commits: the thread of a node.

Offsets are committed after the match records of all events below them are acknowledged.  They are
in the group of the routers, where these go on if the collection changes its layout.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from confluent_kafka import Message, TopicPartition

from topics.dead_letters import DeadLetter
from topics.headers import format_token
from topics.kafka.producer import Outbox
from workers.merger.assembly import MergedFrame
from workers.merger.writing import MatchWriter
from workers.node.handover import wait_for_others
from workers.process import metrics
from workers.process.context import Context
from workers.process.group_reader import GroupReader
from workers.router.framing import (
    Accepted,
    contract_of,
    cut_into_frames,
    linger_s,
    read_events,
)
from workers.router.progress import EventsProgress
from workers.router.rate import Rate
from workers.router.tokens import Tokens

log = logging.getLogger(__name__)

# Whoever has it keeps the shards: it is always there, and one node's alone.
_KEEPERS_PARTITION = 0


# Of a router's, as no record is made of a batch; a lone event is answered at once.
_LINGER, _LINGER_MAX_MS = 0.1, 5.0


# Of `/readyz`: events that wait for subscriptions, when they have for so long.
_EVENTS, _HELD_UP_AFTER_S = "events", 10.0


class HeldUp(NamedTuple):
    """Where a partition waits, and for which subscriptions."""

    offset: int
    after: dict[int, int]  # by shard


class Answers(Protocol):
    async def answer(self, run: Accepted, after: Mapping[int, int]) -> MergedFrame | None: ...

    def keep(self, keeps: bool) -> None: ...


def last_awaited(run: Accepted) -> dict[int, int]:
    """The last subscription offset that an event of the run waits for, by shard."""
    after: dict[int, int] = {}
    for options in run.options:
        for shard, offset in options.after.items():  # of most events there are none
            after[shard] = max(offset, after.get(shard, -1))
    return after


class EventReader:
    """`answers` is asked on `loop`; all else is done by the thread that calls `run`."""

    def __init__(
        self,
        context: Context,
        group: str,
        answers: Answers,
        loop: asyncio.AbstractEventLoop,
        outbox: Outbox,
    ) -> None:
        self._context, self._answers, self._loop = context, answers, loop
        collection = context.collection
        self._contract = contract_of(collection)
        self._outbox, self._matches = outbox, MatchWriter(context, outbox)
        self._next: dict[int, int] = {}  # offset to commit, by partition
        self._epochs: dict[int, int] = {}  # of routers that had it before, by partition
        self._rate = Rate()
        self._held_up_since: float | None = None
        self._tokens = Tokens(lambda shard: self._reader.bounds_of("subscriptions", shard)[1])
        self._reader = GroupReader(
            context,
            "events",
            self,
            besides=["subscriptions"],
            group=group,
            instance_id=context.settings.matcher.instance_id,
        )

    def run(self) -> None:
        self._reader.work(self._step, self._commit)

    def _step(self) -> None:
        batch = self._reader.read(self._context.settings.router.poll_events, self._linger)
        self._rate.saw(len(batch.records))
        held_up = self._answer(batch.records) if batch.records else {}
        for unread in batch.unread:
            if unread.partition not in held_up:
                self._dead_letter(unread.letter)
                self._next[unread.partition] = unread.next_offset
        self._outbox.poll()
        if batch.records:
            self._say_what_waits(held_up)
        if held_up:
            self._commit()
            self._reader.start_anew()

    def _say_what_waits(self, held_up: Mapping[int, HeldUp]) -> None:
        if not held_up:
            self._go_on()
            return
        self._held_up_since = self._held_up_since or time.monotonic()
        if time.monotonic() - self._held_up_since > _HELD_UP_AFTER_S:
            waiting = [
                f"events[{partition}]@{at.offset} has waited for subscriptions up to offset"
                f" {format_token(at.after)} for a while"
                for partition, at in sorted(held_up.items())
            ]
            self._context.health.not_ready(_EVENTS, "; ".join(waiting))

    def _go_on(self) -> None:
        if self._held_up_since is not None:
            self._held_up_since = None
            self._context.health.ready(_EVENTS)

    def _answer(self, messages: Sequence[Message]) -> dict[int, HeldUp]:
        """Answer and refuse in order; the partitions whose next events wait for subscriptions."""
        metrics.observe_waiting(self._context.collection.name, messages, time.time())
        self._tokens.begin_batch()
        reading = read_events(messages, self._contract)
        for message in messages:
            self._next[message.partition()] = message.offset() + 1
        letters, held_up = reading.letters, dict[int, HeldUp]()
        for partition, events in reading.accepted.items():
            answerable, refused = self._tokens.answerable(events)
            letters += refused
            waits = None if answerable is None else self._answer_in_order(answerable)
            if waits is not None:
                self._next[partition] = waits.offset
                held_up[partition] = waits
        for letter in letters:
            if letter.offset < self._next[letter.partition]:
                self._dead_letter(letter)
        return held_up

    def _answer_in_order(self, events: Accepted) -> HeldUp | None:
        """The first run that has to wait, if one has."""
        for run in cut_into_frames(events, self._context.settings.router.frame_events):
            after = last_awaited(run)
            answering = self._answers.answer(run, after)
            merged = asyncio.run_coroutine_threadsafe(answering, self._loop).result()
            if merged is None:
                return HeldUp(int(run.messages[0].offset()), after)
            self._matches.write(merged)
            metrics.EVENTS.labels(self._context.collection.name).inc(len(run.messages))
        return None

    def _linger(self) -> float:
        wait_s = linger_s(self._rate.per_s * _LINGER, 0, _LINGER_MAX_MS)
        metrics.LINGER.labels(self._context.collection.name).set(wait_s)
        return wait_s

    def _dead_letter(self, letter: DeadLetter) -> None:
        metrics.DEAD_LETTERS.labels(self._context.collection.name, "events").inc()
        self._outbox.send_dead_letter(letter)

    def on_assigned(self, places: list[TopicPartition]) -> None:
        """What routers, matchers and mergers have left on its way is this node's to answer."""
        found = {place.partition: EventsProgress.decode(place.metadata or "") for place in places}
        unsure = {
            place.partition: place.offset
            for place in places
            if place.offset >= 0 and not found[place.partition].is_answered
        }
        self._epochs |= {partition: progress.epoch for partition, progress in found.items()}
        if unsure:
            self._next |= wait_for_others(self._context, unsure)
            self._commit()
        if _KEEPERS_PARTITION in found:
            self._keep(True)

    def on_revoked(self, partitions: list[int]) -> None:
        self._commit()

    def on_gone(self, partitions: list[int]) -> None:
        for partition in partitions:
            self._epochs.pop(partition, None)
            self._next.pop(partition, None)
        self._go_on()
        # One that stops keeps the shards to the end: it leaves a snapshot.
        if _KEEPERS_PARTITION in partitions and not self._context.stopping.is_set():
            self._keep(False)

    def _keep(self, keeps: bool) -> None:
        self._loop.call_soon_threadsafe(self._answers.keep, keeps)

    def _commit(self) -> None:
        self._outbox.settle()
        told = {p: EventsProgress(e, is_answered=True).encode() for p, e in self._epochs.items()}
        if self._next and self._reader.commit(self._next, told):
            self._next.clear()
