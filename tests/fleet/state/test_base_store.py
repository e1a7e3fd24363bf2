"""A store of bases that does not answer: the fleet goes on without it, and says so once."""

import time
from pathlib import Path

from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import Fleet
from tests.fleet.job import Job
from tests.fleet.traffic import eventually, key_on
from tests.own_redis import own_redis

SHARDS = 8  # on two cores, more than the worker's loop has threads
STALL_S = 10.0


def test_a_stalled_store_holds_up_neither_changes_nor_frames(
    make_fleet: MakeFleet, broker: str, tmp_path: Path
):
    with own_redis(tmp_path) as server:
        fleet = make_fleet(
            "stalled",
            broker,
            server.url,
            collection={"shards": SHARDS},
            settings={
                "redis": {"timeout_s": 1},
                # Snapshots look at a shard in a thread, while its changes wait.
                "snapshots": {"every_s": 0.5, "least_changes": 1},
            },
        )
        fleet.patience_s = 25
        fleet.start_all()
        subscribe(fleet, "first")
        fleet.judge()  # reads what is in the topic
        job = Job(fleet, server.url)
        bases = [
            job.build(shard, records[-1][0] + 1) for shard, records in enumerate(fleet.records)
        ]

        server.stall()
        for base in bases:
            job.announce(base)
        eventually(lambda: refusals(fleet) == SHARDS, fleet.diagnosis, 90)
        until, rounds = time.monotonic() + STALL_S, 0
        while time.monotonic() < until:
            rounds += 1
            subscribe(fleet, f"round-{rounds}")
            hits = fleet.ask({"age": 5}, k=20)  # with a token of all that was subscribed
            assert len(hits) == min(20, SHARDS * (rounds + 1))
        assert rounds > 2
        assert refusals(fleet) == SHARDS  # one a base, however often it was tried

        server.resume()
        eventually(lambda: taken(fleet) == SHARDS, fleet.diagnosis, 90)
        assert fleet.log("matcher").count("the store of bases answers again") == SHARDS
        assert fleet.ask({"age": 5}, k=1)
        fleet.check_all()
        fleet.stop()


def subscribe(fleet: Fleet, stem: str) -> None:
    for shard in range(SHARDS):
        fleet.subscribe(key_on(shard, SHARDS, f"{stem}-{shard}"), {"age": [0, 9]}, shard)
    fleet.deliver()


def refusals(fleet: Fleet) -> int:
    return fleet.log("matcher").count("base not taken (unreachable)")


def taken(fleet: Fleet) -> float:
    return fleet.metric("matcher", "podium_bases_total", result="taken")
