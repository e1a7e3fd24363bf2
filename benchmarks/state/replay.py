"""Restarts of a matcher: how quickly it replays `subscriptions`, and starts from a snapshot."""

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import yaml

from benchmarks.intervals.targets import Row
from benchmarks.report import Section, Table
from benchmarks.state.lab import Lab, Subscriptions, collection_of
from benchmarks.state.others import Others
from configs.collection import Collection
from podium.clients import KafkaClients
from podium.send.sender import FULL_QUEUE_WAIT_S, PRODUCER
from podium.stack.run import ports
from podium.stack.run.fleet import READY_TIMEOUT_S, is_ready
from podium.topics_setup import ensure_topics
from topics.catalogue import topic_name

__all__ = ["replay", "send_subscriptions"]

_RESTORED = re.compile(
    r"restored, (\d+) subscriptions up to offset \d+, of which (\d+) records replayed in ([\d.]+) s"
)
_FROM_SNAPSHOT = re.compile(r"subscriptions up to offset \d+ from a snapshot in ([\d.]+) s")
_LEAST_S = 100_000  # records a second
_SERVE_EVERY = 1000  # records between two looks at the acknowledgements


@dataclass(frozen=True)
class Start:
    """One start of a matcher process, until it says that it is ready."""

    what: str
    attributes: int
    log_bytes: int  # of the partition on the broker's disk
    ready_s: float
    cpu_s: float  # of the process, from its start
    resident_bytes: int  # of the process, once it was ready
    subscriptions: int
    replayed: int
    replay_s: float  # from the first fetch to an index that answers
    snapshot_s: float | None  # reading the snapshot and restoring the shard
    others: Others

    @property
    def records_s(self) -> float:
        return self.replayed / self.replay_s


def replay(lab: Lab) -> Section:
    starts = [_start_of_nothing(lab)] if lab.sizes.all_starts else []
    for attributes in lab.sizes.attributes:
        starts += _starts(lab, attributes)
    rows = [_replay_row(starts, d) for d in lab.sizes.attributes]
    rows += [_snapshot_row(one) for one in starts if one.snapshot_s is not None]
    table = Table(
        ["", "measured", "target", "", "in plain words"], [row.cells() for row in rows], prose=4
    )
    header = ["start", "attributes", "ready after, s", "its CPU, s", "its memory, MB"]
    header += ["records replayed", "replay, s", "snapshot, s", "topic, MB", "others, cores"]
    details = Table(header, [_cells(one) for one in starts])
    words = (
        f"`podium worker matcher` as a process, with the broker on the same two cores,"
        f" {lab.sizes.target:,} subscriptions in one partition, JSON, lz4. A replay ends when the"
        " index can answer: reading, parsing, checking ids and building it are all in its time, as"
        " the worker itself logs it. Ready is what `/readyz` says, so imports, compiled code from"
        " the cache and Kafka's group are in it."
    )
    return Section("state_replay", "Restarts of a matcher", words, [table, details])


def _start_of_nothing(lab: Lab) -> Start:
    """What a matcher takes before it has any subscription."""
    collection = collection_of(lab.sizes.attributes[0], "nothing")
    declared = _declared(lab, collection)
    return _start(lab, collection, declared, "nothing to replay", 0, snapshots=False)


def _declared(lab: Lab, collection: Collection) -> Path:
    declared = Path(lab.stack.folder.path, f"{collection.name}.yaml")
    declared.write_text(yaml.safe_dump(collection.model_dump(mode="json")))
    ensure_topics(lab.settings(), collection)
    return declared


def _starts(lab: Lab, attributes: int) -> Iterator[Start]:
    collection = collection_of(attributes, "replay")
    declared, settings = _declared(lab, collection), lab.settings()
    lab.step(f"replay, {attributes} attributes, producing")
    data = lab.subscriptions(lab.sizes.target, attributes)
    topic = topic_name(settings.prefix, collection.name, "subscriptions")
    send_subscriptions(KafkaClients(settings.kafka), topic, data)
    count = len(data.keys)
    del data
    if lab.sizes.all_starts:
        yield _start(lab, collection, declared, "replay, snapshots off", count, snapshots=False)
    yield _start(lab, collection, declared, "replay, no snapshot yet", count, snapshots=True)
    yield _start(lab, collection, declared, "from the snapshot", count, snapshots=True)


def send_subscriptions(clients: KafkaClients, topic: str, data: Subscriptions) -> None:
    """All of them, in the order of their ids."""
    producer = clients.producer({**PRODUCER, "delivery.report.only.error": True})
    failed: list[str] = []

    def delivered(error: object, message: object) -> None:
        failed.append(str(error))

    for number, (key, value) in enumerate(zip(data.keys, _values(data), strict=True)):
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(FULL_QUEUE_WAIT_S)
        if number % _SERVE_EVERY == 0:
            producer.poll(0)
    producer.flush(60)
    if failed or len(producer):
        raise RuntimeError(f"{len(failed) + len(producer)} records not delivered: {failed[:1]}")


