"""The jobs: what they read, what they write, and where their checkpoints are.

    podium spark sopt-bases --collection ads
    spark-submit --jars … spark_streaming/jobs.py sopt-bases --collection ads --once

This module alone reads, writes and names checkpoints; what happens between is functions of
DataFrames in the other modules.
"""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run by path: our folder must not stand for our packages
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from configs import (
    Collection,
    ConfigError,
    Settings,
    kafka_client_config,
    load_collection,
    load_settings,
)
from spark_streaming import metrics
from spark_streaming.announcements import Announcements
from spark_streaming.backfill import Asked, Offsets, open_run, require_topic
from spark_streaming.checkpoints import BatchRange, Checkpoint
from spark_streaming.errors import JobError, UsageError
from spark_streaming.kafka_options import executor_client, spark_kafka_options
from spark_streaming.matching import MatchPlan, matched
from spark_streaming.running import await_query, log_to_stderr, serve_metrics, stop_on_signals
from spark_streaming.session import open_session
from spark_streaming.sopt_bases import COLUMNS, BuildPlan, rebased
from spark_streaming.topic_admin import LetterMark, topic_id_of
from topics.base_store import BaseStore
from topics.catalogue import DAY_MS, topic_name
from topics.tokens import AS_OF

log = logging.getLogger(__name__)

SOPT_BASES, BACKFILL = "sopt-bases", "backfill"
BACKFILL_EVENTS = 100_000  # a piece, after which a run that was stopped goes on


class _Job:
    """What the jobs share: one collection's topics, base store and subscriptions."""

    def __init__(self, spark: SparkSession, settings: Settings, collection: Collection) -> None:
        self._spark, self._settings, self._collection = spark, settings, collection
        self._client = executor_client(kafka_client_config(settings.kafka))
        self.topic = self._name("subscriptions")
        self._topic_id = topic_id_of(self._client, self.topic, collection)
        self._store_url = settings.spark.bases or settings.redis.url
        self._store = BaseStore.open(self._store_url.get_secret_value())

    def _name(self, topic: str) -> str:
        return topic_name(self._settings.prefix, self._collection.name, topic)

    def _checkpoint_of(self, job: str) -> Checkpoint:
        collection = f"{self._settings.prefix}.{self._collection.name}"
        return Checkpoint(self._spark, f"{self._settings.spark.checkpoints}/{collection}.{job}")

    def _identity(self, job: str) -> dict[str, Any]:
        """What a checkpoint must agree in for the job to go on from it."""
        return {
            "job": job,
            "topic": self.topic,
            "topic_id": self._topic_id,
            "kind": self._collection.kind,
            "attributes": list(self._collection.attributes),
            "shards": self._collection.shards,
        }

    def _plan(self, starts: Offsets, ends: Offsets, letters_from: Offsets) -> BuildPlan:
        return BuildPlan(
            kind=self._collection.kind,
            attributes=self._collection.attributes,
            shards=self._collection.shards,
            topic=self.topic,
            topic_id=self._topic_id,
            store=self._store_url.get_secret_value(),
            shown_store=str(self._store_url),
            client=self._client,
            starts=starts,
            ends=ends,
            letters_from=letters_from,
        )

    def _kafka(self, reader: Any) -> Any:
        options = {**spark_kafka_options(self._settings.kafka), "includeHeaders": "true"}
        return reader.format("kafka").options(**options)

    def _read(self, topic: str, starts: Offsets, ends: Offsets, tasks: int = 1) -> DataFrame:
        """The records of some partitions from one offset to another; -2 is the first there is.

        A partition is read by one task, unless more `tasks` than partitions are asked for.
        """
        reader = self._kafka(self._spark.read).option("assign", json.dumps({topic: list(ends)}))
        reader = reader.option("startingOffsets", json.dumps({topic: starts}))
        reader = reader.option("minPartitions", str(tasks))
        frame: DataFrame = reader.option("endingOffsets", json.dumps({topic: ends})).load()
        return frame

    def _built(self, records: DataFrame, plan: BuildPlan) -> dict[int, Row]:
        """Also for shards whose new offsets hold no records, but ends of transactions."""
        outcomes = _by_shard(rebased(records, plan).collect())
        idle = [shard for shard in plan.ends if shard not in outcomes]
        if idle:
            outcomes |= _by_shard(rebased(self._without_records(idle), plan).collect())
        return outcomes

    def _without_records(self, shards: list[int]) -> DataFrame:
        """A row a shard, in the columns of the source."""
        columns = "partition int, offset long, key binary, value binary, headers binary"
        rows = [(shard, None, None, None, None) for shard in shards]
        return self._spark.createDataFrame(rows, columns)


