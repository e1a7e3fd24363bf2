"""What the jobs share: one collection's topics, base store and subscriptions."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, Row

from configs import kafka_client_config
from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.checkpoints import BatchRange, Offsets
from spark_streaming.driver.topic_admin import topic_id_of
from spark_streaming.kafka_options import executor_client
from spark_streaming.tasks.build_bases import BuildPlan, rebased
from storage.base_store import BaseStore
from topics.catalogue import DAY_MS, topic_name
from topics.kinds import reading_of


class CollectionJob:
    def __init__(self, io: CollectionIO) -> None:
        settings, collection = io.settings, io.collection
        self._io, self._settings, self._collection = io, settings, collection
        self._client = executor_client(kafka_client_config(settings.kafka))
        self.source = self.topic = self._name("subscriptions")
        self._topic_id = topic_id_of(self._client, self.topic, collection)
        self._store_url = settings.spark.bases or settings.redis.url
        self._store = BaseStore.open(self._store_url.get_secret_value())

    def _name(self, topic: str) -> str:
        return topic_name(self._settings.prefix, self._collection.name, topic)

    def _identity(self, job: str) -> dict[str, Any]:
        """What a checkpoint must agree in for the job to go on from it."""
        reading = reading_of(self._collection.kind, self._collection.dialect)
        return {
            "job": job,
            "topic": self.topic,
            "topic_id": self._topic_id,
            "kind": self._collection.kind,
            "attributes": list(self._collection.attributes),
            "shards": self._collection.shards,
            **({"reading": list(reading)} if reading else {}),
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
            dialect=self._collection.dialect,
        )

    def _too_late(self, batch: BatchRange) -> bool:
        """Whether Kafka may have forgotten unsubscriptions that the last batch had not seen."""
        if batch.read_until_ms is None:
            return False
        kept_ms = self._collection.retention.unsubscriptions_days * DAY_MS
        return batch.planned_at_ms - batch.read_until_ms > kept_ms

    def _records(
        self, topic: str, starts: Offsets, ends: Offsets, divided: bool = False
    ) -> DataFrame:
        self.source = topic  # whose records are missed, should some be gone
        return self._io.records(topic, starts, ends, divided)

    def _built(self, records: DataFrame, plan: BuildPlan) -> dict[int, Row]:
        """Also for shards whose new offsets hold no records, but ends of transactions."""
        outcomes = _by_shard(rebased(records, plan).collect())
        idle = [shard for shard in plan.ends if shard not in outcomes]
        if idle:
            outcomes |= _by_shard(rebased(_without_records(idle, records), plan).collect())
        return outcomes


def _without_records(shards: list[int], records: DataFrame) -> DataFrame:
    """A row a shard, in columns of the source, for the session that has its records."""
    columns = "partition int, offset long, key binary, value binary, headers binary"
    rows = [(shard, None, None, None, None) for shard in shards]
    return records.sparkSession.createDataFrame(rows, columns)


def _by_shard(rows: Sequence[Row]) -> dict[int, Row]:
    outcomes = {row.shard: row for row in rows}
    assert len(outcomes) == len(rows), "a shard's records were divided among tasks"
    return outcomes
