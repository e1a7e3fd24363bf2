"""Workers with an instance id: one that is back in time keeps its share, and no other moves."""

import time

import pytest

from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import LAYOUTS, Fleet
from tests.fleet.stream import streaming
from tests.fleet.traffic import eventually

SHARDS = 4  # and partitions of `events`
SESSION_S = 180.0  # far longer than a restart: who waited for it would be found out


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_killed_worker_that_comes_back_keeps_its_share(
    make_fleet: MakeFleet, broker: str, redis_url: str, layout: str
):
    fleet = make_fleet(
        "static",
        broker,
        redis_url,
        collection={"shards": SHARDS, "partitions": {"events": SHARDS}, "layout": layout},
        settings={"matcher": {"session_timeout_s": SESSION_S}},
    )
    fleet.patience_s = SESSION_S
    both = victim, other = f"{fleet.holder}-1", f"{fleet.holder}-2"
    fleet.flags = {name: ["--instance-id", f"{name}.example"] for name in both}
    fleet.create_topics()
    workers = [role for role in fleet.roles if role != fleet.holder]
    fleet.start(*workers, *both)
    eventually(lambda: all(fleet.held(name) == 2 for name in both), fleet.diagnosis, 120)
    fleet.wait_ready(*workers, *both)
    share, moves = owned(fleet, victim), moves_of(fleet, other)
    with streaming(fleet, seed=1) as stream:
        stream.wait_answers(50)
        fleet.kill(victim)
        killed_at = time.monotonic()
        eventually(lambda: fleet.starts(victim) == 2, fleet.diagnosis, 30)
        eventually(lambda: fleet.held(victim) == 2, fleet.diagnosis, SESSION_S)
        fleet.wait_ready(victim)
        assert time.monotonic() - killed_at < SESSION_S / 2
        stream.wait_answers(50)
    fleet.check_all(repeats=True)
    assert moves_of(fleet, other) == moves
    assert owned(fleet, victim) == share


def moves_of(fleet: Fleet, worker: str) -> list[str]:
    """What its log says, since it was last started, of what came and went."""
    lines = fleet.log(worker).rpartition(" start ---")[2].splitlines()
    words = ": ours", ": gone", "assigned ", "gave up "
    return [line.partition(": ")[2] for line in lines if any(word in line for word in words)]


def owned(fleet: Fleet, worker: str) -> set[str]:
    """Shards of a matcher, partitions of a node."""
    share: set[str] = set()
    for move in moves_of(fleet, worker):
        if move.startswith("assigned "):
            share |= set(move.removeprefix("assigned ").split(", "))
        elif move.startswith("gave up "):
            share -= set(move.removeprefix("gave up ").split(", "))
        else:
            shard, last = move.split(": ")
            (share.add if last == "ours" else share.discard)(shard)
    return share