def _by_shard(rows: Sequence[Row]) -> dict[int, Row]:
    outcomes = {row.shard: row for row in rows}
    assert len(outcomes) == len(rows), "a shard's records were divided among tasks"
    return outcomes


class BasesJob(_Job):
    """Keeps the bases of one collection up to date, batch by batch."""

    def __init__(self, spark: SparkSession, settings: Settings, collection: Collection) -> None:
        super().__init__(spark, settings, collection)
        bases = self._name("bases")
        self._announcements = Announcements(
            self._client, bases, self._store, collection.name, SOPT_BASES
        )
        group = f"{settings.prefix}.{collection.name}.feed"
        self._mark = LetterMark(self._client, group, self.topic)
        self._checkpoint = self._checkpoint_of(SOPT_BASES)
        self.checkpoint_path = self._checkpoint.path
        self.failure: Exception | None = None

    def start(self, once: bool) -> StreamingQuery:
        """Start, or go on from the checkpoint; `once` ends with what is there now."""
        self._checkpoint.claim(self._identity(SOPT_BASES))
        settings = self._settings.spark
        source = self._kafka(self._spark.readStream).option("subscribe", self.topic)
        source = source.option("startingOffsets", "earliest")
        if not once:
            source = source.option("minOffsetsPerTrigger", str(settings.least_changes))
            source = source.option("maxTriggerDelay", f"{round(settings.longest_wait_s * 1000)}ms")
        writer = source.load().writeStream.foreachBatch(self._on_batch)
        writer = writer.option("checkpointLocation", self._checkpoint.path)
        writer = writer.queryName(f"{self._collection.name} {SOPT_BASES}")
        every = f"{round(settings.trigger_s * 1000)} milliseconds"
        trigger: dict[str, Any] = {"availableNow": True} if once else {"processingTime": every}
        return writer.trigger(**trigger).start()

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

    def _too_late(self, batch: BatchRange) -> bool:
        """Whether Kafka may have forgotten unsubscriptions that the last batch had not seen."""
        if batch.read_until_ms is None:
            return False
        kept_ms = self._collection.retention.unsubscriptions_days * DAY_MS
        return batch.planned_at_ms - batch.read_until_ms > kept_ms

    def _rebuilt(self, plan: BuildPlan, shards: list[int]) -> dict[int, Row]:
        for shard in shards:
            log.warning("shard %d: building its base from the beginning of the topic", shard)
            metrics.BASES_REBUILT.labels(self._collection.name, str(shard)).inc()
        anew = plan.from_the_beginning(shards)
        return self._built(self._read(self.topic, dict.fromkeys(shards, -2), anew.ends), anew)


