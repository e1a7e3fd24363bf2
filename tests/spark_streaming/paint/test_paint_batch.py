"""Lists that batches keep right: against brute force, repeated, killed, and with slow zones."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spark_streaming.driver.zone_voice import ZonesLate
from tests.fleet.bad_input.bad_lists import OBJECT, OBJECTS, SUBSCRIPTION, SUBSCRIPTIONS

ROOT = Path(__file__).parents[3]
PATIENCE_S = 240


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param({"zones": 3, "zone_bounds": [3.0, 7.0]}, id="sparse"),
        pytest.param({"paint": "dense", "zone_bounds": []}, id="dense", marks=pytest.mark.long),
    ],
)
def test_lists_are_those_of_brute_force_after_every_batch(spark, make_lists, declared):
    lists, chance = make_lists(**declared), random.Random(1)
    with lists.zones:
        for count in (120, 200, 1, 300):
            lists.step(chance, count)
            lists.run(spark)
    assert lists.check() > 20
    assert len(lists.batch_ends()) == 4


def test_a_batch_that_is_repeated_says_and_stores_the_same(spark, make_lists):
    lists, chance = make_lists(), random.Random(2)
    with lists.zones:
        for _ in range(3):
            lists.step(chance, 150)
            lists.run(spark)
        lists.zones.catch_up()
        told = {key: list(found) for key, found in lists.zones.told.items()}
        said = [list(values) for values in lists.zones.taken]
        worlds = lists.stage.blobs()
        for last in (lists.checkpoint / "commits" / "2", lists.checkpoint / "commits" / ".2.crc"):
            last.unlink(missing_ok=True)
        lists.run(spark)
    lists.check()
    again = [values[len(before) :] for values, before in zip(lists.zones.taken, said, strict=True)]
    for values, before in zip(again, said, strict=True):
        assert values
        assert values == before[-len(values) :]
    assert lists.stage.blobs() == worlds
    assert len(worlds) == 2
    assert lists.zones.told == told, "zones have it already"


@pytest.mark.parametrize("once", [True, False], ids=["once", "running"])
def test_a_backlog_is_several_batches_which_are_repeated_as_they_were(spark, make_lists, once):
    lists, chance = make_lists(), random.Random(8)
    lists.stage.configure(trigger_s=0.1, least_changes=1000, longest_wait_s=600, most_changes=100)
    lists.step(chance, 350)
    with lists.zones:
        if once:
            lists.run(spark)
        else:
            lists.run_until(spark, lambda: len(lists.commits()) >= 3)
        lists.stage.configure(most_changes=1000)
        ends = lists.batch_ends()
        for unfinished in (lists.commits()[-1], f".{lists.commits()[-1]}.crc"):
            (lists.checkpoint / "commits" / unfinished).unlink(missing_ok=True)
        lists.run(spark)
    assert lists.batch_ends()[: len(ends)] == ends, (
        "the limit of now does not move the ends of before"
    )
    assert len(ends) >= 3
    assert max(lists.batch_sizes()[: len(ends)]) <= 100 + 3, "one more of each partition"
    assert lists.check() > 10


@pytest.mark.parametrize("batch", ["1", pytest.param("0", marks=pytest.mark.long)])
def test_a_driver_killed_in_the_middle_loses_nothing(spark, make_lists, tmp_path, batch):
    lists, chance = make_lists(), random.Random(3)
    lists.stage.configure(master="local[1]")
    with lists.zones:
        lists.step(chance, 200)
        if batch == "1":
            lists.run(spark)
        lists.step(chance, 200)
        _run_until_it_dies(lists, tmp_path)
        assert not (lists.checkpoint / "commits" / batch).exists()
        lists.zones.catch_up()
        lists.step(chance, 100)
        lists.run(spark)
    assert lists.check() > 20


def _run_until_it_dies(lists, tmp_path):
    script = Path(__file__).with_name("mortal_painter.py")
    told = [script, lists.stage.settings_path, lists.stage.collection_path]
    ended = subprocess.run(
        [sys.executable, *map(str, told)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        start_new_session=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-4000:]


def test_zones_that_do_not_answer_fail_the_batch_which_is_repeated(spark, make_lists):
    lists = make_lists()
    for x in range(10):
        lists.send("objects", f"o-{x}", {"x": x, "y": 1})
    lists.send("subscriptions", "mover", {"range": [0, 3]})
    lists.run(spark)
    lists.send("subscriptions", "mover", {"range": [7, 9]})
    lists.send("objects", "o-8", {"x": 8, "y": 0})
    with pytest.raises(ZonesLate, match="let go of subscriptions that have moved") as caught:
        lists.run(spark, patience_s=1.0)
    assert "repeats the batch" in caught.value.remedy
    with lists.zones:
        lists.run(spark)
    lists.check()
    records = [record for record, _ in lists.zones.told["mover"]]
    assert [len(record["list"]) for record in records if record["first"]] == [3, 3]
    assert records[-1]["list"][0]["id"] == "o-8"


def test_zones_that_have_lost_their_lists_get_them_with_the_next_batch(spark, make_lists):
    """Those that others leave for as well, which are waited for."""
    lists, chance = make_lists(), random.Random(4)
    with lists.zones:
        lists.step(chance, 200)
        lists.run(spark)
    lists.zones.catch_up()
    for zone in lists.zones.lists:
        zone.lose()
    lists.zones.take(0.1)
    with lists.zones:
        lists.step(chance, 100)
        lists.run(spark)
        lists.step(chance, 20)
        lists.run(spark)
    lists.check(by_batches=False)
    assert all(zone.is_live for zone in lists.zones.lists)


def test_a_world_that_is_lost_is_built_anew_and_lists_are_sent_again(spark, make_lists):
    lists, chance = make_lists(), random.Random(5)
    with lists.zones:
        for lost in (False, True, False):
            lists.step(chance, 120)
            if lost:
                for file in (lists.stage.folder / "bases").rglob("world"):
                    file.write_bytes(file.read_bytes()[:-1])
            lists.run(spark)
    lists.check(by_batches=False)
    assert {file.name for file in lists.checkpoint.glob("takeovers/[0-9]*")} == {"0", "1"}


def test_other_zone_bounds_send_all_lists_anew(spark, make_lists):
    lists, chance = make_lists(), random.Random(6)
    with lists.zones:
        lists.step(chance, 150)
        lists.run(spark)
        lists.stage.collection = lists.collection.model_copy(update={"zone_bounds": (8.0,)})
        lists.step(chance, 50)
        lists.run(spark)
    lists.check(by_batches=False)


def test_bad_records_become_dead_letters_once_and_change_nothing(spark, make_lists):
    lists, chance = make_lists(), random.Random(7)
    bad = {"objects": OBJECTS, "subscriptions": SUBSCRIPTIONS}
    with lists.zones:
        lists.send("objects", OBJECT, {"x": 3, "y": 0.5})
        lists.send("subscriptions", SUBSCRIPTION, {"range": [2, 4]})
        for topic, records in bad.items():
            for record in records:
                lists.send_bad(topic, record)
                lists.step(chance, 3)
        lists.run(spark)
        (lists.checkpoint / "commits" / "0").unlink()
        lists.run(spark)
    assert lists.check() > 10
    for topic, records in bad.items():
        letters = lists.stage.read(f"{topic}.dlq")
        fields = {
            (one.key(), one.value()): _field(one, lists.stage.topic(topic)) for one in letters
        }
        assert len(letters) == len(records)
        assert fields == {(one.key, one.value): one.field for one in records}


def _field(letter, topic):
    """At fault, as the letter says."""
    told = {name: value.decode() for name, value in letter.headers()}
    assert told["podium-topic"] == topic
    assert int(told["podium-offset"]) >= 0
    return told["podium-error-field"]
