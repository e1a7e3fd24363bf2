"""Painters and zones that die, stop, come and go: no record is lost, wrong or out of order."""

import time
from collections.abc import Iterator

import pytest

from storage.redis_client import open_redis
from tests.fleet.fleet import SOON_MISSED
from tests.fleet.list_fleet import PATIENCE_S, Crowd, ListFleet
from tests.fleet.lists.conftest import MakeListFleet
from tests.fleet.traffic import eventually

SNAPSHOTS = {"every_s": 1.0, "least_changes": 1}


@pytest.fixture(scope="module")
def fleet(make_list_fleet: MakeListFleet) -> Iterator[ListFleet]:
    """Three zones; snapshots every second, so that restarts begin from one."""
    fleet = make_list_fleet(
        "mortal",
        collection={"zones": 3, "zone_bounds": [3.0, 7.0]},
        settings={**SOON_MISSED, "snapshots": SNAPSHOTS},
    )
    fleet.start_all()
    Crowd(fleet, seed=0).step(200)
    fleet.check()
    yield fleet
    fleet.stop()


@pytest.mark.parametrize("victims", [["painter"], ["zone"], ["painter", "zone"]], ids="+".join)
def test_a_killed_worker_loses_nothing(fleet: ListFleet, victims: list[str]):
    crowd = Crowd(fleet, seed=len(victims[0]) + len(victims))
    crowd.step(150)
    time.sleep(1.2)  # for a snapshot in the middle
    crowd.step(150)
    for victim in victims:
        fleet.kill(victim)
        crowd.step(50)
    fleet.check()
    crowd.step(50)
    fleet.check()


def test_kills_at_any_time_lose_nothing(fleet: ListFleet):
    crowd = Crowd(fleet, seed=7)
    for turn in range(4):
        crowd.step(60)
        fleet.kill(("zone", "painter")[turn % 2])
        crowd.step(20 * turn)
    fleet.check()


def test_a_standby_painter_takes_over(fleet: ListFleet):
    crowd = Crowd(fleet, seed=8)
    fleet.start("painter-2")
    fleet.wait_ready("painter-2")
    crowd.step(50)
    fleet.kill("painter", restart=False)
    crowd.step(100)
    fleet.check()
    assert "world restored" in fleet.log("painter-2")
    fleet.revive("painter")
    assert fleet.terminate("painter-2")[0] == 0
    crowd.step(50)
    fleet.check()


@pytest.mark.parametrize("frozen", ["painter", "zone"])
def test_a_worker_that_was_taken_for_dead_disturbs_nobody(fleet: ListFleet, frozen: str):
    crowd = Crowd(fleet, seed=9)
    other = f"{frozen}-2"
    fleet.start(other)
    fleet.wait_ready(other)
    crowd.step(100)
    with fleet.frozen(frozen):
        crowd.step(100)
        fleet.check()
    crowd.step(50)
    fleet.check()
    latest = {key: fleet.records_of(key)[-1] for key in fleet.keys_at}
    time.sleep(2.0)  # whatever it still wanted to send
    fleet.check()
    assert {key: fleet.records_of(key)[-1] for key in fleet.keys_at} == latest
    assert fleet.terminate(other)[0] == 0
    fleet.wait_ready(frozen)
    fleet.check()


def test_zones_are_shared_by_one_three_and_one_workers(fleet: ListFleet):
    crowd = Crowd(fleet, seed=10)
    fleet.start("zone-2", "zone-3")
    for _ in range(10):
        crowd.step(20)
        time.sleep(0.3)
    fleet.wait_ready("zone-2", "zone-3")
    assert ": ours" in fleet.log("zone-2") + fleet.log("zone-3")
    fleet.check()
    assert fleet.terminate("zone-2")[0] == 0
    crowd.step(100)
    fleet.kill("zone-3", restart=False)
    crowd.step(100)
    fleet.check()


def test_without_snapshots_lists_and_numbers_go_on(fleet: ListFleet, redis_url: str):
    crowd = Crowd(fleet, seed=11)
    crowd.step(100)
    fleet.check()
    for worker in ("painter", "zone"):
        fleet.kill(worker, restart=False)
    client = open_redis(redis_url, 5.0)
    keys = list(client.scan_iter(f"*{fleet.declared.name}*"))
    assert keys, "there were snapshots"
    client.delete(*keys)
    client.close()
    crowd.step(100)
    for worker in ("painter", "zone"):
        fleet.revive(worker)
    fleet.check()


def test_a_zone_that_has_missed_messages_gets_its_lists_anew(fleet: ListFleet, redis_url: str):
    """What it missed comes as one record, so a record may have several changes of objects."""
    crowd = Crowd(fleet, seed=12)
    crowd.step(100)
    fleet.check()
    fleet.kill("zone", restart=False)
    crowd.step(100)
    eventually(lambda: fleet.zones_told() > fleet.last_object(), "the painter", PATIENCE_S)
    client = open_redis(redis_url, 5.0)
    for key in client.scan_iter(f"*{fleet.declared.name}/zones*"):
        client.delete(key)
    client.close()
    fleet.delete_messages()
    fleet.revive("zone")
    crowd.step(50)
    fleet.check(merged=True)
    assert "asking the painter for all lists" in fleet.log("zone")


def test_zones_that_are_cut_anew_lose_nothing(fleet: ListFleet):
    crowd = Crowd(fleet, seed=13)
    crowd.step(100)
    fleet.declare(zone_bounds=[5.0, 8.0])
    for worker in ("painter", "zone"):
        assert fleet.terminate(worker)[0] == 0
        crowd.step(20)
    fleet.start("painter", "zone")
    crowd.step(100)
    fleet.check(merged=True)