class BackfillJob(_Job):
    """Matches old events against the subscriptions as they are when the run begins."""

    def __init__(
        self, spark: SparkSession, settings: Settings, collection: Collection, asked: Asked
    ) -> None:
        super().__init__(spark, settings, collection)
        if (asked.topic is None) == (asked.parquet is None):
            raise UsageError("a backfill writes to a topic or to Parquet: name one of them")
        if asked.topic is not None:
            require_topic(self._client, asked.topic)
        self._asked, self._events = asked, self._name("events")
        self._checkpoint = self._checkpoint_of(f"{BACKFILL}-{asked.run}")

    def run(self, most_events: int = BACKFILL_EVENTS) -> int:
        """Match what is left of the run; how many events that was."""
        self._checkpoint.claim({**self._identity(BACKFILL), "asked": list(self._asked)})
        topics = (self._events, self.topic)
        run = open_run(self._checkpoint, self._client, topics, self._asked, most_events)
        events = run.events_left
        if not events:
            log.info("backfill: nothing is left to do; remove %s to do it again", self.path)
            return 0
        plan = self._match_plan(run.as_of)
        tasks = self._spark.sparkContext.defaultParallelism
        for n, piece in run.left():
            self._write(matched(self._read(self._events, *piece, tasks), plan), n)
            log.info("backfill: %s", run.done(n))
        for state in plan.states:
            self._store.drop(state.state)
        return events

    @property
    def path(self) -> str:
        return self._checkpoint.path

    def _match_plan(self, as_of: Offsets) -> MatchPlan:
        """Store the shards' states where only this run looks for them."""
        ends = {shard: end for shard, end in as_of.items() if end}
        plan = self._plan(dict.fromkeys(ends, 0), ends, letters_from=ends)
        plan = plan._replace(topic=f"{self.topic}.{BACKFILL}-{self._asked.run}", with_trees=False)
        if ends:
            self._built(self._read(self.topic, dict.fromkeys(ends, -2), ends), plan)
        collection = self._collection
        return MatchPlan(
            kind=collection.kind,
            attributes=collection.attributes,
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
        if self._asked.parquet is not None:
            shape = "event string, matches array<struct<id: string, score: double>>"
            record = F.from_json(F.col("value").cast("string"), shape)
            rows = matches.withColumn("record", record).select("key", "as_of", "record.*")
            rows.write.mode("overwrite").parquet(f"{self._asked.parquet}/piece={piece:06d}")
            return
        header = F.struct(F.lit(AS_OF).alias("key"), F.col("as_of").cast("binary").alias("value"))
        rows = matches.select("key", "value", F.array(header).alias("headers"))
        writer = rows.write.format("kafka").options(**spark_kafka_options(self._settings.kafka))
        writer.option("includeHeaders", "true").option("topic", str(self._asked.topic)).save()


def require_topics(settings: Settings, collection: Collection, topics: Sequence[str]) -> None:
    """A `JobError` unless the job can be done: known before Spark has started, which takes long."""
    if collection.kind not in COLUMNS:
        raise UsageError(
            f"collection {collection.name}: got kind {collection.kind},"
            f" expected one of {', '.join(COLUMNS)}"
        )
    client = executor_client(kafka_client_config(settings.kafka))
    for topic in topics:
        topic_id_of(client, topic_name(settings.prefix, collection.name, topic), collection)


def run_sopt_bases(
    settings: Settings, collection: Collection, once: bool = False, jars: Sequence[Path] = ()
) -> None:
    """Run until TERM or Ctrl-C, or with `once` until everything that is there is in a base."""
    require_topics(settings, collection, ["subscriptions", "bases"])
    serve_metrics(settings.http)
    name = f"{settings.prefix}.{collection.name}.{SOPT_BASES}"
    spark = open_session(settings.spark, name, jars)
    stopping = stop_on_signals()  # after PySpark, which has an answer to Ctrl-C of its own
    try:
        spark.streams.addListener(metrics.ProgressMetrics(collection.name, SOPT_BASES))
        job = BasesJob(spark, settings, collection)
        await_query(job.start(once), job, stopping)
    finally:
        spark.stop()


def run_backfill(
    settings: Settings, collection: Collection, asked: Asked, jars: Sequence[Path] = ()
) -> int:
    """How many events were matched by this start of the run."""
    require_topics(settings, collection, ["subscriptions"])
    name = f"{settings.prefix}.{collection.name}.{BACKFILL}"
    spark = open_session(settings.spark, name, jars)
    try:
        return BackfillJob(spark, settings, collection, asked).run()
    finally:
        spark.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """For `spark-submit`, which gives the master and the jars."""
    parser = argparse.ArgumentParser(prog="jobs.py", description=__doc__)
    parser.add_argument("job", choices=[SOPT_BASES, BACKFILL])
    parser.add_argument("--collection", required=True, help="name or file of a collection")
    parser.add_argument("--config", help="settings file")
    parser.add_argument("--brokers", help="host:port[,host:port…]")
    parser.add_argument("--once", action="store_true", help="end when all that is there is done")
    for flag, name in (("--from", "since"), ("--to", "until")):
        parser.add_argument(flag, dest=name, help="of a backfill: a time or partition@offset,…")
    parser.add_argument("--topic", help="of a backfill: where the matches go")
    parser.add_argument("--parquet", help="of a backfill: where the matches go")
    options = parser.parse_args(arguments)
    log_to_stderr()
    try:
        settings = load_settings(options.config, {"kafka.brokers": options.brokers})
        collection = load_collection(options.collection, settings.collections)
        if options.job == SOPT_BASES:
            run_sopt_bases(settings, collection, options.once)
        else:
            asked = Asked(options.since, options.until, options.topic, options.parquet)
            run_backfill(settings, collection, asked)
    except (JobError, ConfigError) as error:
        log.error("%s", "; ".join(filter(None, (str(error), getattr(error, "remedy", "")))))
        return getattr(error, "exit_code", 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
