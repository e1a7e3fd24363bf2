"""Matchers that start from snapshots: killed, stopped, and with something wrong in Redis."""

import re
import zlib
from collections.abc import Iterator
from contextlib import closing

import pytest
import redis

from tests.effort import effort
from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import IMPATIENT, READY_S, ROLES, SOON_MISSED, Fleet
from tests.fleet.steps import random_steps
from tests.fleet.stream import streaming
from tests.fleet.traffic import eventually
from tests.own_redis import OwnRedis, own_redis

OFTEN = {"snapshots": {"every_s": 0.5, "least_changes": 1}, **SOON_MISSED}
# A matcher restores all kinds alike; the others do it in `test_bursts` and `test_interleavings`.
BOOLEAN = {"boolean": {"kind": "boolean", "attributes": ["age", "colour"]}}
KINDS = effort(
    short=BOOLEAN,
    long={
        "single": {"kind": "ranked", "attributes": ["age"]},
        "ranked": {"kind": "ranked", "attributes": ["age", "visits"]},
        "relaxed": {"kind": "relaxed", "attributes": ["age", "visits"]},
        **BOOLEAN,
    },
)


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    with fleets_of(make_fleet, broker, redis_url, KINDS, settings=OFTEN) as made:
        for fleet in made.values():
            fleet.patience_s = 90.0
        yield made


@pytest.fixture(params=list(KINDS))
def fleet(fleets: dict[str, Fleet], request: pytest.FixtureRequest) -> Fleet:
    return fleets[request.param]


def started_from(fleet: Fleet, start: str) -> float:
    return fleet.metric("matcher", "podium_restores_total", start=start)


def written(fleet: Fleet) -> float:
    return fleet.metric("matcher", "podium_snapshots_total", result="written")


def wait_snapshots(fleet: Fleet) -> None:
    """Both shards have been written since this was called."""
    before = written(fleet)
    eventually(lambda: written(fleet) >= before + 4, fleet.diagnosis, 60)


def test_a_killed_matcher_is_back_from_its_snapshots_under_load(fleet: Fleet):
    random_steps(fleet, seed=1, steps=200)
    with streaming(fleet, seed=2) as stream:
        stream.wait_answers(50)
        wait_snapshots(fleet)
        fleet.kill("matcher")
        stream.wait_events(200)
        fleet.wait_ready("matcher")
        stream.wait_answers(200)
    assert started_from(fleet, "snapshot") == 2
    fleet.check_all(repeats=True)
    fleet.clear()


def test_a_stopped_matcher_leaves_snapshots_with_nothing_to_replay(fleet: Fleet):
    random_steps(fleet, seed=3, steps=200)
    fleet.ask({})  # the last of them are applied
    fleet.check_all()
    assert fleet.terminate("matcher")[0] == 0
    fleet.start("matcher")
    fleet.wait_ready("matcher")
    assert started_from(fleet, "snapshot") == 2
    again = fleet.log("matcher").rpartition(" start ---")[2]
    assert again.count("of which 0 records replayed") == 2
    random_steps(fleet, seed=4, steps=200)
    fleet.check_all()


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnRedis]:
    with own_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="module")
def hurt_fleet(make_fleet: MakeFleet, broker: str, redis_server: OwnRedis) -> Iterator[Fleet]:
    collection = {"kind": "ranked", "attributes": ["age"]}
    options = {"settings": {**OFTEN, "matcher": {"feed_batch": 4}}, "entry": IMPATIENT}
    fleet = make_fleet("hurt", broker, redis_server.url, collection=collection, **options)
    fleet.start_all()
    yield fleet
    fleet.stop()


@pytest.fixture
def stopped(hurt_fleet: Fleet, redis_server: OwnRedis) -> Iterator[tuple[Fleet, redis.Redis]]:
    """A fleet whose matcher has left its snapshots behind, and their Redis."""
    random_steps(hurt_fleet, seed=5, steps=150)
    hurt_fleet.check_all()
    assert hurt_fleet.terminate("matcher")[0] == 0
    with closing(redis_server.client()) as client:
        yield hurt_fleet, client


def pointer(fleet: Fleet, shard: int) -> str:
    return f"{{podium:{fleet.declared.name}:snapshot:{shard}}}"


def chunk(fleet: Fleet, client: redis.Redis, shard: int) -> str:
    name = client.hget(pointer(fleet, shard), "name").decode()
    return f"{pointer(fleet, shard)}:{name}:0"


