"""How busy a worker is: the share of the time in which its busiest thread works, or would.

A thread that waits for a processor has work to do as well, so on a machine that is full a worker
is busier than its share of the processors.  Linux tells both times of each thread; elsewhere the
processor time of the whole process is all there is.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

from workers.process import metrics

_EVERY_S = 2.0
_TASKS = Path("/proc/self/task")

Seconds = dict[str, float]


def work_of_threads() -> Seconds:
    """Seconds in which each thread has had a processor or has waited for one."""
    if not _TASKS.is_dir():
        return {"process": time.process_time()}
    found = {}
    for task in _TASKS.iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            running, waiting, _ = (task / "schedstat").read_text().split()
            found[task.name] = (int(running) + int(waiting)) / 1e9
    return found or {"process": time.process_time()}


def busy_share(before: Seconds, after: Seconds, elapsed_s: float) -> float:
    """
    >>> busy_share({"1": 2.0, "2": 7.0}, {"1": 3.5, "2": 7.1}, 2.0)
    0.75
    """
    worked = (seconds - before.get(thread, 0.0) for thread, seconds in after.items())
    return min(1.0, max(worked, default=0.0) / max(elapsed_s, 1e-9))


class LoadMeter(threading.Thread):
    """Publishes the busy share every two seconds until the worker stops."""

    def __init__(
        self,
        collection: str,
        stopping: threading.Event,
        work: Callable[[], Seconds] = work_of_threads,
    ) -> None:
        super().__init__(name="load", daemon=True)
        self._collection, self._stopping, self._work = collection, stopping, work

    def run(self) -> None:
        before, at = self._work(), time.monotonic()
        while not self._stopping.wait(_EVERY_S):
            after, now = self._work(), time.monotonic()
            share = busy_share(before, after, now - at)
            metrics.BUSY_SHARE.labels(self._collection).set(share)
            before, at = after, now
