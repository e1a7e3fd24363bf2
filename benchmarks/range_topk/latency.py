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
from benchmarks.range_topk.lab import K, Lab
from benchmarks.report import Section, Table
from configs import load_collection, load_settings
from podium.stack import Stack
from podium.stack.run import fleet
from podium.topics_setup import ensure_topics

__all__ = ["latency"]

_OBJECTS = re.compile(rb'"objects":"[^"]*@(\d+)"')
_NAME = "lists"


class Arrived(NamedTuple):
    at: float
    objects: int  # the offset that the list is as of


def latency(lab: Lab) -> Section:
    sizes = lab.sizes
    with (
        tempfile.TemporaryDirectory(prefix="podium-benchmark-") as folder,
        Stack(Path(folder), say=lab.step) as stack,
    ):
        live = _Live(lab, stack, Path(folder))
        live.fill()
        live.send(sizes.rate * 2, sizes.rate)  # warm
        steady = live.send(sizes.rate * sizes.seconds, sizes.rate)
        burst_s, lists = live.burst(sizes.burst)
        live.close()
    p50, p99 = (1e3 * float(np.percentile(steady, q)) for q in (50, 99))
    rows = [
        Row(f"p50 at {sizes.rate} updates/s", p50, most=50, unit=" ms"),
        Row(f"p99 at {sizes.rate} updates/s", p99, most=200, unit=" ms"),
        Row("updates, as quickly as they go", sizes.burst / burst_s, unit="/s",
            words="until the last list is read"),
        Row("lists, as quickly as they go", lists / burst_s, unit="/s"),
    ]  # fmt: skip
    words = (
        f"{sizes.live_objects:,} objects, {sizes.live_subscriptions:,} subscribers of ranges of"
        f" {100 * sizes.width:g} % of the axis, k = {K}; one painter, one zone worker with two"
        " zones, broker, Redis and load on the same cores. From the moment that an object's record"
        " is given to its producer to the moment that a consumer of `matches` has the list;"
        f" {len(steady):,} lists."
    )
    header = ["", "measured", "target", "", "in plain words"]
    table = Table(header, [row.cells() for row in rows], prose=4)
    return Section("range_topk_latency", "Range top-k lists on a broker", words, [table])


class _Live:
    def __init__(self, lab: Lab, stack: Stack, folder: Path) -> None:
        self._lab, self._sizes, self._stack = lab, lab.sizes, stack
        declared = {"name": _NAME, "kind": "range_topk", "k": K, "shards": 1, "zones": 2,
                    "zone_bounds": [0.5]}  # fmt: skip
        path = folder / f"{_NAME}.yaml"
        path.write_text(yaml.safe_dump(declared))
        settings = load_settings(stack.settings_path)
        collection = load_collection(path)
        ensure_topics(settings, collection)
        self._client = {"bootstrap.servers": stack.brokers}
        self._producer = Producer({**self._client, "partitioner": "murmur2_random", "linger.ms": 1})
        self._rng = np.random.default_rng(0)
        self._xs = self._rng.random(self._sizes.live_objects)
        self._sent: dict[int, float] = {}
        self._arrived: list[Arrived] = []
        self._reading = threading.Event()
        self._fleet = [fleet.Served(collection, str(path))]

    def fill(self) -> None:
        sizes = self._sizes
        self._lab.step("objects and subscriptions")
        for i in range(sizes.live_objects):
            self._put(i)
        lows = self._rng.uniform(0, 1 - sizes.width, sizes.live_subscriptions)
        for i, low in enumerate(lows.tolist()):
            value = json.dumps({"range": [low, low + sizes.width]})
            self._produce("subscriptions", f"s-{i}", value)
        self._producer.flush()
        planned = fleet.plan(self._stack, self._fleet, 1, "podium")
        fleet.start(self._stack, planned, self._lab.step)
        self._consumer = Consumer(
            {**self._client, "group.id": "benchmark", "auto.offset.reset": "earliest",
             "fetch.queue.backoff.ms": 1, "fetch.wait.max.ms": 10}
        )  # fmt: skip
        self._consumer.subscribe([f"podium.{_NAME}.matches"])
        self._lab.step("first lists")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self._settle(sizes.live_subscriptions)

    def send(self, count: int, rate: int) -> list[float]:
        """Latencies of the lists that so many updates change."""
        self._lab.step(f"{count:,} updates, {rate}/s")
        self._arrived.clear()
        began = time.perf_counter()
        for i in range(count):
            wait_s = began + i / rate - time.perf_counter()
            if wait_s > 0:
                self._producer.poll(0)
                time.sleep(wait_s)
            self._put(int(self._rng.integers(self._sizes.live_objects)))
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
            self._put(int(self._rng.integers(self._sizes.live_objects)))
        self._producer.flush()
        self._settle(0)
        return self._arrived[-1].at - began, len(self._arrived)

    def _settle(self, least: int) -> None:
        """Until so many lists are there, and no more come."""
        known = -1
        while len(self._arrived) < least or len(self._arrived) != known:
            known = len(self._arrived)
            time.sleep(2.0)

    def _put(self, i: int) -> None:
        value = json.dumps({"x": self._xs[i], "y": self._rng.random()})
        self._produce("objects", f"o-{i}", value, time.perf_counter())

    def _produce(self, topic: str, key: str, value: str, at: float = 0.0) -> None:
        def delivered(error: object, message: Message) -> None:
            if at:
                self._sent[message.offset()] = at

        while True:
            try:
                self._producer.produce(f"podium.{_NAME}.{topic}", value, key, on_delivery=delivered)
                return
            except BufferError:
                self._producer.poll(0.1)

    def _read(self) -> None:
        while not self._reading.is_set():
            for message in self._consumer.consume(1_000, 0.02):
                found = _OBJECTS.search(message.value() or b"")
                offset = int(found[1]) if found else -1
                self._arrived.append(Arrived(time.perf_counter(), offset))

    def close(self) -> None:
        self._reading.set()
        self._thread.join()
        self._consumer.close()
