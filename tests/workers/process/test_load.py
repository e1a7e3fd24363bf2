"""How busy a process is, by its threads."""

import sys
import threading

import pytest

from workers.process import metrics
from workers.process.health import LoadMeter, busy_share, work_of_threads


@pytest.mark.skipif(sys.platform != "linux", reason="other systems tell of the process only")
def test_the_work_of_a_thread_is_its_own():
    own = str(threading.get_native_id())
    resting = threading.Event()
    other = threading.Thread(target=resting.wait)
    other.start()
    try:
        before = work_of_threads()
        sum(range(3_000_000))
        after = work_of_threads()
    finally:
        resting.set()
        other.join()
    worked = {thread: after[thread] - before[thread] for thread in after.keys() & before.keys()}
    assert max(worked, key=worked.get) == own
    assert worked[own] > 10 * worked[str(other.native_id)]


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        pytest.param({"1": 5.0}, {"1": 6.0}, 0.5, id="half"),
        pytest.param({"1": 5.0}, {"1": 5.2, "2": 1.0}, 0.5, id="a-thread-that-is-new"),
        pytest.param({"1": 5.0, "2": 9.0}, {"1": 5.2}, 0.1, id="a-thread-that-has-gone"),
        pytest.param({"1": 0.0}, {"1": 2.1}, 1.0, id="no-more-than-all"),
        pytest.param({}, {}, 0.0, id="no-thread"),
    ],
)
def test_the_busiest_thread_counts(before, after, share):
    assert busy_share(before, after, 2.0) == pytest.approx(share)


def test_the_meter_tells_and_ends_with_the_worker(monkeypatch):
    monkeypatch.setattr("workers.process.health._LOAD_EVERY_S", 0.01)
    stopping, told = threading.Event(), threading.Event()
    readings = iter([{"1": 0.0}, {"1": 1000.0}])

    def work():
        reading = next(readings, None)
        if reading is None:
            told.set()
            return {}
        return reading

    meter = LoadMeter("metered", stopping, work)
    meter.start()
    assert told.wait(30)
    stopping.set()
    meter.join(30)
    assert not meter.is_alive()
    assert ("metered",) in metrics.BUSY_SHARE._metrics
