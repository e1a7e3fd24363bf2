"""A painter and zone workers of one collection, what goes in, and the oracle for what comes out.

All that is sent is remembered, so that `check()` can say of every record of `matches` whether it is
right: by brute force, as of the offsets that the record names.
"""

import json
import random
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import yaml
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from podium.stack.run.supervisor import Supervisor
from tests.fleet.fleet import Fleet
from tests.fleet.traffic import Sent, eventually
from tests.oracles.range_topk import (
    History,
    apply_changes,
    begun_by,
    check_matches,
)
from topics import messages

WORKERS = ("painter", "zone")
PATIENCE_S = 120.0


class ListFleet(Fleet):
    """`collection` and `settings` are merged into the files that the workers read."""

    def __init__(
        self,
        supervisor: Supervisor,
        folder: Any,
        name: str,
        brokers: str,
        redis_url: str,
        collection: Mapping[str, Any] | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        declared = {"kind": "range_topk", "attributes": [], "k": 3, "zones": 2, "emit_empty": False}
        declared |= {"zone_bounds": [5.0], **(collection or {})}
        super().__init__(supervisor, folder, name, brokers, redis_url, declared, settings)
        self._letters["objects"] = []
        self._objects: list[tuple[Sent, str, Any]] = []
        self._subscriptions: list[tuple[Sent, str, Any]] = []
        self._consumer: Consumer | None = None
        self._matches: dict[str, list[dict[str, Any] | None]] = defaultdict(list)
        self.headers: dict[str, list[str]] = defaultdict(list)  # `podium-as-of` of each record
        self.keys_at: dict[str, int] = {}  # partition of each key
        self.progress: dict[int, list[dict[str, Any]]] = defaultdict(list)

    def start_all(self) -> None:
        self.create_topics()
        self.start(*WORKERS)
        self.wait_ready(*WORKERS)

    def put(self, id: str, x: float, y: float) -> None:
        value = {"x": x, "y": y}
        sent = self.send("objects", json.dumps(value).encode(), id.encode())
        self._objects.append((sent, id, value))

    def remove(self, id: str) -> None:
        self._objects.append((self.send("objects", None, id.encode()), id, None))

    def want(self, key: str, low: float | None, high: float | None, k: int | None = None) -> None:
        value: dict[str, Any] = {"range": [low, high]}
        if k is not None:
            value["k"] = k
        sent = self.send("subscriptions", json.dumps(value).encode(), key.encode())
        self._subscriptions.append((sent, key, value))

    def leave(self, key: str) -> None:
        sent = self.send("subscriptions", None, key.encode())
        self._subscriptions.append((sent, key, None))

    def history(self) -> History:
        self.deliver(*(sent for sent, *_ in (*self._objects, *self._subscriptions)))
        history = History(self.declared.k)
        for sent, id, value in sorted(self._objects, key=lambda one: one[0].place.offset):
            history.put(sent.place.offset, id, value)
        for sent, key, value in sorted(self._subscriptions, key=lambda one: one[0].place):
            history.subscribe(*sent.place, key, value)
        return history

    def last_object(self) -> int:
        return max((sent.place.offset for sent, *_ in self._objects), default=-1)

    def read(self) -> None:
        """All that is there of `matches` and `progress`, transactions that are open excepted."""
        if self._consumer is None:
            self._consumer = Consumer(
                {**self._client, "group.id": "list-tests", "enable.partition.eof": True,
                 "enable.auto.commit": False, "isolation.level": "read_committed"}
            )  # fmt: skip
            topics = {"matches": self.declared.partitions.matches, "progress": self.declared.zones}
            places = [
                TopicPartition(self.topic(topic), partition, 0)
                for topic, count in topics.items()
                for partition in range(count)
            ]
            self._consumer.assign(places)
            self._behind = {(place.topic, place.partition) for place in places}
        while True:
            found = self._consumer.consume(10_000, 0.3)
            for message in found:
                self._read_one(message)
            if not found and not self._behind:
                return

    def _read_one(self, message: Message) -> None:
        place = message.topic(), message.partition()
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            self._behind.discard(place)
            return
        key, value = (message.key() or b"").decode(), message.value()
        parsed = None if value is None else json.loads(value)
        if place[0] == self.topic("progress"):
            self.progress[place[1]].append(parsed | {"written": message.timestamp()[1]})
            return
        assert self.keys_at.setdefault(key, place[1]) == place[1], f"{key} in two partitions"
        if parsed is not None and "list" not in parsed:
            before = self._matches[key][-1]
            assert before is not None
            parsed["list"] = apply_changes(before["list"], parsed["changes"])
        self._matches[key].append(parsed)
        self.headers[key].append(dict(message.headers())["podium-as-of"].decode())

    def declare(self, **settings: Any) -> None:
        """Change the collection's file; workers see it when they start."""
        declared = yaml.safe_load(self.collection_path.read_text()) | settings
        self.collection_path.write_text(yaml.safe_dump(declared))

    def zones_told(self) -> int:
        """The next object offset that all zones have been told of."""
        return min(record.objects for record in self._last_told())

    def _last_told(self) -> list[messages.ZoneRecord]:
        topic, told = self.topic("messages"), []
        consumer = Consumer({**self._client, "group.id": "list-tests"})
        for zone in range(self.declared.zones):
            place = TopicPartition(topic, zone)
            _, end = consumer.get_watermark_offsets(place, timeout=10)
            consumer.assign([TopicPartition(topic, zone, end - 1)])
            message = consumer.poll(10)
            assert message is not None, self.diagnosis()
            told.append(messages.decode(message.value()))
        consumer.close()
        return told

    def delete_messages(self) -> None:
        """All that is in `messages` now, as if it were too old."""
        admin, topic = AdminClient(dict(self._client)), self.topic("messages")
        places = [TopicPartition(topic, zone, -1) for zone in range(self.declared.zones)]
        for done in admin.delete_records(places).values():
            done.result()

    def records_of(self, key: str) -> list[dict[str, Any] | None]:
        return self._matches[key]

    def wait(self) -> History:
        """Until everything that was sent is in the lists, and all lists are written."""
        history, last = self.history(), self.last_object()

        def all_in() -> bool:
            self.read()
            zones = range(self.declared.zones)
            reached = [self.progress[z][-1]["objects"] if self.progress[z] else None for z in zones]
            if any((offset if offset is not None else -1) < last for offset in reached):
                return False
            for key, place in history.last_of.items():
                latest = self._matches[key][-1] if key in self._matches else None
                live = place in history.subscriptions
                if (latest is None) == live or (latest and begun_by(latest) != place):
                    return False
            return True

        def missing() -> str:
            late = {
                key: (place, place in history.subscriptions, self._matches.get(key, [])[-1:])
                for key, place in history.last_of.items()
                if (place not in history.subscriptions and self._matches.get(key, [None])[-1])
                or (place in history.subscriptions
                and (not self._matches.get(key) or not self._matches[key][-1]
                     or begun_by(self._matches[key][-1]) != place))
            }  # fmt: skip
            said = {zone: told[-1:] for zone, told in self.progress.items()}
            return f"objects up to {last}, {said}; {dict(list(late.items())[:3])}\n" + (
                self.diagnosis()
            )

        eventually(all_in, missing, PATIENCE_S, pause_s=0.2)
        self.read()
        return history

    def check(self, merged: bool = False) -> int:
        """Everything is in, and every record is right; how many lives there were."""
        history, last = self.wait(), self.last_object()
        ends = [sent.place.offset for sent, *_ in self._objects]
        lives = check_matches(
            self._matches,
            history,
            until=last if last >= 0 else None,
            group_ends=None if merged else sorted(ends),
            merged=merged,
        )
        for key, records in self._matches.items():
            for record, as_of in zip(records, self.headers[key], strict=True):
                if record is not None:
                    partition, offset = begun_by(record)
                    assert as_of == f"{partition}@{offset}"
                else:
                    place = tuple(map(int, as_of.split("@")))
                    assert place not in history.subscriptions, f"{key}: a null for {as_of}"
        return lives


class Crowd:
    """Random objects and subscribers on a small grid, so that ties are common."""

    def __init__(self, fleet: ListFleet, seed: int) -> None:
        self._fleet, self._random = fleet, random.Random(seed)

    def step(self, count: int) -> None:
        random_ = self._random
        for _ in range(count):
            match random_.choices(("put", "remove", "want", "leave"), (8, 2, 2, 1))[0]:
                case "put":
                    id = f"o-{random_.randrange(40)}"
                    self._fleet.put(id, random_.randrange(12), random_.randrange(8) / 2)
                case "remove":
                    self._fleet.remove(f"o-{random_.randrange(40)}")
                case "want":
                    low = random_.choice((None, *range(12)))
                    high = random_.choice((None, *range(low or 0, 13)))
                    k = random_.choice((None, 1, 2))
                    self._fleet.want(f"s-{random_.randrange(30)}", low, high, k)
                case "leave":
                    self._fleet.leave(f"s-{random_.randrange(30)}")
        self._fleet.deliver()
