"""Spark builds bases of all that is subscribed; matchers swap them in while visitors come."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from podium.demo.data import Record
from podium.demo.publish import Publisher
from podium.demo.recovery import Wait, metric
from podium.demo.report import Rebuilt
from podium.demo.scene import COLLECTION_FILE, Scene
from podium.stack.child import Child
from podium.stack.supervisor import log_tail
from podium.terminal import Failure

VISITORS_A_LOOK = 5
TASK = "spark-sopt-bases"


class Rebuild:
    def __init__(self, on: Scene, publisher: Publisher, wait: Wait) -> None:
        self._on, self._publisher, self._wait = on, publisher, wait

    def run(self, visitors: Sequence[Record], say: Callable[[str], None]) -> Rebuilt:
        """These visitors come meanwhile."""
        waiting, shards = iter(visitors), self._on.collection.shards
        before, taken_before = self.delta_share(), self._taken()
        began = time.monotonic()
        say("Spark reads the ads and builds a SOPT-R-tree an attribute and shard")
        job = self._start_job()
        try:
            self._wait("the Spark job", lambda: self._has_ended(job, waiting))
        finally:
            job.reap()
        built_s = time.monotonic() - began
        say("the matchers swap the trees in")
        self._wait("taking the bases", lambda: self._sent(waiting, self._taken() - taken_before))
        self._publisher.send_visitors(list(waiting))
        self._publisher.flush()
        swapped_s = time.monotonic() - began - built_s
        return Rebuilt(shards, built_s, swapped_s, before, self.delta_share(), len(visitors))

    def delta_share(self) -> float:
        """On average over the shards."""
        shares = [metric(m, "podium_delta_share") for m in self._on.workers("matcher")]
        return sum(shares) / self._on.collection.shards

    def _taken(self) -> int:
        matchers = self._on.workers("matcher")
        return int(sum(metric(m, "podium_bases_total", result="taken") for m in matchers))

    def _sent(self, waiting: Iterator[Record], taken: int) -> bool:
        self._publisher.send_visitors(list(islice(waiting, VISITORS_A_LOOK)))
        return taken >= self._on.collection.shards

    def _start_job(self) -> Child:
        settings, folder = self._on.stack.settings_path, self._on.stack.folder.path
        command = ["spark", "sopt-bases", "--once", "--master", "local[2]"]
        files = ["--collection", str(COLLECTION_FILE), "--config", str(settings)]
        return self._on.stack.start_task(
            TASK,
            [sys.executable, "-m", "podium", *command, *files],
            {"PODIUM_SPARK__CHECKPOINTS": str(folder / "spark")},
        )

    def _has_ended(self, job: Child, waiting: Iterator[Record]) -> bool:
        self._sent(waiting, 0)
        if job.running():
            return False
        if (code := job.reap()) != 0:
            log = self._on.stack.folder.log_path(TASK)
            raise Failure(f"the Spark job ended with exit code {code}", log_tail(log))
        return True
