"""Routing: shards that cannot match are left out, and no answer is any different for it."""

import random
from collections.abc import Iterator

import pytest

from tests.workers.conftest import MakeFleet, fleets_of
from tests.workers.fleet import Fleet
from tests.workers.steps import random_steps
from tests.workers.stream import streaming
from tests.workers.traffic import eventually, key_on

ROUTED = {"shards": 3, "routing": {"enabled": True, "every_ms": 20}}
KINDS = {
    "ranked": {"kind": "ranked", "attributes": ["age", "visits"], **ROUTED},
    "relaxed": {"kind": "relaxed", "attributes": ["age", "visits"], **ROUTED},
    "boolean": {"kind": "boolean", "attributes": ["age", "colour"], **ROUTED},
    "few": {**ROUTED, "routing": {"enabled": True, "most_boxes": 2}},
    "quiet": {**ROUTED, "emit_empty": False},
}
READ_YOUR_WRITES = 2000


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    with fleets_of(make_fleet, broker, redis_url, KINDS) as made:
        for fleet in made.values():
            fleet.patience_s = 120.0
        yield made


@pytest.fixture
def routed(fleets: dict[str, Fleet], kind: str) -> Iterator[Fleet]:
    yield fleets[kind]
    fleets[kind].check_all(repeats=True)
    fleets[kind].clear()


def left_out(fleet: Fleet) -> float:
    return fleet.metric("router", "podium_router_pairs_total", result="left out")


def place_apart(fleet: Fleet) -> None:
    """Ages 0 to 9 in the first shard, 100 to 109 in the second, and so on."""
    for shard in fleet.shards:
        for number in range(10):
            id = key_on(shard, len(fleet.shards), f"apart-{number}")
            low = 100 * shard + number
            fleet.subscribe(id, {"age": [low, low + 2]}, number)


@pytest.mark.parametrize("kind", ["ranked", "boolean", "few"])
def test_shards_whose_routes_an_event_misses_are_left_out(routed: Fleet, kind: str):
    place_apart(routed)
    token, before = routed.token(), left_out(routed)
    routed.publish({"age": 5}, after=token)

    def enough() -> bool:
        for shard in routed.shards:
            routed.publish({"age": 100 * shard + 5}, k=5)
        return left_out(routed) > before + 50

    eventually(enough, routed.diagnosis, 60)


@pytest.mark.parametrize("kind", ["quiet"])
def test_an_event_that_no_shard_gets_has_no_record_where_nobody_asks_for_one(
    routed: Fleet, kind: str
):
    place_apart(routed)
    token, before = routed.token(), left_out(routed)

    def enough() -> bool:
        for age in (5, 50, 105, 150, 205):
            routed.publish({"age": age}, k=5, after=token)
        return left_out(routed) > before + 50

    eventually(enough, routed.diagnosis, 60)
    assert not any(answer.hits == [] for answer in routed.answers)


@pytest.mark.parametrize("kind", ["ranked", "relaxed", "boolean", "few"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_answer_is_right_whoever_was_left_out(routed: Fleet, kind: str, seed: int):
    random_steps(routed, seed, 400)


@pytest.mark.parametrize("kind", ["ranked"])
def test_who_subscribes_and_then_publishes_with_the_token_never_misses(routed: Fleet, kind: str):
    place_apart(routed)
    random_ = random.Random(1)
    asked = []
    for number in range(READ_YOUR_WRITES):
        age = 1000 + random_.randrange(10_000)
        sent = routed.subscribe(f"mine-{number}", {"age": [age, age]}, 100 + number)
        routed.deliver(sent)
        after = f"{sent.place.partition}@{sent.place.offset}"
        asked.append((f"mine-{number}", routed.publish({"age": age}, k=20, after=after)))
    routed.deliver()
    answers = routed.answers_to([event for _, event in asked])
    for (id, _), answer in zip(asked, answers, strict=True):
        assert id in [hit[0] for hit in answer.hits]


@pytest.mark.parametrize("kind", ["ranked", "few"])
@pytest.mark.parametrize("role", ["matcher", "router"])
def test_routes_survive_a_kill(routed: Fleet, kind: str, role: str):
    place_apart(routed)
    with streaming(routed, seed=4) as stream:
        stream.wait_events(100)
        routed.kill(role)
        stream.wait_events(200)
    routed.wait_ready(role)
    random_steps(routed, 5, 100)


@pytest.mark.parametrize("kind", ["ranked"])
def test_a_damaged_route_is_ignored_and_the_shard_gets_everything(routed: Fleet, kind: str):
    place_apart(routed)
    routed.deliver()
    for shard in routed.shards:
        routed.send("routes", b"not a route", key=b"%d" % shard, partition=shard)
    routed.deliver()
    refused = "podium_routes_refused_total"
    eventually(lambda: routed.metric("router", refused) >= len(routed.shards), routed.diagnosis, 30)
    random_steps(routed, 6, 100)
