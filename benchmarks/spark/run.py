"""One Spark session and `sopt-bases` in it, as a process of its own.

Everything that is in the topic is the first batch; then so many changes are sent, and the batch of
them is waited for, several times over, by a job that stays.  Prints one line of JSON: a `Run`.
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
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.spark.baselines import Baseline, measure_from_state
from configs import Collection, Settings, load_collection, load_settings
from configs.logs import log_to_stderr
from podium.clients import KafkaClients
from podium.commands.spark import kafka_jars
from podium.send.sender import PRODUCER
from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.bases import BasesJob
from spark_streaming.session import open_session

__all__ = ["Batch", "Run", "subscription_id"]

_LOOK_S = 0.05


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
    later: list[Batch]
    alone: list[Baseline]  # of a single shard: the same work without Spark, after each later batch

    @classmethod
    def parse(cls, line: str) -> "Run":
        told = json.loads(line)
        later = [Batch(**one) for one in told["later"]]
        alone = [Baseline(**one) for one in told["alone"]]
        return cls(told["session_s"], Batch(**told["first"]), later, alone)


def subscription_id(number: int) -> bytes:
    return b"ad-%08d" % number


def main(arguments: Sequence[str]) -> None:
    settings_path, collection_path, subscriptions, repetitions, changes = arguments
    log_to_stderr(throttled=False)
    settings, collection = load_settings(settings_path), load_collection(Path(collection_path))
    began = time.perf_counter()
    spark = open_session(settings.spark, "benchmark", kafka_jars())
    session_s = time.perf_counter() - began
    try:
        job = BasesJob(CollectionIO(spark, settings, collection))
        query = job.start(once=False)
        first = batch_of(query, 0, job.topic)
        later, alone = [], []
        chance = random.Random(0)
        for number in range(1, int(repetitions) + 1):
            change(settings, collection, int(subscriptions), int(changes), chance)
            later.append(batch_of(query, number, job.topic))
            if collection.shards == 1:  # in the same minutes, since others use the machine too
                alone.append(measure_from_state(settings, collection, later[-1].ends["0"]))
        query.stop()
    finally:
        application = str(spark.sparkContext.applicationId)
        spark.stop()
        # Where executors that are processes had their folders: Spark puts them beside its code.
        shutil.rmtree(Path(pyspark.__file__).parent / "work" / application, ignore_errors=True)
    print(json.dumps(asdict(Run(session_s, first, later, alone))))


def batch_of(query: StreamingQuery, number: int, topic: str) -> Batch:
    """Wait for a batch; the job waits until all changes are there before it starts it."""
    while True:
        for progress in query.recentProgress:
            if progress.batchId == number and progress.numInputRows:
                told: dict[str, Any] = json.loads(progress.json)
                parts = {name: ms / 1000 for name, ms in told["durationMs"].items()}
                ends = told["sources"][0]["endOffset"][topic]
                return Batch(told["numInputRows"], parts.pop("triggerExecution"), parts, ends)
        if not query.isActive:
            raise RuntimeError(f"the query ended before batch {number}: {query.exception()}")
        time.sleep(_LOOK_S)


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
