"""The jobs as they are started, by `podium spark` or by `spark-submit` of this file.

    podium spark sopt-bases --collection ads
    spark-submit --jars … spark_streaming/jobs.py sopt-bases --collection ads --once

A job is checked, gets a session and a `CollectionIO`, and runs: `driver/` has what it does in this
process, `tasks/` what Spark's tasks do for it.
"""

import argparse
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

if __package__ in (None, ""):  # run by path: our folder must not stand for our packages
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from pyspark.sql import SparkSession

from configs import (
    Collection,
    ConfigError,
    Settings,
    kafka_client_config,
    load_collection,
    load_settings,
)
from configs.logs import log_to_stderr
from spark_streaming import metrics
from spark_streaming.collection_io import CollectionIO, job_name
from spark_streaming.driver.backfill import BACKFILL, BackfillJob
from spark_streaming.driver.bases import SOPT_BASES, BasesJob
from spark_streaming.driver.paint import PAINT_BATCH, PaintJob
from spark_streaming.driver.pieces import BackfillRequest
from spark_streaming.driver.topic_admin import members_of, topic_id_of
from spark_streaming.errors import JobError, UsageError
from spark_streaming.kafka_options import executor_client
from spark_streaming.running import (
    Started,
    await_queries,
    await_query,
    serve_metrics,
    stop_on_signals,
    stop_queries,
)
from spark_streaming.session import open_session
from topics.catalogue import group_name, topic_name
from topics.kinds import KINDS, Kind

log = logging.getLogger(__name__)


# By job: which kinds it is for, and what tells them from the others.
_IS_FOR: dict[str, tuple[Callable[[Kind], bool], str]] = {
    SOPT_BASES: (lambda kind: kind.has_bases, "kinds with SOPT-R-trees"),
    BACKFILL: (lambda kind: "events" in kind.topics, "kinds that match events"),
    PAINT_BATCH: (lambda kind: "messages" in kind.topics, "kinds that keep lists"),
}


def require(settings: Settings, collection: Collection, job: str, topics: Sequence[str]) -> None:
    """A `JobError` unless the job can be done: known before Spark has started, which takes long."""
    fits, which = _IS_FOR[job]
    kinds = [name for name, kind in KINDS.items() if fits(kind)]
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
    spark = open_session(settings.spark, job_name(settings, [collection], SOPT_BASES), jars)
    stopping = stop_on_signals()  # after PySpark, which has an answer to Ctrl-C of its own
    try:
        spark.streams.addListener(metrics.ProgressMetrics(spark.streams))
        job = BasesJob(CollectionIO(spark, settings, collection))
        await_query(job.start(once), job, stopping)
    finally:
        spark.stop()


def run_paint_batch(
    settings: Settings,
    collections: Sequence[Collection],
    once: bool = False,
    jars: Sequence[Path] = (),
    serving: Callable[[int], None] = lambda port: None,
) -> None:
    """Run until TERM or Ctrl-C, or with `once` until everything that is there is told to zones.

    `serving` is told the port of the metrics.
    """
    require_batch_painters(settings, collections)
    serving(serve_metrics(settings.http))
    spark = open_session(settings.spark, job_name(settings, collections, PAINT_BATCH), jars)
    stopping = stop_on_signals()  # after PySpark, which has an answer to Ctrl-C of its own
    try:
        spark.streams.addListener(metrics.ProgressMetrics(spark.streams))
        paint(spark, settings, collections, once, stopping)
    finally:
        spark.stop()


def paint(
    spark: SparkSession,
    settings: Settings,
    collections: Sequence[Collection],
    once: bool,
    stopping: threading.Event,
) -> None:
    """One query for each collection, side by side.

    When one fails, which is raised, all end: who looks after the job starts it again, and each
    collection goes on from its own checkpoint.
    """
    started: list[Started] = []
    try:
        for collection in collections:
            try:
                job = PaintJob(CollectionIO(spark, settings, collection))
                started.append(Started(collection.name, job, job.start(once)))
            except JobError as error:
                raise error.of(collection.name) from error
        await_queries(started, stopping)
    finally:
        stop_queries(started)


def require_batch_painters(settings: Settings, collections: Sequence[Collection]) -> None:
    """A `JobError` unless all of them are for this job, each once, and no worker paints any."""
    names = [collection.name for collection in collections]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f"collection {', '.join(twice)}: named more than once", "name each collection once"
        )
    for collection in collections:
        require_batch_painter(settings, collection)


def require_batch_painter(settings: Settings, collection: Collection) -> None:
    """A `JobError` unless the collection is for this job, and no worker paints it."""
    if collection.painter == "live" and _IS_FOR[PAINT_BATCH][0](KINDS[collection.kind]):
        raise UsageError(
            f"collection {collection.name}: painter: live; a worker paints it, and no job may"
            " beside it",
            "stop that worker and set painter: batch",
        )
    require(settings, collection, PAINT_BATCH, ["objects", "subscriptions", "messages", "progress"])
    group = group_name(settings.prefix, collection.name, "painter")
    if members_of(executor_client(kafka_client_config(settings.kafka)), group):
        raise JobError(
            f"collection {collection.name}: a painter is running, in the group {group}",
            "stop it: the job paints in its place",
        )


def run_backfill(
    settings: Settings, collection: Collection, request: BackfillRequest, jars: Sequence[Path] = ()
) -> int:
    """How many events were matched by this start of the run."""
    require(settings, collection, BACKFILL, ["subscriptions"])
    spark = open_session(settings.spark, job_name(settings, [collection], BACKFILL), jars)
    try:
        return BackfillJob(CollectionIO(spark, settings, collection), request).run()
    finally:
        spark.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """For `spark-submit`, which gives the master and the jars."""
    parser = argparse.ArgumentParser(prog="jobs.py", description=__doc__)
    parser.add_argument("job", choices=[SOPT_BASES, PAINT_BATCH, BACKFILL])
    parser.add_argument(
        "--collection",
        required=True,
        action="append",
        dest="collections",
        help=f"name or file of a collection; {PAINT_BATCH} takes several",
    )
    parser.add_argument("--config", help="settings file")
    parser.add_argument("--brokers", help="host:port[,host:port…]")
    parser.add_argument("--once", action="store_true", help="end when all that is there is done")
    for flag, name in (("--from", "since"), ("--to", "until")):
        parser.add_argument(flag, dest=name, help="of a backfill: a time or partition@offset,…")
    parser.add_argument("--topic", help="of a backfill: where the matches go")
    parser.add_argument("--parquet", help="of a backfill: where the matches go")
    options = parser.parse_args(arguments)
    log_to_stderr(throttled=False)
    try:
        settings = load_settings(options.config, {"kafka.brokers": options.brokers})
        collections = [load_collection(name, settings.collections) for name in options.collections]
        if options.job == PAINT_BATCH:
            run_paint_batch(settings, collections, options.once)
            return 0
        if len(collections) > 1:
            got = f"got {len(collections)} collections, expected one"
            raise UsageError(f"{got}: only {PAINT_BATCH} takes several")
        (collection,) = collections
        if options.job == SOPT_BASES:
            run_sopt_bases(settings, collection, options.once)
        else:
            request = BackfillRequest(options.since, options.until, options.topic, options.parquet)
            run_backfill(settings, collection, request)
    except (JobError, ConfigError) as error:
        log.error("%s", "; ".join(filter(None, (str(error), getattr(error, "remedy", "")))))
        return getattr(error, "exit_code", 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
