"""Who has to be through before a key that had unsubscribed gets a list again."""

from collections import defaultdict
from typing import NamedTuple

from topics.messages import life_of
from topics.zones.gone import GoneKeys

SHARDS = 2


class Leaver(NamedTuple):
    key: bytes
    by: int
    follows: bool = False
    life: int = 0


def ended(key: bytes, shard: int, offset: int, follows: bool = False) -> Leaver:
    return Leaver(key, life_of(shard, offset, SHARDS), follows)


def gone(*leavers: tuple[int, Leaver]) -> GoneKeys:
    """Of zones and who leaves there."""
    keys = GoneKeys(SHARDS)
    for zone, leaver in leavers:
        keys.add({zone: [leaver]})
    return keys


def left(**offsets: int):
    """Of zones and shards, by `z0s1` and the like."""
    said = defaultdict(lambda: -1, offsets)
    return lambda zone, shard: said[f"z{zone}s{shard}"]


def test_a_key_waits_for_the_zone_that_it_has_left_for_another():
    keys = gone((0, ended(b"u", 1, 7)), (2, ended(b"v", 1, 9)), (0, ended(b"w", 1, 8)))
    assert keys.take({b"u": 1, b"v": 2, b"w": 1, b"x": 0}) == {(0, 1): 8}
    assert len(keys) == 0


def test_a_key_waits_once():
    keys = gone((0, ended(b"u", 0, 7)))
    assert keys.take({b"u": 1})
    assert keys.take({b"u": 0}) == {}


def test_who_begins_another_life_has_not_gone():
    assert gone((0, ended(b"u", 0, 7, follows=True))).take({b"u": 1}) == {}


def test_the_last_time_counts():
    keys = gone((0, ended(b"u", 0, 7)), (1, ended(b"u", 0, 9)))
    assert keys.take({b"u": 0}) == {(1, 0): 9}


def test_what_is_written_is_forgotten():
    keys = gone((0, ended(b"u", 0, 7)), (0, ended(b"v", 0, 9)), (1, ended(b"w", 1, 3)))
    keys.forget(left(z0s0=8, z1s0=9))
    assert keys.all_waits() == {(0, 0): 9, (1, 1): 3}
    keys.forget(left(z0s0=9, z1s1=3))
    assert len(keys) == 0


def test_of_a_key_whose_zone_nobody_knows_only_resets_matter():
    keys = GoneKeys(SHARDS)
    keys.add({}, [(b"u", life_of(0, 4, SHARDS)), (b"v", life_of(0, 5, SHARDS))])
    assert keys.take({b"u": 1}) == {}
    keys.reset(0, [6, 0])
    assert keys.take({b"v": 1}) == {(0, 0): 5}


def test_a_zone_in_a_reset_may_write_the_nulls_of_others():
    keys = gone((0, ended(b"u", 0, 7)), (0, ended(b"v", 0, 30)), (0, ended(b"w", 0, 8)))
    keys.reset(2, [10, 4])
    keys.forget(left(z0s0=8))
    assert len(keys) == 3, "zone 2 is not through"
    assert keys.take({b"u": 1}) == {(0, 0): 7, (2, 0): 7}
    assert keys.take({b"v": 1}) == {(0, 0): 30}, "the reset is as of records before it"
    keys.forget(left(z0s0=8, z2s0=9, z2s1=3))
    assert len(keys) == 0


def test_keys_come_out_of_arrays_as_they_went_in():
    keys = gone((0, ended(b"u", 0, 7)), (1, ended(b"two", 1, 2)))
    keys.add({}, [(b"", life_of(1, 3, SHARDS))])
    again = GoneKeys.from_arrays(keys.to_arrays(), SHARDS)
    assert len(again) == 3
    assert again.all_waits() == keys.all_waits() == {(0, 0): 7, (1, 1): 2}
    assert len(GoneKeys.from_arrays(GoneKeys(SHARDS).to_arrays(), SHARDS)) == 0
