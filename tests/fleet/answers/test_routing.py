"""Routing: shards that cannot match are left out, and no answer is any different for it."""

import random
from collections.abc import Iterator

import pytest

from storage import array_blob
from tests.effort import effort
from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import SOON_MISSED, Fleet
from tests.fleet.steps import random_steps
from tests.fleet.stream import streaming
from tests.fleet.traffic import Sent, TopicReader, eventually, key_on
from topics import routes

ROUTED = {"shards": 3, "routing": {"enabled": True, "every_ms": 20}}
RELAXED = {"relaxed": {"kind": "relaxed", "attributes": ["age", "visits"], **ROUTED}}
KINDS = {
    "ranked": {"kind": "ranked", "attributes": ["age", "visits"], **ROUTED},
    "unrouted": {"kind": "ranked", "attributes": ["age", "visits"], "shards": 3},
    "boolean": {"kind": "boolean", "attributes": ["age", "colour"], **ROUTED},
    "quiet": {**ROUTED, "emit_empty": False},
    **effort(short={}, long=RELAXED),
}
MORTAL = {"few": {**ROUTED, "routing": {"enabled": True, "most_boxes": 2}}}
ROUNDS = 10
READ_YOUR_WRITES = 2000


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    with (
        fleets_of(make_fleet, broker, redis_url, KINDS) as made,
        fleets_of(make_fleet, broker, redis_url, MORTAL, settings=SOON_MISSED) as mortal,
    ):
        for fleet in (made | mortal).values():
            fleet.patience_s = 120.0
        yield made | mortal


@pytest.fixture
def routed(fleets: dict[str, Fleet], kind: str) -> Iterator[Fleet]:
    yield fleets[kind]
    fleets[kind].check_all(repeats=True)
    fleets[kind].clear()


@pytest.fixture
def pair(fleets: dict[str, Fleet]) -> Iterator[list[Fleet]]:
    """The same collection twice, from the first record on, with routing and without."""
    pair = [fleets["ranked"], fleets["unrouted"]]
    assert not any(fleet.events for fleet in pair), "another test was here first"
    yield pair
    for fleet in pair:
        fleet.check_all()
        fleet.clear()


def left_out(fleet: Fleet) -> float:
    return fleet.metric("router", "podium_router_pairs_total", result="left out")


def place_apart(fleet: Fleet) -> None:
    """Ages 0 to 9 in the first shard, 100 to 109 in the second, and so on."""
    for shard in fleet.shards:
        for number in range(10):
            id = key_on(shard, len(fleet.shards), f"apart-{number}")
            low = 100 * shard + number
            fleet.subscribe(id, {"age": [low, low + 2]}, number)


def test_matches_are_byte_for_byte_those_of_a_fleet_without_routing(pair: list[Fleet]):
    routed, unrouted = pair
    random_ = random.Random(7)

    def enough() -> bool:
        for _ in range(ROUNDS):
            churn(pair, random_, changes=20)
            # Routes lag behind the changes, so that these go everywhere, and the next do not.
            ask_all(pair, random_, events=10)
            ask_all(pair, random_, events=30)
        return left_out(routed) > 100

    eventually(enough, routed.diagnosis, 60)
    assert left_out(unrouted) == 0
    assert match_bodies(routed) == match_bodies(unrouted)


def churn(pair: list[Fleet], random_: random.Random, changes: int) -> None:
    """Most subscriptions of a shard are for its ages, few are for all of them."""
    for _ in range(changes):
        shard, number = random_.randrange(3), random_.randrange(12)
        id = key_on(shard, 3, f"ad-{number}")
        low = 100 * shard + random_.randrange(20)
        where = {"age": [low, low + random_.randrange(6)]} if random_.random() < 0.97 else {}
        if random_.random() < 0.3:
            where["visits"] = [None, random_.randrange(4)]
        score, gone = random_.randrange(4), random_.random() < 0.25
        for fleet in pair:
            if gone:
                fleet.unsubscribe(id)
            else:
                fleet.subscribe(id, where, score)


def ask_all(pair: list[Fleet], random_: random.Random, events: int) -> None:
    """Events that wait for all changes, which in turn wait for the answers."""
    asked: list[list[Sent]] = [[] for _ in pair]
    tokens = [fleet.token() for fleet in pair]
    for number in range(events):
        event = {"age": 100 * random_.randrange(3) + random_.randrange(25), "visits": 2}
        event = {name: value for name, value in event.items() if random_.random() < 0.9}
        k, partition = random_.choice([None, 1, 20]), random_.randrange(2)
        for fleet, sent, token in zip(pair, asked, tokens, strict=True):
            sent.append(fleet.publish(event, b"%d" % number, k, token, partition))
    for fleet, sent in zip(pair, asked, strict=True):
        fleet.answers_to(sent)


def match_bodies(fleet: Fleet) -> list[tuple[bytes, bytes]]:
    """Keys and values of all match records, as in a collection of no name."""
    reader = TopicReader(
        {"bootstrap.servers": fleet.brokers},
        fleet.topic("matches"),
        fleet.declared.partitions.matches,
    )
    try:
        name = fleet.declared.name.encode()
        return sorted((m.key(), m.value().replace(name, b"")) for m in reader.read_to_end())
    finally:
        reader.close()


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


@pytest.mark.parametrize(
    "kind", ["ranked", "boolean", "few", pytest.param("relaxed", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
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


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("matcher", "few"),
        ("router", "ranked"),
        pytest.param("matcher", "ranked", marks=pytest.mark.long),
        pytest.param("router", "few", marks=pytest.mark.long),
    ],
)
def test_routes_survive_a_kill(routed: Fleet, kind: str, role: str):
    place_apart(routed)
    with streaming(routed, seed=4) as stream:
        stream.wait_events(100)
        routed.kill(role)
        stream.wait_events(200)
    routed.wait_ready(role)
    random_steps(routed, 5, 100)


OLDER = b"".join(array_blob.encode(routes.MAGIC, routes.VERSION - 1, {}, {}))


@pytest.mark.parametrize("kind", ["ranked"])
@pytest.mark.parametrize("record", [b"not a route", OLDER], ids=["damaged", "older"])
def test_a_route_that_cannot_be_used_is_ignored_and_the_shard_gets_everything(
    routed: Fleet, kind: str, record: bytes
):
    def refused() -> float:
        return routed.metric("router", "podium_routes_refused_total")

    place_apart(routed)
    routed.deliver()
    wanted = refused() + len(routed.shards)
    for shard in routed.shards:
        routed.send("routes", record, key=b"%d" % shard, partition=shard)
    routed.deliver()
    eventually(lambda: refused() >= wanted, routed.diagnosis, 30)
    random_steps(routed, 6, 100)
