"""Kafka and Redis on free ports with their data in one folder, and workers beside them.

    with Stack(Path(".podium")) as stack:
        stack.start_worker("router", [sys.executable, "-m", "podium", "worker", "router", ...])

Leaving the block stops what was started, and nothing else. When the supervisor dies without leaving
it (SIGKILL, a crash), its guard process does the same. A folder used again keeps its data and,
where they are still free, its ports, so that settings which name them stay valid.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from podium.stack import DEFAULT_FOLDER
from podium.stack.errors import StackError
from podium.stack.run import guard, ports
from podium.stack.run.broker import Broker
from podium.stack.run.child import Child
from podium.stack.run.folder import ProcessRecord, Record, StackFolder
from podium.stack.run.redis_server import RedisServer
from podium.stack.run.supervisor import Supervised, Supervisor, log_tail
from podium.stack.setup import tools
from podium.stack.setup.jars import ensure_jars

# A server that dies is noticed at once; these bound one that hangs, on a busy machine too.
START_TIMEOUT_S = 120.0
FORMAT_TIMEOUT_S = 120.0
LEFTOVER_GRACE_S = 10.0
KAFKA, REDIS = "kafka", "redis"


class Stack:
    """`broker_properties` win over the stack's own; `say` gets a line at each step of the start."""

    def __init__(
        self,
        folder: Path = DEFAULT_FOLDER,
        *,
        broker_properties: Mapping[str, str] | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.folder = StackFolder(folder)
        self._broker_properties = broker_properties or {}
        self._say = say
        self._ports: dict[str, int] = {}
        self._supervisor: Supervisor | None = None
        self._state = "stopped"

    def __enter__(self) -> Self:
        self.start()
        self.mark_ready()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def brokers(self) -> str:
        return f"{ports.HOST}:{self._ports[KAFKA]}"

    @property
    def redis_url(self) -> str:
        return f"redis://{ports.HOST}:{self._ports[REDIS]}/0"

    @property
    def settings_path(self) -> Path:
        return self.folder.settings_path

    def start(self) -> None:
        """Kafka and Redis answer when this returns; nothing runs when it raises."""
        java, redis_server = tools.require("java"), tools.require("redis-server")
        jars = ensure_jars(self._say)
        self.folder.claim()
        try:
            self._choose_ports()
            self._supervisor = Supervisor(self._write_record, self._say)
            self._set_state("starting")
            self._start_services(java, redis_server, jars)
            self.folder.write_settings(self.brokers, self.redis_url)
        except BaseException:
            self.stop()
            raise

    def mark_ready(self) -> None:
        """Tell `podium status` and a waiting `podium up --detach` that all is there."""
        self._set_state("ready")

    def _choose_ports(self) -> None:
        names = (KAFKA, "controller", REDIS)
        before = self.folder.read()
        if before is not None and before.leftovers():
            self._say("stopping what a killed supervisor has left behind")
            charges = {process.pid: process.born for process in before.leftovers()}
            guard.stop_all(charges, LEFTOVER_GRACE_S)
        wanted = [before.ports[name] for name in names] if before is not None else []
        self._ports = dict(zip(names, ports.choose(len(names), wanted), strict=True))

    def _start_services(self, java: str, redis_server: str, jars: Path) -> None:
        redis = RedisServer(self.folder.path / "redis", self._ports[REDIS])
        broker = Broker(
            jars / "kafka",
            self.folder.path / "kafka",
            self._ports[KAFKA],
            self._ports["controller"],
            self._broker_properties,
        )
        self._spawn(REDIS, REDIS, redis.argv(redis_server), self._ports[REDIS])
        broker.write_properties()
        if not broker.formatted():
            self._say("formatting the folder for Kafka")
            self._format(broker.format_argv(java))
        self._say("starting Kafka and Redis")
        self._spawn(KAFKA, "broker", broker.argv(java), self._ports[KAFKA])
        self._live.wait_ready(REDIS, redis.ready, START_TIMEOUT_S)
        self._live.wait_ready(KAFKA, broker.ready, START_TIMEOUT_S)

    def _format(self, argv: Sequence[str]) -> None:
        log_path = self.folder.log_path(KAFKA)
        tool = Child(argv, log_path, self._live.link)
        ended = tool.wait(FORMAT_TIMEOUT_S)
        how = tool.end() if ended else f"no end within {FORMAT_TIMEOUT_S:g} s"
        if tool.reap() != 0:
            raise StackError(f"Kafka's StorageTool failed: {how}\n{log_tail(log_path)}")

    def start_worker(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Run a command until it is stopped, with its output in logs/NAME.log.

        `port` is where it answers `/readyz`; `env` is added to this process's environment.
        """
        self._spawn(name, "worker", argv, port, env, labels)

    def _spawn(
        self,
        name: str,
        kind: str,
        argv: Sequence[str],
        port: int | None = None,
        env: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        log_path = self.folder.log_path(name)
        self._live.spawn(
            Supervised(name, kind, list(argv), log_path, env, port, dict(labels or {}))
        )

    def start_task(
        self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None
    ) -> Child:
        """Run a command that ends by itself, with its output in logs/NAME.log.

        It is not started again; if the stack's process dies before, it is stopped.
        """
        return Child(argv, self.folder.log_path(name), self._live.link, env)

    def wait_worker(self, name: str, ready: Callable[[], bool], timeout_s: float) -> None:
        self._live.wait_ready(name, ready, timeout_s)

    def stop_worker(self, name: str) -> None:
        """TERM, and KILL after a grace period."""
        self._worker(name)
        self._live.stop([name])

    def kill_worker(self, name: str, *, restart: bool = True) -> None:
        """SIGKILL, for fault tests. With `restart` the supervisor treats it as any other death."""
        self._worker(name)
        self._live.kill(name, restart)

    def _worker(self, name: str) -> Supervised:
        item = self._live.table.get(name)
        if item is None or item.vital:
            known = [item.name for item in self._live.table.values() if not item.vital]
            raise KeyError(f"no worker {name!r}; there are {known}")
        return item

    def check(self) -> None:
        """Raise `StackError` if Kafka or Redis has died; everything is stopped then."""
        self._live.check()

    @property
    def _live(self) -> Supervisor:
        if self._supervisor is None:
            raise StackError("the stack is not running; call start() or use it in a with block")
        return self._supervisor

    def processes(self) -> list[ProcessRecord]:
        """What runs now, and workers that wait for their restart, in order of their start."""
        return [] if self._supervisor is None else self._record().processes

    def stop(self) -> None:
        """Stop workers, then Kafka, then Redis; harmless when nothing runs."""
        try:
            if self._supervisor is not None:
                self._close(self._supervisor)
        finally:
            self._supervisor = None
            self.folder.release()

    def _close(self, supervisor: Supervisor) -> None:
        try:
            self._set_state("stopping")
        finally:
            supervisor.close()
        self._set_state("stopped" if supervisor.failure is None else "failed")

    def _set_state(self, state: str) -> None:
        with self._live.lock:
            self._state = state
            self._write_record()

    def _write_record(self) -> None:
        # One writer at a time, so that the file on disk is always the latest record made.
        with self._live.lock:
            self.folder.write(self._record())

    def _record(self) -> Record:
        supervisor = self._live
        with supervisor.lock:
            return Record(
                state=self._state,
                supervisor_pid=os.getpid(),
                supervisor_born=guard.birth(os.getpid()) or "",
                guard_pid=supervisor.link.pid,
                guard_born=guard.birth(supervisor.link.pid),
                ports=self._ports,
                processes=[_process_record(item) for item in supervisor.table.values()],
                error=str(supervisor.failure) if supervisor.failure else None,
            )


def _process_record(item: Supervised) -> ProcessRecord:
    return ProcessRecord(
        name=item.name,
        kind=item.kind,
        pid=item.last_pid,
        born=item.child.born if item.child is not None else "",
        port=item.port,
        started_at=item.child.started_at if item.child is not None else 0.0,
        restarts=item.restarts,
        log=str(item.log_path),
        labels=item.labels,
    )
