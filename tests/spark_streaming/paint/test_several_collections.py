"""One job that paints several collections: side by side, and together to its end."""

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from spark_streaming.errors import ForeignCheckpoint, OffsetsLost
from spark_streaming.jobs import main, paint
from tests.retention import delete_records

ROOT = Path(__file__).parents[3]
PATIENCE_S = 240


@pytest.fixture
def two(make_lists):
    """Two collections with the settings, checkpoints and base store of the first."""
    one, other = make_lists(), make_lists(paint="dense", zones=3, zone_bounds=[3.0, 7.0])
    shared = one.stage.settings.spark
    store = f"file://{one.stage.folder}/bases"
    one.stage.configure(trigger_s=0.1, least_changes=1)
    other.stage.configure(
        trigger_s=0.1, least_changes=1, checkpoints=shared.checkpoints, bases=store
    )
    return one, other


def run(spark, two, once=True):
    collections = [lists.collection for lists in two]
    paint(spark, two[0].stage.settings, collections, once, threading.Event())


def test_the_lists_of_two_collections_are_those_of_brute_force(spark, two):
    chance = random.Random(1)
    with two[0].zones, two[1].zones:
        for count in (200, 100):
            for lists in two:
                lists.step(chance, count)
            run(spark, two)
    for lists in two:
        assert lists.check() > 10
        assert len(lists.batch_ends()) == 2


@pytest.mark.long  # the same in a process of its own
def test_one_command_keeps_the_lists_of_two_collections_right(two, tmp_path):
    chance = random.Random(1)
    named = [part for one in two for part in ("--collection", str(one.stage.collection_path))]
    command = [sys.executable, "-m", "podium", "spark", "paint-batch", "--once", *named]
    with two[0].zones, two[1].zones:
        for lists in two:
            lists.step(chance, 200)
        ended = subprocess.run(
            [*command, "--config", two[0].stage.settings_path, "--master", "local[2]"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr[-4000:]
    for lists in two:
        assert lists.check() > 5


def test_one_collection_does_not_wait_for_the_zones_of_another(spark, two):
    one, other = two
    for lists in two:
        for x in range(10):
            lists.send("objects", f"o-{x}", {"x": x, "y": 1})
        lists.send("subscriptions", "mover", {"range": [0, 3]})
        lists.stage.flush()
    run(spark, two)
    for lists in two:
        lists.send("subscriptions", "mover", {"range": [8, 9]})
        lists.stage.flush()
    painting = threading.Thread(target=run, args=(spark, two))
    with other.zones:
        painting.start()
        _wait_for(other.checkpoint / "commits" / "1")
        assert not (one.checkpoint / "commits" / "1").exists(), "its zones have not answered"
        with one.zones:
            painting.join(PATIENCE_S)
    assert not painting.is_alive()
    for lists in two:
        assert lists.check() == 2


def _wait_for(file):
    deadline = time.monotonic() + PATIENCE_S
    while not file.exists():
        assert time.monotonic() < deadline, f"no {file}"
        time.sleep(0.05)


def test_one_that_fails_is_named_and_the_others_go_on_with_the_next_start(spark, two):
    one, other = two
    chance = random.Random(2)
    with one.zones, other.zones:
        for lists in two:
            lists.step(chance, 60)
        run(spark, two)
        for lists in two:
            lists.step(chance, 60)
        _forget_objects(other)
        with pytest.raises(OffsetsLost, match=f"collection {other.stage.name}: .* no longer has"):
            run(spark, two, once=False)
        assert spark.streams.active == []
        one.step(chance, 60)
        run(spark, [one])
    one.check()


def _forget_objects(lists):
    """As if retention had been quicker than the job."""
    end = len(lists.stage.read("objects"))
    delete_records(lists.stage.brokers, lists.stage.topic("objects"), {0: end})


def test_one_that_cannot_start_is_named_and_no_other_stays(spark, two):
    one, other = two
    other.checkpoint.mkdir(parents=True)
    (other.checkpoint / "podium.json").write_text('{"job": "sopt-bases"}')
    with pytest.raises(ForeignCheckpoint, match=f"collection {other.stage.name}: ") as caught:
        run(spark, [one, other], once=False)
    assert "set another spark.checkpoints" in caught.value.remedy
    assert spark.streams.active == []


def test_jobs_of_one_collection_do_not_take_several(monkeypatch, two, caplog):
    monkeypatch.setattr("spark_streaming.jobs.log_to_stderr", lambda throttled: None)
    named = [part for one in two for part in ("--collection", str(one.stage.collection_path))]
    assert main(["sopt-bases", *named, "--config", str(two[0].stage.settings_path)]) == 2
    assert "got 2 collections, expected one: only paint-batch takes several" in caplog.text
