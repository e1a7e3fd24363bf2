"""`sopt-bases`: a base of every shard with changes, batch by batch."""

import logging

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.query import StreamingQuery

from spark_streaming import metrics
from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.announcements import Announcements
from spark_streaming.driver.collection_job import CollectionJob
from spark_streaming.driver.topic_admin import LetterMark
from spark_streaming.tasks.build_bases import BuildPlan
from topics.catalogue import group_name

log = logging.getLogger(__name__)

SOPT_BASES = "sopt-bases"


class BasesJob(CollectionJob):
    """Keeps the bases of one collection up to date, batch by batch."""

    def __init__(self, io: CollectionIO) -> None:
        super().__init__(io)
        self._announcements = Announcements(
            self._client, self._name("bases"), self._store, io.collection.name, SOPT_BASES
        )
        group = group_name(io.settings.prefix, io.collection.name, "feed")
        self._mark = LetterMark(self._client, group, self.topic)
        self._checkpoint = io.checkpoint(SOPT_BASES)
        self.after_loss = (
            f"remove the checkpoint {self._checkpoint.path} and start the job again: it builds"
            " bases from what is left; send again the subscriptions that are missing"
        )
        self.failure: Exception | None = None

    def start(self, once: bool) -> StreamingQuery:
        """Start, or go on from the checkpoint; `once` ends with what is there now."""
        self._checkpoint.claim(self._identity(SOPT_BASES))
        return self._io.start(SOPT_BASES, [self.topic], self._on_batch, once)

    def _on_batch(self, records: DataFrame, batch_id: int) -> None:
        try:
            self._renew(records, batch_id)
        except Exception as error:
            self.failure = error  # Spark would only repeat its text, in the middle of its own
            raise

    def _renew(self, records: DataFrame, batch_id: int) -> None:
        batch = self._checkpoint.batch_range(batch_id, self.topic)
        plan = self._plan(batch.starts, batch.ends, self._mark.read(batch.ends))
        lost = list(batch.ends)
        outcomes = {}
        if not self._too_late(batch):
            outcomes = self._built(records, plan)
            lost = [shard for shard, outcome in outcomes.items() if outcome.lost is not None]
        if lost:
            outcomes |= self._rebuilt(plan, lost)
        self._mark.move({s: batch.ends[s] for s, done in outcomes.items() if done.letters})
        self._announcements.publish(outcomes.values())
        for shard, start in batch.starts.items():
            # A slow matcher may still be reading the previous base; the one before it can go.
            if old := self._checkpoint.offset_before(batch_id, self.topic, shard, start):
                self._announcements.drop(plan.base(shard, old), len(plan.attributes))

    def _rebuilt(self, plan: BuildPlan, shards: list[int]) -> dict[int, Row]:
        for shard in shards:
            log.warning("shard %d: building its base from the beginning of the topic", shard)
            metrics.BASES_REBUILT.labels(self._collection.name, str(shard)).inc()
        anew = plan.from_the_beginning(shards)
        return self._built(self._records(self.topic, dict.fromkeys(shards, -2), anew.ends), anew)
