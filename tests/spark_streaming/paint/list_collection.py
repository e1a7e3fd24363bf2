"""A collection of lists that batches paint, its zones in this process, and the oracle."""

import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from pyspark.sql import SparkSession

from configs import Collection
from spark_streaming.driver.paint import PaintJob
from spark_streaming.running import await_query
from tests.fleet.bad_input.bad_lists import Bad
from tests.oracles.range_topk import History, begun_by, check_matches, objects_of
from tests.spark_streaming.spark_collection import Stage
from topics import lists, messages, progress
from topics.headers import format_token
from topics.progress import Progress
from topics.subscriptions import RangeContract
from topics.zones.lives import life_changes
from workers.zones.lists import Known, Output, ZoneLists

PATIENCE_S = 90.0


class ListStage:
    """`make` is the stage's own fixture; what is sent is a grid, so that ties are common."""

    def __init__(self, make: Callable[..., Stage], **declared: Any) -> None:
        given = {"kind": "range_topk", "attributes": [], "k": 3, "painter": "batch"}
        self.stage = make(**{**given, "zones": 2, "zone_bounds": [5.0], **declared})
        self.collection = self.stage.collection
        self.zones = Zones(self.stage)
        self._refused: set[tuple[bytes | None, bytes | None]] = set()  # keys and values

    def step(self, chance: random.Random, count: int, objects: bool = True) -> None:
        for _ in range(count):
            self.send(*change(chance, objects))
        self.stage.flush()

    def send(self, topic: str, key: str, value: object) -> None:
        self.stage._send(topic, key, value)

    def send_bad(self, topic: str, bad: Bad) -> None:
        self._refused.add((bad.key, bad.value))
        self.stage._send(topic, bad.key, bad.value, partition=bad.partition)

    def run(self, spark: SparkSession, patience_s: float = PATIENCE_S) -> PaintJob:
        """One run over all that is there; the zones may follow in a thread meanwhile."""
        self.stage.flush()
        job = PaintJob(self.stage.io(spark), patience_s)
        await_query(job.start(once=True), job, threading.Event())
        return job

    def run_until(self, spark: SparkSession, is_so: Callable[[], bool]) -> None:
        """As it runs all day, until something is so."""
        self.stage.flush()
        query = PaintJob(self.stage.io(spark)).start(once=False)
        deadline = time.monotonic() + PATIENCE_S
        try:
            while not is_so():
                assert query.isActive, query.exception()
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            query.stop()

    @property
    def checkpoint(self) -> Any:
        return self.stage.checkpoint.with_name(f"podium.{self.stage.name}.paint-batch")

    def commits(self) -> list[str]:
        """The batches that Spark has noted as done."""
        names = (file.name for file in self.checkpoint.glob("commits/[0-9]*"))
        return sorted(names, key=int)

    def batch_ends(self) -> list[int]:
        """The last object offset of each batch."""
        return [each[self.stage.topic("objects")]["0"] - 1 for each in self._logged()]

    def batch_sizes(self) -> list[int]:
        """How many records each batch has, of both topics."""
        ends = [sum(end for of in each.values() for end in of.values()) for each in self._logged()]
        return [end - start for start, end in pairwise([0, *ends])]

    def _logged(self) -> list[dict[str, dict[str, int]]]:
        """By batch, topic and partition, where Spark's offset log says that it ends."""
        files = sorted(self.checkpoint.glob("offsets/[0-9]*"), key=lambda file: int(file.name))
        return [json.loads(file.read_text().splitlines()[2]) for file in files]

    def history(self) -> History:
        """Of the good records."""
        history = History(self.collection.k)
        for message in self._good("objects"):
            value = _parsed(message.value())
            history.put(message.offset(), message.key().decode(), value)
        for message in self._good("subscriptions"):
            place = message.partition(), message.offset()
            history.subscribe(*place, message.key().decode(), _parsed(message.value()))
        return history

    def _good(self, topic: str) -> list[Message]:
        records = self.stage.read(topic)
        return [one for one in records if (one.key(), one.value()) not in self._refused]

    def check(self, by_batches: bool = True) -> int:
        """Zones have what was said, and every record is right; how many lives there were."""
        self.zones.catch_up()
        history, ends = self.history(), self.batch_ends()
        matches = {key: [record for record, _ in found] for key, found in self.zones.told.items()}
        if not by_batches:
            mend_reasons(matches, history)
        return check_matches(
            matches, history, until=ends[-1], group_ends=ends if by_batches else None
        )


def mend_reasons(matches: Mapping[str, list[dict[str, Any] | None]], history: History) -> None:
    """Behind lists that were sent anew nobody knows why an object is not there any more."""
    for records in matches.values():
        for record in records:
            for change in record["changes"] if record else ():
                if change["op"] == "leave":
                    life = history.subscriptions[begun_by(record)]
                    change["why"] = history.why(change["id"], objects_of(record), life)


def _parsed(value: bytes | None) -> Any:
    return None if value is None else json.loads(value)