def flip(fleet: Fleet, client: redis.Redis) -> None:
    key = chunk(fleet, client, 0)
    data = bytearray(client.get(key))
    data[len(data) // 2] ^= 1
    client.set(key, bytes(data))


def truncate(fleet: Fleet, client: redis.Redis) -> None:
    key = chunk(fleet, client, 0)
    client.set(key, client.get(key)[:-1])


def swap_shards(fleet: Fleet, client: redis.Redis) -> None:
    fields = client.hgetall(pointer(fleet, 1))
    data = client.get(chunk(fleet, client, 1))
    client.delete(pointer(fleet, 0))
    client.hset(pointer(fleet, 0), mapping=fields)
    client.set(chunk(fleet, client, 0), data)


def newer(fleet: Fleet, client: redis.Redis) -> None:
    key = chunk(fleet, client, 0)
    data = bytearray(client.get(key))
    data[4:6] = b"\xff\xff"
    client.set(key, with_checksum(data))


def with_checksum(data: bytearray) -> bytes:
    """The first checksum is of the 60 bytes before it."""
    data[60:64] = zlib.crc32(data[:60]).to_bytes(4, "little")
    return bytes(data)


# How each is told from the others is in `tests/workers/snapshots`; one that is missing is below.
@pytest.mark.parametrize(
    ("hurt", "reason"),
    [
        pytest.param(flip, "corrupt", id="corrupt"),
        pytest.param(truncate, "truncated", id="truncated", marks=pytest.mark.long),
        pytest.param(swap_shards, "foreign", id="foreign"),
        pytest.param(newer, "newer", id="newer", marks=pytest.mark.long),
    ],
)
def test_what_is_wrong_with_a_snapshot_is_said_and_means_a_replay(stopped, hurt, reason):
    fleet, client = stopped
    hurt(fleet, client)
    fleet.start("matcher")
    fleet.wait_ready("matcher")
    assert started_from(fleet, reason) >= 1
    assert started_from(fleet, reason) + started_from(fleet, "snapshot") == 2
    assert f"no snapshot to start from ({reason}:" in fleet.log("matcher")
    random_steps(fleet, seed=6, steps=150)
    fleet.check_all()


def test_without_snapshots_a_replay_says_why_and_how_far_it_is(
    stopped: tuple[Fleet, redis.Redis],
):
    """In batches of four records, each of which says so."""
    fleet, client = stopped
    client.flushall()
    fleet.start("matcher")
    fleet.wait_ready("matcher")
    assert started_from(fleet, "missing") == 2
    again = fleet.log("matcher").rpartition(" start ---")[2]
    assert again.count("no snapshot to start from (missing:") == 2
    line = r"shard \d: restoring, \d+ %, [\d,]+ records/s, \d+ s left"
    assert re.search(line, again), again
    random_steps(fleet, seed=7, steps=50)
    fleet.check_all()


def not_written(fleet: Fleet, reason: str) -> float:
    return fleet.metric("matcher", "podium_snapshots_total", result=reason)


@pytest.fixture
def full(redis_server: OwnRedis) -> Iterator[None]:
    with closing(redis_server.client()) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)


@pytest.fixture
def stalled(redis_server: OwnRedis) -> Iterator[None]:
    redis_server.stall()
    yield
    redis_server.resume()


@pytest.mark.parametrize(("trouble", "reason"), [("full", "full"), ("stalled", "slow")])
def test_redis_in_trouble_costs_snapshots_but_no_answer(
    hurt_fleet: Fleet,
    redis_server: OwnRedis,
    request: pytest.FixtureRequest,
    trouble: str,
    reason: str,
):
    random_steps(hurt_fleet, seed=8, steps=50)
    before = not_written(hurt_fleet, reason)
    request.getfixturevalue(trouble)
    with streaming(hurt_fleet, seed=9) as stream:
        eventually(lambda: not_written(hurt_fleet, reason) > before, hurt_fleet.diagnosis, 60)
        stream.wait_answers(100)
    hurt_fleet.check_all()
    hurt_fleet.check_that_none_has_died()


def test_a_matcher_is_ready_while_redis_is_silent_and_says_so(hurt_fleet: Fleet, stalled: None):
    reply = hurt_fleet.wait_degraded("matcher", "redis", "no answer from")
    assert (reply.status, reply.body["reasons"]) == (200, {})


def test_once_redis_is_well_again_snapshots_are_written(hurt_fleet: Fleet):
    with streaming(hurt_fleet, seed=10):  # a shard that does not change is not written again
        wait_snapshots(hurt_fleet)
    hurt_fleet.check_all()


def test_without_redis_a_matcher_replays_and_says_that_redis_is_missing(
    stopped: tuple[Fleet, redis.Redis], redis_server: OwnRedis
):
    fleet, _ = stopped
    redis_server.kill()
    fleet.start("matcher")
    eventually(lambda: started_from(fleet, "unreachable") == 2, fleet.diagnosis, READY_S)
    random_steps(fleet, seed=7, steps=150)
    fleet.check_all()

    def refused() -> float:
        return fleet.metric("matcher", "podium_snapshots_total", result="unreachable")

    eventually(lambda: refused() > 0, fleet.diagnosis, 60)
    fleet.wait_ready(*ROLES)
    fleet.wait_degraded("matcher", "redis", "no answer from")
    redis_server.start()
    eventually(lambda: written(fleet) > 0, fleet.diagnosis, 60)
