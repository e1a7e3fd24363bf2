"""The story: places along a road, drivers who want the cheapest near them, prices that change."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import yaml
from confluent_kafka import KafkaError, Message, Producer

from configs.collection import PACKAGED
from indexes.paint.world import quantile_bounds
from podium.demo.data import Record
from podium.demo.monitor import Workers
from podium.demo.parking.check import Agreement, Subscription, compare, without_repeats
from podium.demo.parking.data import Script, write_script
from podium.demo.parking.report import Example, Report, Streamed
from podium.demo.parking.watch import ListWatcher
from podium.demo.publish import FULL_QUEUE_WAIT_S, TICK_S, VISITORS
from podium.demo.scene import Scene, scene
from podium.demo.screen import shown
from podium.demo.story import LOOK_EVERY_S, SLOWER, STALLED_AFTER_S
from podium.demo.table import Board, Step, milliseconds
from podium.demo.topics_read import end_offsets, read_topic
from podium.demo.watch import percentiles
from podium.demo.workplace import workplace
from podium.terminal import Failure
from topics import lists

EXAMPLES, STREAM_S = 5, 20.0
KEEPS_UP_S = 4.0  # of updates may be on their way; zones say once a second how far they are
PACKAGED_FILE = PACKAGED / "parking.yaml"
MESSAGES = "painter.podium_painter_messages_total"


@dataclass(frozen=True)
class Options:
    places: int
    subscribers: int
    updates: int
    check: int
    rate: int  # updates a second while latency is measured
    zones: int  # worker processes
    seed: int


def run_demo(options: Options, folder: Path | None = None, keep: bool = False) -> Report:
    """Everything that this starts is stopped when it returns or raises."""
    board = _board(options)
    with workplace(folder, keep) as place, shown(board):
        try:
            report = _told(options, board, place.folder)
        finally:
            if (stop := board.step("stop")).state == "running":
                board.end("stop", stop.plan)
            board.fail()
        place.keep = keep or not report.fine
    return replace(report, seconds=board.seconds())


def _board(options: Options) -> Board:
    zones = "1 zone worker" if options.zones == 1 else f"{options.zones} zone workers"
    return Board(
        f"Podium demo: {options.places:,} parking places, {options.subscribers:,} subscribers",
        [
            Step("start", f"Kafka, Redis, 1 painter, {zones}"),
            Step("places", f"{options.places:,} places with their prices"),
            Step("register", f"{options.subscribers:,} subscribers, who get their first lists"),
            Step("stream", f"{options.updates // 2:,} updates at a steady pace"),
            Step("burst", "the other updates at full speed"),
            Step("check", f"{options.check:,} lists against a full scan"),
            Step("stop", "everything that was started"),
        ],
    )


def _told(options: Options, board: Board, folder: Path) -> Report:
    def say(text: str) -> None:
        if board.step("start").state == "running":
            board.say("start", text)

    board.begin("start", "making up places and subscribers")
    script = write_script(options.places, options.subscribers, options.updates, options.seed)
    file = _collection_file(folder, script)
    with scene(folder, options.zones, say, file) as on:
        board.end("start", board.step("start").plan)
        try:
            with on.clients.reaching(on.admin), ParkingStory(options, board, script, on) as story:
                return story.told()
        finally:
            board.fail()
            board.begin("stop", "stopping")


def _collection_file(folder: Path, script: Script) -> Path:
    """The one that comes with Podium, with zones of as many of these subscribers each."""
    declared = yaml.safe_load(PACKAGED_FILE.read_text())
    declared["zone_bounds"] = quantile_bounds(script.lows, declared["zones"])
    file = folder / PACKAGED_FILE.name
    file.write_text(yaml.safe_dump(declared))
    return file


class ParkingStory:
    """One run on a running fleet, step by step."""

    def __init__(self, options: Options, board: Board, script: Script, on: Scene) -> None:
        self._options, self._board, self._script, self._on = options, board, script, on
        rows = np.random.default_rng(options.seed).permutation(len(script.subscribers))
        self._chosen = sorted(rows[: options.check].tolist())
        keys = [script.subscribers[row][0] for row in self._chosen]
        topics = on.topic("matches"), on.topic("progress")
        self._watcher = ListWatcher(on.clients, *topics, on.collection.zones, keys)
        self._workers = Workers(on.worker_ports)
        self._producer: Producer = on.clients.producer(VISITORS)
        self._failure = ""
        # By the offset of its record: this is the only one who writes objects.
        self._sent_ms = np.zeros(options.places + options.updates, np.int64)
        self._sent = 0

    def __enter__(self) -> "ParkingStory":
        self._watcher.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._watcher.stop()

    def told(self) -> Report:
        self._put_places()
        registered_per_s = self._register()
        messages, records = self._workers.read().get(MESSAGES, 0.0), self._watcher.records
        streamed = self._stream()
        burst, burst_per_s = self._burst()
        messages = self._workers.read().get(MESSAGES, 0.0) - messages
        records = self._watcher.records - records
        agreement, examples = self._check()
        return Report(
            self._options.seed,
            self._options.places,
            self._options.subscribers,
            registered_per_s,
            len(self._watcher.listed),
            streamed,
            burst,
            burst_per_s,
            int(messages),
            records,
            agreement,
            examples,
            self._board.seconds(),
        )

    def _put_places(self) -> None:
        wanted = self._options.places
        self._board.begin("places", lambda: f"{self._watcher.applied + 1:,} of {wanted:,} are in")
        self._send_objects(self._script.places)
        self._settle()
        self._board.end("places", f"{wanted:,} places")

    def _register(self) -> float:
        wanted, watcher = self._options.subscribers, self._watcher
        self._board.begin("register", lambda: f"{len(watcher.listed):,} of {wanted:,} have lists")
        began = time.monotonic()
        for key, value in self._script.subscribers:
            self._queue("subscriptions", key, value)
        self._wait("first lists", lambda: len(watcher.listed) >= wanted)
        per_s = wanted / (time.monotonic() - began)
        self._board.end("register", f"{wanted:,} subscribers at {per_s:,.0f}/s")
        return per_s

    def _stream(self) -> Streamed:
        """At the wanted rate or, if the fleet does not keep up with that, at a lower one."""
        wanted, half = self._options.rate, self._options.places + self._options.updates // 2
        self._board.begin("stream", "")
        for rate in (wanted / slower for slower in SLOWER):
            first = self._sent
            self._board.say("stream", partial(self._stream_progress, rate, half))
            kept_up = self._stream_at(rate, half)
            last = self._sent - 1
            self._settle()
            if kept_up or self._sent >= half:
                break
        latency = percentiles(self._watcher.latencies_ms(self._sent_ms, first, last))
        took_ms = max(1, int(self._sent_ms[last] - self._sent_ms[first]))
        per_s = (last - first) * 1000 / took_ms
        p50, p99 = map(milliseconds, latency or (None, None))
        said = f"{last - first + 1:,} updates at {per_s:,.0f}/s: p50 {p50}, p99 {p99}"
        self._board.end("stream", said)
        return Streamed(self._sent - self._options.places, per_s, wanted, rate < wanted, latency)

    def _stream_at(self, rate: float, half: int) -> bool:
        """Whether the fleet has kept up."""
        began, first = time.monotonic(), self._sent
        while self._sent < half and (elapsed_s := time.monotonic() - began) < STREAM_S:
            due = min(half, first + 1 + int(elapsed_s * rate))
            self._send_objects(self._script.updates[self._updated : due - self._options.places])
            if self._sent - self._watcher.applied > KEEPS_UP_S * rate + self._options.rate:
                return False
            time.sleep(TICK_S)
        return True

    def _stream_progress(self, rate: float, half: int) -> str:
        updates = f"{self._updated:,} of {half - self._options.places:,} updates at {rate:,.0f}/s"
        return f"{updates}, {self._watcher.records:,} list records, zones {self._behind():,} behind"

    def _burst(self) -> tuple[int, float]:
        updates = self._script.updates[self._updated :]
        self._board.begin(
            "burst", lambda: f"zones {self._sent - 1 - self._watcher.applied:,} behind"
        )
        began = time.monotonic()
        self._send_objects(updates)
        self._wait("the burst", self._is_applied)
        per_s = len(updates) / (time.monotonic() - began)
        self._settle()
        self._board.end("burst", f"{len(updates):,} updates at {per_s:,.0f}/s")
        return len(updates), per_s

    def _check(self) -> tuple[Agreement, list[Example]]:
        self._board.begin("check", "reading the topics back")
        (objects,) = self._read("objects", 1)
        subscriptions = self._subscriptions()
        records = {id: without_repeats(self._watcher.kept[id.encode()]) for id in subscriptions}
        self._board.say("check", f"recomputing {len(subscriptions):,} lists by a full scan")
        agreement = compare(objects, subscriptions, records)
        self._board.end(
            "check",
            f"{agreement.records:,} records, as of {agreement.as_of:,} object records",
            "done" if agreement.agreed == agreement.checked else "failed",
        )
        return agreement, self._examples(subscriptions)

    def _subscriptions(self) -> dict[str, Subscription]:
        topic, shards = self._on.topic("subscriptions"), self._on.collection.shards
        return {
            record.key.decode(): Subscription.of(f"{topic}[{p}]@{record.offset}", record.value)
            for p, found in enumerate(self._read("subscriptions", shards))
            for record in found
            if record.key in self._watcher.kept and record.value is not None
        }

    def _examples(self, subscriptions: dict[str, Subscription]) -> list[Example]:
        """Those with most to see."""
        kept = self._watcher.kept
        by_records = sorted(subscriptions, key=lambda id: (-len(kept[id.encode()]), id))
        return [
            Example(one.low, one.high, lists.decode(kept[id.encode()][-1]))
            for id in by_records[:EXAMPLES]
            if kept[id.encode()]
            for one in (subscriptions[id],)
        ]

    def _read(self, topic: str, partitions: int) -> list:
        name = self._on.topic(topic)
        return read_topic(self._on.clients, name, end_offsets(self._on.admin, name, partitions))

    def _behind(self) -> int:
        return max(0, self._sent - 1 - self._watcher.applied)

    @property
    def _updated(self) -> int:
        return self._sent - self._options.places

    def _send_objects(self, records: Sequence[Record]) -> None:
        for key, value in records:
            now_ms = time.time_ns() // 1_000_000
            self._sent_ms[self._sent] = now_ms
            self._queue("objects", key, value, timestamp=now_ms)
            self._sent += 1
        self._producer.poll(0)
        self._check_all()

    def _queue(self, topic: str, key: bytes, value: bytes | None, **options: int) -> None:
        name = self._on.topic(topic)
        while True:
            try:
                self._producer.produce(name, value, key, on_delivery=self._on_delivery, **options)
                return
            except BufferError:
                self._producer.poll(FULL_QUEUE_WAIT_S)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failure = f"a record for {message.topic()} was not delivered: {error.str()}"

    def _is_applied(self) -> bool:
        return self._watcher.applied >= self._sent - 1

    def _settle(self) -> None:
        """Wait until all zones have applied all updates, and every list is read."""
        self._wait("the zones", self._is_applied)
        partitions = self._on.collection.partitions.matches
        ends = end_offsets(self._on.admin, self._on.topic("matches"), partitions)
        self._wait("reading the lists", lambda: self._watcher.has_read(ends))

    def _wait(self, what: str, done: Callable[[], bool]) -> None:
        """Until `done`; a `Failure` when something has died or nothing moves any more."""
        moved_at, seen = time.monotonic(), (0, 0)
        while not done():
            self._producer.poll(0)
            self._check_all()
            if (now := (self._watcher.records, self._watcher.applied)) != seen:
                moved_at, seen = time.monotonic(), now
            elif time.monotonic() - moved_at > STALLED_AFTER_S:
                counts = f"{seen[0]:,} list records, objects up to {seen[1]:,}"
                raise Failure(f"{what}: nothing has moved for {STALLED_AFTER_S:g} s", counts)
            time.sleep(LOOK_EVERY_S)

    def _check_all(self) -> None:
        self._on.check()
        self._watcher.check()
        if self._failure:
            raise Failure(self._failure)
