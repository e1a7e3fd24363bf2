"""What a collection's settings make of its lists."""

import time

import pytest

from tests.fleet.list_fleet import Crowd
from tests.fleet.lists.conftest import MakeListFleet


@pytest.mark.parametrize(
    ("settings", "merged"),
    [
        ({"min_interval_ms": 300.0, "paint": "dense"}, True),
        ({"emit": "changes", "epsilon": 0.5}, False),
    ],
    ids=["put-off", "changes-approximate"],
)
def test_lists_are_right_whatever_is_emitted(
    make_list_fleet: MakeListFleet, settings: dict, merged: bool
):
    fleet = make_list_fleet("settings", collection=settings)
    fleet.start_all()
    crowd = Crowd(fleet, seed=3)
    for count in (100, 30, 30, 100):
        crowd.step(count)
    assert fleet.check(merged) > 10
    records = [record for key in fleet.keys_at for record in fleet.records_of(key) if record]
    assert all(record.get("approximate") == settings.get("epsilon") for record in records)
    if merged:
        assert len(records) < fleet.last_object(), "changes of the same lists are merged"
    fleet.stop()


def test_a_painter_that_was_away_for_too_long_sends_all_lists_anew(make_list_fleet: MakeListFleet):
    """Compaction may have taken what its world was made of when zones were told last."""
    fleet = make_list_fleet("away", collection={"retention": {"compaction_lag_minutes": 0.02}})
    fleet.start_all()
    crowd = Crowd(fleet, seed=5)
    crowd.step(150)
    fleet.check()
    assert fleet.terminate("painter")[0] == 0
    crowd.step(50)
    time.sleep(1.5)
    fleet.start("painter")
    fleet.check(merged=True)
    assert fleet.log("painter").count("sending all lists anew") == 2
    fleet.stop()
