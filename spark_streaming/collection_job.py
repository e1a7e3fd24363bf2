"""What the jobs share: one collection's topics, base store, checkpoints and subscriptions."""

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from configs import Collection, Settings, kafka_client_config
from spark_streaming.backfill import Offsets
from spark_streaming.checkpoints import Checkpoint
from spark_streaming.kafka_options import READING, executor_client, spark_kafka_options
from spark_streaming.sopt_bases import BuildPlan, rebased
from spark_streaming.topic_admin import topic_id_of
from topics.base_store import BaseStore
from topics.catalogue import topic_name


class CollectionJob:
    def __init__(self, spark: SparkSession, settings: Settings, collection: Collection) -> None:
        self._spark, self._settings, self._collection = spark, settings, collection
        self._client = executor_client(kafka_client_config(settings.kafka))
        self.source = self.topic = self._name("subscriptions")
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
        options = {**spark_kafka_options(self._settings.kafka), **READING}
        return reader.format("kafka").options(**options)

    def _read(self, topic: str, starts: Offsets, ends: Offsets, tasks: int = 1) -> DataFrame:
        """The records of some partitions from one offset to another; -2 is the first there is.

        A partition is read by one task, unless more `tasks` than partitions are asked for.
        """
        self.source = topic  # whose records are missed, should some be gone
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
