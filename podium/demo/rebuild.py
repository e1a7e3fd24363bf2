"""Spark builds bases of all that is subscribed; matchers swap them in while visitors come."""

import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice

from podium.demo.data import Record
from podium.demo.publish import Publisher
from podium.demo.recovery import Wait, metric
from podium.demo.report import Rebuilt
from podium.demo.scene import COLLECTION_FILE, Scene
from podium.demo.topics_read import end_offsets
from podium.stack.run.child import Child
from podium.stack.run.supervisor import log_tail
from podium.terminal import Failure

BUILDING_S = 60.0  # Spark takes that long where much else runs; visitors come all the time
SWAPPING_LOOKS = 100  # while visitors come; a swap takes a few dozen of them
TASK = "spark-sopt-bases"


class Rebuild:
    def __init__(self, on: Scene, publisher: Publisher, wait: Wait) -> None:
        self._on, self._publisher, self._wait = on, publisher, wait

    def run(self, visitors: Sequence[Record], say: Callable[[str], None]) -> Rebuilt:
        """These visitors come meanwhile, half of them from when the bases are announced."""
        half, shards = len(visitors) // 2, self._on.collection.shards
        building, swapping = iter(visitors[:half]), iter(visitors[half:])
        a_look = max(1, half // SWAPPING_LOOKS)
        last_before = self._publisher.last_visitor
        before, taken, announced = self.delta_share(), self._taken(), self._announced()
        began = time.monotonic()
        say("Spark reads the ads and builds a SOPT-R-tree an attribute and shard")
        job = self._start_job()

        def is_built() -> bool:
            due = int(half * (time.monotonic() - began) / BUILDING_S)
            sent = self._publisher.last_visitor - last_before
            self._publisher.send_visitors(list(islice(building, max(0, due - sent))))
            return self._announced() - announced >= shards or self._has_ended(job)

        def is_swapped() -> bool:
            self._publisher.send_visitors(list(islice(swapping, a_look)))
            return self._taken() - taken >= shards

        try:
            self._wait("the Spark job", is_built)
            built_s = time.monotonic() - began
            self._publisher.send_visitors(list(building))
            first = self._publisher.last_visitor + 1
            say("the matchers swap the trees in")
            self._wait("taking the bases", is_swapped)
            swapped_s = time.monotonic() - began - built_s
            self._publisher.send_visitors(list(swapping))
            self._publisher.flush()
            self._wait("the end of the Spark job", lambda: self._has_ended(job))
        finally:
            job.reap()
        around = (first, self._publisher.last_visitor)
        after = self.delta_share()
        return Rebuilt(shards, built_s, swapped_s, before, after, len(visitors), around)

    def delta_share(self) -> float:
        """On average over the shards."""
        shares = [metric(m, "podium_delta_share") for m in self._on.workers("matcher")]
        return sum(shares) / self._on.collection.shards

    def _taken(self) -> int:
        matchers = self._on.workers("matcher")
        return int(sum(metric(m, "podium_bases_total", result="taken") for m in matchers))

    def _announced(self) -> int:
        on = self._on
        return sum(end_offsets(on.admin, on.topic("bases"), on.collection.shards))

    def _start_job(self) -> Child:
        settings, folder = self._on.stack.settings_path, self._on.stack.folder.path
        command = ["spark", "sopt-bases", "--once", "--master", "local[2]"]
        files = ["--collection", str(COLLECTION_FILE), "--config", str(settings)]
        return self._on.stack.start_task(
            TASK,
            [sys.executable, "-m", "podium", *command, *files],
            {"PODIUM_SPARK__CHECKPOINTS": str(folder / "spark")},
        )

    def _has_ended(self, job: Child) -> bool:
        if job.running():
            return False
        if (code := job.reap()) != 0:
            log = self._on.stack.folder.log_path(TASK)
            raise Failure(f"the Spark job ended with exit code {code}", log_tail(log))
        return True
