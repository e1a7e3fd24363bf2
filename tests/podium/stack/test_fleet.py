"""Which workers `podium up` starts for which collections."""

import pytest

from configs.collection import Collection
from podium.stack import Stack
from podium.stack.run import fleet


def names(stack_folder, collection, matchers=1):
    served = [fleet.Served(collection, "./some.yaml")]
    planned = fleet.plan(Stack(stack_folder), served, matchers, "podium")
    return [worker.name for worker in planned]


@pytest.mark.parametrize(
    ("settings", "started"),
    [
        ({}, ["parking-painter", "parking-zone"]),
        ({"painter": "batch"}, ["parking-zone"]),
        ({"deliver": "messages"}, ["parking-painter"]),
        ({"painter": "batch", "deliver": "messages"}, []),
    ],
)
def test_a_collection_of_lists_has_what_its_settings_leave_to_workers(
    stack_folder, settings, started
):
    collection = Collection(name="parking", kind="range_topk", **settings)
    assert names(stack_folder, collection) == started


def test_there_are_as_many_matchers_and_zones_as_one_wants_and_one_of_the_others(stack_folder):
    parking = Collection(name="parking", kind="range_topk")
    assert names(stack_folder, parking, 2) == [
        "parking-painter",
        "parking-zone-1",
        "parking-zone-2",
    ]
    ads = Collection(name="ads", kind="ranked", attributes=("age",))
    several = ["ads-router", "ads-matcher-1", "ads-matcher-2", "ads-merger"]
    assert names(stack_folder, ads, 2) == several
