"""Workers that are killed with SIGKILL at work: nothing is lost, and every answer is right.

Records may be repeated then; each repeat has to agree with the subscriptions that it names.
"""

import random
from collections.abc import Iterator

import pytest

from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import LAYOUTS, SOON_MISSED, WORKERS, Fleet
from tests.fleet.stream import streaming
from tests.fleet.traffic import eventually

# A group waits for a killed member until its session times out.
PATIENCE_S = 150.0
# Events under way when a worker is killed.
BURST = 1500
# Subscriptions that take a matcher a moment to restore.
BULK = 30_000


@pytest.fixture(scope="module", params=LAYOUTS)
def mortal_fleet(
    request: pytest.FixtureRequest, make_fleet: MakeFleet, broker: str, redis_url: str
) -> Iterator[Fleet]:
    declared = {"layout": request.param}
    fleet = make_fleet("mortal", broker, redis_url, collection=declared, settings=SOON_MISSED)
    fleet.patience_s = PATIENCE_S
    fleet.start_all()
    yield fleet
    fleet.stop()


@pytest.mark.parametrize(("mortal_fleet", "role"), WORKERS, indirect=["mortal_fleet"])
def test_a_killed_worker_is_restarted_and_nothing_is_lost(mortal_fleet: Fleet, role: str):
    with streaming(mortal_fleet, seed=mortal_fleet.roles.index(role)) as stream:
        stream.wait_answers(100)
        stream.burst(BURST)
        mortal_fleet.kill(role)
        stream.wait_events(200)
    mortal_fleet.check_all(repeats=True)
    mortal_fleet.wait_ready(role)
    assert "Traceback" not in mortal_fleet.log(role)


def test_another_worker_takes_over_the_share_of_a_killed_one(mortal_fleet: Fleet):
    holder, second = mortal_fleet.holder, f"{mortal_fleet.holder}-2"
    mortal_fleet.start(second)
    wait_for_share(mortal_fleet, second, 1)
    with streaming(mortal_fleet, seed=10) as stream:
        stream.wait_answers(100)
        stream.burst(BURST)
        share = mortal_fleet.held(second)
        mortal_fleet.kill(holder, restart=False)
        stream.wait_events(200)
    mortal_fleet.check_all(repeats=True)
    wait_for_share(mortal_fleet, second, share + 1)
    assert mortal_fleet.terminate(second)[0] == 0
    mortal_fleet.revive(holder)


def wait_for_share(fleet: Fleet, worker: str, count: int) -> None:
    """Wait until the worker holds so many shards or partitions."""
    eventually(
        lambda: fleet.held(worker) >= count,
        lambda: f"{count} for {worker}\n{fleet.state(worker)}",
        PATIENCE_S,
    )


@pytest.mark.parametrize("seed", [3, pytest.param(5, marks=pytest.mark.long)])
def test_kills_of_any_worker_at_any_time_lose_nothing(mortal_fleet: Fleet, seed: int):
    random_ = random.Random(seed)
    with streaming(mortal_fleet, seed=20 + seed) as stream:
        for victim in random_.choices(mortal_fleet.roles, k=3):
            stream.wait_events(random_.randint(50, 250))
            stream.burst(random_.randint(0, BURST))
            mortal_fleet.kill(victim)
        stream.wait_events(100)
    mortal_fleet.check_all(repeats=True)


@pytest.fixture(scope="module")
def full_fleet(mortal_fleet: Fleet) -> Fleet:
    for number in range(BULK):
        mortal_fleet.subscribe(f"bulk-{number}", {"age": [100, 100 + number % 50]}, number % 7)
    mortal_fleet.deliver()
    return mortal_fleet


def restores(fleet: Fleet, worker: str) -> int:
    """How many shards it has begun to restore."""
    log = fleet.log(worker)
    return log.count("from a snapshot") + log.count("no snapshot to start from")


def test_a_worker_stopped_while_it_restores_loses_nothing(full_fleet: Fleet):
    """What waits for it must neither count as answered nor be answered too early."""
    holder = full_fleet.holder
    full_fleet.terminate(holder)
    asked = [full_fleet.publish({"age": 100 + number}, k=5) for number in range(12)]
    full_fleet.deliver(*asked)
    begun = restores(full_fleet, holder)
    full_fleet.start(holder)
    eventually(
        lambda: restores(full_fleet, holder) > begun,
        lambda: f"{holder} to begin to restore\n{full_fleet.state(holder)}",
        PATIENCE_S,
    )
    assert full_fleet.terminate(holder)[0] == 0
    full_fleet.start(holder)
    for answer in full_fleet.answers_to(asked):
        assert answer.as_of == [full_fleet.ends[shard] for shard in full_fleet.shards]
    full_fleet.check_all(repeats=True)
