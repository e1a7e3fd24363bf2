"""Stopping a stack from another process, and leaving one running in the background."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from podium.stack.errors import StackError
from podium.stack.run import guard
from podium.stack.run.folder import ProcessRecord, Record, StackFolder
from podium.stack.run.supervisor import log_tail

POLL_S = 0.1
# Workers, Kafka and Redis may each take their whole grace period.
STOP_TIMEOUT_S = 60.0
GUARD_TIMEOUT_S = guard.GRACE_S + 5.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Stopped:
    """What `take_down` found running and stopped, by name and pid."""

    supervisor_pid: int | None = None
    processes: dict[str, int] = field(default_factory=dict)


def take_down(folder: StackFolder, say: Say) -> Stopped | None:
    """Stop the stack in `folder`; None when none runs. Raises if a process is left."""
    holder = folder.holder()
    record = folder.read()
    running = record.leftovers() if record is not None else []
    if holder is None and not running:
        return None
    if holder is not None:
        say(f"stopping the stack in {folder.path} (pid {holder})")
        _stop_supervisor(holder, say)
    record = folder.read()  # a worker may have been restarted between our look and the TERM
    if record is not None:
        _stop_leftovers(record, say)
    return Stopped(holder, {process.name: process.pid for process in running})


def _stop_supervisor(pid: int, say: Say) -> None:
    born = guard.birth(pid)
    if born is None or not guard.send_signal(pid, born, signal.SIGTERM):
        return
    if not _gone(pid, born, STOP_TIMEOUT_S):
        say(f"it has not stopped within {STOP_TIMEOUT_S:g} s; killing it")
        guard.send_signal(pid, born, signal.SIGKILL)
        _gone(pid, born, POLL_S * 50)


def _stop_leftovers(record: Record, say: Say) -> None:
    if record.guard_pid is not None and record.guard_born is not None:
        _gone(record.guard_pid, record.guard_born, GUARD_TIMEOUT_S)
    left = record.leftovers()
    if left:
        say(f"stopping what is left: {_named(left)}")
        guard.stop_all({process.pid: process.born for process in left}, guard.GRACE_S)
    left = record.leftovers()
    if left:
        raise StackError(f"still running after SIGKILL: {_named(left)}")


def _named(processes: Sequence[ProcessRecord]) -> str:
    return ", ".join(f"{process.name} (pid {process.pid})" for process in processes)


def _gone(pid: int, born: str, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while guard.alive(pid, born):
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def detach(folder: StackFolder, arguments: Sequence[str], say: Say) -> Record:
    """Run `podium ARGUMENTS` in a session of its own; return its record once it is ready."""
    holder = folder.holder()
    if holder is not None:
        folder.claim()  # refuses, in the words of every other second start
    log_path = folder.log_path("supervisor")
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "podium", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return _when_ready(folder, process, say)
    except BaseException:
        process.terminate()
        process.wait(STOP_TIMEOUT_S)
        raise


def _when_ready(folder: StackFolder, process: subprocess.Popen[bytes], say: Say) -> Record:
    log_path = folder.log_path("supervisor")
    shown = 0
    while True:
        lines = log_path.read_text(errors="replace").splitlines()
        for line in lines[shown:]:
            say(line)
        shown = len(lines)
        if process.poll() is not None:
            raise StackError(f"the stack did not start\n{log_tail(log_path, 40)}")
        record = folder.read()
        if record and record.supervisor_pid == process.pid and record.state == "ready":
            return record
        time.sleep(POLL_S)


def stop_when_parent_ends(poll_s: float = 0.5) -> None:
    """Send this process TERM when the one that started it is gone; to be run in a thread."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(poll_s)
    os.kill(os.getpid(), signal.SIGTERM)
