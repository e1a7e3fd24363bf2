"""Reads the topics back with a plain consumer and judges the answers by them."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from podium.demo.check import (
    Agreement,
    Answer,
    Delivery,
    Event,
    Place,
    State,
    Stretch,
    check_delivery,
    compare,
    telling_sample,
)
from podium.demo.data import visitor_number
from podium.demo.report import Ad, Example
from podium.demo.scan import Ledger, hits, read_log, top_k
from podium.demo.scene import Scene
from podium.demo.topics_read import end_offsets, read_topic
from podium.demo.watch import Delivered
from topics import matches
from topics.headers import parse_token

EXAMPLES = 5
FEWEST_ADS = 3  # of an example


class Verdict(NamedTuple):
    delivery: Delivery
    agreement: Agreement
    checked_around: dict[str, int]
    examples: list[Example]


def judge(
    scene: Scene,
    delivered: Sequence[Delivered],
    before: State,
    around: Mapping[str, Stretch],
    wanted: int,
    seed: int,
    say: Callable[[str], None],
) -> Verdict:
    """`before` is what the shards had applied when the first visitor was published.

    `around` says which visitors came when something happened: some of them are checked.
    """
    k = scene.collection.k
    say("reading the topics back")
    ledger = read_subscriptions(scene)
    events = read_events(scene)
    answers = sorted(map(as_answer, delivered), key=lambda answer: visitor_number(answer.key))
    say("has everybody with a match got one record?")
    delivery = check_delivery(ledger, events, answers, before)
    known = [answer for answer in answers if answer.place in events]
    visitors = np.array([visitor_number(answer.key) for answer in known])
    chosen = telling_sample(visitors, around.values(), wanted, seed)
    say(f"recomputing {len(chosen):,} answers by a full scan")
    agreement = compare(ledger, events, [known[i] for i in chosen], k)
    checked_around = {
        what: int(np.sum((visitors[chosen] >= first) & (visitors[chosen] <= last)))
        for what, (first, last) in around.items()
    }
    return Verdict(delivery, agreement, checked_around, pick_examples(ledger, events, known, k))


def read_subscriptions(scene: Scene) -> Ledger:
    topic = scene.topic("subscriptions")
    ends = end_offsets(scene.admin, topic, scene.collection.shards)
    return read_log(read_topic(scene.clients, topic, ends), scene.collection.attributes)


def read_events(scene: Scene) -> dict[Place, Event]:
    topic = scene.topic("events")
    ends = end_offsets(scene.admin, topic, scene.collection.partitions.events)
    return {
        (partition, record.offset): Event(
            (partition, record.offset), record.key, record.value or b""
        )
        for partition, records in enumerate(read_topic(scene.clients, topic, ends))
        for record in records
    }


def as_answer(delivered: Delivered) -> Answer:
    record = matches.decode(delivered.value)
    place = matches.event_place(record.event)
    return Answer(
        (place.partition, place.offset),
        delivered.key,
        parse_token(delivered.as_of),
        [(match.id, match.score) for match in record.matches],
    )


def pick_examples(
    ledger: Ledger, events: dict[Place, Event], answers: Sequence[Answer], k: int
) -> list[Example]:
    """A few right answers with something to see, from the beginning of the run to its end."""
    rich = [answer for answer in answers if len(answer.hits) >= FEWEST_ADS]
    step = max(1, len(rich) // EXAMPLES)
    examples = []
    for answer in rich[step // 2 :: step][:EXAMPLES]:
        event = json.loads(events[answer.place].value)
        rows = top_k(ledger, event, answer.as_of, k)
        if hits(ledger, rows) == answer.hits:
            ads = [Ad(ledger.ids[r], float(ledger.scores[r]), ledger.where(r)) for r in rows]
            examples.append(Example(answer.key.decode(), event, ads))
    return examples
