"""A painter and zone workers on a broker: from an object's record to the records of lists."""

import json
import re
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from confluent_kafka import Consumer, Message, Producer

from benchmarks.intervals.targets import Row
from benchmarks.range_topk.lab import K, Lab, Sizes
from benchmarks.report import Section, Table
from configs import load_collection, load_settings
from podium.stack import Stack
from podium.stack.run import fleet
from podium.topics_setup import ensure_topics
from topics import progress

__all__ = ["latency"]

PROGRESS = "progress"
_OBJECTS = re.compile(rb'"objects":"[^"]*@(\d+)"')


class Arrived(NamedTuple):
    at: float
    objects: int  # the offset that the list is as of


class _Measured(NamedTuple):
    subscriptions: int
    objects: int
    rate: float  # updates a second, of the latencies
    latencies: np.ndarray  # f8[lists]  seconds
    updates_per_s: float  # as quickly as they go
    lists_per_s: float
    lists_per_update: float

    def percentile_ms(self, q: float) -> float:
        return 1e3 * float(np.percentile(self.latencies, q))


def latency(lab: Lab) -> Section:
    sizes = lab.sizes
    with (
        tempfile.TemporaryDirectory(prefix="podium-benchmark-") as folder,
        Stack(Path(folder), say=lab.step) as stack,
    ):
        measured = [_measured(lab, stack, Path(folder), *each) for each in sizes.live]
    (aimed,) = (one for one in measured if (one.subscriptions, one.objects) == sizes.targeted)
    rows = [
        Row(f"p50 at {aimed.rate:,.0f} updates/s, {aimed.subscriptions:,} subscriptions, "
            f"{aimed.objects:,} objects",
            aimed.percentile_ms(50), most=50, unit=" ms"),
        Row(f"p99 at {aimed.rate:,.0f} updates/s, {aimed.subscriptions:,} subscriptions, "
            f"{aimed.objects:,} objects",
            aimed.percentile_ms(99), most=200, unit=" ms"),
    ]  # fmt: skip
    cells = [
        [
            f"{one.subscriptions:,}",
            f"{one.objects:,}",
            f"{one.updates_per_s:,.0f}",
            f"{one.lists_per_s:,.0f}",
            f"{one.lists_per_update:,.1f}",
            f"{one.rate:,.0f}",
            f"{one.percentile_ms(50):,.1f}",
            f"{one.percentile_ms(99):,.1f}",
        ]
        for one in measured
    ]
    words = (
        f"Uniform objects, subscribers of ranges of {100 * sizes.width:g} % of the axis, k = {K};"
        " one painter, one zone worker with two zones, broker, Redis and load on the same cores."
        " Sustained: updates sent at once, until the last list is read. Latency: from the moment"
        " that an object's record is given to its producer to the moment that a consumer of"
        f" `matches` has the list, at {sizes.rate} updates a second, or at half of the sustained"
        f" rate where that is less, after {sizes.warm_seconds} s of such updates. The fewer objects"
        " there are, the more lists have the one that is updated. What bounds the sustained rate is"
        " the lists: each is a record with the whole list and its changes."
    )
    if sizes != Sizes():
        words += " **The targets are for other sizes.**"
    table = Table(
        ["", "measured", "target", "", "in plain words"], [row.cells() for row in rows], prose=4
    )
    header = ["subscriptions", "objects", "updates/s sustained", "lists/s", "lists per update",
              "updates/s", "p50, ms", "p99, ms"]  # fmt: skip
    tables = [table, Table(header, cells, "By the number of subscriptions.")]
    return Section("range_topk_latency", "Range top-k lists on a broker", words, tables)


