"""Batch Paint as the Spark job does it, beside the painter's world doing the same one by one."""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.range_topk.lab import Crowd, K, Lab
from benchmarks.report import Section, Table
from configs import load_collection, load_settings
from podium.stack import Stack
from podium.topics_setup import ensure_topics
from topics import messages
from topics.messages import LAST

__all__ = ["job"]

_NAME = "painted"
_PATIENCE_S = 300.0


class _Batch(NamedTuple):
    changes: int
    seconds: float  # from the commit of the changes to the last record for the zone
    messages: int
    nbytes: int


def job(lab: Lab) -> Section:
    sizes = lab.sizes
    with (
        tempfile.TemporaryDirectory(prefix="podium-benchmark-") as folder,
        Stack(Path(folder), say=lab.step) as stack,
    ):
        painted = _Painted(lab, stack, Path(folder))
        with painted.running():
            painted.change(sizes.batches[0])  # the first batch behind the first lists warms up
            batches = [painted.change(size) for size in sizes.batches]
    rows = []
    for batch in batches:
        lab.step(f"one by one, {batch.changes:,} changes")
        seconds, sent = _one_by_one(lab, batch.changes)
        rows.append(
            [
                f"{batch.changes:,}",
                f"{batch.seconds:.2f}",
                f"{batch.changes / batch.seconds:,.0f}",
                f"{batch.messages / batch.changes:.2f}",
                f"{sent / batch.changes:.2f}",
                f"{sent / max(1, batch.messages):.2f}x",
                f"{batch.nbytes / batch.changes:,.0f}",
                f"{seconds:.2f}",
            ]
        )
    words = (
        f"`paint-batch` on `local[*]` with its broker and base store on the same cores:"
        f" {sizes.objects:,} uniform objects, {sizes.job_subscriptions:,} subscribers of ranges of"
        f" {100 * sizes.width:g} % of the axis, k = {K}, PaintSparse, one zone. The changes of a"
        " batch are one transaction, so the job sees all of them at once; seconds are from its"
        " commit to the last record in `messages`, with the look at the topics, the tasks that"
        " read and check the records, Paint-Batch, and the world that is stored. One by one: a"
        " painter's world in this process, CPU time without Kafka. Objects change to a new y, and"
        " one object may change several times."
    )
    header = ["changes", "batch, s", "changes/s", "messages per change", "one by one",
              "fewer messages", "bytes per change", "one by one, s"]  # fmt: skip
    return Section(
        "range_topk_job", "Range top-k lists painted by Spark", words, [Table(header, rows)]
    )


def _one_by_one(lab: Lab, count: int) -> tuple[float, int]:
    crowd = Crowd(lab)
    crowd.subscribe(lab.sizes.job_subscriptions)
    changes, numbers = crowd.changes(count), crowd.numbers(count)
    began = time.process_time()
    told = crowd.world.put(changes.ids, changes.xs, changes.ys, numbers)
    return time.process_time() - began, sum(len(one.group) for one in told.values())


class _Painted:
    """A collection that the job paints, and one who follows its zone."""

    def __init__(self, lab: Lab, stack: Stack, folder: Path) -> None:
        self._lab, self._sizes, self._stack, self._folder = lab, lab.sizes, stack, folder
        declared = {"name": _NAME, "kind": "range_topk", "k": K, "shards": 1, "zones": 1,
                    "painter": "batch", "deliver": "messages"}  # fmt: skip
        self._path = folder / f"{_NAME}.yaml"
        self._path.write_text(yaml.safe_dump(declared))
        self._settings = load_settings(stack.settings_path)
        ensure_topics(self._settings, load_collection(self._path))
        client = {"bootstrap.servers": stack.brokers}
        self._producer = Producer(
            {**client, "partitioner": "murmur2_random", "transactional.id": "benchmark",
             "transaction.timeout.ms": 300_000}
        )  # fmt: skip
        self._consumer = Consumer({**client, "group.id": "benchmark"})
        self._consumer.assign([TopicPartition(f"podium.{_NAME}.messages", 0, 0)])
        self._rng = np.random.default_rng(0)
        self._xs = self._rng.random(lab.sizes.objects)
        self._offset = 0  # the next one of `objects`; the end of a transaction takes one, too

    @contextmanager
    def running(self) -> Iterator[None]:
        """The job, behind the first lists."""
        sizes = self._sizes
        self._producer.init_transactions()
        self._lab.step(f"{sizes.objects:,} objects, {sizes.job_subscriptions:,} subscriptions")
        lows = self._rng.uniform(0, 1 - sizes.width, sizes.job_subscriptions)
        self._producer.begin_transaction()
        for i, low in enumerate(lows.tolist()):
            value = json.dumps({"range": [low, low + sizes.width]})
            self._produce("subscriptions", f"s-{i}", value)
        self._commit()
        self._put(range(sizes.objects))
        settings = yaml.safe_load(self._stack.settings_path.read_text())
        # A batch begins as soon as there is anything.
        begin = {"trigger_s": 0.02, "least_changes": 1}
        settings["spark"] = {"checkpoints": str(self._folder / "checkpoints"), **begin}
        config = self._folder / "job.yaml"
        config.write_text(yaml.safe_dump(settings))
        command = ["spark", "paint-batch", "--collection", str(self._path), "--config", str(config)]
        argv = [sys.executable, "-m", "podium", *command]
        self._lab.step("the first batch")
        self._stack.start_worker("paint-batch", argv, port=0, labels={})
        self._follow()
        yield
        self._stack.stop_worker("paint-batch")
        self._consumer.close()

    def change(self, count: int) -> _Batch:
        self._lab.step(f"a batch of {count:,} changes")
        self._put(self._rng.integers(self._sizes.objects, size=count).tolist())
        began = time.perf_counter()
        told, nbytes = self._follow()
        return _Batch(count, time.perf_counter() - began, told, nbytes)

    def _put(self, objects: "range | list[int]") -> None:
        self._producer.begin_transaction()
        for i, y in zip(objects, self._rng.random(len(objects)).tolist(), strict=True):
            self._produce("objects", f"o-{i}", json.dumps({"x": self._xs[i], "y": y}))
        self._commit()
        self._offset += len(objects) + 1

    def _follow(self) -> tuple[int, int]:
        """Messages and bytes until the zone has heard of all objects."""
        told = nbytes = 0
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            self._stack.check()
            found = self._consumer.poll(1.0)
            if found is None or found.error() is not None:
                continue
            record = messages.decode(found.value())
            told, nbytes = told + len(record.messages.group), nbytes + len(found.value())
            if record.objects >= self._offset - 1 and not record.more and record.phase in (0, LAST):
                return told, nbytes
        raise RuntimeError(f"the job is not through after {_PATIENCE_S:.0f} s; see {self._folder}")

    def _commit(self) -> None:
        self._producer.flush()
        self._producer.commit_transaction()

    def _produce(self, topic: str, key: str, value: str) -> None:
        while True:
            try:
                self._producer.produce(f"podium.{_NAME}.{topic}", value, key)
                return
            except BufferError:
                self._producer.poll(0.1)