def change(chance: random.Random, objects: bool = True) -> tuple[str, str, Any]:
    """Topic, key and value of a random record."""
    weights = (8, 2, 2, 1) if objects else (0, 0, 2, 1)
    match chance.choices(("put", "remove", "want", "leave"), weights)[0]:
        case "put":
            place = {"x": chance.randrange(12), "y": chance.randrange(8) / 2}
            return "objects", f"o-{chance.randrange(40)}", place
        case "remove":
            return "objects", f"o-{chance.randrange(40)}", None
        case "want":
            low = chance.choice((None, *range(12)))
            high = chance.choice((None, *range(low or 0, 13)))
            wanted: dict[str, Any] = {"range": [low, high]}
            if k := chance.choice((None, 1, 2)):
                wanted["k"] = k
            return "subscriptions", f"s-{chance.randrange(30)}", wanted
        case _:
            return "subscriptions", f"s-{chance.randrange(30)}", None


class Zones:
    """What zone workers do, without their groups: all records are applied, and progress is told."""

    def __init__(self, stage: Stage) -> None:
        collection: Collection = stage.collection
        names = stage.topic("objects"), stage.topic("subscriptions")
        self.lists = [ZoneLists(zone, collection, *names) for zone in range(collection.zones)]
        self.told: dict[str, list[tuple[Any, bytes]]] = defaultdict(list)  # records, and as-of
        self.taken: list[list[bytes]] = [[] for _ in self.lists]  # values of `messages`
        self._last: dict[bytes, Known] = {}
        self._stage, self._turn = stage, threading.Lock()
        self._messages = stage.topic("messages")
        client = {"bootstrap.servers": stage.brokers}
        self._consumer = Consumer({**client, "group.id": "zones", "enable.auto.commit": False})
        self._consumer.assign(
            [TopicPartition(self._messages, zone.number, 0) for zone in self.lists]
        )
        self._producer = Producer({**client, "linger.ms": 0})
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "Zones":
        """Follow while somebody paints."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        assert self._thread is not None
        self._thread.join()

    def close(self) -> None:
        self._consumer.close()

    def _follow(self) -> None:
        while not self._stopping.is_set():
            self.take(0.05)

    def catch_up(self) -> None:
        """Take all that is in `messages` now."""
        ends = [
            self._consumer.get_watermark_offsets(
                TopicPartition(self._messages, zone.number), timeout=10
            )[1]
            for zone in self.lists
        ]
        deadline = time.monotonic() + PATIENCE_S
        while any(zone.next_offset < end for zone, end in zip(self.lists, ends, strict=True)):
            assert time.monotonic() < deadline, [zone.next_offset for zone in self.lists]
            self.take(0.05)

    def take(self, wait_s: float) -> None:
        with self._turn:
            for message in self._consumer.consume(100, wait_s):
                assert message.error() is None, message.error()
                self._take(message.partition(), message.offset(), message.value())
            self._say_progress()

    def _take(self, number: int, offset: int, value: bytes) -> None:
        zone = self.lists[number]
        zone.next_offset = offset + 1
        self.taken[number].append(value)
        record = messages.decode(value)
        known: dict[bytes, Known] = {}
        ended: list[tuple[bytes, int]] = []
        if zone.ends_reset(record):
            lives = zone.resuming(record)
            known = {
                key: one
                for key, one in self._last.items()
                if key in lives and one.life == lives[key]
            }
            ended = self._ended(self._last.keys() - lives.keys(), record.positions.tolist())
        for output in zone.take(record, known, ended):
            self._write(output, zone)

    def _ended(self, keys: set[bytes], positions: list[int]) -> list[tuple[bytes, int]]:
        """Those that have unsubscribed by then, and what has ended them."""
        last, contract = {}, RangeContract(k=self._stage.collection.k)
        for one in self._stage.read("subscriptions"):
            if one.key() in keys and one.offset() < positions[one.partition()]:
                record = [one.key()], [one.value()], [one.offset()]
                changes = life_changes(contract, one.partition(), len(positions), *record)
                last |= dict.fromkeys(changes.keys, -1) | dict(changes.gone)
        return [(key, by) for key, by in last.items() if by >= 0]

    def _write(self, output: Output, zone: ZoneLists) -> None:
        key, value, as_of = output
        if value is None:
            self._last.pop(key, None)
            self.told[key.decode()].append((None, as_of))
            return
        shard, offset = map(int, as_of.decode().split("@"))
        life = messages.life_of(shard, offset, zone._shards)
        self._last[key] = Known(life, lists.decode(value))
        self.told[key.decode()].append((json.loads(value), as_of))

    def _say_progress(self) -> None:
        for zone in self.lists:
            objects = zone.objects - 1 if zone.objects else None
            said = Progress(objects, 0, format_token(zone.left), zone.reset, zone.is_lost)
            self._producer.produce(
                self._stage.topic("progress"),
                progress.encode(said),
                progress.key_of(zone.number),
                partition=zone.number,
            )
        self._producer.flush(10)
