"""Child processes that are kept running, and stopped in the reverse order of their start.

A worker that dies is started again with a growing delay. The broker and Redis are `vital`: without
them nothing can go on, so the death of one stops all the others and is reported by `check()`.
Workers would then wait for answers of a broker that is gone, so they get little time to stop.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from podium.stack.errors import StackError
from podium.stack.run.child import Child, GuardLink

POLL_S = 0.1
WORKER_GRACE_S = 15.0
BROKERLESS_GRACE_S = 1.0
VITAL_GRACE_S = 10.0
BACK_OFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
# A worker that has run this long is healthy: its next death starts at the shortest delay again.
SETTLED_S = 60.0
# A worker that dies this often before it was ever ready will not become so by waiting.
DEATHS_BEFORE_READY = 3


@dataclass
class Supervised:
    """A process that should run, and how it has fared so far."""

    name: str
    kind: str  # broker | redis | worker
    argv: Sequence[str]
    log_path: Path
    env: Mapping[str, str] | None = None
    port: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    child: Child | None = None  # None between its death and its restart
    last_pid: int = 0
    restarts: int = 0
    deaths: int = 0  # without a settled run between them; sets the delay
    restart_at: float | None = None  # on the monotonic clock
    kept: bool = True  # False: a fault test wants it to stay dead

    @property
    def vital(self) -> bool:
        return self.kind != "worker"

    @property
    def running(self) -> bool:
        return self.child is not None and self.child.running()


class Supervisor:
    """`changed` is called, with the table locked, whenever a process starts or ends; `say` gets a
    line when one ends by itself.  One that dies again and again restarts after `back_off_s`."""

    def __init__(
        self,
        changed: Callable[[], None],
        say: Callable[[str], None],
        back_off_s: Sequence[float] = BACK_OFF_S,
    ) -> None:
        self.lock = threading.RLock()
        self.table: dict[str, Supervised] = {}
        self.link = GuardLink()
        self.failure: StackError | None = None
        self._changed = changed
        self._say = say
        self._back_off_s = back_off_s
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._tend_until_left, name="stack", daemon=True)
        self._thread.start()

    def spawn(self, wanted: Supervised) -> None:
        with self.lock:
            self.check()
            known = self.table.get(wanted.name)
            if known is not None and known.running:
                raise ValueError(f"{wanted.name!r} runs already (pid {known.last_pid})")
            self.table[wanted.name] = wanted
            self._run(wanted)

    def _run(self, item: Supervised) -> None:
        item.child = Child(item.argv, item.log_path, self.link, item.env)
        item.last_pid, item.restart_at = item.child.pid, None
        self._changed()

    def check(self) -> None:
        """Raise what has ended the stack, if something has."""
        if self.failure is not None:
            raise self.failure

    def wait_ready(self, name: str, ready: Callable[[], bool], timeout_s: float) -> None:
        """Return when `ready` says so; a process that cannot become ready shows its log."""
        item = self.table[name]
        deadline = time.monotonic() + timeout_s
        while True:
            with self.lock:
                self.check()
                if not item.vital and item.deaths >= DEATHS_BEFORE_READY:
                    raise StackError(f"{name} died {item.deaths} times\n{log_tail(item.log_path)}")
            if item.running and ready():
                return
            if time.monotonic() >= deadline:
                raise StackError(
                    f"{name} was not ready within {timeout_s:g} s\n{log_tail(item.log_path)}"
                )
            time.sleep(POLL_S)

    def stop(self, names: Iterable[str]) -> None:
        """Stop these together: TERM to all, then what is left of each after its grace."""
        with self.lock:
            items = [item for name in names if (item := self.table.pop(name, None))]
            grace_s = max(map(self._grace_s, items), default=0.0)
            children = [item.child for item in items if item.child is not None]
            for child in children:
                child.terminate()
        deadline = time.monotonic() + grace_s
        for child in children:
            child.wait(deadline - time.monotonic())
            child.reap()
        with self.lock:
            self._changed()

    def _grace_s(self, item: Supervised) -> float:
        if item.vital:
            return VITAL_GRACE_S
        brokerless = any(each.kind == "broker" and not each.running for each in self.table.values())
        return BROKERLESS_GRACE_S if brokerless else WORKER_GRACE_S

    def kill(self, name: str, restart: bool) -> None:
        """SIGKILL, as a fault: with `restart` it is treated like any other death."""
        with self.lock:
            item = self.table[name]
            item.kept = restart
            if item.child is not None:
                item.child.reap()

    def close(self) -> None:
        self._leave.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        try:
            self._stop_all()
        finally:
            self.link.close()  # the guard stops what is left, and is waited for

    def _stop_all(self) -> None:
        with self.lock:
            workers = [name for name, item in self.table.items() if not item.vital]
            vital = [name for name, item in self.table.items() if item.vital]
        self.stop(workers)
        for name in reversed(vital):
            self.stop([name])

    def _tend_until_left(self) -> None:
        while not self._leave.wait(POLL_S):
            with self.lock:
                try:
                    self._tend()
                except Exception as error:  # a full disk, say: nobody would tend them from now on
                    self.failure = StackError(f"the supervisor cannot go on: {error!r}")
            if self.failure is not None:
                self._stop_all()
                return

    def _tend(self) -> None:
        if self.link.lost():
            self.link.renew(item.last_pid for item in self.table.values() if item.running)
            self._changed()
        for item in self.table.values():
            if item.child is not None and not item.child.running():
                self._bury(item, item.child)
            if item.restart_at is not None and time.monotonic() >= item.restart_at:
                item.restarts += 1
                self._run(item)

    def _bury(self, item: Supervised, child: Child) -> None:
        how = child.end()
        if item.vital:
            self.failure = StackError(
                f"{item.name} (pid {child.pid}) ended: {how}; the stack stops\n"
                f"{log_tail(item.log_path)}"
            )
            return
        settled = time.time() - child.started_at > SETTLED_S
        item.deaths = 1 if settled else item.deaths + 1
        delay_s = self._back_off_s[min(item.deaths, len(self._back_off_s)) - 1]
        note = f"ended ({how})" + (f"; starts again in {delay_s:g} s" if item.kept else "")
        append_line(item.log_path, note)
        self._say(f"{item.name} {note}")
        item.child = None
        item.restart_at = time.monotonic() + delay_s if item.kept else None
        self._changed()


def append_line(path: Path, note: str) -> None:
    """A line of the supervisor's own in a child's log."""
    with path.open("a") as log:
        log.write(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')} {note} ---\n")


def log_tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log under a heading that says where the rest is."""
    text = path.read_text(errors="replace").splitlines() if path.exists() else []
    tail = "\n".join(f"  | {line}" for line in text[-lines:]) or "  | (empty)"
    return f"last lines of {path}:\n{tail}"
