"""Lists through a real broker: every record is right as of its offsets, and none is missing."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.fleet.command_line import explained
from tests.fleet.list_fleet import Crowd, ListFleet
from tests.fleet.lists.conftest import MakeListFleet
from tests.fleet.traffic import eventually


@pytest.fixture(scope="module")
def fleet(make_list_fleet: MakeListFleet) -> Iterator[ListFleet]:
    fleet = make_list_fleet("lists")
    fleet.start_all()
    yield fleet
    fleet.stop()


@pytest.fixture(autouse=True)
def nothing_has_died(fleet: ListFleet) -> Iterator[None]:
    yield
    fleet.check()
    fleet.check_that_none_has_died()


def test_a_subscription_before_any_object_has_an_empty_list(fleet: ListFleet):
    fleet.want("early", 0, 4)
    fleet.wait()
    (record,) = fleet.records_of("early")
    assert record is not None
    assert record["objects"] is None
    assert record["list"] == []


def test_lists_follow_objects_and_subscribers(fleet: ListFleet):
    crowd = Crowd(fleet, seed=1)
    for count in (50, 200, 10, 400):
        crowd.step(count)
    assert fleet.check() > 20


def test_a_subscription_that_moves_to_another_zone_ends_in_the_one_before(fleet: ListFleet):
    for x in range(12):
        fleet.put(f"place-{x}", x, 1.0)
    fleet.want("mover", 0, 3)
    fleet.wait()
    for low in (8, 1, 9):
        fleet.put("place-1", 1, low / 10)
        fleet.want("mover", low, low + 2)
        fleet.wait()
    records = fleet.records_of("mover")
    assert None not in records
    assert [r["since"] for r in records if r and r["first"]] == sorted(
        {r["since"] for r in records if r}, key=lambda since: int(since.rpartition("@")[2])
    )


def test_an_unsubscription_is_a_null_and_names_its_record(fleet: ListFleet):
    fleet.want("brief", 2, 4)
    fleet.wait()
    fleet.leave("brief")
    fleet.wait()
    assert fleet.records_of("brief")[-1] is None


def test_progress_goes_on_while_nothing_happens(fleet: ListFleet):
    fleet.wait()
    before = {zone: len(said) for zone, said in fleet.progress.items()}

    def said_again() -> bool:
        fleet.read()
        return all(len(said) > before[zone] + 1 for zone, said in fleet.progress.items())

    eventually(said_again, "two more of each zone", 30.0)
    for said in fleet.progress.values():
        pauses = [b["at"] - a["at"] for a, b in pairwise(said)]
        assert min(pauses) >= 990


def test_metrics_count_what_changes_and_how_late_the_lists_are(fleet: ListFleet):
    fleet.want("counted", 0, 11)
    Crowd(fleet, seed=2).step(100)
    fleet.wait()
    changes = sum(
        record is not None and not record["first"]
        for key in fleet.keys_at
        for record in fleet.records_of(key)
    )
    assert zones_metric(fleet, "changed_lists_total") == changes
    assert zones_metric(fleet, "received_messages_total") >= changes
    with fleet.frozen("painter"):
        for number in range(5):
            fleet.put("late", number, 9.0)
        fleet.deliver()
        eventually(lambda: zones_metric(fleet, "lag_records") == 2 * 5, "both zones lag", 30.0)
        eventually(lambda: zones_metric(fleet, "lag_seconds") > 2 * 1.5, "for seconds", 30.0)
    fleet.wait()

    def all_is_in() -> bool:
        own = (fleet.metric("painter", f"podium_painter_lag_{of}") for of in ("records", "seconds"))
        of_zones = (zones_metric(fleet, f"lag_{of}") for of in ("records", "seconds"))
        return not any((*own, *of_zones))

    eventually(all_is_in, "no lag", 30.0)


def zones_metric(fleet: ListFleet, metric: str) -> float:
    return fleet.metric("zone", f"podium_zone_{metric}")


def test_why_an_object_is_or_is_not_in_a_list(fleet: ListFleet):
    """`podium explain` works the list out anew from the objects alone."""
    for number in range(5):
        fleet.put(f"why-{number}", 2 + number / 10, number - 1000)
    fleet.want("asks", 2, 3)
    fleet.want("few", 2, 3, k=1)
    fleet.want("far", 8, 9)
    fleet.wait()
    end = fleet.last_object()
    places = [f"0@{end - 4 + number}" for number in range(5)]

    first = explained(fleet, places[0], "asks")
    assert (first["verdict"], first["rank"], first["k"]) == ("in_answer", 1, 3)
    record = fleet.records_of("asks")[-1]
    assert record is not None
    listed = [explained(fleet, place, "asks")["in_answer"] for place in places]
    assert listed == [f"why-{n}" in {o["id"] for o in record["list"]} for n in range(5)]
    beaten = explained(fleet, places[4], "asks")
    assert (beaten["verdict"], beaten["rank"], beaten["kth"]) == ("beaten", 5, -998.0)
    assert beaten["matching"] >= 5
    assert explained(fleet, places[1], "few")["verdict"] == "beaten"
    outside = explained(fleet, places[0], "far")
    assert outside["verdict"] == "failed"
    assert [(c["attribute"], c["got"], c["held"]) for c in outside["checks"]] == [("x", 2.0, False)]
    assert explained(fleet, places[0], "nobody")["verdict"] == "unknown_subscription"

    fleet.remove("why-0")
    fleet.leave("few")
    fleet.wait()
    assert explained(fleet, f"0@{end + 1}", "asks")["verdict"] == "object_removed"
    assert explained(fleet, places[1], "few")["verdict"] == "unsubscribed"
    with fleet.frozen("zone"):
        fleet.put("why-9", 2.5, -2000.0)
        fleet.deliver()
        behind = explained(fleet, f"0@{end + 2}", "asks")
    assert behind["verdict"] == "not_in_yet"
    assert "zone 0 is at" in behind["sentence"]
    fleet.wait()
    assert explained(fleet, f"0@{end + 2}", "asks")["in_answer"]
