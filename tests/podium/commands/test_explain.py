"""`podium explain` from topics alone: what workers would have written is written by hand here.

`tests/fleet/answers/test_seeing_inside.py` asks the same of a running fleet.
"""

import json

import pytest
from confluent_kafka import Producer

EVENT = {"age": 28}


class Log:
    """Writes records; each is told where it is."""

    def __init__(self, topics):
        self._topics = topics
        options = {"bootstrap.servers": topics.brokers, "partitioner": "murmur2_random"}
        self._producer = Producer(options)

    def write(self, topic, value, key=None, headers=None, partition=-1):
        placed = []

        def delivered(error, message):
            placed.append((message.partition(), message.offset()))

        self._producer.produce(
            self._topics.topic(topic),
            value if value is None or isinstance(value, bytes) else json.dumps(value).encode(),
            key,
            partition,
            headers=headers,
            on_delivery=lambda error, message: placed.append(
                (message.partition(), message.offset())
            ),
        )
        assert self._producer.flush(30) == 0
        return placed[0]

    def subscribe(self, id, age, score):
        return self.write("subscriptions", {"where": {"age": age}, "score": score}, id)

    def ends(self):
        """The last offset of each shard, as the workers would have applied them."""
        ends = {0: -1, 1: -1}
        for message in self._topics.read("subscriptions"):
            ends[message.partition()] = message.offset()
        return ends

    def answer(self, event, hits, as_of):
        place = f"{self._topics.topic('events')}[{event[0]}]@{event[1]}"
        matches = [{"id": id, "score": score} for id, score in hits]
        value = json.dumps({"event": place, "matches": matches}, separators=(",", ":")).encode()
        token = ",".join(f"{shard}@{offset}" for shard, offset in as_of.items())
        return self.write("matches", value, "visitor", [("podium-as-of", token.encode())])


@pytest.fixture
def log(topics):
    return Log(topics)


@pytest.fixture
def explain(podium, topics):
    def explain(event, id):
        place = f"{event[0]}@{event[1]}"
        ended = podium("explain", place, id, "--json", *topics.options)
        told = json.loads(ended.out)
        assert (ended.code == 0) == told["in_answer"] == (told["verdict"] == "in_answer")
        return told

    return explain


def test_who_is_in_an_answer_and_why_others_are_not(podium, topics, log, explain):
    for number in range(12):
        log.subscribe(f"ad-{number}", [20, 35], number)
    log.subscribe("old", [70, None], 99)
    log.subscribe("gone", [20, 35], 50)
    log.write("subscriptions", None, "gone")
    bad = log.write("subscriptions", {"where": {}, "score": "high"}, "bad")
    log.subscribe("worse", [20, 35], 0.5)
    log.write("subscriptions", b"{", "worse")  # what it would replace stays
    as_of = log.ends()
    late = log.subscribe("late", [20, 35], 70)
    event = log.write("events", EVENT, "visitor")
    best = [(f"ad-{number}", float(number)) for number in range(11, 1, -1)]
    log.answer(event, best, as_of)

    told = explain(event, "ad-9")
    assert (told["verdict"], told["rank"], told["score"], told["k"]) == ("in_answer", 3, 9.0, 10)
    assert told["as_of"] == {str(shard): offset for shard, offset in as_of.items()}
    assert [(c["attribute"], c["got"], c["held"]) for c in told["checks"]] == [("age", 28.0, True)]
    told = explain(event, "ad-0")
    assert (told["verdict"], told["rank"], told["kth"], told["matching"]) == ("beaten", 13, 2.0, 13)
    assert told["scanned"] == 16, "all good records up to there"
    assert explain(event, "worse")["rank"] == 12
    told = explain(event, "old")
    assert told["verdict"] == "failed"
    assert [(c["condition"], c["held"]) for c in told["checks"]] == [("70.0 or more", False)]
    assert explain(event, "gone")["verdict"] == "unsubscribed"
    told = explain(event, "bad")
    assert told["verdict"] == "subscription_in_dead_letters"
    assert f"[{bad[0]}]@{bad[1]} is in the dead letters: score: " in told["sentence"]
    told = explain(event, "late")
    assert told["verdict"] == "not_in_yet"
    assert f"podium-after: {late[0]}@{late[1]}" in told["sentence"]
    assert f"was at offset {as_of[late[0]]}, the subscription is at {late[1]}" in told["sentence"]
    assert explain(event, "nobody")["verdict"] == "unknown_subscription"

    lines = podium("explain", f"{event[0]}@{event[1]}", "old", *topics.options).out.splitlines()
    assert lines[:2] == [
        "does not match: 1 condition of 1 failed",
        "  fails  age 70.0 or more: the event has 28.0",
    ]

    log.answer(event, best[:3], as_of)
    told = explain(event, "ad-5")
    assert told["verdict"] == "contradiction"
    assert any("2 records answer the event" in note for note in told["notes"])


