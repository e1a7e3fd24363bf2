"""The jobs as they are started, by `podium spark` or by `spark-submit` of this file.

    podium spark sopt-bases --collection ads
    spark-submit --jars … spark_streaming/jobs.py sopt-bases --collection ads --once

This module alone reads and writes DataFrames and names checkpoints.  Between are the jobs'
(`bases_job`, `backfill_job`) plans and progress, and functions of DataFrames in the other modules.
"""

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run by path: our folder must not stand for our packages
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from pyspark.sql import DataFrame, SparkSession
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
from spark_streaming.driver.backfill import BACKFILL, BackfillJob
from spark_streaming.driver.bases import SOPT_BASES, BasesJob
from spark_streaming.driver.checkpoints import Checkpoint
from spark_streaming.driver.pieces import Asked, Offsets
from spark_streaming.errors import JobError, UsageError
from spark_streaming.kafka_options import READING, executor_client, spark_kafka_options
from spark_streaming.running import await_query, log_to_stderr, serve_metrics, stop_on_signals
from spark_streaming.session import open_session
from spark_streaming.topic_admin import topic_id_of
from topics import bases, subscriptions
from topics.catalogue import topic_name

log = logging.getLogger(__name__)


class CollectionIO:
    """What the jobs of one collection read, write and go on from."""

    def __init__(self, spark: SparkSession, settings: Settings, collection: Collection) -> None:
        self._spark, self.settings, self.collection = spark, settings, collection

    def checkpoint(self, job: str) -> Checkpoint:
        name = _job_name(self.settings, self.collection, job)
        return Checkpoint(self._spark, f"{self.settings.spark.checkpoints}/{name}")

    def records(
        self, topic: str, starts: Offsets, ends: Offsets, divided: bool = False
    ) -> DataFrame:
        """The records of some partitions from one offset to another; -2 is the first there is.

        A partition is read by one task; `divided`, by several if more can run than there are
        partitions.
        """
        tasks = self._spark.sparkContext.defaultParallelism if divided else 1
        reader = self._kafka(self._spark.read).option("assign", json.dumps({topic: list(ends)}))
        reader = reader.option("startingOffsets", json.dumps({topic: starts}))
        reader = reader.option("minPartitions", str(tasks))
        frame: DataFrame = reader.option("endingOffsets", json.dumps({topic: ends})).load()
        return frame

    def start(
        self, job: str, topic: str, on_batch: Callable[[DataFrame, int], None], once: bool
    ) -> StreamingQuery:
        """Give `on_batch` what the job's checkpoint has not seen; `once` only what is there now."""
        writer = self._stream(topic, once).writeStream.foreachBatch(on_batch)
        writer = writer.option("checkpointLocation", self.checkpoint(job).path)
        writer = writer.queryName(f"{self.collection.name} {job}")
        every = f"{round(self.settings.spark.trigger_s * 1000)} milliseconds"
        trigger: dict[str, Any] = {"availableNow": True} if once else {"processingTime": every}
        return writer.trigger(**trigger).start()

    def write_parquet(self, rows: DataFrame, folder: str) -> None:
        """In place of what the folder has."""
        rows.write.mode("overwrite").parquet(folder)

    def write_topic(self, rows: DataFrame, topic: str) -> None:
        """Columns: key, value, headers."""
        writer = rows.write.format("kafka").options(**spark_kafka_options(self.settings.kafka))
        writer.option("includeHeaders", "true").option("topic", topic).save()

    def _stream(self, topic: str, once: bool) -> DataFrame:
        settings = self.settings.spark
        reader = self._kafka(self._spark.readStream).option("subscribe", topic)
        reader = reader.option("startingOffsets", "earliest")
        if not once:
            reader = reader.option("minOffsetsPerTrigger", str(settings.least_changes))
            reader = reader.option("maxTriggerDelay", f"{round(settings.longest_wait_s * 1000)}ms")
        frame: DataFrame = reader.load()
        return frame

    def _kafka(self, reader: Any) -> Any:
        options = {**spark_kafka_options(self.settings.kafka), **READING}
        return reader.format("kafka").options(**options)


def _job_name(settings: Settings, collection: Collection, job: str) -> str:
    return f"{settings.prefix}.{collection.name}.{job}"


# By job: the kinds that it is for, and what tells them from the others.
_KINDS = {
    SOPT_BASES: (bases.KINDS, "kinds with SOPT-R-trees"),
    BACKFILL: (subscriptions.KINDS, "kinds that match events"),
}


def require(settings: Settings, collection: Collection, job: str, topics: Sequence[str]) -> None:
    """A `JobError` unless the job can be done: known before Spark has started, which takes long."""
    kinds, which = _KINDS[job]
    if collection.kind not in kinds:
        raise UsageError(
            f"collection {collection.name}: got kind {collection.kind},"
            f" expected one of {', '.join(kinds)}: {job} is for {which}"
        )
    client = executor_client(kafka_client_config(settings.kafka))
    for topic in topics:
        topic_id_of(client, topic_name(settings.prefix, collection.name, topic), collection)


def run_sopt_bases(
    settings: Settings,
    collection: Collection,
    once: bool = False,
    jars: Sequence[Path] = (),
    serving: Callable[[int], None] = lambda port: None,
) -> None:
    """Run until TERM or Ctrl-C, or with `once` until everything that is there is in a base.

    `serving` is told the port of the metrics.
    """
    require(settings, collection, SOPT_BASES, ["subscriptions", "bases"])
    serving(serve_metrics(settings.http))
    spark = open_session(settings.spark, _job_name(settings, collection, SOPT_BASES), jars)
    stopping = stop_on_signals()  # after PySpark, which has an answer to Ctrl-C of its own
    try:
        progress = metrics.ProgressMetrics(collection.name, SOPT_BASES, spark.streams)
        spark.streams.addListener(progress)
        job = BasesJob(CollectionIO(spark, settings, collection))
        await_query(job.start(once), job, stopping)
    finally:
        spark.stop()


def run_backfill(
    settings: Settings, collection: Collection, asked: Asked, jars: Sequence[Path] = ()
) -> int:
    """How many events were matched by this start of the run."""
    require(settings, collection, BACKFILL, ["subscriptions"])
    spark = open_session(settings.spark, _job_name(settings, collection, BACKFILL), jars)
    try:
        return BackfillJob(CollectionIO(spark, settings, collection), asked).run()
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
