"""Matchers with an instance id: one that is back in time keeps its shards, and no other moves."""

import time

from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import Fleet
from tests.fleet.stream import streaming
from tests.fleet.traffic import eventually

MATCHERS = ("matcher-1", "matcher-2")
SHARDS = 4
SESSION_S = 180.0  # far longer than a restart: who waited for it would be found out


def test_a_killed_matcher_that_comes_back_keeps_its_shards(
    make_fleet: MakeFleet, broker: str, redis_url: str
):
    fleet = make_fleet(
        "static",
        broker,
        redis_url,
        collection={"shards": SHARDS},
        settings={"matcher": {"session_timeout_s": SESSION_S}},
    )
    fleet.patience_s = SESSION_S
    fleet.flags = {name: ["--instance-id", f"{name}.example"] for name in MATCHERS}
    fleet.create_topics()
    workers = ("router", *MATCHERS, "merger")
    fleet.start(*workers)
    eventually(lambda: all(held(fleet, name) == 2 for name in MATCHERS), fleet.diagnosis, 120)
    fleet.wait_ready(*workers)
    victim, other = MATCHERS
    shards, moves = owned(fleet, victim), moves_of(fleet, other)
    with streaming(fleet, seed=1) as stream:
        stream.wait_answers(50)
        fleet.kill(victim)
        killed_at = time.monotonic()
        eventually(lambda: fleet.starts(victim) == 2, fleet.diagnosis, 30)
        eventually(lambda: held(fleet, victim) == 2, fleet.diagnosis, SESSION_S)
        fleet.wait_ready(victim)
        assert time.monotonic() - killed_at < SESSION_S / 2
        stream.wait_answers(50)
    fleet.check_all(repeats=True)
    assert moves_of(fleet, other) == moves
    assert owned(fleet, victim) == shards


def held(fleet: Fleet, matcher: str) -> float:
    return fleet.metric(matcher, "podium_shards")


def moves_of(fleet: Fleet, matcher: str) -> list[str]:
    """What its log says, since it was last started, of shards that came and went."""
    lines = fleet.log(matcher).rpartition(" start ---")[2].splitlines()
    return [line.rpartition("shard ")[2] for line in lines if line.endswith((": ours", ": gone"))]


def owned(fleet: Fleet, matcher: str) -> set[str]:
    shards = dict(move.split(": ") for move in moves_of(fleet, matcher))
    return {shard for shard, last in shards.items() if last == "ours"}