def test_events_without_a_match_record(topics, log, explain):
    before = log.subscribe("young", [0, 9], 1)
    event = log.write("events", EVENT, "visitor")
    told = explain(event, "young")
    assert told["verdict"] == "not_answered_yet"
    assert f"the router is at offset 0, the event at {event[1]}" in told["sentence"]
    bad = log.write("events", {"age": "old"}, "visitor")
    assert explain(bad, "young")["verdict"] == "event_in_dead_letters"
    refused = log.write("events", EVENT, "visitor")
    headers = {
        "podium-error": b"podium-after: got 0@99",
        "podium-topic": topics.topic("events").encode(),
        "podium-partition": str(refused[0]).encode(),
        "podium-offset": str(refused[1]).encode(),
    }
    letter = log.write("events.dlq", EVENT, headers=list(headers.items()))
    told = explain(refused, "young")
    place = f"{topics.topic('events.dlq')}[{letter[0]}]@{letter[1]}"
    assert told["sentence"] == f"the event is in the dead letters ({place}): podium-after: got 0@99"
    assert before[1] == 0


@pytest.mark.parametrize("event", ["9@0", "3", "other[0]@0", "0@x", "-1@0"])
def test_what_is_no_event_is_bad_usage(podium, topics, event):
    assert podium("explain", "--json", *topics.options, "--", event, "ad-1").code == 2


def test_an_offset_that_is_not_there(podium, topics, log):
    log.write("events", EVENT, partition=0)
    ended = podium("explain", "0@7", "ad-1", *topics.options)
    assert ended.code == 1
    assert f"{topics.topic('events')}[0] has offsets 0 to 0" in ended.err


def test_objects_and_lists(podium, parking):
    log = Log(parking)

    def explained(offset, id):
        return json.loads(podium("explain", f"0@{offset}", id, "--json", *parking.options).out)

    for number in range(8):
        log.write("objects", {"x": number, "y": number}, f"o-{number}")
    log.write("objects", {"x": 3}, "bad")
    log.write("objects", None, "o-0")
    log.write("objects", {"x": 9, "y": 1}, "o-9")
    log.write("subscriptions", {"range": [0, 9], "k": 2}, "watch")
    told = explained(1, "watch")
    assert (told["verdict"], told["rank"], told["matching"]) == ("in_answer", 2, 2)
    told = explained(2, "watch")
    assert (told["verdict"], told["rank"], told["kth"]) == ("beaten", 3, 1.0)
    assert explained(8, "watch")["verdict"] == "event_in_dead_letters"
    assert explained(9, "watch")["verdict"] == "object_removed"
    told = explained(10, "watch")  # of equal y the lower x is better, and o-0 is gone
    assert (told["verdict"], told["rank"], told["scanned"]) == ("in_answer", 2, 11)
    log.write("subscriptions", {"range": [0, 5]}, "near")
    assert explained(10, "near")["verdict"] == "failed"
    assert explained(10, "nobody")["verdict"] == "unknown_subscription"
    log.write("subscriptions", {"range": [5, 0]}, "odd")
    assert explained(10, "odd")["verdict"] == "subscription_in_dead_letters"
    log.write("subscriptions", None, "watch")
    assert explained(10, "watch")["verdict"] == "unsubscribed"
