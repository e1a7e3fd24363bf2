"""One Spark session and some batches of `sopt-bases` in it, as a process of its own.

Everything that is in the topic is the first batch; then so many changes are sent, and a batch is
run, several times over.  Prints one line of JSON: a `Run`.
"""

import json
import random
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from configs import Collection, Settings, load_collection, load_settings
from podium.clients import KafkaClients
from podium.commands.spark import kafka_jars
from podium.sender import PRODUCER
from spark_streaming.jobs import BasesJob
from spark_streaming.running import await_query, log_to_stderr, stop_never
from spark_streaming.session import open_session

__all__ = ["Batch", "Run", "subscription_id"]


@dataclass(frozen=True)
class Batch:
    records: int
    seconds: float  # of the trigger, from the look at the topic to the commit
    parts: dict[str, float]  # seconds, by Spark's names
    ends: dict[str, int]  # offsets by shard


@dataclass(frozen=True)
class Run:
    session_s: float
    first: Batch
    later: dict[str, list[Batch]]  # by how many changes they had

    @classmethod
    def parse(cls, line: str) -> "Run":
        told = json.loads(line)
        later = {n: [Batch(**one) for one in some] for n, some in told["later"].items()}
        return cls(told["session_s"], Batch(**told["first"]), later)


def subscription_id(number: int) -> bytes:
    return b"ad-%08d" % number


def main(arguments: Sequence[str]) -> None:
    settings_path, collection_path, subscriptions, repetitions, *changes = arguments
    log_to_stderr()
    settings, collection = load_settings(settings_path), load_collection(Path(collection_path))
    began = time.perf_counter()
    spark = open_session(settings.spark, "benchmark", kafka_jars())
    session_s = time.perf_counter() - began
    try:
        first = run_batch(spark, settings, collection)
        later: dict[str, list[Batch]] = {count: [] for count in changes}
        chance = random.Random(0)
        for count, batches in later.items():
            for _ in range(int(repetitions)):
                change(settings, collection, int(subscriptions), int(count), chance)
                batches.append(run_batch(spark, settings, collection))
    finally:
        application = str(spark.sparkContext.applicationId)
        spark.stop()
        # Where executors that are processes had their folders: Spark puts them beside its code.
        shutil.rmtree(Path(pyspark.__file__).parent / "work" / application, ignore_errors=True)
    print(json.dumps(asdict(Run(session_s, first, later))))


def run_batch(spark: SparkSession, settings: Settings, collection: Collection) -> Batch:
    """All that is new in the topic, by the job as it is started with `--once`."""
    job = BasesJob(spark, settings, collection)
    query = job.start(once=True)
    await_query(query, job, stop_never())
    (progress,) = (one for one in query.recentProgress if one.numInputRows)
    told: dict[str, Any] = json.loads(progress.json)
    parts = {name: ms / 1000 for name, ms in told["durationMs"].items()}
    ends = told["sources"][0]["endOffset"][job.topic]
    return Batch(told["numInputRows"], parts.pop("triggerExecution"), parts, ends)


def change(
    settings: Settings,
    collection: Collection,
    subscriptions: int,
    count: int,
    chance: random.Random,
) -> None:
    """Give so many subscriptions another interval and another score."""
    producer = KafkaClients(settings.kafka).producer(PRODUCER)
    topic = f"{settings.prefix}.{collection.name}.subscriptions"
    for number in chance.sample(range(subscriptions), count):
        low = round(chance.random(), 6)
        value = {"where": {"a0": [low, low + 0.01]}, "score": round(chance.random(), 6)}
        producer.produce(topic, json.dumps(value), subscription_id(number))
        producer.poll(0)
    if producer.flush(60):
        raise RuntimeError(f"{len(producer)} of {count} changes were not delivered")


if __name__ == "__main__":
    main(sys.argv[1:])
