"""Spark jobs beside a stack: how one makes itself known, and what its metrics say.

A job that uses the stack's broker leaves `jobs/<pid>.json` in the stack's folder while it runs, a
`JobNote`; one that runs elsewhere is found by the address in `spark.metrics`.
"""

import http.client
import json
import os
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from configs import Settings
from configs.settings import settings_file
from podium.stack.run import guard, ports
from podium.stack.run.folder import StackFolder
from podium.stack.status.bases import BaseRow

ANSWER_S = 3.0


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
    config: Path | None, settings: Settings, collection: str, job: str
) -> Iterator[Callable[[int], None]]:
    """To be called with the port; the note goes at the end of the block."""
    folder = _folder_of(config, settings)
    path = folder.path / "jobs" / f"{os.getpid()}.json" if folder else None

    def write(port: int) -> None:
        if path is not None:
            born = guard.birth(os.getpid()) or ""
            path.parent.mkdir(exist_ok=True)
            note = JobNote(collection, job, os.getpid(), born, port)
            path.write_text(json.dumps(asdict(note)))

    try:
        yield write
    finally:
        if path is not None:
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
    """Those with a note in the folder, then those at `host:port[,host:port…]`."""
    notes = _notes(folder)
    rows = [_row(f"{ports.HOST}:{note.port}", note) for note in notes]
    known = {row.address for row in rows}
    rows += [_row(one, None) for one in (addresses or "").split(",") if one and one not in known]
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


def _row(address: str, note: JobNote | None) -> JobRow:
    collection, job, pid = (note.collection, note.job, note.pid) if note else (None, None, None)
    told = _metrics(address)
    if told is None:
        return JobRow(address, collection, job, pid, answers=False)
    for (name, labels), _ in told.items():
        if name == "podium_spark_rows_per_second" and note is None:
            collection, job = dict(labels)["collection"], dict(labels)["job"]
    ages = [value for (name, _), value in told.items() if name == "podium_spark_base_age_seconds"]
    by_name = {name: value for (name, _), value in told.items()}
    behind = by_name.get("podium_spark_offsets_behind")
    return JobRow(
        address,
        collection,
        job,
        pid,
        answers=True,
        batches=int(by_name.get("podium_spark_batch_seconds_count", 0)),
        rows_per_second=by_name.get("podium_spark_rows_per_second"),
        batch_s=by_name.get("podium_spark_last_batch_seconds"),
        offsets_behind=None if behind is None else int(behind),
        base_age_s=round(min(ages), 1) if ages else None,
    )


def _metrics(address: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float] | None:
    """Every sample of the job's own, by name and labels; None if nobody answers there."""
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=ANSWER_S) as reply:
            text = reply.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        if family.name.startswith("podium_spark_")
        for sample in family.samples
    }


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
