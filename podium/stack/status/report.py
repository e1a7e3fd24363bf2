"""What `podium status` shows: every process of a stack, and how far its groups are behind."""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import psutil
from confluent_kafka import KafkaException

from configs import Collection, ConfigError, Settings, load_collection, load_settings
from podium.stack.run import fleet, ports
from podium.stack.run.folder import ProcessRecord, Record, StackFolder
from podium.stack.status.bases import BaseRow, newest_bases
from podium.stack.status.jobs import JobRow, jobs_of
from podium.stack.status.lag import group_lag
from podium.stack.status.layouts import LayoutRow, sharded_collections
from podium.stack.status.zones import ZoneRow, newest_progress
from topics.kinds import KINDS

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    name: str
    pid: int
    port: int | None
    state: str  # ready | starting | dead
    uptime_s: float | None
    restarts: int
    memory_bytes: int | None
    log: str
    degraded: dict[str, str] = field(default_factory=dict)  # what it does without, and why


@dataclass(frozen=True)
class Report:
    folder: str
    state: str  # of the stack: see folder.Record; `dead` when its supervisor was killed
    supervisor_pid: int
    processes: list[Row] = field(default_factory=list)
    lag: dict[str, int | None] = field(default_factory=dict)  # by group; None: nothing committed
    bases: list[BaseRow] = field(default_factory=list)
    zones: list[ZoneRow] = field(default_factory=list)
    layouts: list[LayoutRow] = field(default_factory=list)
    jobs: list[JobRow] = field(default_factory=list)
    # By collection that could have a Spark job and has none: the command that starts one.
    without_job: dict[str, str] = field(default_factory=dict)

    @property
    def healthy(self) -> bool:
        return self.state != "dead" and all(row.state != "dead" for row in self.processes)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"healthy": self.healthy}


def examine(folder: StackFolder) -> Report | None:
    """None when nothing runs; what an old stack.json says of dead processes is nothing."""
    record = folder.read()
    if record is None or not (record.running() or record.leftovers()):
        return None
    rows = [_row(process) for process in record.processes]
    bases = _of_collections(record, newest_bases)
    # Not written yet while a stack starts for the first time.
    settings = load_settings(folder.settings_path if folder.settings_path.exists() else os.devnull)
    jobs = jobs_of(folder, settings.spark.metrics, bases)
    served = {row.collection for row in jobs}
    return Report(
        folder=str(folder.path),
        state=record.state if record.running() else "dead",
        supervisor_pid=record.supervisor_pid,
        processes=rows,
        lag=_lag(record),
        bases=bases,
        zones=_of_collections(record, newest_progress),
        layouts=sharded_collections(record.processes),
        jobs=jobs,
        without_job={
            name: f"{command} --config {folder.settings_path}"
            for name, command in _jobs_wanted(record, settings).items()
            if name not in served
        },
    )


def _row(process: ProcessRecord) -> Row:
    alive = process.alive()
    said = _readiness(process) if alive else fleet.Readiness(False, {})
    return Row(
        name=process.name,
        pid=process.pid,
        port=process.port,
        state=("ready" if said.ready else "starting") if alive else "dead",
        uptime_s=round(time.time() - process.started_at, 1) if alive else None,
        restarts=process.restarts,
        memory_bytes=_memory_bytes(process.pid) if alive else None,
        log=process.log,
        degraded=said.degraded,
    )


def _readiness(process: ProcessRecord) -> fleet.Readiness:
    if process.port is None:
        return fleet.Readiness(True, {})
    if process.kind == "worker":
        return fleet.readiness(process.port)
    return fleet.Readiness(ports.answers(process.port), {})


def _memory_bytes(pid: int) -> int | None:
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.NoSuchProcess:
        return None


def _lag(record: Record) -> dict[str, int | None]:
    groups = [
        group
        for process in record.processes
        if process.kind == "worker" and "role" in process.labels
        for group in fleet.group_names(process.labels)
    ]
    brokers = _brokers(record)
    if not groups or brokers is None:
        return {}
    return {group: _total(brokers, group) for group in dict.fromkeys(groups)}


def _of_collections(record: Record, read: Callable[[dict[str, str], str, str], list[T]]) -> list[T]:
    """What is read of each served collection, by its prefix and name."""
    brokers = _brokers(record)
    served = {
        (process.labels["prefix"], process.labels["collection"])
        for process in record.processes
        if process.kind == "worker" and "role" in process.labels
    }
    if brokers is None:
        return []
    try:
        return [row for one in sorted(served) for row in read(brokers, *one)]
    except KafkaException:  # a broker on its way down; its row says so
        return []


def _jobs_wanted(record: Record, settings: Settings) -> dict[str, str]:
    """The Spark job of each served collection that has use for one, as it is started."""
    references = {
        process.labels["collection"]: process.labels["reference"]
        for process in record.processes
        if "reference" in process.labels
    }
    wanted = {}
    for name, reference in references.items():
        try:
            collection = load_collection(reference, settings.collections)
        except ConfigError:  # its file has gone or has changed since the workers read it
            continue
        if job := _job_of(collection):
            wanted[name] = f"podium spark {job} --collection {reference}"
    return wanted


def _job_of(collection: Collection) -> str | None:
    if KINDS[collection.kind].has_bases:
        return "sopt-bases"
    return "paint-batch" if collection.painter == "batch" else None


def _brokers(record: Record) -> dict[str, str] | None:
    """How to reach the stack's broker; None if nobody answers there."""
    if not ports.answers(record.ports["kafka"]):
        return None
    return {"bootstrap.servers": f"{ports.HOST}:{record.ports['kafka']}"}


def _total(brokers: dict[str, str], group: str) -> int | None:
    try:
        lags = group_lag(brokers, group)
    except KafkaException:  # a broker on its way down; its row says so
        return None
    return sum(lags.values()) if lags else None
