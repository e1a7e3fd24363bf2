"""Records into and out of one collection, and the oracle that judges what came out.

What a test sends is remembered, so that `check_all()` can say of everything that came back whether
it is right: each match record against the subscriptions that its `podium-as-of` names, each dead
letter against what the contract refuses.  Only plain confluent-kafka and the oracle are used here.
"""

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from configs import Collection
from tests.oracles import collection as oracle

ANSWER_S = 45.0
MAX_RECORD_BYTES = 4 * 1024 * 1024 - 65_536

# librdkafka would write every failed attempt to stderr while a test's broker is away.
SILENT = logging.getLogger("tests.librdkafka")
SILENT.propagate = False
SILENT.addHandler(logging.NullHandler())

AS_OF_FORM = re.compile(r"\d+@(-1|\d+)(,\d+@(-1|\d+))*")
TRACE = ("traceparent", "tracestate")
Header = tuple[str, bytes | None]
Hits = list[tuple[str, float]]


class Place(NamedTuple):
    partition: int
    offset: int


NOWHERE = Place(-1, -1)


@dataclass
class Sent:
    """A record on its way; `place` is known when it is delivered."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]
    refused: bool = False  # the contract does not allow it
    place: Place = NOWHERE
    error: KafkaError | None = None

    def header(self, name: str) -> str | None:
        values = [value for header, value in self.headers if header == name]
        return (values[-1] or b"").decode() if values else None


class Answer(NamedTuple):
    """A match record as a consumer sees it."""

    event: Place
    key: bytes | None
    hits: Hits
    as_of: list[int]  # by shard
    trace: list[Header]  # the headers of the event's trace


def eventually(
    found: Callable[[], Any],
    what: Callable[[], str] | str,
    within_s: float,
    pause_s: float = 0.05,
) -> Any:
    """The first truthy `found()`; an `AssertionError` that says what was awaited otherwise."""
    deadline = time.monotonic() + within_s
    while not (result := found()):
        if time.monotonic() > deadline:
            text = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {within_s:g} s: {text}")
        time.sleep(pause_s)
    return result


def key_on(shard: int, shards: int, stem: str) -> str:
    """A subscription id that begins with `stem` and belongs on `shard`."""
    ids = (f"{stem}-{number}" for number in range(10_000))
    return next(id for id in ids if (oracle.murmur2(id.encode()) & 0x7FFFFFFF) % shards == shard)


def source(letter: Message) -> Place:
    """Where a dead letter's record lies, by its headers."""
    headers = dict(letter.headers())
    return Place(int(headers["podium-partition"]), int(headers["podium-offset"]))


class TopicReader:
    """All partitions of a topic from their beginnings; each record is handed out once."""

    def __init__(self, client: Mapping[str, Any], topic: str, partitions: int) -> None:
        self._consumer = Consumer(
            {
                **client,
                "group.id": "fleet-tests",
                "enable.auto.commit": False,
                "fetch.queue.backoff.ms": 5,
            }
        )
        self._admin = AdminClient(dict(client))
        self._topic = topic
        self._next = dict.fromkeys(range(partitions), 0)
        self._consumer.assign(
            [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in self._next]
        )

    def read(self, timeout_s: float = 0.1) -> list[Message]:
        """What is there, as soon as there is something."""
        first = self._consumer.poll(timeout_s)
        if first is None:
            return []
        messages = [first, *self._consumer.consume(10_000, 0)]
        for message in messages:
            assert message.error() is None, message.error()
            self._next[message.partition()] = message.offset() + 1
        return messages

    def read_to_end(self) -> list[Message]:
        ends = self._ends()
        messages: list[Message] = []
        while any(self._next[partition] < end for partition, end in ends.items()):
            messages += self.read()
        return messages

    def _ends(self) -> dict[int, int]:
        """Asked for apart from the consumer: its connection may be waiting for records."""
        asked = {TopicPartition(self._topic, number): OffsetSpec.latest() for number in self._next}
        told = self._admin.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=30
        )
        return {place.partition: future.result().offset for place, future in told.items()}

    def close(self) -> None:
        self._consumer.close()


