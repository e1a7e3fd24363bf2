"""A collection that goes from a live painter to batches and back, with real workers."""

import threading

import pytest

from configs import load_collection, load_settings
from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.paint import PaintJob
from spark_streaming.errors import JobError, UsageError
from spark_streaming.jobs import require_batch_painter
from spark_streaming.running import await_query
from tests.fleet.list_fleet import Crowd
from tests.fleet.lists.conftest import make_list_fleet  # noqa: F401 (a fixture)
from tests.spark_streaming.paint.list_collection import mend_reasons


def test_lists_stay_right_from_live_to_batch_and_back(spark, make_list_fleet, tmp_path):  # noqa: F811
    fleet = make_list_fleet("moves", settings={"spark": {"checkpoints": str(tmp_path)}})
    fleet.start_all()
    crowd = Crowd(fleet, seed=1)

    def declared():
        return load_settings(fleet.settings_path), load_collection(fleet.collection_path)

    def paint():
        job = PaintJob(CollectionIO(spark, *declared()))
        await_query(job.start(once=True), job, threading.Event())

    def check():
        history = fleet.wait()
        mend_reasons(fleet._matches, history)
        fleet.check(merged=True)  # what happens while nobody paints comes in one record

    crowd.step(150)
    check()
    with pytest.raises(UsageError, match="painter: live; a worker paints it"):
        require_batch_painter(*declared())
    fleet.declare(painter="batch")
    with pytest.raises(JobError, match="a painter is running"):
        require_batch_painter(*declared())
    assert fleet.terminate("painter")[0] == 0
    require_batch_painter(*declared())
    for count in (100, 50):
        crowd.step(count)
        paint()
        check()
    fleet.declare(painter="live")
    crowd.step(50)
    fleet.start("painter")
    fleet.wait_ready("painter")
    crowd.step(100)
    check()
    fleet.terminate("painter")
    fleet.declare(painter="batch")
    crowd.step(50)
    paint()
    check()
