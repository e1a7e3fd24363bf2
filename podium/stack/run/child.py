"""One child process of the stack: its session, its log file, its end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from podium.stack.run import guard

# Written by the child itself, before it turns into the program: see guard.py. The guard's pipe
# arrives as stdin, because a shell can name file descriptors up to 9 only.
ANNOUNCE_AND_RUN = 'echo "+$$" >&0; exec "$@" </dev/null'
POLL_S = 0.05


class Process(Protocol):
    """A child of this process."""

    pid: int

    @property
    def returncode(self) -> int | Any: ...  # None until it is waited for

    def wait(self) -> int: ...


class GuardLink:
    """The supervisor's end of the pipe to its guard process."""

    def __init__(self) -> None:
        self._open()

    def _open(self) -> None:
        read_end, self.write_end = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__],
            stdin=read_end,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(read_end)

    @property
    def pid(self) -> int:
        return self._process.pid

    def lost(self) -> bool:
        return self._process.poll() is not None

    def renew(self, pids: Iterable[int]) -> None:
        """Start another guard, for these, in place of one that somebody has killed."""
        self.close()
        self._open()
        os.write(self.write_end, "".join(f"+{pid}\n" for pid in pids).encode())

    def forget(self, pid: int) -> None:
        if not self.lost():
            os.write(self.write_end, f"-{pid}\n".encode())

    def close(self) -> None:
        os.close(self.write_end)
        self._process.wait()


class Child:
    """A running program in a session of its own, so that a terminal's Ctrl-C does not reach it."""

    def __init__(
        self,
        argv: Sequence[str],
        log_path: Path,
        link: GuardLink,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.log_path = log_path
        self.started_at = time.time()
        self._link = link
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with log_path.open("ab") as log:
            log.write(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')} start ---\n".encode())
            log.flush()
            self._process = self._start(argv, log, {**os.environ, **(env or {})})
        self.pid = self._process.pid
        self.born = guard.birth(self.pid) or ""

    def _start(self, argv: Sequence[str], log: BinaryIO, env: Mapping[str, str]) -> Process:
        return subprocess.Popen(
            ["/bin/sh", "-c", ANNOUNCE_AND_RUN, "sh", *argv],
            stdin=self._link.write_end,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=env,
            start_new_session=True,
        )

    def running(self) -> bool:
        """Whether it still runs. An ended child stays unreaped, so its number stays ours."""
        if self._process.returncode is not None:
            return False
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, flags) is None

    def terminate(self) -> None:
        if self.running():
            os.kill(self.pid, signal.SIGTERM)

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended within the time."""
        deadline = time.monotonic() + timeout_s
        while self.running():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        return True

    def reap(self) -> int:
        """Kill what is left of the session, collect the exit status, tell the guard."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):  # it ended before it could lead a session
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
            self._link.forget(self.pid)
        return self._process.returncode

    def stop(self, grace_s: float) -> int:
        self.terminate()
        self.wait(grace_s)
        return self.reap()

    def end(self) -> str:
        """How it ended, for a message; it must have ended."""
        status = self.reap()
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
