"""Collections of other shapes: one shard, three shards, one attribute, no empty records."""

from collections.abc import Iterator

import pytest

from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import Fleet
from tests.fleet.traffic import key_on

SHAPES = {
    "narrow": {
        "attributes": ["price"],
        "shards": 1,
        "emit_empty": False,
        "partitions": {"events": 1, "partials": 1, "matches": 1},
    },
    "wide": {
        "attributes": ["price", "size of box", "größe"],
        "shards": 3,
        "max_k": 10_000,
        "emit_empty": False,
        "partitions": {"events": 5, "partials": 3, "matches": 2},
    },
}


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    with fleets_of(make_fleet, broker, redis_url, SHAPES) as made:
        yield made


@pytest.fixture
def any_shape(fleets: dict[str, Fleet], shape: str) -> Iterator[Fleet]:
    yield fleets[shape]
    fleets[shape].check_all()
    fleets[shape].clear()


@pytest.mark.parametrize("shape", ["narrow"])
def test_one_shard_with_one_attribute_answers_alone(any_shape: Fleet):
    for score in range(5):
        any_shape.subscribe(f"ad-{score}", {"price": [score, 9]}, score)
    assert any_shape.ask({"price": 3}) == [("ad-3", 3.0), ("ad-2", 2.0), ("ad-1", 1.0)]


@pytest.mark.parametrize("shape", ["wide"])
def test_three_shards_are_merged(any_shape: Fleet):
    for score in range(9):
        any_shape.subscribe(key_on(score % 3, 3, f"ad-{score}"), {"größe": [0, score]}, score)
    hits = any_shape.ask({"größe": 2.5, "size of box": 1}, k=5)
    assert [score for _, score in hits] == [8, 7, 6, 5, 4]


@pytest.mark.parametrize("shape", ["wide"])
def test_an_event_that_only_one_of_three_shards_can_match(any_shape: Fleet):
    for shard in range(3):
        id = key_on(shard, 3, f"only-{shard}")
        any_shape.subscribe(id, {"size of box": [shard, shard]}, 1)
        assert any_shape.ask({"size of box": shard}) == [(id, 1.0)]


@pytest.mark.parametrize("shape", ["narrow", "wide"])
def test_an_event_without_a_match_gets_no_record(any_shape: Fleet):
    any_shape.subscribe("a", {"price": [0, 9]}, 1)
    token = any_shape.token()
    partitions = range(any_shape.declared.partitions.events)
    silent = [
        any_shape.publish(event, after=token, partition=partition, k=k)
        for partition in partitions
        for event, k in (({"price": 10}, None), ({}, None), ({"price": 5}, 0))
    ]
    # In the same partition, so that its record can only come after theirs would have come.
    heard = [
        any_shape.publish({"price": 5}, after=token, partition=partition)
        for partition in partitions
    ]
    assert all(answer.hits == [("a", 1.0)] for answer in any_shape.answers_to(heard))
    answered = {answer.event for answer in any_shape.answers}
    assert not answered & {event.place for event in silent}


@pytest.mark.parametrize("shape", ["narrow", "wide"])
def test_many_changes_and_events_agree_with_the_oracle(any_shape: Fleet):
    for number in range(120):
        where = {"price": [number % 10, number % 10 + number % 4]}
        any_shape.subscribe(f"ad-{number % 70}", where, number % 5)
        if number % 6 == 0:
            any_shape.unsubscribe(f"ad-{number % 35}")
    token = any_shape.token()
    for number in range(300):
        any_shape.publish({"price": number % 14}, b"%d" % number, k=number % 5, after=token)
    any_shape.check_all()


@pytest.mark.parametrize("shape", ["wide"])
def test_thousands_of_matches_with_long_ids_fit_in_a_record(any_shape: Fleet):
    """Ten such events are more than one frame, and more than one answer, may hold."""
    for number in range(3000):
        any_shape.subscribe(f"{number:0>250}", {}, number % 50)
    token = any_shape.token()
    asked = [any_shape.publish({}, k=10_000, after=token, partition=0) for _ in range(10)]
    assert [len(answer.hits) for answer in any_shape.answers_to(asked)] == [3000] * 10
