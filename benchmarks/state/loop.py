"""Frames answered at fixed times, on a loop that other threads have work done on.

Stands for the loop of a matcher: one thread answers frames, and between them does what other
threads post, such as applying changes.  Frames are due at fixed times, whether the one before is
answered or not, and what counts is the time from when a frame was due to its encoded answer:
waiting for the loop, for the interpreter and for the timer is part of it.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeVar

import numpy as np
import psutil

from topics import frames, partials
from workers.process.latency import lower_priority
from workers.shard.shard import Shard

__all__ = ["Disturbance", "Latencies", "Loop", "measure_latencies"]

FRAMES_S = 100
_LOOK_S = 0.01
_WARM_UP_S = 0.2
_NOISY = 3.0  # times the median: an idle p99 above that is not the work of the shard
_QUIET = 20.0  # percent of the machine that is busy with other things, what is niced not counted
_QUIET_LOOK_S = 0.25

Made = TypeVar("Made")


class Loop:
    def __init__(self, shard: Shard, asked: list[bytes]) -> None:
        self._shard, self._asked = shard, asked
        self._posted: SimpleQueue[Callable[[], None]] = SimpleQueue()
        # As in a matcher: whoever holds it changes the shard, or looks at it from another thread.
        self.changing = threading.Lock()

    def call(self, work: Callable[[], Made]) -> Made:
        """From another thread: have something done between two frames, and wait for it."""
        done: Future[Made] = Future()

        def do() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        self._posted.put(do)
        return done.result()

    def answer(self, number: int) -> bytes:
        """What a matcher does with a frame between two topics."""
        frame = frames.decode(self._asked[number % len(self._asked)])
        return partials.encode(self._shard.answer(frame))

    def answers(self) -> list[bytes]:
        return [self.answer(number) for number in range(len(self._asked))]

    def run(self, seconds: float) -> tuple[np.ndarray, list[bytes]]:
        """Seconds from when each frame was due, and the answers."""
        taken = np.empty(max(1, int(seconds * FRAMES_S)))
        answers = []
        begin = time.perf_counter()
        for number in range(len(taken)):
            due = begin + number / FRAMES_S
            self._serve_until(due)
            answers.append(self.answer(number))
            taken[number] = time.perf_counter() - due
        return taken, answers

    def serve_while(self, busy: Callable[[], bool]) -> None:
        while busy():
            self._serve_until(time.perf_counter() + _LOOK_S)

    def _serve_until(self, due: float) -> None:
        """Also when it is late for the next frame: what waits is older than that."""
        try:
            while True:
                self._posted.get(timeout=max(0.0, due - time.perf_counter()))()
        except Empty:
            return


class Disturbance:
    """What goes on beside the frames, in a thread of its own."""

    name = ""
    keeps_answers = True  # as they are without it
    gives_way = True  # as the matcher's threads for it do

    def prepare(self) -> None:
        """Before every turn, the idle ones too."""

    def once(self, loop: Loop) -> float:
        """Done again and again for as long as a turn lasts; says how many seconds to rest then."""
        raise NotImplementedError


@dataclass(frozen=True)
class Latencies:
    """Seconds, at the median and at the 99th percentile, each of the quietest turn."""

    idle_p50: float
    idle_p99: float
    busy_p50: float
    busy_p99: float
    busy_worst: float  # of all turns
    times_s: float  # how often a second the first disturbance was gone through
    turns: int

    @property
    def ratio(self) -> float:
        return self.busy_p99 / self.idle_p99

    @property
    def noisy(self) -> bool:
        """Whether frames were held up for long even when nothing else was done."""
        return self.idle_p99 > _NOISY * self.idle_p50


def measure_latencies(
    loop: Loop,
    disturbances: Sequence[Disturbance],
    turns: int,
    seconds: float,
    patience_s: float = 0.0,
) -> Latencies:
    """Frames alone and beside the disturbances, in turns, so that others disturb both alike.

    Each turn waits, up to `patience_s`, for a moment at which others use little of the machine.
    """
    loop.run(_WARM_UP_S)
    idle, busy, times = [], [], 0
    for _ in range(turns):
        for one in disturbances:
            one.prepare()
        _wait_for_quiet(patience_s)
        idle_taken, idle_answers = loop.run(seconds)
        threads = [_Repeater(one, loop) for one in disturbances]
        busy_taken, busy_answers = _beside(threads, loop, seconds)
        if busy_answers != idle_answers and all(one.keeps_answers for one in disturbances):
            raise RuntimeError(f"answers differ from the idle ones while {disturbances[0].name}")
        idle.append(idle_taken)
        busy.append(busy_taken)
        times += threads[0].times
    worst = float(max(taken.max() for taken in busy))
    times_s = times / (turns * seconds)
    return Latencies(*_quietest(idle), *_quietest(busy), worst, times_s, turns)


def _wait_for_quiet(most_s: float) -> None:
    end = time.monotonic() + most_s
    while time.monotonic() < end:
        used = psutil.cpu_times_percent(_QUIET_LOOK_S)
        if used.user + used.system < _QUIET:
            return


def _beside(
    threads: "Sequence[_Repeater]", loop: Loop, seconds: float
) -> tuple[np.ndarray, list[bytes]]:
    for thread in threads:
        thread.start()
    run = loop.run(seconds)
    for thread in threads:
        thread.stopping.set()
    loop.serve_while(lambda: any(thread.is_alive() for thread in threads))
    for thread in threads:
        thread.join()
        if thread.failure is not None:
            raise thread.failure
    return run


class _Repeater(threading.Thread):
    def __init__(self, disturbance: Disturbance, loop: Loop) -> None:
        super().__init__(name=disturbance.name)
        self._disturbance, self._loop = disturbance, loop
        self.stopping = threading.Event()
        self.times = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        if self._disturbance.gives_way:
            lower_priority()
        try:
            while not self.stopping.is_set():
                rest_s = self._disturbance.once(self._loop)
                self.times += 1
                self.stopping.wait(rest_s)
        except BaseException as error:
            self.failure = error


def _quietest(turns: list[np.ndarray]) -> tuple[float, float]:
    """Median and 99th percentile of the turn that the rest of the machine disturbed least."""
    quantiles = [np.percentile(taken, [50, 99]) for taken in turns]
    p50, p99 = min(quantiles, key=lambda pair: pair[1]).tolist()
    return p50, p99
