"""From a batch of event records to frames: the router's decisions, without Kafka."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from confluent_kafka import Message

from configs.collection import Collection
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.json_record import BadRecord, refuse_oversized
from topics.dead_letters import DeadLetter
from topics.events.contract import EventContract, Options
from topics.frames import NOT_ROUTED, Frame, FrameId
from topics.headers import Header, headers_of
from topics.kinds import event_contract
from topics.limits import EVENTS_PER_FRAME_RECORD_BYTES, HITS_PER_FRAME_RECORD
from topics.traces import NO_TRACES, Traces
from workers.process.records import dead_letter

log = logging.getLogger(__name__)


def contract_of(collection: Collection) -> EventContract:
    """How the events of a collection are read."""
    return event_contract(
        collection.kind,
        collection.attributes,
        collection.k,
        collection.max_k,
        collection.shards,
        collection.dialect,
    )


class Accepted(NamedTuple):
    """Events of one partition that keep their contract, in offset order."""

    messages: list[Message]
    rows: list
    options: list[Options]
    sizes: list[int]  # bytes of the key and of the row

    @property
    def hits(self) -> int:
        """How many a shard may answer with."""
        return sum(options.k for options in self.options)

    def only(self, rows: Sequence[int]) -> "Accepted":
        return Accepted(
            [self.messages[i] for i in rows],
            [self.rows[i] for i in rows],
            [self.options[i] for i in rows],
            [self.sizes[i] for i in rows],
        )


class ShardsToAsk(NamedTuple):
    """Which shards an event of a run goes to, and what is known of the others."""

    events: np.ndarray  # b1[shards, m]
    as_of: np.ndarray  # i8[shards]  the last subscription offset that a shard's routes know


class Routes(Protocol):
    def asked(self, events: Accepted, numbers: np.ndarray) -> ShardsToAsk: ...


class Reading(NamedTuple):
    accepted: dict[int, Accepted]  # by partition of the events topic
    letters: list[DeadLetter]


def read_events(messages: Sequence[Message], contract: EventContract) -> Reading:
    """Decode each record; one that breaks the contract becomes a dead letter.

    So does one that fails in a way that nobody has foreseen: it would do so each time.
    """
    form = contract.form
    accepted: dict[int, Accepted] = defaultdict(lambda: Accepted([], [], [], []))
    letters = []
    for message in messages:
        value, headers = message.value(), list[Header]()
        try:
            headers = headers_of(message)
            refuse_oversized(message.key(), value, headers)
            row = form.row(value)
            options = contract.options(headers)
            size = len(message.key() or b"") + form.packed_bytes(row)
            if options.trace is not None:
                size += sum(len(text or b"") for text in options.trace)
        except BadRecord as bad:
            letters.append(dead_letter(message, bad, headers))
            continue
        except Exception as error:
            log.exception("%s[%d]@%d", message.topic(), message.partition(), message.offset())
            unforeseen = BadRecord("value", f"cannot be read: {error!r}")
            letters.append(dead_letter(message, unforeseen, headers))
            continue
        events = accepted[message.partition()]
        events.messages.append(message)
        events.rows.append(row)
        events.options.append(options)
        events.sizes.append(size)
    return Reading(dict(accepted), letters)


def cut_into_frames(events: Accepted, most_events: int) -> Iterator[Accepted]:
    """Runs of about equal length that keep the limits of a record."""
    runs = -(-len(events.messages) // most_events)
    even = -(-len(events.messages) // runs)
    start = hits = size = 0
    for i, options in enumerate(events.options):
        hits += options.k
        size += events.sizes[i]
        if i > start and (i - start == even or _too_much(hits, size)):
            yield events.only(range(start, i))
            start, hits, size = i, options.k, events.sizes[i]
    yield events.only(range(start, len(events.messages)))


def group_by_record(runs: Iterable[Accepted], most_events: int) -> Iterator[list[Accepted]]:
    """Runs that travel in one record: as many as its limits allow."""
    together: list[Accepted] = []
    events = hits = size = 0
    for run in runs:
        run_hits, run_size = run.hits, sum(run.sizes)
        events, hits, size = events + len(run.messages), hits + run_hits, size + run_size
        if together and (events > most_events or _too_much(hits, size)):
            yield together
            together = []
            events, hits, size = len(run.messages), run_hits, run_size
        together.append(run)
    if together:
        yield together


def _too_much(hits: int, size: int) -> bool:
    return hits > HITS_PER_FRAME_RECORD or size > EVENTS_PER_FRAME_RECORD_BYTES


def frames(
    events: Accepted,
    contract: EventContract,
    epoch: int,
    routes: Routes | None = None,
    answers: int = 0,
) -> Iterator[Frame]:
    """The frames of one run, a shard each; a shard waits for its own part of `podium-after`.

    They are answered into the partition `answers` of the partials topic.
    With routes, a shard that is asked about no event has no frame.
    """
    offsets = np.array([message.offset() for message in events.messages], np.int64)
    frame_id = FrameId(events.messages[0].partition(), epoch, int(offsets[0]), int(offsets[-1]))
    timestamps = np.array([message.timestamp()[1] for message in events.messages], np.int64)
    ks = np.array([options.k for options in events.options], np.int32)
    form = contract.form
    columns = form.columns(events.rows)
    payload = form.pack(columns)
    keys = ByteStrings.pack([message.key() for message in events.messages])
    shards, routes_as_of = list(range(contract.shards)), NOT_ROUTED
    asked = None if routes is None else routes.asked(events, form.numbers(columns))
    if asked is not None:
        shards = np.flatnonzero(asked.events.any(axis=1)).tolist()
        routes_as_of = asked.as_of
    taking_part = np.array(shards, np.uint16)
    traces = Traces.of([options.trace for options in events.options])
    carrier = _carriers(traces, asked)
    tokens = [options.after for options in events.options if options.after]
    for shard in shards:
        after = max((token.get(shard, -1) for token in tokens), default=-1)
        frame = Frame(
            frame_id,
            shard,
            taking_part,
            after,
            offsets,
            timestamps,
            payload,
            ks,
            keys,
            routes_as_of,
            answers,
            contract.fingerprint,
            NO_TRACES if traces is NO_TRACES else traces.where(carrier == shard),
        )
        if asked is not None and not asked.events[shard].all():
            wanted = np.flatnonzero(asked.events[shard])
            chosen = form.pack(form.chosen(columns, events.rows, wanted))
            frame = _only(frame._replace(payload=chosen), events, wanted)
        yield frame


def _carriers(traces: Traces, asked: ShardsToAsk | None) -> np.ndarray:
    """i8[t]: the lowest shard that is asked about each event of a trace, -1 where none is."""
    if asked is None:
        return np.zeros(len(traces.rows), np.int64)
    by_shard = asked.events[:, traces.rows]
    return np.where(by_shard.any(axis=0), by_shard.argmax(axis=0), -1)


def _only(frame: Frame, events: Accepted, wanted: np.ndarray) -> Frame:
    rows = wanted.tolist()
    tokens = [events.options[row].after for row in rows if events.options[row].after]
    return frame._replace(
        after=max((token.get(frame.shard, -1) for token in tokens), default=-1),
        offsets=frame.offsets[wanted],
        timestamps=frame.timestamps[wanted],
        ks=frame.ks[wanted],
        traces=frame.traces.moved(wanted),
        keys=ByteStrings.pack([events.messages[row].key() for row in rows]),
    )


def linger_s(events_per_s: float, least_ms: float, most_ms: float) -> float:
    """How long to gather events into one batch: the longer, the more of them come.

    A record costs a matcher about as much as hundreds of events, so under load records must be
    large, about a hundred a second; with little load each event may have its own, and waiting
    would only add to the latency.
    """
    return min(max(events_per_s * 0.02, least_ms), most_ms) / 1e3