def _measured(
    lab: Lab, stack: Stack, folder: Path, subscriptions: int, objects: int, burst: int
) -> _Measured:
    sizes = lab.sizes
    with _Live(lab, stack, folder, subscriptions, objects) as live:
        live.send(max(10, burst // 10), float(sizes.rate))
        seconds, lists = live.burst(burst)
        rate = min(float(sizes.rate), burst / seconds / 2)
        live.send(round(rate * sizes.warm_seconds), rate)
        steady = live.send(round(rate * sizes.seconds), rate)
    return _Measured(
        subscriptions,
        objects,
        rate,
        np.array(steady),
        burst / seconds,
        lists / seconds,
        lists / burst,
    )


class _Live:
    """A painter and a zone worker of one collection, and who sends and reads."""

    def __init__(
        self, lab: Lab, stack: Stack, folder: Path, subscriptions: int, objects: int
    ) -> None:
        self._lab, self._sizes, self._stack = lab, lab.sizes, stack
        self._subscriptions, self._objects = subscriptions, objects
        self._name = f"lists-{subscriptions}-{objects}"
        declared = {"name": self._name, "kind": "range_topk", "k": K, "shards": 1, "zones": 2,
                    "zone_bounds": [0.5]}  # fmt: skip
        path = folder / f"{self._name}.yaml"
        path.write_text(yaml.safe_dump(declared))
        settings = load_settings(stack.settings_path)
        collection = load_collection(path)
        ensure_topics(settings, collection)
        self._client = {"bootstrap.servers": stack.brokers}
        self._producer = Producer({**self._client, "partitioner": "murmur2_random", "linger.ms": 1})
        self._rng = np.random.default_rng(0)
        self._xs = self._rng.random(self._objects)
        self._sent: dict[int, float] = {}
        self._arrived: list[Arrived] = []
        self._through = dict.fromkeys(range(collection.zones), -1)  # the last object, by zone
        self._reading = threading.Event()
        self._fleet = [fleet.Served(collection, str(path))]

    def __enter__(self) -> "_Live":
        self._fill()
        return self

    def __exit__(self, *_: object) -> None:
        self._reading.set()
        self._thread.join()
        self._consumer.close()
        for worker in self._planned:
            self._stack.stop_worker(worker.name)

    def _fill(self) -> None:
        sizes = self._sizes
        self._lab.step(f"{self._subscriptions:,} subscriptions and objects")
        for i in range(self._objects):
            self._put(i)
        lows = self._rng.uniform(0, 1 - sizes.width, self._subscriptions)
        for i, low in enumerate(lows.tolist()):
            value = json.dumps({"range": [low, low + sizes.width]})
            self._produce("subscriptions", f"s-{i}", value)
        self._producer.flush()
        self._planned = fleet.plan(self._stack, self._fleet, 1, "podium")
        fleet.start(self._stack, self._planned, self._lab.step)
        self._consumer = Consumer(
            {**self._client, "group.id": "benchmark", "auto.offset.reset": "earliest",
             "fetch.queue.backoff.ms": 1, "fetch.wait.max.ms": 10}
        )  # fmt: skip
        self._consumer.subscribe(
            [f"podium.{self._name}.{topic}" for topic in ("matches", PROGRESS)]
        )
        self._lab.step("first lists")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self._settle(self._subscriptions)

    def send(self, count: int, rate: float) -> list[float]:
        """Latencies of the lists that so many updates change."""
        self._lab.step(f"{count:,} updates, {rate:,.0f}/s")
        self._arrived.clear()
        began = time.perf_counter()
        for i in range(count):
            wait_s = began + i / rate - time.perf_counter()
            if wait_s > 0:
                self._producer.poll(0)
                time.sleep(wait_s)
            self._put(int(self._rng.integers(self._objects)))
        self._producer.flush()
        self._settle(0)
        return [
            one.at - self._sent[one.objects] for one in self._arrived if one.objects in self._sent
        ]

    def burst(self, count: int) -> tuple[float, int]:
        self._lab.step(f"{count:,} updates at once")
        self._arrived.clear()
        began = time.perf_counter()
        for _ in range(count):
            self._put(int(self._rng.integers(self._objects)))
        self._producer.flush()
        self._settle(0)
        return self._arrived[-1].at - began, len(self._arrived)

    def _settle(self, least: int) -> None:
        """Until the zones are through with all objects, and the lists that they wrote are here."""
        last, known = max(self._sent, default=-1), -1
        while (
            min(self._through.values()) < last
            or len(self._arrived) < least
            or len(self._arrived) != known
        ):
            known = len(self._arrived)
            time.sleep(1.0)

    def _put(self, i: int) -> None:
        value = json.dumps({"x": self._xs[i], "y": self._rng.random()})
        self._produce("objects", f"o-{i}", value, time.perf_counter())

    def _produce(self, topic: str, key: str, value: str, at: float = 0.0) -> None:
        name = f"podium.{self._name}.{topic}"

        def delivered(error: object, message: Message) -> None:
            if at:
                self._sent[message.offset()] = at

        while True:
            try:
                self._producer.produce(name, value, key, on_delivery=delivered)
                return
            except BufferError:
                self._producer.poll(0.1)

    def _read(self) -> None:
        while not self._reading.is_set():
            for message in self._consumer.consume(1_000, 0.02):
                if message.topic().endswith(PROGRESS):
                    said = progress.decode(message.value())
                    self._through[message.partition()] = (
                        -1 if said.objects is None else said.objects
                    )
                    continue
                found = _OBJECTS.search(message.value() or b"")
                offset = int(found[1]) if found else -1
                self._arrived.append(Arrived(time.perf_counter(), offset))
