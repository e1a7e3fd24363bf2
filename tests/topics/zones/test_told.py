"""Whether a painter can go on where the zones are."""

import numpy as np
import pytest

from indexes.paint.world import slices_of
from topics.messages import FORGET, LAST, LISTS, ZoneRecord
from topics.zones.told import Told, begun_batches, common_position, is_usable

WORLD = 7
SLICES = slices_of([5.0])


def record(zone: int, **fields) -> ZoneRecord:
    low, high = SLICES[zone]
    usual = {"objects": 10, "positions": np.array([3, 4]), "world": WORLD, "epoch": 1}
    usual |= {"begun": np.array([3, 4])}
    return ZoneRecord(zone, 2, low, high, **(usual | fields))


def told(**fields) -> list[Told]:
    """What was said last to two zones; `fields` are of the second."""
    return [Told(record(0), False, at_ms=100), Told(record(1, **fields), False, at_ms=90)]


def test_what_all_zones_have_heard_is_the_least_by_topic():
    zones = [record(0), record(1, objects=8, positions=np.array([5, 2]))]
    assert common_position(zones) == (8, [3, 2])


def test_the_batch_that_was_begun_is_the_one_that_any_zone_has_heard_of():
    zones = [record(0), record(1, begun=np.array([3, 9]))]
    assert begun_batches(zones) == [3, 9]


def test_a_painter_goes_on_with_zones_that_are_as_it_wants_them():
    assert is_usable(told(), WORLD, SLICES)
    assert is_usable(told(), WORLD, None)
    assert is_usable(told(phase=LAST, reset=1), WORLD, SLICES)


@pytest.mark.parametrize(
    "fields",
    [
        {"world": WORLD + 1},
        {"more": True},
        {"phase": FORGET, "reset": 1},
        {"phase": LISTS, "reset": 1},
    ],
    ids=lambda fields: next(iter(fields)) + str(next(iter(fields.values()))),
)
def test_a_zone_in_the_middle_of_something_is_reset(fields):
    assert not is_usable(told(**fields), WORLD, SLICES)


def test_zones_that_are_cut_elsewhere_are_reset():
    assert not is_usable(told(), WORLD, slices_of([6.0]))


def test_a_zone_to_which_nothing_was_said_is_reset():
    assert not is_usable([*told()[:1], Told(None, is_new=True)], WORLD, None)


def test_what_was_said_before_the_logs_were_compacted_is_too_old():
    assert is_usable(told(), WORLD, SLICES, since_ms=90)
    assert not is_usable(told(), WORLD, SLICES, since_ms=91)
