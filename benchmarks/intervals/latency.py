"""How long a query takes while another thread inserts.

An index is used by one thread at a time, so both take a lock.  Queries are due at fixed times,
whether the one before is answered or not, and what counts is the time from when a query was due
to its answer: waiting for the lock, for the interpreter and for the timer is part of it.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.intervals.lab import build
from benchmarks.workloads.zipf_intervals import Intervals, Zipf
from indexes.intervals.live import LiveSOPT

__all__ = ["BATCH", "BATCHES_S", "TURNS", "Latencies", "measure_latencies"]

BATCH = 100  # subscriptions inserted under one lock
BATCHES_S = 100
_QUERIES_S = 400
TURNS = 8


@dataclass(frozen=True)
class Latencies:
    """Seconds, at the median and at the 99th percentile, each of the quietest turn."""

    idle_p50: float
    idle_p99: float
    busy_p50: float
    busy_p99: float
    inserted_s: float  # subscriptions that were inserted a second

    @property
    def ratio(self) -> float:
        return self.busy_p99 / self.idle_p99

    @property
    def noisy(self) -> bool:
        """Whether queries were held up for long even when nothing was inserted."""
        return self.idle_p99 > 5 * self.idle_p50


def measure_latencies(data: Intervals, events: int, seconds: float) -> Latencies:
    """Queries of so many events each, alone and beside a thread that inserts, in turns."""
    index, lock = build(LiveSOPT, data), threading.Lock()
    columns = [table[:, 0].copy() for table in (data.lows, data.highs, data.scores)]
    values = data.queries[:, 0].copy()

    def query(number: int) -> None:
        start = number * events % (len(values) - events + 1)
        with lock:
            index.top_k_many(values[start : start + events], Zipf.k)

    def insert(_: int) -> None:
        new = len(index)
        start = new % (len(columns[0]) - BATCH)
        low, high, score = (column[start : start + BATCH] for column in columns)
        with lock:
            index.insert_many(new + np.arange(BATCH), low, high, score)

    _run(query, 0.1, _QUERIES_S)
    insert(0)
    before, idle, busy = len(index), [], []
    # In turns, so that other work on the machine disturbs both alike.
    for _ in range(TURNS):
        idle.append(_run(query, seconds / TURNS, _QUERIES_S))
        writer = threading.Thread(target=_run, args=(insert, seconds / TURNS, BATCHES_S))
        writer.start()
        busy.append(_run(query, seconds / TURNS, _QUERIES_S))
        writer.join()
    inserted = (len(index) - before) / seconds
    return Latencies(*_quietest(idle), *_quietest(busy), inserted)


def _quietest(turns: list[np.ndarray]) -> tuple[float, float]:
    """Median and 99th percentile of the turn that the rest of the machine disturbed least."""
    quantiles = [np.percentile(taken, [50, 99]) for taken in turns]
    p50, p99 = min(quantiles, key=lambda pair: pair[1]).tolist()
    return p50, p99


def _run(work: Callable[[int], None], seconds: float, per_s: float) -> np.ndarray:
    """Do something at fixed times; the seconds from each of them to its end."""
    taken = np.empty(max(1, int(seconds * per_s)))
    begin = time.perf_counter()
    for number in range(len(taken)):
        due = begin + number / per_s
        ahead = due - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        work(number)
        taken[number] = time.perf_counter() - due
    return taken
