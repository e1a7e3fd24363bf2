"""The check must pass for right answers and fail for every kind of wrong one."""

import json
import random

import numpy as np
import pytest

from podium.demo.check import (
    Answer,
    Event,
    check_delivery,
    compare,
    spread_sample,
    telling_sample,
)
from podium.demo.scan import read_log
from tests.oracles.collection import Collection

ATTRIBUTES = ("age",)
K = 3


@pytest.fixture
def log():
    """Two shards of ads whose bids are often equal; some are updated, some unsubscribed."""
    rng = random.Random(5)
    shards = [[], []]
    for offset in range(60):
        for shard, records in enumerate(shards):
            low = rng.randrange(20, 50)
            ad = {"where": {"age": [low, low + rng.randrange(15)]}, "score": rng.randrange(5)}
            value = None if rng.random() < 0.1 else json.dumps(ad).encode()
            records.append((offset, b"ad-%d-%d" % (shard, rng.randrange(40)), value))
    return shards


@pytest.fixture
def ledger(log):
    return read_log(log, ATTRIBUTES)


@pytest.fixture
def events():
    rng = random.Random(6)
    values = [b'{"age": %d}' % rng.randrange(20, 64) for _ in range(40)]
    values[7] = b'{"age": 99}'  # wanted by nobody
    return {
        (0, offset): Event((0, offset), b"visitor-%d" % offset, value)
        for offset, value in enumerate(values)
    }


@pytest.fixture
def answers(log, events, monkeypatch):
    """Right answers, by the oracle, as of states that move on."""
    monkeypatch.setattr(
        "tests.oracles.collection.subscription_id", lambda key, shard, shards: key.decode()
    )
    oracle = Collection("ranked", ATTRIBUTES, log)
    found = []
    for place, event in events.items():
        as_of = {0: 20 + place[1], 1: 15 + place[1]}
        best = oracle.top_k(json.loads(event.value), K, [as_of[0], as_of[1]])
        if best:
            found.append(Answer(place, event.key, as_of, best))
    return found


BEFORE = {0: 20, 1: 15}


def test_right_answers_agree(ledger, events, answers):
    agreement = compare(ledger, events, answers, K)
    assert len(answers) > 30
    assert agreement == (len(answers), len(answers), len(answers), None)


@pytest.mark.parametrize(
    "corrupt",
    [
        pytest.param(lambda hits: hits[:-1], id="one-missing"),
        pytest.param(lambda hits: [*hits[:-1], ("ad-9-9", hits[-1][1])], id="another-ad"),
        pytest.param(lambda hits: [(hits[0][0], hits[0][1] + 0.01), *hits[1:]], id="another-bid"),
        pytest.param(lambda hits: [hits[1], hits[0], *hits[2:]], id="another-order"),
    ],
)
def test_a_corrupted_answer_is_found_and_shown(ledger, events, answers, corrupt):
    spoilt = next(i for i, answer in enumerate(answers) if len(answer.hits) == K and i > 5)
    right = answers[spoilt]
    answers[spoilt] = right._replace(hits=corrupt(right.hits))
    agreement = compare(ledger, events, answers, K)
    assert agreement.agreed == agreement.checked - 1
    assert agreement.first == (
        events[right.place],
        right.as_of,
        right.hits,
        answers[spoilt].hits,
    )


def test_an_answer_as_of_another_state_is_found(ledger, events, answers):
    answers[20] = answers[20]._replace(as_of={0: 0, 1: 0})
    assert compare(ledger, events, answers, K).agreed == len(answers) - 1


def test_one_record_for_everybody_with_a_match_is_fine(ledger, events, answers):
    delivery = check_delivery(ledger, events, answers, BEFORE)
    assert delivery.fine
    assert (delivery.events, delivery.answered) == (len(events), len(answers))
    assert len(answers) < len(events)


def test_a_repeated_record_is_found(ledger, events, answers):
    delivery = check_delivery(ledger, events, [*answers, answers[3]], BEFORE)
    assert delivery.fine  # it happens after a crash
    assert delivery.repeated == [answers[3].place]


@pytest.mark.parametrize("index", [0, 20, -1])
def test_a_lost_record_is_found(ledger, events, answers, index):
    lost = answers.pop(index)
    delivery = check_delivery(ledger, events, answers, BEFORE)
    assert not delivery.fine
    assert delivery.missing == [lost.place]


def test_a_record_under_another_key_or_of_no_event_is_found(ledger, events, answers):
    answers[2] = answers[2]._replace(key=b"visitor-0")
    stray = answers[5]._replace(place=(3, 1))
    delivery = check_delivery(ledger, events, [*answers, stray], BEFORE)
    assert not delivery.fine
    assert delivery.unknown == [answers[2].place, (3, 1)]


def test_a_sample_is_spread_over_the_whole_run():
    sample = spread_sample(10_000, 100, seed=1)
    assert [number // 100 for number in sample] == list(range(100))
    assert sample == spread_sample(10_000, 100, seed=1) != spread_sample(10_000, 100, seed=2)


@pytest.mark.parametrize(("count", "wanted"), [(7, 7), (7, 500), (0, 5)])
def test_a_sample_of_more_than_there_is_takes_everything(count, wanted):
    assert spread_sample(count, wanted, seed=1) == list(range(count))


@pytest.mark.parametrize("wanted", [3, 100, 10_000])
def test_a_sample_has_answers_of_every_stretch_that_tells(wanted):
    visitors = np.delete(np.arange(1, 5001), slice(2, None, 7))  # some have no answer
    stretches = [(1001, 1050), (4000, 4499)]
    sample = telling_sample(visitors, stretches, wanted, seed=1)
    assert sample == sorted(set(sample))
    assert len(sample) == min(wanted, len(visitors))
    for first, last in stretches:
        found = sum(first <= number <= last for number in visitors[sample])
        there = np.sum((visitors >= first) & (visitors <= last))
        assert found >= max(1, min(there, wanted // 5))


def test_a_stretch_without_answers_takes_none_of_the_sample():
    assert len(telling_sample(np.arange(1, 101), [(200, 300)], 20, seed=1)) == 20
