"""The job as people start it: a process of its own, killed, on a cluster, by spark-submit."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from podium.stack.run import ports
from tests.spark_streaming.test_backfill import (
    expected_records,
    last_offsets,
    matches_by_event,
    send_events,
)

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 240


@pytest.fixture
def run(tmp_path):
    """Runs a command to its end in an empty folder; a failure shows what it said."""

    def run(*command: object) -> subprocess.CompletedProcess:
        ended = subprocess.run(
            [*map(str, command)],
            cwd=tmp_path,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr[-4000:]
        return ended

    return run


def _environment():
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PODIUM_")}
    # spark-submit looks for PySpark with the first Python that it finds.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**ours, "PYTHONPATH": str(ROOT), "PATH": path}


def _command(stage):
    told = ("--collection", stage.collection_path, "--config", stage.settings_path)
    return [sys.executable, "-m", "podium", "spark", "sopt-bases", "--once", *map(str, told)]


SHARDS = 6


# A batch that is repeated is in `test_sopt_bases.py`, a kill in `test_backfill_killed.py`.
@pytest.mark.long
def test_a_driver_killed_again_and_again_loses_nothing(spark, make_stage, tmp_path):
    """In its first batch, in one that goes on from bases, and before it can note its success."""
    stage = make_stage(shards=SHARDS)
    stage.configure(master="local[1]")  # one shard after the other, so that there is a middle
    stage.send_random(1, count=20_000, keys=15_000)
    _kill_when(lambda: _shards_with_bases(stage, 1), _command(stage), tmp_path)
    assert 0 < _shards_with_bases(stage, 1) < SHARDS
    assert not stage.read("bases")
    assert _batches(stage, "offsets") == ["0"]
    assert _batches(stage, "commits") == []

    stage.send_random(2, count=5_000, keys=15_000)
    _kill_when(lambda: _shards_with_bases(stage, 2), _command(stage), tmp_path)
    assert 0 < _shards_with_bases(stage, 2) < SHARDS
    assert len(stage.read("bases")) == SHARDS
    assert (_batches(stage, "offsets"), _batches(stage, "commits")) == (["0", "1"], ["0"])

    script = Path(__file__).with_name("mortal_run.py")
    command = [sys.executable, script, stage.settings_path, stage.collection_path]
    with pytest.raises(AssertionError, match="ended by itself"):  # it does, by SIGKILL
        _kill_when(lambda: False, [*map(str, command)], tmp_path)
    assert len(stage.read("bases")) == 2 * SHARDS
    assert (_batches(stage, "offsets"), _batches(stage, "commits")) == (["0", "1"], ["0"])

    stage.run(spark)
    assert _batches(stage, "commits") == ["0", "1"]
    stage.check_bases()
    announced = stage.announced()
    killed = {name: data for name, data in stage.blobs().items() if "/." not in name}
    _run_unharmed(stage, spark)
    assert len(killed) == SHARDS * 2 * 2  # every batch has a tree and a state of each shard
    assert stage.blobs() == killed
    for shard, bases in stage.announced().items():
        first, second = bases[0], bases[-1]
        assert announced[shard] == [first, second, second]
        assert bases[len(announced[shard]) :] == [first, second]


def _run_unharmed(stage, spark):
    """Anew with the first batch as it was planned, so that both batches have the same records."""
    kept = (stage.checkpoint / "offsets" / "0").read_bytes()
    identity = (stage.checkpoint / "podium.json").read_bytes()
    shutil.rmtree(stage.folder / "bases")
    shutil.rmtree(stage.folder / "checkpoints")
    (stage.checkpoint / "offsets").mkdir(parents=True)
    (stage.checkpoint / "offsets" / "0").write_bytes(kept)
    (stage.checkpoint / "podium.json").write_bytes(identity)
    stage.run(spark)


def _shards_with_bases(stage, batches):
    """How many shards have whole trees of so many batches."""
    root = stage.folder / "bases"
    shards = [file.relative_to(root).parts[2] for file in root.rglob("tree-0")]
    return sum(count >= batches for count in Counter(shards).values())


def _batches(stage, log):
    folder = stage.checkpoint / log
    return sorted(file.name for file in folder.glob("*") if file.name.isdigit())


def _kill_when(condition, command, tmp_path):
    with (tmp_path / "killed.log").open("w") as log:
        driver = subprocess.Popen(
            command, cwd=tmp_path, env=_environment(), stderr=log, start_new_session=True
        )
        try:
            _wait_for(condition, driver)
        finally:
            if driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)  # the driver, its JVM, the tasks' Pythons
            driver.wait()


@pytest.mark.long  # `podium/stack/test_jobs.py` starts one, reads its metrics and ends it
def test_a_running_job_serves_its_metrics_and_ends_when_it_is_told_to(make_stage, tmp_path):
    stage = make_stage(shards=1)
    stage.configure(master="local[1]", trigger_s=0.1, least_changes=1)
    stage.send_random(1, count=20)
    (port,) = ports.choose(1)
    command = [part for part in _command(stage) if part != "--once"]
    with (tmp_path / "job.log").open("w") as log:
        job = subprocess.Popen(
            [*command, "--http-port", str(port)],
            cwd=tmp_path,
            env=_environment(),
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait_for(lambda: stage.read("bases"), job)
        age = f'podium_spark_base_age_seconds{{collection="{stage.name}",shard="0"}}'
        _wait_for(lambda: age in _metrics(port), job)
        job.send_signal(signal.SIGTERM)
        assert job.wait(PATIENCE_S) == 0, (tmp_path / "job.log").read_text()[-4000:]
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
    stage.check_bases()


def _metrics(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return answer.read().decode()


def _wait_for(condition, process):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, "the process ended by itself"
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.long  # `test_package.py` has what is sent
def test_executors_of_a_cluster_get_our_packages_and_do_both_jobs(make_stage, run):
    stage = make_stage(partitions={"events": 2})
    stage.configure(master="local-cluster[2,1,1024]")
    stage.send_random(1, count=100)
    send_events(stage, 30)
    script = Path(__file__).with_name("cluster_run.py")
    told = (stage.settings_path, stage.collection_path, stage.topic("matches"))
    ended = run(sys.executable, script, *told)
    told = json.loads(ended.stdout)
    assert len(told["daemons"]) == 2
    assert len(told["files"]) >= 2
    assert all("podium.zip" in file for file in told["files"])
    assert told["matched"] == 30
    stage.check_bases()
    assert matches_by_event(stage) == expected_records(stage, last_offsets(stage))


def test_a_backfill_shows_its_progress_and_what_it_has_done(make_stage, run):
    stage = make_stage(partitions={"events": 2})
    stage.send_random(1, count=60)
    send_events(stage, 30)
    told = ("--collection", stage.collection_path, "--config", stage.settings_path)
    where = ("--master", "local[1]", "--to", "0@999,1@0", "--topic", stage.topic("matches"))
    podium = (sys.executable, "-m", "podium")
    ended = run(*podium, "spark", "backfill", *told, *where)
    events = sum(message.partition() == 0 for message in stage.read("events"))
    assert 0 < events < 30
    assert ended.stdout == f"matched {events} events\n"
    assert re.search(rf"backfill: 100 %, {events} of {events} events, [\d,]+/s, 0 s", ended.stderr)
    assert "Traceback" not in ended.stderr
    expected = expected_records(stage, last_offsets(stage), lambda event: event.partition() == 0)
    assert matches_by_event(stage) == expected


@pytest.mark.long  # as `podium spark` does, above and in `podium/stack/test_jobs.py`
def test_spark_submit_runs_the_same_jobs(make_stage, run, jars):
    stage = make_stage(shards=1, partitions={"events": 1})
    stage.send_random(1, count=30)
    send_events(stage, 10)
    submit = Path(sys.executable).with_name("spark-submit")
    options = ["--master", "local[2]", "--jars", ",".join(map(str, jars))]
    job = [submit, *options, ROOT / "spark_streaming" / "jobs.py"]
    told = ["--collection", stage.collection_path, "--config", stage.settings_path]
    run(*job, "sopt-bases", *told, "--once")
    stage.check_bases()
    ended = run(*job, "backfill", *told, "--topic", stage.topic("matches"))
    assert "backfill: 100 %, 10 of 10 events" in ended.stdout  # where spark-submit puts our stderr
    assert matches_by_event(stage) == expected_records(stage, last_offsets(stage))