def _values(data: Subscriptions) -> Iterator[bytes]:
    """As JSON with six digits, about what a person's program would send."""
    lows, highs, scores = (column.round(6).tolist() for column in data.columns)
    for low, high, score in zip(lows, highs, scores, strict=True):
        where = ", ".join(
            f'"a{i}": [{ends[0]}, {ends[1]}]' for i, ends in enumerate(zip(low, high, strict=True))
        )
        yield f'{{"where": {{{where}}}, "score": {score}}}'.encode()


def _start(
    lab: Lab, collection: Collection, declared: Path, what: str, count: int, *, snapshots: bool
) -> Start:
    lab.step(f"replay, {len(collection.attributes)} attributes, {what}")
    stack, name = lab.stack, f"{collection.name}-matcher"
    config = _configured(lab, snapshots)
    log = stack.folder.log_path(name)
    before = log.stat().st_size if log.exists() else 0
    (port,) = ports.choose(1)
    arguments = ["worker", "matcher", "--collection", str(declared)]
    arguments += ["--config", str(config), "--http-port", str(port)]
    with Others() as others:
        began = time.perf_counter()
        stack.start_worker(name, [sys.executable, "-m", "podium", *arguments], port=port)
        stack.wait_worker(name, partial(is_ready, port), READY_TIMEOUT_S)
        ready_s = time.perf_counter() - began
    (process,) = (one for one in stack.processes() if one.name == name)
    seen = psutil.Process(process.pid)
    times, resident_bytes = seen.cpu_times(), seen.memory_info().rss
    stack.stop_worker(name)
    said = log.read_bytes()[before:].decode()
    restored, from_snapshot = _RESTORED.search(said), _FROM_SNAPSHOT.search(said)
    if restored is None or int(restored[1]) != count:
        raise RuntimeError(f"expected {count} subscriptions restored; {log} says otherwise")
    return Start(
        what,
        len(collection.attributes),
        _log_bytes(lab, collection),
        ready_s,
        times.user + times.system,
        resident_bytes,
        int(restored[1]),
        int(restored[2]),
        float(restored[3]),
        float(from_snapshot[1]) if from_snapshot else None,
        others,
    )


def _log_bytes(lab: Lab, collection: Collection) -> int:
    topic = topic_name(lab.settings().prefix, collection.name, "subscriptions")
    files = lab.stack.folder.path.rglob(f"{topic}-0/*.log")
    return sum(file.stat().st_size for file in files)


def _configured(lab: Lab, snapshots: bool) -> Path:
    settings = yaml.safe_load(lab.stack.settings_path.read_text())
    # None while it runs: the one that TERM asks for is enough.
    settings["snapshots"] = {"enabled": snapshots, "every_s": 3600}
    path = Path(lab.stack.folder.path, f"snapshots-{snapshots}.yaml")
    path.write_text(yaml.safe_dump(settings))
    return path


def _replay_row(starts: list[Start], attributes: int) -> Row:
    replays = [one for one in starts if one.attributes == attributes and one.replayed]
    best, worst = (choose(replays, key=lambda one: one.records_s) for choose in (max, min))
    words = f"of {len(replays)} starts the best; {worst.records_s:,.0f} at worst"
    unclear = best.records_s < _LEAST_S and best.others.many
    if unclear:
        words += f"; others used {best.others.cores:.1f} of the machine's cores meanwhile"
    what = f"replay, {attributes} attribute{'s' * (attributes > 1)}"
    unit = " records/s"
    return Row(what, best.records_s, least=_LEAST_S, words=words, unit=unit, unclear=unclear)


def _snapshot_row(one: Start) -> Row:
    assert one.snapshot_s is not None
    what = f"start of {one.subscriptions:,} from a snapshot, {one.attributes} attribute"
    words = f"ready {one.ready_s:.1f} s after the process was started"
    return Row(what + "s" * (one.attributes > 1), one.snapshot_s, most=10, words=words, unit=" s")


def _cells(one: Start) -> list[str]:
    snapshot = "-" if one.snapshot_s is None else f"{one.snapshot_s:.1f}"
    return [
        one.what,
        f"{one.attributes}",
        f"{one.ready_s:.1f}",
        f"{one.cpu_s:.1f}",
        f"{one.resident_bytes / 1e6:.0f}",
        f"{one.replayed:,}",
        f"{one.replay_s:.1f}",
        snapshot,
        f"{one.log_bytes / 1e6:.1f}",
        f"{one.others.cores:.1f}",
    ]
