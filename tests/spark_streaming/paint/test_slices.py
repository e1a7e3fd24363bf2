"""Objects in slices, each in a Spark task: the lists, the bytes and the names are as without."""

import random

import pytest

from spark_streaming.errors import JobError

SLICED = {"paint": "dense", "slices": 2}


def names(lists):
    """The base store's blobs, by the last part of their names."""
    return sorted(str(name).rpartition("/")[2] for name in lists.stage.blobs())


def test_lists_are_those_of_brute_force_after_every_batch(spark, make_lists):
    """Many objects share an x, and move from slice to slice."""
    lists, chance = make_lists(**SLICED), random.Random(1)
    with lists.zones:
        for count in (120, 200):
            lists.step(chance, count)
            lists.run(spark)
        lists.step(chance, 40, objects=False)
        lists.run(spark)
    assert lists.check() > 20
    assert len(lists.batch_ends()) == 3
    assert names(lists) == ["slice-0", "slice-0", "slice-1", "slice-1", "world", "world"]


def test_a_batch_that_is_repeated_says_and_stores_the_same(spark, make_lists):
    lists, chance = make_lists(**SLICED), random.Random(2)
    with lists.zones:
        for _ in range(2):
            lists.step(chance, 100)
            lists.run(spark)
        lists.zones.catch_up()
        said = [list(values) for values in lists.zones.taken]
        stored = lists.stage.blobs()
        for last in (lists.checkpoint / "commits" / "1", lists.checkpoint / "commits" / ".1.crc"):
            last.unlink(missing_ok=True)
        lists.run(spark)
    lists.check()
    for values, before in zip(lists.zones.taken, said, strict=True):
        again = values[len(before) :]
        assert again
        assert again == before[-len(again) :]
    assert lists.stage.blobs() == stored


def test_slices_say_what_one_driver_says(spark, make_lists):
    """Of objects that never share an x, to the byte but for the ids of topics."""
    chance = random.Random(3)
    rows = [
        (f"o-{n}", {"x": chance.randrange(12) + n / 100, "y": chance.randrange(8) / 2})
        for n in (chance.randrange(60) for _ in range(150))
    ]
    told = []
    for declared in ({"paint": "dense"}, SLICED):
        lists = make_lists(**declared)
        with lists.zones:
            for key in range(8):
                lists.send("subscriptions", f"s-{key}", {"range": [key, key + 5]})
            for start in range(0, len(rows), 50):
                for id, place in rows[start : start + 50]:
                    lists.send("objects", id, place)
                lists.run(spark)
        lists.check()
        told.append(
            {
                key: [(record["seq"], record["list"], record["changes"]) for record, _ in found]
                for key, found in lists.zones.told.items()
            }
        )
    assert told[0] == told[1]


def test_a_slice_that_is_lost_is_built_anew_with_the_world(spark, make_lists):
    """... in pieces of the log, so that no process holds all objects."""
    lists, chance = make_lists(**SLICED), random.Random(5)
    lists.stage.configure(most_changes=200)
    with lists.zones:
        for lost in (False, True, False):
            lists.step(chance, 110)
            if lost:
                for file in (lists.stage.folder / "bases").rglob("slice-1"):
                    file.unlink()
            lists.run(spark)
    lists.check(by_batches=False)
    assert {file.name for file in lists.checkpoint.glob("takeovers/[0-9]*")} == {"0", "1"}
    assert names(lists) == ["slice-0", "slice-0", "slice-1", "slice-1", "world", "world"]


def test_slices_are_cut_anew_when_one_has_grown(spark, make_lists, monkeypatch):
    monkeypatch.setattr("spark_streaming.driver.sliced_paint._WORTH_CUTTING", 20)
    lists = make_lists(**SLICED)
    with lists.zones:
        for first, count in ((0, 30), (20, 60), (40, 1)):
            for n in range(count):
                at = {"x": first + n % 10 + n / 100, "y": n % 7}
                lists.send("objects", f"o-{first}-{n}", at)
            lists.send("subscriptions", f"s-{first}", {"range": [first, None]})
            job = lists.run(spark)
    lists.check()
    paint = job._painter.world.paint
    assert paint.objects == 91
    assert max(paint._counts) < 60


def test_more_slices_than_spark_can_run_at_once_are_refused(spark, make_lists):
    lists = make_lists(paint="dense", slices=3)
    with pytest.raises(JobError, match="got 3 slices") as caught:
        lists.run(spark)
    assert "fewer slices" in caught.value.remedy
