"""A backfill killed in the middle and started again: nothing is lost, nothing is different."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spark_streaming.driver.pieces import BackfillRequest
from tests.retention import delete_records
from tests.spark_streaming.test_backfill import (
    expected_records,
    last_offsets,
    matches_by_event,
    send_events,
)

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 150
EVENTS, PIECE = 240, 20


@pytest.mark.parametrize("to", ["topic", pytest.param("parquet", marks=pytest.mark.long)])
def test_a_backfill_killed_in_the_middle_goes_on_to_the_same_results(
    spark, make_stage, tmp_path, to
):
    stage = make_stage(partitions={"events": 2}, attributes=["age", "visits"])
    stage.configure(master="local[1]")
    stage.send_random(1, count=200)
    send_events(stage, EVENTS)
    expected = expected_records(stage, last_offsets(stage))
    topic, folder = stage.topic("matches"), str(stage.folder / "out")
    request = BackfillRequest(None, None, *((topic, None) if to == "topic" else (None, folder)))
    done = Path(stage.backfill(spark, request).checkpoint_path, "done")
    _kill_when(lambda: done.exists() and len(_finished(done)) >= 3, stage, request, tmp_path)
    assert 3 <= len(_finished(done)) < EVENTS // PIECE
    # Meanwhile subscriptions change, and Kafka forgets the records that the run began with.
    stage.send_random(2, count=200)
    _forget_subscriptions(stage)
    again = stage.backfill(spark, request)
    assert 0 < again.run(999) <= EVENTS - 3 * PIECE
    found = matches_by_event(stage) if to == "topic" else _from_parquet(folder)
    assert found == expected
    assert not [name for name in stage.blobs() if name.endswith("state")]


def test_a_run_killed_after_its_last_piece_leaves_no_states(spark, make_stage):
    stage = make_stage(shards=1, partitions={"events": 1})
    stage.send_random(1, count=20)
    send_events(stage, 5)
    request = BackfillRequest(None, None, None, str(stage.folder / "out"))
    job = stage.backfill(spark, request)
    job._drop_states = lambda as_of: None  # as if it had been killed before
    job.run()
    assert [name for name in stage.blobs() if name.endswith("state")]
    assert stage.backfill(spark, request).run() == 0
    assert not stage.blobs()


def _kill_when(condition, stage, request, tmp_path):
    command = [sys.executable, Path(__file__).with_name("backfill_run.py"), stage.settings_path]
    command += [stage.collection_path, request.topic or "", request.parquet or "", PIECE]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (tmp_path / "killed.log").open("w") as log:
        run = subprocess.Popen(
            [*map(str, command)], env=environment, stderr=log, start_new_session=True
        )
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not condition():
                assert run.poll() is None, (tmp_path / "killed.log").read_text()[-4000:]
                assert time.monotonic() < deadline
                time.sleep(0.002)
        finally:
            os.killpg(run.pid, signal.SIGKILL)  # the driver, its JVM and the tasks' Pythons
            run.wait()


def _finished(done):
    return [file for file in done.iterdir() if file.name.isdigit()]


def _forget_subscriptions(stage):
    """Harder than compaction, which keeps the latest record of a key, but as sudden."""
    ends = {shard: last + 1 for shard, last in enumerate(last_offsets(stage))}
    delete_records(stage.brokers, stage.topic("subscriptions"), ends)


def _from_parquet(folder):
    rows = pq.read_table(folder).to_pylist()
    found = {row["event"]: (row["key"], row["matches"]) for row in rows}
    assert len(found) == len(rows)
    return found
