"""A matcher dies while visitors come, and is back from its snapshots."""

import time
from collections.abc import Callable, Sequence
from http.client import HTTPException
from itertools import islice

from podium.demo.data import Record
from podium.demo.monitor import sum_of
from podium.demo.publish import Publisher
from podium.demo.report import Killed
from podium.demo.scene import Scene
from podium.demo.topics_read import end_offsets
from podium.stack.run.fleet import is_ready
from podium.stack.run.folder import ProcessRecord

VISITORS_A_LOOK = 25

Wait = Callable[[str, Callable[[], bool]], None]


class Recovery:
    """`wait` returns when what it is given says so."""

    def __init__(self, on: Scene, publisher: Publisher, wait: Wait) -> None:
        self._on, self._publisher, self._wait = on, publisher, wait
        self.victim: ProcessRecord = max(on.workers("matcher"), key=_shards)

    def wait_for_snapshots(self) -> None:
        """Of every shard, with all that is subscribed."""
        ends = sum(subscription_ends(self._on))

        def complete() -> bool:
            matchers = self._on.workers("matcher")
            return sum(metric(m, "podium_snapshot_next_offset") for m in matchers) >= ends

        self._wait("writing snapshots", complete)

    def kill(self, visitors: Sequence[Record]) -> Killed:
        """These visitors come meanwhile; they wait in Kafka until its shards are held again.

        A quarter of them is on its way when the matcher dies.
        """
        victim, waiting = self.victim, iter(visitors)
        matchers = self._on.workers("matcher")
        others = [matcher for matcher in matchers if matcher.name != victim.name]
        before, from_before = _restores(others), _restores(others, start="snapshot")

        def is_back() -> bool:
            self._publisher.send_visitors(list(islice(waiting, VISITORS_A_LOOK)))
            held = sum(map(_shards, matchers)) >= self._on.collection.shards
            return held and all(is_ready(matcher.port or 0) for matcher in matchers)

        first = self._publisher.last_visitor + 1
        self._publisher.send_visitors(list(islice(waiting, len(visitors) // 4)))
        self._publisher.flush()
        began = time.monotonic()
        with self._on.killed(victim.name):
            self._wait(f"the return of {victim.name}", is_back)
        back_s = time.monotonic() - began
        self._publisher.send_visitors(list(waiting))
        self._publisher.flush()
        # Taken over by the victim itself, back again, or by others.
        shards = _restores(matchers) - before
        from_snapshots = _restores(matchers, start="snapshot") - from_before
        around = (first, self._publisher.last_visitor)
        return Killed(victim.name, back_s, shards, from_snapshots, len(visitors), around)


def _shards(matcher: ProcessRecord) -> int:
    return int(metric(matcher, "podium_shards"))


def _restores(matchers: Sequence[ProcessRecord], **labels: str) -> int:
    return int(sum(metric(matcher, "podium_restores_total", **labels) for matcher in matchers))


def subscription_ends(on: Scene) -> list[int]:
    return end_offsets(on.admin, on.topic("subscriptions"), on.collection.shards)


def metric(worker: ProcessRecord, name: str, **labels: str) -> float:
    """0 while nobody answers there."""
    try:
        return sum_of(worker.port or 0, name, **labels)
    except (OSError, HTTPException):
        return 0.0