class Traffic:
    """The topics of one collection, as its producers and consumers use them.

    `client` are options of confluent-kafka that reach the broker.
    """

    def __init__(self, collection: Collection, client: Mapping[str, Any]) -> None:
        self.declared = collection
        self.shards = range(collection.shards)
        self.patience_s = ANSWER_S  # how long something may take to come
        self._client = {**client, "logger": SILENT}
        self._producer: Producer | None = None
        self._opening = threading.Lock()  # a stream sends from a thread of its own
        self._readers: dict[str, TopicReader] = {}
        self.events: list[Sent] = []
        self.answers: list[Answer] = []
        self._first: dict[Place, Answer] = {}  # by event
        self._checked_events = self._checked_answers = 0
        self._awaited_letters: dict[str, set[Place]] = {"subscriptions": set(), "events": set()}
        self._checked_letters = {"subscriptions": 0, "events": 0}
        self.records: list[list[oracle.Record]] = [[] for _ in self.shards]
        self._judge: oracle.Collection | None = None
        self._letters: dict[str, list[Message]] = {"subscriptions": [], "events": []}
        self._beyond_oracle: set[Place] = set()
        self._subscribed: set[bytes] = set()
        self.ends: dict[int, int] = {}  # last delivered offset of each shard

    def topic(self, topic: str) -> str:
        return f"podium.{self.declared.name}.{topic}"

    def diagnosis(self) -> str:
        """What to show when something does not come."""
        return ""

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()

    def _reader(self, topic: str, partitions: int) -> TopicReader:
        if topic not in self._readers:
            self._readers[topic] = TopicReader(self._client, self.topic(topic), partitions)
        return self._readers[topic]

    # Sending

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[Header] = (),
        partition: int = -1,
        refused: bool = False,
    ) -> Sent:
        """Queue one record; `deliver()` waits for it."""
        with self._opening:
            producer = self._open_producer()
        sent = Sent(key, value, list(headers), refused)

        def delivered(error: KafkaError | None, message: Message) -> None:
            sent.error, sent.place = error, Place(message.partition(), message.offset())
            if topic == "subscriptions" and error is None:
                self.ends[message.partition()] = message.offset()

        producer.produce(
            self.topic(topic), value, key, partition, headers=sent.headers, on_delivery=delivered
        )
        producer.poll(0)
        if topic == "events":
            self.events.append(sent)
        return sent

    def _open_producer(self) -> Producer:
        if self._producer is None:
            # Idempotent: on a busy machine a request may time out that the broker has carried out.
            options = {
                "partitioner": "murmur2_random",
                "linger.ms": 1,
                "enable.idempotence": True,
            }
            self._producer = Producer(
                {**self._client, **options, "message.max.bytes": MAX_RECORD_BYTES}
            )
        return self._producer

    def deliver(self, *sent: Sent) -> None:
        if self._producer is not None:
            left = self._producer.flush(self.patience_s)
            assert left == 0, f"the broker takes no records\n{self.diagnosis()}"
        for record in sent:
            assert record.error is None, record.error

    def subscribe(self, id: str, where: Mapping[str, Any], score: float) -> Sent:
        """In a relaxed or Boolean collection every interval weighs `score`."""
        if self.declared.kind == "boolean":
            predicates = [
                {"attr": name, "op": "between", "value": interval, "weight": score}
                for name, interval in where.items()
            ]
            return self.subscribe_with(id, {"all": predicates})
        if self.declared.kind == "relaxed":
            return self.subscribe_with(id, {"where": where, "weights": dict.fromkeys(where, score)})
        return self.subscribe_with(id, {"where": where, "score": score})

    def subscribe_with(self, id: str, document: Mapping[str, Any]) -> Sent:
        self._subscribed.add(id.encode())
        return self.send("subscriptions", json.dumps(document).encode(), id.encode())

    def unsubscribe(self, id: str) -> Sent:
        return self.send("subscriptions", None, id.encode())

    def publish(
        self,
        event: Mapping[str, Any] | bytes,
        key: bytes | None = b"visitor",
        k: int | None = None,
        after: str | None = None,
        partition: int = -1,
        refused: bool = False,
        trace: Sequence[Header] = (),
    ) -> Sent:
        headers: list[Header] = [*trace]
        if k is not None:
            headers.append(("podium-k", str(k).encode()))
        if after is not None:
            headers.append(("podium-after", after.encode()))
        value = event if isinstance(event, bytes) else json.dumps(event).encode()
        return self.send("events", value, key, headers, partition, refused)

    def token(self) -> str:
        """Everything that was sent to `subscriptions` up to now."""
        self.deliver()
        return ",".join(f"{shard}@{offset}" for shard, offset in sorted(self.ends.items()))

    def delivered_elsewhere(self, ends: Mapping[int, int]) -> None:
        """Somebody else has written to `subscriptions`, up to these offsets by shard."""
        self.ends.update(ends)

    def ask(self, event: Mapping[str, Any] | bytes, **options: Any) -> Hits:
        """The answer to an event that waits for every subscription sent before it."""
        return self.answer_to(self.publish(event, after=self.token() or None, **options)).hits

    def clear(self) -> None:
        """Unsubscribe all, so that the next test starts from nothing."""
        for key in self._subscribed:
            self.send("subscriptions", None, key)
        self._subscribed.clear()

    # What comes back

    def answer_to(self, sent: Sent) -> Answer:
        return self.answers_to([sent])[0]

    def answers_to(self, sent: Sequence[Sent]) -> list[Answer]:
        """The first answer to each of these."""
        self.deliver(*sent)
        lost: list[Place] = []

        def complete() -> bool:
            lost[:] = [event.place for event in sent if event.place not in self._first]
            if lost:
                self.read_answers()
            return not lost

        def missing() -> str:
            some = f"answers to {len(lost)} of {len(sent)} events, such as {lost[:5]}"
            return f"{some}\n{self.diagnosis()}"

        eventually(complete, missing, self.patience_s, pause_s=0)
        return [self._first[event.place] for event in sent]

    def read_answers(self, to_end: bool = False) -> None:
        reader = self._reader("matches", self.declared.partitions.matches)
        for message in reader.read_to_end() if to_end else reader.read():
            answer = self._parsed(message)
            self.answers.append(answer)
            self._first.setdefault(answer.event, answer)

    def _parsed(self, message: Message) -> Answer:
        """The record, if it has exactly the form that consumers rely on."""
        document = json.loads(message.value())
        assert list(document) == ["event", "matches"], document
        form = rf"{re.escape(self.topic('events'))}\[(\d+)\]@(\d+)"
        place = re.fullmatch(form, document["event"])
        assert place, document["event"]
        assert all(list(hit) == ["id", "score"] for hit in document["matches"]), document
        hits = [(hit["id"], hit["score"]) for hit in document["matches"]]
        assert all(isinstance(id, str) and isinstance(score, float) for id, score in hits), hits
        (name, token), *trace = message.headers()
        assert name == "podium-as-of"
        as_of = _offsets(token.decode())
        assert list(as_of) == list(self.shards), token
        return Answer(
            Place(int(place[1]), int(place[2])), message.key(), hits, list(as_of.values()), trace
        )

    def letters(self, topic: str) -> list[Message]:
        """All dead letters of `subscriptions` or `events` so far."""
        self._letters[topic] += self._reader(f"{topic}.dlq", 1).read_to_end()
        return self._letters[topic]

    def letter_of(self, topic: str, sent: Sent) -> Message:
        """Wait for the dead letter of one record."""
        self.deliver(sent)

        def found() -> list[Message]:
            return [letter for letter in self.letters(topic) if source(letter) == sent.place]

        what = f"a dead letter of {topic} {sent.place}"
        return eventually(found, lambda: f"{what}\n{self.diagnosis()}", self.patience_s)[0]

    # Judging

    def refuse_beyond_oracle(self, sent: Sent) -> None:
        """A subscription that the oracle would take, but the contract refuses."""
        self.deliver(sent)
        self._beyond_oracle.add(sent.place)

    def judge(self) -> oracle.Collection:
        """The oracle, with every subscription up to now."""
        if self._judge is None:
            of = self.declared
            self._judge = oracle.Collection(of.kind, of.attributes, self.records, **of.dialect)
        judge = self._judge
        reader = self._reader("subscriptions", self.declared.shards)
        for message in reader.read_to_end():
            value = message.value()
            if Place(message.partition(), message.offset()) in self._beyond_oracle:
                value = b""
            record = (message.offset(), message.key(), value)
            self.records[message.partition()].append(record)
            judge.read(message.partition(), [record])
        return judge

    def check_all(self, repeats: bool = False, letters_repeat: bool = False) -> None:
        """Everything that was sent has come out, and all that came out is right.

        `repeats` allows second answers and dead letters, as after a crash; `letters_repeat` only
        second dead letters of subscriptions, as after a shard has moved.  What an earlier call has
        complained of is not waited for again.
        """
        self.deliver()
        judge = self.judge()
        new, self._checked_events = self.events[self._checked_events :], len(self.events)
        self.answers_to([event for event in new if self._is_owed(event, judge)])
        self.read_answers(to_end=True)
        unchecked, self._checked_answers = (
            self.answers[self._checked_answers :],
            len(self.answers),
        )
        accepted = {event.place: event for event in self.events if not event.refused}
        for answer in sorted(unchecked, key=lambda answer: answer.as_of):  # as the judge likes it
            assert answer.event in accepted, f"an answer to {answer.event}, which is refused"
            self._check(answer, accepted[answer.event], judge)
            assert repeats or answer is self._first[answer.event], f"a repeat: {answer}"
        bad_subscriptions = {Place(refusal.shard, refusal.offset) for refusal in judge.refused}
        self._check_letters("subscriptions", bad_subscriptions, repeats or letters_repeat)
        bad_events = {event.place for event in self.events if event.refused}
        self._check_letters("events", bad_events, repeats)

    def _k(self, event: Sent) -> int:
        given = event.header("podium-k")
        return self.declared.k if given is None else int(given)

    def _is_owed(self, event: Sent, judge: oracle.Collection) -> bool:
        """Whether there must be a record.

        Without `emit_empty`, only an event with a token can tell, and only if no subscription
        was sent between it and its answer.
        """
        if event.refused or self.declared.emit_empty:
            return not event.refused
        token = event.header("podium-after")
        assert token, "without emit_empty, the events of a test need a token"
        as_of = [_offsets(token).get(shard, -1) for shard in self.shards]
        return bool(judge.top_k(json.loads(event.value or b""), self._k(event), as_of))

    def _check(self, answer: Answer, event: Sent, judge: oracle.Collection) -> None:
        assert answer.key == event.key
        assert answer.trace == [header for header in event.headers if header[0] in TRACE]
        assert answer.hits or self.declared.emit_empty, f"an empty record for {answer.event}"
        asked = json.loads(event.value or b""), self._k(event), answer.as_of
        wanted = judge.top_k(*asked)
        is_right = answer.hits == wanted
        if not is_right and self.declared.dialect:  # scores that fall with a distance are rounded
            is_right = judge.agrees(answer.hits, *asked)
        assert is_right, f"{event} as of {answer.as_of}: got {answer.hits}, expected {wanted}"
        for shard, offset in _offsets(event.header("podium-after")).items():
            assert answer.as_of[shard] >= offset, f"{answer} is too old for {event}"
        for shard, offset in enumerate(answer.as_of):
            last = self.records[shard][-1][0] if self.records[shard] else -1
            assert offset <= last, f"{answer}: shard {shard} ends at {last}"

    def _check_letters(self, topic: str, wanted: set[Place], repeats: bool) -> None:
        awaited = wanted - self._awaited_letters[topic]
        self._awaited_letters[topic] |= wanted
        found: list[Place] = []

        def all_there() -> bool:
            found[:] = [source(letter) for letter in self.letters(topic)]
            return awaited <= set(found)

        eventually(
            all_there,
            lambda: f"dead letters of {topic} {awaited - set(found)}\n{self.diagnosis()}",
            self.patience_s,
        )
        before, self._checked_letters[topic] = self._checked_letters[topic], len(found)
        assert set(found) <= wanted, f"{topic} that should not have been refused"
        for i in range(before, len(found)):
            assert repeats or found[i] not in found[:i], f"{topic} {found[i]}: a second dead letter"


def _offsets(token: str | None) -> dict[int, int]:
    """`0@7,1@-1` by shard."""
    if token is None:
        return {}
    assert AS_OF_FORM.fullmatch(token), token
    parts = (part.split("@") for part in token.split(","))
    return {int(shard): int(offset) for shard, offset in parts}
