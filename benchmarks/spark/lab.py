"""What the experiments with Spark share: sizes, topics full of subscriptions, runs of the job."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.script import Step
from benchmarks.spark.run import Run, subscription_id
from benchmarks.state.lab import Subscriptions
from benchmarks.state.replay import send_subscriptions
from benchmarks.workloads.zipf_intervals import Zipf, generate
from configs.collection import Collection
from configs.settings import Settings, load_settings
from podium.clients import KafkaClients
from podium.stack import Stack
from podium.topics_setup import ensure_topics
from storage.redis_client import open_redis
from topics.catalogue import topic_name
from topics.subscriptions.ranked import RankedColumns

_CHUNK = 1_000_000  # subscriptions made up at a time
_REDIS_TIMEOUT_S = 60.0  # to flush millions of them


@dataclass(frozen=True)
class Case:
    subscriptions: int
    shards: int
    masters: tuple[str, ...]


@dataclass(frozen=True)
class Sizes:
    cases: tuple[Case, ...] = (
        Case(1_000_000, 1, ("local[1]", "local[2]")),
        Case(2_000_000, 2, ("local[1]", "local[2]", "local-cluster[2,1,2048]")),
        Case(10_000_000, 10, ("local[2]",)),
    )
    changed: float = 0.01  # of the subscriptions, in a later batch
    repetitions: int = 5
    small: int = 1_000  # subscriptions of a collection whose batches have little to do
    small_masters: tuple[str, ...] = ("local[1]", "local[2]", "local-cluster[2,1,2048]")
    small_repetitions: int = 8


QUICK = Sizes(
    cases=(Case(20_000, 1, ("local[1]",)), Case(20_000, 2, ("local[2]",))),
    repetitions=2,
    small_masters=("local[2]", "local-cluster[2,1,1024]"),
    small_repetitions=2,
)


class Lab:
    def __init__(self, sizes: Sizes, step: Step, stack: Stack) -> None:
        self.sizes, self.step, self.stack = sizes, step, stack
        with open_redis(stack.redis_url, _REDIS_TIMEOUT_S) as client:
            # It would write all of it to disk every minute, while something is being measured.
            client.config_set("save", "")
        self._runs = 0

    @property
    def settings(self) -> Settings:
        return load_settings(self.stack.settings_path)

    def collection(self, name: str, subscriptions: int, shards: int) -> Collection:
        """With its topics, and so many subscriptions in them."""
        self.step(f"{name}: sending {subscriptions:,} subscriptions")
        collection = Collection(name=name, kind="ranked", attributes=("a0",), shards=shards)
        self._declaration(collection).write_text(yaml.safe_dump(collection.model_dump(mode="json")))
        settings = self.settings
        ensure_topics(settings, collection)
        topic = topic_name(settings.prefix, name, "subscriptions")
        for start in range(0, subscriptions, _CHUNK):
            some = _subscriptions(start, min(_CHUNK, subscriptions - start))
            send_subscriptions(KafkaClients(settings.kafka), topic, some)
        return collection

    def run(
        self,
        collection: Collection,
        master: str,
        subscriptions: int,
        changes: int,
        repetitions: int,
    ) -> Run:
        """From nothing: no checkpoint, no base."""
        self.step(f"{collection.name}, {master}")
        with open_redis(self.stack.redis_url, _REDIS_TIMEOUT_S) as client:
            client.flushall()
        self._runs += 1
        settings = yaml.safe_load(self.stack.settings_path.read_text())
        folder = self.stack.folder.path / f"run-{self._runs}"
        folder.mkdir()
        settings["spark"] = {
            "master": master,
            "checkpoints": str(folder / "checkpoints"),
            # A batch begins as soon as all of its changes are there, and not before.
            "trigger_s": 0.02,
            "least_changes": changes,
            "longest_wait_s": 3600,
        }
        config = folder / "podium.yaml"
        config.write_text(yaml.safe_dump(settings))
        arguments = [str(config), str(self._declaration(collection)), str(subscriptions)]
        arguments += map(str, (repetitions, changes))
        command = [sys.executable, "-m", "benchmarks.spark.run", *arguments]
        with (folder / "log").open("w+") as log:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=log, text=True, check=False
            )
            if done.returncode:
                log.seek(0)
                said = "".join(log.readlines()[-20:])
                raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{said}")
        return Run.parse(done.stdout.splitlines()[-1])

    def _declaration(self, collection: Collection) -> Path:
        return self.stack.folder.path / f"{collection.name}.yaml"


def _subscriptions(start: int, count: int) -> Subscriptions:
    data = generate(Zipf(subscriptions=count, queries=1, seed=start // _CHUNK))
    keys = [subscription_id(start + i) for i in range(count)]
    return Subscriptions(
        keys, RankedColumns(data.lows, data.highs, data.scores[:, 0]), data.queries
    )
