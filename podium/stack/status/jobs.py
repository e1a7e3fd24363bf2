"""Spark jobs beside a stack: how one makes itself known, and what its metrics say.

A job that uses the stack's broker leaves `jobs/<pid>-<collection>.json` in the stack's folder while
it runs, a `JobNote` for each of its collections; one that runs elsewhere is found by the address in
`spark.metrics`.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from prometheus_client.samples import Sample

from configs import Settings
from configs.settings import settings_file
from podium.stack.run import guard, ports
from podium.stack.run.folder import StackFolder
from podium.stack.status.bases import BaseRow
from podium.stack.status.metrics import samples_at


@dataclass(frozen=True)
class JobNote:
    collection: str
    job: str
    pid: int
    born: str  # see guard.birth
    port: int  # where it serves its metrics


@dataclass(frozen=True)
class JobRow:
    """What a job says of itself; None where it has not said anything yet."""

    address: str
    collection: str | None
    job: str | None
    pid: int | None  # None: found by its address
    answers: bool
    batches: int = 0  # since it was started
    rows_per_second: float | None = None
    batch_s: float | None = None  # of the last batch
    offsets_behind: int | None = None
    base_age_s: float | None = None  # of the last base of any shard


@contextmanager
def noted(
    config: Path | None, settings: Settings, collections: Iterable[str], job: str
) -> Iterator[Callable[[int], None]]:
    """To be called with the port; the notes go at the end of the block."""
    folder, pid = _folder_of(config, settings), os.getpid()
    paths = {
        collection: folder.path / "jobs" / f"{pid}-{collection}.json"
        for collection in collections
        if folder
    }

    def write(port: int) -> None:
        born = guard.birth(pid) or ""
        for collection, path in paths.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(asdict(JobNote(collection, job, pid, born, port))))

    try:
        yield write
    finally:
        for path in paths.values():
            path.unlink(missing_ok=True)


def _folder_of(config: Path | None, settings: Settings) -> StackFolder | None:
    """The folder of the running stack whose settings and broker these are."""
    file = settings_file(config)
    if file is None:
        return None
    folder = StackFolder(file.parent)
    record = folder.read()
    if record is None or not record.running():
        return None
    return folder if settings.kafka.brokers == f"{ports.HOST}:{record.ports['kafka']}" else None


def jobs_of(folder: StackFolder, addresses: str | None, bases: Iterable[BaseRow]) -> list[JobRow]:
    """Those with a note in the folder, then those at `host:port[,host:port…]`.

    One row for each collection of a job.
    """
    notes = _notes(folder)
    local = {f"{ports.HOST}:{note.port}" for note in notes}
    rows = [_noted_row(note) for note in notes]
    for address in (addresses or "").split(","):
        if address and address not in local:
            rows += _rows_at(address)
    known_bases = list(bases)
    return [_with_bases(row, known_bases) for row in rows]


def _notes(folder: StackFolder) -> list[JobNote]:
    notes = []
    for file in sorted((folder.path / "jobs").glob("*.json")):
        try:
            note = JobNote(**json.loads(file.read_text()))
        except (ValueError, TypeError, FileNotFoundError):  # being written, or its job has ended
            continue
        if guard.alive(note.pid, note.born):
            notes.append(note)
        else:  # killed, so that it could not take its note with it
            file.unlink(missing_ok=True)
    return notes


def _noted_row(note: JobNote) -> JobRow:
    address = f"{ports.HOST}:{note.port}"
    told = _metrics(address)
    if told is None:
        return JobRow(address, note.collection, note.job, note.pid, answers=False)
    return _row(address, note.collection, note.job, note.pid, told)


def _rows_at(address: str) -> list[JobRow]:
    """What answers there; it names its collections from its first batches on."""
    told = _metrics(address)
    if told is None:
        return [JobRow(address, None, None, None, answers=False)]
    named = sorted(
        (sample.labels["collection"], sample.labels["job"])
        for sample in told
        if sample.name == "podium_spark_rows_per_second"
    )
    if not named:
        return [JobRow(address, None, None, None, answers=True)]
    return [_row(address, collection, job, None, told) for collection, job in named]


def _row(
    address: str, collection: str, job: str, pid: int | None, told: Iterable[Sample]
) -> JobRow:
    of_collection = [sample for sample in told if sample.labels.get("collection") == collection]
    values = {sample.name: sample.value for sample in of_collection}
    name = "podium_spark_base_age_seconds"
    ages = [sample.value for sample in of_collection if sample.name == name]
    behind = values.get("podium_spark_offsets_behind")
    return JobRow(
        address,
        collection,
        job,
        pid,
        answers=True,
        batches=int(values.get("podium_spark_batch_seconds_count", 0)),
        rows_per_second=values.get("podium_spark_rows_per_second"),
        batch_s=values.get("podium_spark_last_batch_seconds"),
        offsets_behind=None if behind is None else int(behind),
        base_age_s=round(min(ages), 1) if ages else None,
    )


def _metrics(address: str) -> list[Sample] | None:
    return samples_at(address, "podium_spark_")


def _with_bases(row: JobRow, bases: list[BaseRow]) -> JobRow:
    """A job tells what it knew after its last batch; the topics tell what is so now."""
    own = [base for base in bases if base.collection == row.collection]
    if not own:
        return row
    told = asdict(row) | {
        "offsets_behind": sum(base.behind for base in own),
        "base_age_s": min(base.age_s for base in own),
    }
    return JobRow(**told)
