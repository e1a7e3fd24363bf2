"""What the workers' metrics say between two looks: rates, seconds by stage, and who is slowest."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from prometheus_client.samples import Sample

from podium.stack.status.metrics import samples_at
from workers.process.stages import STAGES, percentile

_BUSY = 0.85  # from here on a worker is what its stage waits for

Key = tuple[str, ...]  # a sample's name and the values of its labels, sorted by their names


class Worker(NamedTuple):
    name: str
    address: str


class Look(NamedTuple):
    at: float
    by_worker: dict[str, list[Sample]]  # of those that answer


@dataclass(frozen=True)
class WorkerRow:
    name: str
    busy: float | None  # share of the time of its busiest thread; None: does not answer
    memory_bytes: int | None = None


@dataclass(frozen=True)
class StageRow:
    stage: str
    workers: list[str]
    events_per_s: float
    mean_ms: float
    p50_ms: float
    p99_ms: float
    share: float  # of the seconds of all stages


@dataclass(frozen=True)
class LagRow:
    worker: str
    topic: str
    partition: str
    records: float
    seconds: float
    per_s: float  # records by which it has grown a second


@dataclass(frozen=True)
class Flow:
    """Of one collection."""

    collection: str
    events_per_s: float = 0.0
    matches_per_s: float = 0.0
    p50_ms: float | None = None  # from the event's timestamp to its match record
    p99_ms: float | None = None
    stages: list[StageRow] = field(default_factory=list)
    lag: list[LagRow] = field(default_factory=list)
    sentence: str = ""


@dataclass(frozen=True)
class View:
    seconds: float  # between the two looks
    workers: list[WorkerRow]
    flows: list[Flow]


def look(workers: Iterable[Worker]) -> Look:
    """Ask all of them at once."""
    asked = list(workers)
    with ThreadPoolExecutor(max(1, len(asked))) as threads:
        # `process_…` as well.
        answers = threads.map(lambda worker: samples_at(worker.address, "p"), asked)
        told = zip((worker.name for worker in asked), answers, strict=True)
        return Look(time.monotonic(), {name: said for name, said in told if said is not None})


def view(workers: Iterable[Worker], before: Look, after: Look) -> View:
    elapsed_s = max(after.at - before.at, 1e-9)
    rows = [_worker_row(worker.name, after) for worker in workers]
    collections = sorted(
        {
            sample.labels["collection"]
            for samples in after.by_worker.values()
            for sample in samples
            if "collection" in sample.labels
        }
    )
    flows = [_flow(name, before, after, elapsed_s, rows) for name in collections]
    return View(round(elapsed_s, 3), rows, flows)


def _worker_row(name: str, after: Look) -> WorkerRow:
    samples = after.by_worker.get(name)
    if samples is None:
        return WorkerRow(name, None)
    values = {sample.name: sample.value for sample in samples}
    memory = values.get("process_resident_memory_bytes")
    return WorkerRow(
        name, values.get("podium_busy_share", 0.0), None if memory is None else int(memory)
    )


class _Grown:
    """By how much the samples of one collection have grown between two looks, by worker."""

    def __init__(self, collection: str, before: Look, after: Look) -> None:
        self._by_name: dict[str, list[tuple[str, Mapping[str, str], float]]] = defaultdict(list)
        for worker, samples in after.by_worker.items():
            known = {_key(s): s.value for s in before.by_worker.get(worker, ())}
            for sample in samples:
                if sample.labels.get("collection") != collection:
                    continue
                was = known.get(_key(sample), 0.0)
                # A worker that has begun anew counts from 0.
                grown = sample.value - (was if was <= sample.value else 0.0)
                if worker in before.by_worker:
                    self._by_name[sample.name].append((worker, sample.labels, grown))

    def total(self, name: str) -> float:
        return sum(grown for _, _, grown in self._by_name[name])

    def workers(self, name: str, **labels: str) -> list[str]:
        found = {w for w, told, grown in self._by_name[name] if grown and _has(told, labels)}
        return sorted(found)

    def sum(self, name: str, **labels: str) -> float:
        return sum(grown for _, told, grown in self._by_name[name] if _has(told, labels))

    def below(self, name: str, **labels: str) -> dict[float, float]:
        """The cumulative counts of a histogram, of all workers together."""
        counts: dict[float, float] = defaultdict(float)
        for _, told, grown in self._by_name[f"{name}_bucket"]:
            if _has(told, labels):
                counts[float(told["le"])] += grown
        return counts


def _key(sample: Sample) -> Key:
    return sample.name, *(value for _, value in sorted(sample.labels.items()))


def _has(told: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return labels.items() <= told.items()


def _flow(
    collection: str, before: Look, after: Look, elapsed_s: float, workers: list[WorkerRow]
) -> Flow:
    grown = _Grown(collection, before, after)
    stages = _stages(grown, elapsed_s)
    whole = grown.below("podium_end_to_end_seconds")
    flow = Flow(
        collection,
        round(whole[float("inf")] / elapsed_s, 1) if whole else 0.0,
        round(grown.total("podium_matches_total") / elapsed_s, 1),
        _ms(percentile(whole, 0.5)),
        _ms(percentile(whole, 0.99)),
        stages,
        _lag(collection, before, after, elapsed_s),
    )
    return replace(flow, sentence=_sentence(flow, workers, elapsed_s))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 2)


def _stages(grown: _Grown, elapsed_s: float) -> list[StageRow]:
    name = "podium_stage_seconds"
    sums = {stage: grown.sum(f"{name}_sum", stage=stage) for stage in STAGES}
    counts = {stage: grown.sum(f"{name}_count", stage=stage) for stage in STAGES}
    # Several shards answer an event, so seconds are compared as means of an event.
    means = {stage: sums[stage] / counts[stage] for stage in STAGES if counts[stage]}
    total = sum(means.values())
    rows = []
    for stage, mean_s in means.items():
        below = grown.below(name, stage=stage)
        rows.append(
            StageRow(
                stage,
                grown.workers(f"{name}_count", stage=stage),
                round(counts[stage] / elapsed_s, 1),
                round(mean_s * 1e3, 3),
                _ms(percentile(below, 0.5)) or 0.0,
                _ms(percentile(below, 0.99)) or 0.0,
                round(mean_s / total, 3) if total else 0.0,
            )
        )
    return rows


# Gauges of records and seconds that are missing, and the topic that they are of.
_LAGS = {
    "podium_lag": None,
    "podium_feed_lag": "subscriptions",
    "podium_painter_lag": "objects",
    "podium_zone_lag": "objects",
}


def _lag(collection: str, before: Look, after: Look, elapsed_s: float) -> list[LagRow]:
    rows = []
    for worker, samples in after.by_worker.items():
        values = {_key(sample): sample.value for sample in samples}
        known = {_key(sample): sample.value for sample in before.by_worker.get(worker, ())}
        for sample in samples:
            start = sample.name.removesuffix("_records")
            if start not in _LAGS or start == sample.name:
                continue
            if sample.labels.get("collection") != collection:
                continue
            key = _key(sample)
            labels = sample.labels
            part = labels.get("partition") or labels.get("shard") or labels.get("zone") or "0"
            seconds = values.get((f"{start}_seconds", *key[1:]), 0.0)
            per_s = (sample.value - known.get(key, sample.value)) / elapsed_s
            topic = _LAGS[start] or labels["topic"]
            rows.append(
                LagRow(worker, topic, part, sample.value, round(seconds, 3), round(per_s, 1))
            )
    return sorted(rows, key=lambda row: (-row.seconds, -row.records, row.worker, row.topic))


def _sentence(flow: Flow, workers: list[WorkerRow], elapsed_s: float) -> str:
    """Which stage takes the most of an event's way, and whether its worker can do no more."""
    late = f"; {_late(flow)}" if _late(flow) else ""
    if not flow.stages:
        return f"no event has moved in the last {elapsed_s:.1f} s{late}"
    slowest = max(flow.stages, key=lambda row: row.share)
    busy = [row for row in workers if row.name in slowest.workers and (row.busy or 0) >= _BUSY]
    load = "".join(f"; {row.name} is busy {row.busy:.0%} of the time" for row in busy)
    return (
        f"slowest is {slowest.stage}, {STAGES[slowest.stage]}:"
        f" {slowest.share:.0%} of an event's way, p99 {slowest.p99_ms:g} ms{load}{late}"
    )


def _late(flow: Flow) -> str:
    """The worst lag, if it is of more than a second."""
    worst = flow.lag[0] if flow.lag else None
    if worst is None or worst.seconds <= 1.0:
        return ""
    direction = "and growing" if worst.per_s > 0 else "and not growing"
    where = f"{worst.topic}[{worst.partition}]"
    return f"{worst.worker} is {worst.seconds:,.1f} s behind {where}, {direction}"
