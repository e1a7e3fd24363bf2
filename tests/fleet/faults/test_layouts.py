"""A collection that goes from one layout to the other and back: nothing lost, the same bytes."""

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from podium.stack.status.lag import group_lag
from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import READY_S, ROLES, SOON_MISSED, Fleet
from tests.fleet.stream import streaming
from tests.fleet.traffic import Sent, TopicReader, eventually

ROUTER, MATCHER, MERGER = ROLES
NODE = "node"


@pytest.fixture(scope="module")
def fleet(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[Fleet]:
    fleet = make_fleet("layouts", broker, redis_url, settings=SOON_MISSED)
    fleet.patience_s = 90.0
    fleet.start_all()
    yield fleet
    fleet.stop()


def stop(fleet: Fleet, *names: str) -> None:
    for name in names:
        assert fleet.terminate(name)[0] == 0


def change(fleet: Fleet, layout: str) -> None:
    """Start the workers of another layout, after those of the one before were stopped."""
    fleet.switch(layout)
    fleet.start(*fleet.roles)
    fleet.wait_ready(*fleet.roles)


def test_a_collection_changes_its_layout_and_back_under_load_without_a_repeat(fleet: Fleet):
    """In the order of the flow: what routers have sent is answered by those that follow."""
    with streaming(fleet, seed=1) as stream:
        stream.wait_answers(100)
        stop(fleet, ROUTER)
        change(fleet, "replicated")
        stop(fleet, MATCHER, MERGER)
        stream.wait_answers(200)
        stop(fleet, NODE)
        change(fleet, "sharded")
        stream.wait_answers(200)
    fleet.check_all(letters_repeat=True)
    assert "have left" not in fleet.log(NODE)


def test_a_node_answers_what_was_on_its_way_when_all_others_had_stopped(fleet: Fleet):
    """The router has sent frames, and committed their events, that no matcher has seen."""
    stop(fleet, MATCHER)
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    asked = [fleet.publish({"age": number % 12}, k=5) for number in range(300)]
    fleet.deliver(*asked)
    eventually(lambda: lag(fleet, ROUTER) == 0, fleet.diagnosis, 60)
    stop(fleet, ROUTER, MERGER)
    change(fleet, "replicated")
    fleet.answers_to(asked)
    fleet.check_all(repeats=True)
    assert "answering what matchers and mergers have left" in fleet.log(NODE)
    stop(fleet, NODE)
    change(fleet, "sharded")


def test_both_layouts_write_the_same_bytes(fleet: Fleet):
    """The same events, answered by each from the same subscriptions."""
    for number in range(300):
        low = number % 11
        fleet.subscribe(f"ad-{number}", {"age": [low, low + 2]}, number % 7)
    after, asked = fleet.token(), []
    for number in range(200):
        key = b"%d" % number
        asked.append(fleet.publish({"age": number % 13}, key, k=number % 5, after=after))
    fleet.answers_to(asked)
    stop(fleet, *ROLES)
    first = written(fleet, asked)
    set_back(fleet, asked)
    change(fleet, "replicated")
    eventually(lambda: len(written(fleet, asked)) >= 2 * len(asked), fleet.diagnosis, READY_S)
    assert sorted(written(fleet, asked)) == sorted(2 * first)
    fleet.check_all(repeats=True)


def lag(fleet: Fleet, role: str) -> int | None:
    behind = group_lag({"bootstrap.servers": fleet.brokers}, fleet.topic("events")[:-6] + role)
    return sum(behind.values())


def set_back(fleet: Fleet, to: list[Sent]) -> None:
    """Have whoever reads events next begin with the first of these of each partition."""
    first: dict[int, int] = {}
    for event in to:
        first[event.place.partition] = min(
            event.place.offset, first.get(event.place.partition, event.place.offset)
        )
    client = {"bootstrap.servers": fleet.brokers, "group.id": fleet.topic("events")[:-6] + ROUTER}
    consumer = Consumer(client)
    topic = fleet.topic("events")
    places = [TopicPartition(topic, partition, offset) for partition, offset in first.items()]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


def written(fleet: Fleet, asked: list[Sent]) -> list[tuple]:
    """Key, value and headers of each answer to these events."""
    reader = TopicReader(
        {"bootstrap.servers": fleet.brokers},
        fleet.topic("matches"),
        fleet.declared.partitions.matches,
    )
    topic = fleet.topic("events")
    wanted = {f"{topic}[{event.place.partition}]@{event.place.offset}" for event in asked}
    records = reader.read_to_end()
    reader.close()
    return [
        (message.key(), message.value(), message.headers())
        for message in records
        if json.loads(message.value())["event"] in wanted
    ]
