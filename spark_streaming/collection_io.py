"""What the jobs of one collection read, write and go on from.

This module alone reads and writes DataFrames and names checkpoints; everything else in this package
is given them.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from configs import Collection, Settings
from spark_streaming.driver.checkpoints import Checkpoint, Offsets
from spark_streaming.kafka_options import READING, spark_kafka_options
from spark_streaming.metrics import query_name


def job_name(settings: Settings, collections: Sequence[Collection], job: str) -> str:
    names = "+".join(collection.name for collection in collections)
    return f"{settings.prefix}.{names}.{job}"


class CollectionIO:
    def __init__(self, spark: SparkSession, settings: Settings, collection: Collection) -> None:
        self.spark, self.settings, self.collection = spark, settings, collection

    def checkpoint(self, job: str) -> Checkpoint:
        name = job_name(self.settings, [self.collection], job)
        return Checkpoint(self.spark, f"{self.settings.spark.checkpoints}/{name}")

    def records(
        self, topic: str, starts: Offsets, ends: Offsets, divided: bool = False
    ) -> DataFrame:
        """The records of some partitions from one offset to another; -2 is the first there is.

        A partition is read by one task; `divided`, by several if more can run than there are
        partitions.
        """
        tasks = self.spark.sparkContext.defaultParallelism if divided else 1
        reader = self._kafka(self.spark.read).option("assign", json.dumps({topic: list(ends)}))
        reader = reader.option("startingOffsets", json.dumps({topic: starts}))
        reader = reader.option("minPartitions", str(tasks))
        frame: DataFrame = reader.option("endingOffsets", json.dumps({topic: ends})).load()
        return frame

    def start(
        self,
        job: str,
        topics: Sequence[str],
        on_batch: Callable[[DataFrame, int], None],
        once: bool,
        most: int | None = None,
    ) -> StreamingQuery:
        """Give `on_batch` what the job's checkpoint has not seen; `once` only what is there now.

        A batch has at most so many records.  Where it ends is in the checkpoint before it runs.
        """
        # The query's thread takes it over.  Within one pool tasks wait for all of an earlier query.
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", self.collection.name)
        writer = self._stream(topics, once, most).writeStream.foreachBatch(on_batch)
        writer = writer.option("checkpointLocation", self.checkpoint(job).path)
        writer = writer.queryName(query_name(self.collection.name, job))
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

    def _stream(self, topics: Sequence[str], once: bool, most: int | None) -> DataFrame:
        settings = self.settings.spark
        least = settings.least_changes if most is None else min(settings.least_changes, most)
        reader = self._kafka(self.spark.readStream).option("subscribe", ",".join(topics))
        reader = reader.option("startingOffsets", "earliest")
        if not once:
            reader = reader.option("minOffsetsPerTrigger", str(least))
            reader = reader.option("maxTriggerDelay", f"{round(settings.longest_wait_s * 1000)}ms")
        if most is not None:
            reader = reader.option("maxOffsetsPerTrigger", str(most))
        frame: DataFrame = reader.load()
        return frame

    def _kafka(self, reader: Any) -> Any:
        options = {**spark_kafka_options(self.settings.kafka), **READING}
        return reader.format("kafka").options(**options)
