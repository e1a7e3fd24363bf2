"""`backfill`: old events matched as a batch, piece by piece."""

import logging

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.checkpoints import Offsets
from spark_streaming.driver.collection_job import CollectionJob
from spark_streaming.driver.pieces import BackfillRequest, open_run, require_topic
from spark_streaming.errors import UsageError
from spark_streaming.running import clearer
from spark_streaming.tasks.build_bases import BuildPlan
from spark_streaming.tasks.match_events import MatchPlan, for_parquet, for_topic, matched

log = logging.getLogger(__name__)

BACKFILL = "backfill"
MOST_EVENTS = 100_000  # a piece, after which a run that was stopped goes on


class BackfillJob(CollectionJob):
    """Matches old events against the subscriptions as they are when the run begins."""

    failure: Exception | None = None  # what fails is raised where it is asked for

    def __init__(self, io: CollectionIO, request: BackfillRequest) -> None:
        super().__init__(io)
        if (request.topic is None) == (request.parquet is None):
            raise UsageError("a backfill writes to a topic or to Parquet: name one of them")
        if request.topic is not None:
            require_topic(self._client, request.topic)
        self._request, self._events = request, self._name("events")
        self._checkpoint = io.checkpoint(f"{BACKFILL}-{request.run}")
        self.checkpoint_path = self._checkpoint.path
        self.after_loss = (
            f"remove the checkpoint {self.checkpoint_path} and what this run has written, and start"
            " it again: it matches the events that are left; to keep what is written, name another"
            " --topic or --parquet instead"
        )

    def run(self, most_events: int = MOST_EVENTS) -> int:
        """Match what is left of the run; how many events that was."""
        try:
            return self._run(most_events)
        except (PySparkException, Py4JJavaError) as error:
            raise clearer(error, self) from error

    def _run(self, most_events: int) -> int:
        self._checkpoint.claim({**self._identity(BACKFILL), "asked": list(self._request)})
        topics = (self._events, self.topic)
        run = open_run(self._checkpoint, self._client, topics, self._request, most_events)
        events = run.events_left
        if not events:
            log.info(
                "backfill: nothing is left to do; remove %s to do it again", self.checkpoint_path
            )
            self._drop_states(run.as_of)  # a run that was killed just before its end has left them
            return 0
        plan = self._match_plan(run.as_of)
        for n, piece in run.left():
            records = self._records(self._events, *piece, divided=True)
            self._write(matched(records, plan), n)
            log.info("backfill: %s", run.done(n))
        self._drop_states(run.as_of)
        return events

    def _drop_states(self, as_of: Offsets) -> None:
        plan = self._state_plan(as_of)
        for shard, end in as_of.items():
            self._store.drop(plan.base(shard, end).state)

    def _state_plan(self, ends: Offsets) -> BuildPlan:
        """The shards' states lie where only this run looks for them."""
        plan = self._plan(dict.fromkeys(ends, 0), ends, letters_from=ends)
        return plan._replace(topic=f"{self.topic}.{BACKFILL}-{self._request.run}", with_trees=False)

    def _match_plan(self, as_of: Offsets) -> MatchPlan:
        """Store the states that are not there yet.

        What an earlier start has stored is taken as it is: Kafka may have dropped subscriptions
        since then that were replaced after the run had begun.
        """
        plan = self._state_plan(as_of)
        missing = {
            shard: end
            for shard, end in as_of.items()
            if end and not self._store.has(plan.base(shard, end).state)
        }
        if missing:
            records = self._records(self.topic, dict.fromkeys(missing, -2), missing)
            self._built(records, self._state_plan(missing))
        collection = self._collection
        return MatchPlan(
            kind=collection.kind,
            attributes=collection.attributes,
            dialect=collection.dialect,
            k=collection.k,
            max_k=collection.max_k,
            emit_empty=collection.emit_empty,
            topic=self._events,
            store=plan.store,
            layout=plan.layout,
            states=tuple(plan.base(shard, end) for shard, end in sorted(as_of.items())),
        )

    def _write(self, matches: DataFrame, piece: int) -> None:
        """A piece that is done again repeats its records, or replaces its folder of Parquet."""
        if self._request.topic is not None:
            self._io.write_topic(for_topic(matches), self._request.topic)
            return
        # Partitions for readers, and so that two runs may have one folder.
        run = f"{self._request.parquet}/collection={self._collection.name}/run={self._request.run}"
        self._io.write_parquet(for_parquet(matches), f"{run}/piece={piece:06d}")
