"""Which events a backfill matches, in which pieces, and how far it is."""

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

from spark_streaming.driver.checkpoints import Checkpoint, Offsets
from spark_streaming.errors import JobError, UsageError
from topics.catalogue import NO_GROUP
from topics.headers import parse_token

log = logging.getLogger(__name__)

_REPLY_S = 15.0


class BackfillRequest(NamedTuple):
    """What the operator asked for; the same again goes on with the same run."""

    since: str | None  # a time or `partition@offset,…`; None: the first event that is there
    until: str | None  # exclusive; None: the last event that is there when the run begins
    topic: str | None  # where the matches go: a topic,
    parquet: str | None  # or a folder of Parquet files

    @property
    def run(self) -> str:
        return hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:12]


class Piece(NamedTuple):
    """Offsets of the events that one batch matches."""

    starts: Offsets
    ends: Offsets

    @property
    def events(self) -> int:
        return sum(self.ends.values()) - sum(self.starts.values())


def pieces(starts: Offsets, ends: Offsets, most_events: int) -> list[Piece]:
    """The range in pieces of about `most_events`, all partitions in each as long as they last.

    >>> pieces({0: 0, 1: 5}, {0: 5, 1: 6}, 4)
    [Piece(starts={0: 0, 1: 5}, ends={0: 2, 1: 6}), Piece(starts={0: 2}, ends={0: 4}), \
Piece(starts={0: 4}, ends={0: 5})]
    """
    share = max(1, most_events // max(1, len(starts)))
    longest = max((ends[p] - starts[p] for p in starts), default=0)
    found = []
    for done in range(0, longest, share):
        begin = {p: starts[p] + done for p in starts if starts[p] + done < ends[p]}
        found.append(Piece(begin, {p: min(begin[p] + share, ends[p]) for p in begin}))
    return found


class BackfillRun:
    """One run and how far it is, as its checkpoint has it.

    podium.json   whose it is and what was asked
    run.json      offsets of the events and of the subscriptions, fixed when the run begins
    done/<n>      piece n is matched and written
    """

    def __init__(self, checkpoint: Checkpoint, begun: Mapping[str, Any]) -> None:
        self._checkpoint = checkpoint
        self.as_of = _by_number(begun["as_of"])
        starts, ends = _by_number(begun["starts"]), _by_number(begun["ends"])
        self._pieces = pieces(starts, ends, begun["most_events"])
        self._left = [n for n in range(len(self._pieces)) if not checkpoint.has(f"done/{n}")]
        events = sum(piece.events for piece in self._pieces)
        self._progress = Progress(events, done=events - self.events_left)

    @property
    def events_left(self) -> int:
        return sum(self._pieces[n].events for n in self._left)

    def left(self) -> list[tuple[int, Piece]]:
        return [(n, self._pieces[n]) for n in self._left]

    def done(self, n: int) -> str:
        """Note that a piece is written; how far the run is now."""
        self._checkpoint.write_json(f"done/{n}", {})
        return self._progress.add(self._pieces[n].events)


def open_run(
    checkpoint: Checkpoint,
    client: Mapping[str, Any],
    topics: tuple[str, str],
    request: BackfillRequest,
    most_events: int,
) -> BackfillRun:
    """Begin, or go on with what was begun; `topics` are the events' and the subscriptions'."""
    if not checkpoint.has("run.json"):
        events, subscriptions = (_TopicOffsets(client, topic) for topic in topics)
        starts, ends = events.range(request)
        # Asked for last, so that all that the events have to wait for is in.
        as_of = {p: high for p, (_, high) in subscriptions.bounds().items()}
        begun = {"starts": starts, "ends": ends, "as_of": as_of, "most_events": most_events}
        checkpoint.write_json("run.json", begun)
    return BackfillRun(checkpoint, checkpoint.read_json("run.json"))


def require_topic(client: Mapping[str, Any], topic: str) -> None:
    _TopicOffsets(client, topic)


def _by_number(offsets: Mapping[str, int]) -> Offsets:
    return {int(partition): offset for partition, offset in offsets.items()}


class _TopicOffsets:
    """Offsets of one topic: the first and last, and those of a time."""

    def __init__(self, client: Mapping[str, Any], topic: str) -> None:
        self._consumer, self._topic = Consumer({**client, "group.id": NO_GROUP}), topic
        try:
            found = self._consumer.list_topics(timeout=_REPLY_S).topics
        except KafkaException as error:
            told = f"Kafka does not answer: {error.args[0].str()}"
            raise JobError(told, "start it, or name it: --brokers") from error
        if topic not in found:
            raise JobError(f"topic {topic} does not exist", "create it, or name another")
        self._partitions = sorted(found[topic].partitions)

    def range(self, request: BackfillRequest) -> tuple[Offsets, Offsets]:
        """First and following offset by partition, within what the topic still has."""
        bounds = self.bounds()
        since = self.offsets("--from", request.since, {p: low for p, (low, _) in bounds.items()})
        until = self.offsets("--to", request.until, {p: high for p, (_, high) in bounds.items()})
        starts = {p: min(max(since[p], low), high) for p, (low, high) in bounds.items()}
        ends = {p: max(starts[p], min(until[p], high)) for p, (_, high) in bounds.items()}
        for p, (low, _) in bounds.items():
            if "@" in (request.since or "") and since[p] < low:
                log.warning(
                    "%s[%d]: events %d to %d are gone, for retention is over; starting at %d",
                    *(self._topic, p, since[p], low - 1, low),
                )
        return starts, ends

    def bounds(self) -> dict[int, tuple[int, int]]:
        places = {p: TopicPartition(self._topic, p) for p in self._partitions}
        ask = self._consumer.get_watermark_offsets
        return {p: ask(place, timeout=_REPLY_S) for p, place in places.items()}

    def offsets(self, flag: str, given: str | None, otherwise: Offsets) -> Offsets:
        if given is None:
            return otherwise
        if "@" in given:
            return _by_token(flag, given, otherwise)
        moment_ms = round(_moment(flag, given).timestamp() * 1000)
        wanted = [TopicPartition(self._topic, p, moment_ms) for p in otherwise]
        found = self._consumer.offsets_for_times(wanted, timeout=_REPLY_S)
        ends = self.bounds()  # a moment after the last event has no offset
        return {
            at.partition: at.offset if at.offset >= 0 else ends[at.partition][1] for at in found
        }


def _by_token(flag: str, given: str, otherwise: Offsets) -> Offsets:
    try:
        told = parse_token(given)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None
    if unknown := sorted(told.keys() - otherwise.keys()):
        raise UsageError(f"{flag}: got partition {unknown[0]}, expected below {len(otherwise)}")
    return {**otherwise, **told}


def _moment(flag: str, given: str) -> datetime:
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        expected = "a time such as 2025-03-01T12:00:00Z or partition@offset,…"
        raise UsageError(f"{flag}: got {given!r}, expected {expected}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Progress:
    """How far a run is, in words; `done` of the events an earlier start has matched."""

    def __init__(
        self, events: int, done: int = 0, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._events, self._done, self._done_before = events, done, done
        self._now, self._started_at = now, now()

    def add(self, events: int) -> str:
        """
        >>> times = iter([0.0, 2.0])
        >>> Progress(400, 100, lambda: next(times)).add(100)
        '50 %, 200 of 400 events, 50/s, 4 s left'
        """
        self._done += events
        rate = (self._done - self._done_before) / max(1e-9, self._now() - self._started_at)
        left_s = (self._events - self._done) / max(1e-9, rate)
        told = f"{self._done:,} of {self._events:,} events, {rate:,.0f}/s, {left_s:,.0f} s left"
        return f"{100 * self._done // max(1, self._events)} %, {told}"
