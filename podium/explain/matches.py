"""Of an event and its match record: why a subscription is in there, or is not.

is the event a dead letter? → its match record, and what that is computed from
→ the subscription as of then → its conditions → its rank among all that hold
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from confluent_kafka import Message

from configs import Collection, Settings, kafka_client_config
from podium.explain.explanation import Explanation, Verdict
from podium.explain.ranking import rank_of
from podium.explain.records import ANSWER_S, Records, texts_of
from podium.stack.status.lag import committed_offsets
from podium.terminal import counted
from topics import matches
from topics.catalogue import group_name
from topics.codecs.json_record import BadRecord, refuse_oversized
from topics.events.contract import EventContract, Options
from topics.headers import AS_OF, headers_of, parse_token
from topics.kafka.partitioner import partition_of
from topics.kafka.topic_ids import find_topic
from topics.kinds import KINDS, contract_for, event_contract, event_form
from topics.matches import EventPlace, MatchRecord
from topics.routes import BlobError
from topics.routes import decode as decode_routes
from topics.subscriptions import check_ids
from workers.kinds import roles_of


class Answer(NamedTuple):
    record: MatchRecord
    place: str
    as_of: dict[int, int]
    copies: int


class State(NamedTuple):
    """What the records of one id say, as of an offset of its shard."""

    shard: int
    current: Message | None  # the latest good one up to there, perhaps an unsubscription
    parsed: Any
    refused: Message | None  # a later bad one up to there, and why it is one
    reason: str
    later: Message | None  # the first that is not in

    def place(self, message: Message) -> str:
        return f"{message.topic()}[{self.shard}]@{message.offset()}"


class Case(NamedTuple):
    """What is asked."""

    settings: Settings
    collection: Collection
    records: Records
    event: Message
    subscription: str

    @property
    def place(self) -> str:
        return f"{self.event.topic()}[{self.event.partition()}]@{self.event.offset()}"

    def said(self, verdict: Verdict, sentence: str, **known: Any) -> Explanation:
        return Explanation(self.place, self.subscription, verdict, sentence, **known)


def explain_match(case: Case) -> Explanation:
    collection = case.collection
    contract = event_contract(
        collection.kind,
        collection.attributes,
        collection.k,
        collection.max_k,
        collection.shards,
        collection.dialect,
    )
    try:
        row, options = _read_event(case.event, contract)
    except BadRecord as bad:
        return _refused_event(case, str(bad))
    answer = _find_answer(case)
    if answer is None:
        letter = case.records.letter("events", *_place(case.event))
        if letter is not None:
            return _refused_event(case, letter.reason)
        if waiting := _what_it_waits_for(case):
            return case.said(Verdict.NOT_ANSWERED_YET, f"not answered yet: {waiting}")
    as_of = answer.as_of if answer else _everything(case)
    state = _state_of(case, as_of)
    found = _of_state(case, state, as_of, answer, row)
    if found is None:
        found = _of_conditions(case, state, as_of, answer, row, options)
    return found


def _read_event(event: Message, contract: EventContract) -> tuple[Any, Options]:
    headers = headers_of(event)
    refuse_oversized(event.key(), event.value(), headers)
    return contract.form.row(event.value()), contract.options(headers)


def _place(message: Message) -> tuple[int, int, int]:
    return message.partition(), message.offset(), message.timestamp()[1]


def _refused_event(case: Case, reason: str) -> Explanation:
    letter = case.records.letter("events", *_place(case.event))
    where = f" ({letter.place})" if letter else ""
    sentence = f"the event is in the dead letters{where}: {letter.reason if letter else reason}"
    return case.said(Verdict.EVENT_REFUSED, sentence)


def _find_answer(case: Case) -> Answer | None:
    """The latest match record of the event, where its key puts it, or anywhere else."""
    found: list[Message] = []
    for partition in _likely_partitions(case):
        start = case.records.since("matches", partition, case.event.timestamp()[1])
        beginning = b'{"event":"%b"' % case.place.encode()
        for message in case.records.read("matches", partition, start, sys.maxsize):
            if (message.value() or b"").startswith(beginning):
                found.append(message)
        if found:
            break
    if not found:
        return None
    last = found[-1]
    as_of = parse_token(texts_of(last).get(AS_OF, ""))
    place = f"{last.topic()}[{last.partition()}]@{last.offset()}"
    return Answer(matches.decode(last.value()), place, as_of, len(found))


def _likely_partitions(case: Case) -> Iterator[int]:
    count = case.records.partitions("matches")
    key = case.event.key()
    first = partition_of(key, count) if key is not None and count else None
    if first is not None:
        yield first
    yield from (partition for partition in range(count) if partition != first)


def _what_it_waits_for(case: Case) -> str:
    """Which role has not come so far, by what its group has committed."""
    client = kafka_client_config(case.settings.kafka)
    for role in roles_of(case.collection):
        topic = case.records.topic(role.reads)
        group = group_name(case.settings.prefix, case.collection.name, role.groups[0])
        committed = committed_offsets(client, group)
        ours = {p.partition: p.offset for p in committed if p.topic == topic}
        if role.reads == "events":
            at = ours.get(case.event.partition(), 0)
            if at <= case.event.offset():
                return f"the {role.name} is at offset {at}, the event at {case.event.offset()}"
            continue
        for partition, at in ours.items():
            end = case.records.bounds(role.reads, partition)[1]
            if at < end:
                return f"the {role.name} has {counted(end - at, 'record')} of {topic} before it"
    return ""


def _everything(case: Case) -> dict[int, int]:
    """Without a match record: as of all that is there."""
    shards = range(case.records.partitions("subscriptions"))
    return {shard: case.records.bounds("subscriptions", shard)[1] - 1 for shard in shards}


def _state_of(case: Case, as_of: Mapping[int, int]) -> State:
    collection = case.collection
    key = case.subscription.encode()
    shard = partition_of(key, collection.shards) if key else 0
    contract = contract_for(collection.kind, collection.attributes, collection.dialect)
    last = as_of.get(shard, -1)
    state = State(shard, None, None, None, "", None)
    for message in case.records.read("subscriptions", shard, 0, sys.maxsize):
        if message.key() != key:
            continue
        if message.offset() > last:
            return state._replace(later=message)
        try:
            (bad,) = check_ids([(key, message.value())], shard, collection.shards)
            if bad is not None:
                raise bad
            value = message.value()
            parsed = None if value is None else contract.parse(value)
        except BadRecord as bad:
            state = state._replace(refused=message, reason=str(bad))
        else:
            state = State(shard, message, parsed, None, "", None)
    return state


def _of_state(
    case: Case, state: State, as_of: Mapping[int, int], answer: Answer | None, row: Any
) -> Explanation | None:
    """None if there is a subscription as of the answer, so that its conditions decide."""
    known: dict[str, Any] = {"as_of": dict(as_of) if answer else None}
    if state.current is not None and state.parsed is not None:
        return None
    if state.later is not None:
        return _not_in_yet(case, state, as_of, row, known)
    if state.refused is not None:
        letter = case.records.letter("subscriptions", *_place(state.refused))
        where = f" ({letter.place})" if letter else ""
        record = state.place(state.refused)
        sentence = f"{record} is in the dead letters{where}: {state.reason}"
        known["subscription_record"] = record
        return case.said(Verdict.SUBSCRIPTION_REFUSED, sentence, **known)
    if state.current is not None:
        record = state.place(state.current)
        sentence = f"{case.subscription} was unsubscribed by {record}, before the answer"
        return case.said(Verdict.UNSUBSCRIBED, sentence, subscription_record=record, **known)
    topic = case.records.topic("subscriptions")
    sentence = f"{topic}[{state.shard}] has no subscription {case.subscription}"
    return case.said(Verdict.UNKNOWN_SUBSCRIPTION, sentence, **known)


def _not_in_yet(
    case: Case, state: State, as_of: Mapping[int, int], row: Any, known: dict[str, Any]
) -> Explanation:
    assert state.later is not None, "only then it is not in yet"
    last, offset = as_of.get(state.shard, -1), state.later.offset()
    known["subscription_record"] = state.place(state.later)
    if _left_out(case, state.shard, last, row):
        sentence = (
            f"left out by routes: as of offset {last} no route of shard {state.shard} covered the"
            f" event, so that the shard was not asked; the subscription came at {offset}"
        )
        return case.said(Verdict.LEFT_OUT_BY_ROUTES, sentence, **known)
    sentence = (
        f"not in yet: the feed of shard {state.shard} was at offset {last}, the subscription is at"
        f" {offset}; an event that has to see it says `podium-after: {state.shard}@{offset}`"
    )
    return case.said(Verdict.NOT_IN_YET, sentence, **known)


def _left_out(case: Case, shard: int, last: int, row: Any) -> bool:
    """Whether the routes that spoke up to this offset kept the event from the shard."""
    collection = case.collection
    if not collection.routing.enabled:
        return False
    from workers.router.routes import RouteTable  # with the index that it keeps them in

    form = event_form(collection.kind, collection.attributes, collection.dialect)
    client = kafka_client_config(case.settings.kafka)
    topic_id = find_topic(client, case.records.topic("subscriptions"), ANSWER_S).topic_id
    table = RouteTable(topic_id, collection.attributes, collection.shards)
    numbers = form.numbers(form.columns([row]))
    points = np.ascontiguousarray(numbers[:, : table.dimensions])
    for message in case.records.read("routes", shard, 0, sys.maxsize):
        try:
            record = decode_routes(message.value() or b"", table.dimensions)
        except BlobError:
            table.forget(shard)
            continue
        if record.next_offset > last + 1:
            break
        table.take(shard, record)
    spoke_then = table.next_offsets[shard] == last + 1
    return bool(spoke_then and not table.lets_through(shard, points, np.array([-1]))[0])


def _of_conditions(
    case: Case,
    state: State,
    as_of: Mapping[int, int],
    answer: Answer | None,
    row: Any,
    options: Options,
) -> Explanation:
    assert state.current is not None, "there is a subscription"
    judge = KINDS[case.collection.kind].judge
    assert judge is not None, "a kind with events has a judge"
    judged = judge(case.collection.attributes, state.parsed, row)
    known: dict[str, Any] = {
        "subscription_record": state.place(state.current),
        "as_of": dict(as_of) if answer else None,
        "checks": judged.checks,
        "score": judged.score,
        "k": options.k,
        "notes": _notes(state, answer),
    }
    hits = [] if answer is None else answer.record.matches
    places = [place for place, hit in enumerate(hits, 1) if hit.id == case.subscription]
    if places:
        known |= {"rank": places[0], "kth": hits[-1].score}
        score = hits[places[0] - 1].score
        sentence = f"in the answer: place {places[0]} of {len(hits)}, score {score:g}"
        return case.said(Verdict.IN_ANSWER, sentence, **known)
    if not judged.holds:
        failed = sum(not check.held for check in judged.checks)
        sentence = f"does not match: {counted(failed, 'condition')} of {len(judged.checks)} failed"
        return case.said(Verdict.FAILED, sentence, **known)
    if answer is None:
        return _without_answer(case, state, known)
    return _beaten(case, state, row, hits, known)


def _notes(state: State, answer: Answer | None) -> list[str]:
    notes = []
    if answer is not None:
        told = ",".join(f"{shard}@{offset}" for shard, offset in sorted(answer.as_of.items()))
        notes.append(f"answered by {answer.place}, as of {told}")
        if answer.copies > 1:
            notes.append(f"{answer.copies} records answer the event; this is the latest")
    else:
        notes.append("there is no match record of the event")
    if state.refused is not None:
        notes.append(f"{state.place(state.refused)} changed nothing: {state.reason}")
    if state.later is not None:
        notes.append(f"{state.place(state.later)} came too late for this answer")
    return notes


def _without_answer(case: Case, state: State, known: dict[str, Any]) -> Explanation:
    """It would match, and nothing did: most likely it came after the event."""
    assert state.current is not None, "there is a subscription"
    came_at, happened_at = state.current.timestamp()[1], case.event.timestamp()[1]
    if came_at >= happened_at:
        seconds = (came_at - happened_at) / 1e3
        sentence = f"not in yet: the subscription came {seconds:.1f} s after the event"
        return case.said(Verdict.NOT_IN_YET, sentence, **known)
    sentence = "it matches, but the event has no match record"
    kept = "records of `matches` are kept for a while only; otherwise this is a fault, tell us"
    known["notes"] = [*known["notes"], kept]
    return case.said(Verdict.CONTRADICTION, sentence, **known)


def _beaten(
    case: Case, state: State, row: Any, hits: list[matches.Match], known: dict[str, Any]
) -> Explanation:
    assert state.current is not None, "there is a subscription"
    own = (known["score"], state.current.offset(), state.shard)
    found = rank_of(case.collection, case.records, row, known["as_of"], own)
    kth = hits[-1].score if hits else None
    known |= {"kth": kth, **found._asdict()}
    counts = f"{found.matching:,} match ({found.scanned:,} records scanned)"
    if found.rank <= known["k"]:
        sentence = f"it should be in the answer: rank {found.rank} of k = {known['k']}; {counts}"
        compacted = "the log may have been compacted since; otherwise this is a fault, tell us"
        known["notes"] = [*known["notes"], compacted]
        return case.said(Verdict.CONTRADICTION, sentence, **known)
    has = "no match was asked for" if kth is None else f"the last of {len(hits)} has {kth:g}"
    sentence = f"beaten: rank {found.rank} with score {known['score']:g}, {has}; {counts}"
    return case.said(Verdict.BEATEN, sentence, **known)


def event_place(text: str, topic: str) -> EventPlace:
    """Of `topic[partition]@offset`, or `partition@offset` of that topic; `ValueError`."""
    partition, at, offset = text.partition("@")
    if at and partition.isdecimal() and offset.isdecimal():
        return EventPlace(topic, int(partition), int(offset))
    place = matches.event_place(text)
    if place.topic != topic:
        raise ValueError(f"got a record of {place.topic}, expected one of {topic}")
    return place
