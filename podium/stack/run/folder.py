"""The folder of one stack: data, logs, and the files by which other commands find it.

stack.json    what runs: see `Record`; replaced atomically, so a reader never sees half of it
podium.yaml   settings for the other commands (`--config`); mode 600
stack.lock    held by the supervisor while it lives; its text is `pid birth` of that process
logs/         NAME.log for each process
kafka/ redis/ their data
"""

import fcntl
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import yaml

from podium.stack.errors import FolderInUse, StackError
from podium.stack.run import guard

VERSION = 1


@dataclass(frozen=True)
class ProcessRecord:
    name: str
    kind: str  # broker | redis | worker
    pid: int
    born: str  # with the pid, names one process: see guard.birth
    port: int | None  # of a worker: where it answers /readyz
    started_at: float  # seconds since the epoch
    restarts: int
    log: str
    labels: dict[str, str] = field(default_factory=dict)  # a worker's role and collection

    def alive(self) -> bool:
        return guard.alive(self.pid, self.born)


@dataclass(frozen=True)
class Record:
    """What stack.json holds."""

    state: str  # starting | ready | stopping | stopped | failed
    supervisor_pid: int
    supervisor_born: str
    guard_pid: int | None
    guard_born: str | None
    ports: dict[str, int]  # kafka, controller, redis: kept over a restart
    processes: list[ProcessRecord] = field(default_factory=list)
    error: str | None = None

    def running(self) -> bool:
        return guard.alive(self.supervisor_pid, self.supervisor_born)

    def leftovers(self) -> list[ProcessRecord]:
        return [process for process in self.processes if process.alive()]


class StackFolder:
    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.record_path = self.path / "stack.json"
        self.settings_path = self.path / "podium.yaml"
        self.lock_path = self.path / "stack.lock"
        self._lock: IO[str] | None = None

    def log_path(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"

    def claim(self) -> None:
        """Become the one supervisor of this folder, until `release` or death."""
        self.path.mkdir(parents=True, exist_ok=True)
        lock = self.lock_path.open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise FolderInUse(str(self.path), self.holder()) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()} {guard.birth(os.getpid())}")
        lock.flush()
        self._lock = lock

    def holder(self) -> int | None:
        """The pid of the living supervisor, also of one that has not written its record yet."""
        try:
            told = self.lock_path.read_text().split()
        except FileNotFoundError:
            return None
        if len(told) != 2 or not guard.alive(int(told[0]), told[1]):
            return None
        return int(told[0]) if self._is_locked() else None

    def _is_locked(self) -> bool:
        with self.lock_path.open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def read(self) -> Record | None:
        """What the last supervisor wrote, or None when there was none."""
        try:
            told: dict[str, Any] = json.loads(self.record_path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StackError(f"{self.record_path} is not JSON ({error}); remove it") from error
        version = told.pop("version", None)
        if version != VERSION:
            raise StackError(
                f"{self.record_path}: got version {version} when {VERSION} was expected; "
                "stop that stack with the Podium that started it, then remove the file"
            )
        told["processes"] = [ProcessRecord(**process) for process in told["processes"]]
        return Record(**told)

    def write(self, record: Record) -> None:
        told = {"version": VERSION, **asdict(record)}
        _replace(self.record_path, json.dumps(told, indent=1) + "\n", 0o644)

    def write_settings(self, brokers: str, redis_url: str) -> None:
        settings = {"kafka": {"brokers": brokers}, "redis": {"url": redis_url}}
        _replace(self.settings_path, yaml.safe_dump(settings), 0o600)


def _replace(path: Path, text: str, mode: int) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
    fresh.replace(path)
