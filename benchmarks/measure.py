"""Timing by repetition, and what has to be known about the machine to read the figures."""

import os
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import psutil

REPETITIONS = 5


@dataclass(frozen=True)
class Timing:
    """Seconds a unit of work (a query, an insertion, ...).

    Ratios are of the best CPU times: what else runs on the machine disturbs them least.
    """

    cpu: tuple[float, ...]  # one a repetition
    wall: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.cpu)


def joined(timings: Iterable[Timing]) -> Timing:
    """All repetitions of the same work."""
    listed = list(timings)
    return Timing(
        tuple(cpu for timing in listed for cpu in timing.cpu),
        tuple(wall for timing in listed for wall in timing.wall),
    )


def micro(seconds: float) -> str:
    """Microseconds to three digits.

    >>> micro(3.5714e-7), micro(0.0123456)
    ('0.357', '12,300')
    """
    value = seconds * 1e6
    if value <= 0:
        return "0"
    digits = max(0, 2 - int(np.floor(np.log10(value))))
    return f"{round(value, 2 - int(np.floor(np.log10(value)))):,.{digits}f}"


def repeat(
    work: Callable[[], object],
    units: int = 1,
    before: Callable[[], object] | None = None,
    least_s: float = 0.02,
) -> Timing:
    """Time `work`, which does so many units, after one run to warm up.

    Work that is over in less than `least_s` is done several times a repetition, unless
    something has to happen `before` each time.
    """
    once = _timed(work, 1, before)[0]
    calls = 1 if before else max(1, round(least_s / max(once, 1e-7)))
    runs = [_timed(work, calls, before) for _ in range(REPETITIONS)]
    cpu, wall = (tuple(run[i] / (calls * units) for run in runs) for i in range(2))
    return Timing(cpu, wall)


def _timed(
    work: Callable[[], object], calls: int, before: Callable[[], object] | None
) -> tuple[float, float]:
    if before:
        before()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(calls):
        work()
    return time.process_time() - cpu, time.perf_counter() - wall


def per_query(
    answer: Callable[[np.ndarray], object],
    queries: np.ndarray,
    warm_up: np.ndarray,
    most_s: float = 0.3,
) -> Timing:
    """Time a batch of queries; of slow answers only as many as take about `most_s`."""
    answer(warm_up[:1])  # compiles
    seconds = _timed(lambda: answer(warm_up[:10]), 1, None)[0] / len(warm_up[:10])
    if seconds * len(warm_up) < most_s:
        answer(warm_up)
    count = min(len(queries), max(10, int(most_s / max(seconds, 1e-9))))
    asked = queries[:count].copy()
    return repeat(lambda: answer(asked), units=count)


def environment(packages: Iterable[str]) -> dict[str, str]:
    """The machine, and the versions of Python and of these packages."""
    memory = psutil.virtual_memory().total / 2**30
    versions = [f"Python {platform.python_version()}"]
    versions += [f"{name} {metadata.version(name)}" for name in packages]
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "versions": ", ".join(versions),
    }


def load() -> str:
    """The load average of the last minute: others' work on the machine counts in it."""
    return f"{os.getloadavg()[0]:.1f}"


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
