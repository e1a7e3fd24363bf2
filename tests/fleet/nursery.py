"""Workers that are forked from a process which has imported everything, and loaded all kernels.

A worker that starts on its own imports and loads for 2 to 5 seconds of CPU, and the tests start
hundreds.  Forked ones are processes like others: in a session of their own, children of the tests,
ended by the same signals.  `podium worker` itself is started by the tests of `podium/`.

    tests ── socket: argv, folder, environment; log and guard as file descriptors ──▶ nursery
    tests ◀── number of the process ────────────────────────────────────────────────── nursery

A worker's parent dies at once, so that the kernel gives it to the nearest "subreaper" above, which
is the process of the tests: they wait for it as for a child that they have started.
"""

import ctypes
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from podium.stack.run.child import Child, Process

ROOT = Path(__file__).parents[2]
WORKERS_ARGV = ["env", "-C"]  # how the argv of a worker begins, see `fleet.py`
PR_SET_CHILD_SUBREAPER = 36
# A forked process does without the threads of the one before.
WITHOUT_THREADS = {"OPENBLAS_NUM_THREADS": "1"}
STARTED_AGAIN = {"jemalloc_bg_thd"}  # Arrow's allocator sees to it that it has one in each process
MOST_BYTES = 1 << 18  # of an order, most of them the environment


class ForkedProcess:
    """As much of `subprocess.Popen` as a supervised child needs."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


class Nursery:
    """The tests' end of the socket; the process is started with the first worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._link: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def fork(self, order: Mapping[str, Any], log: int, guard: int) -> ForkedProcess:
        with self._lock:
            link = self._link or self._start()
            socket.send_fds(link, [json.dumps(order).encode()], [log, guard])
            answer = link.recv(64)
        assert answer, f"the nursery has died: {self._process}"
        return ForkedProcess(int(answer))

    def _start(self) -> socket.socket:
        set_subreaper()
        self._link, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._link, far):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_BYTES)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(far.fileno())],
            env={**os.environ, **WITHOUT_THREADS, "PYTHONPATH": str(ROOT)},
            pass_fds=[far.fileno()],
            start_new_session=True,
        )
        far.close()
        return self._link

    def close(self) -> None:
        if self._link is not None and self._process is not None:
            self._link.close()
            self._process.wait()

    def child(self) -> type[Child]:
        """Children that this nursery forks, for a supervisor to keep."""

        class ForkedChild(Child):
            def _start(
                child,
                argv: Sequence[str],
                log: BinaryIO,
                env: Mapping[str, str],
            ) -> Process:
                if argv[:2] != WORKERS_ARGV:
                    return super()._start(argv, log, env)  # a broker, say
                order = {"argv": [*argv], "env": {**env}}
                return self.fork(order, log.fileno(), child._link.write_end)

        return ForkedChild


def set_subreaper() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


class Order(NamedTuple):
    """`env -C FOLDER NAME=VALUE… PYTHON -m MODULE ARGUMENT…`, taken apart."""

    folder: str
    env: dict[str, str]
    module: str
    arguments: list[str]


def read_order(data: bytes) -> Order:
    order = json.loads(data)
    folder, *rest = order["argv"][len(WORKERS_ARGV) :]
    start = rest.index(sys.executable)
    given = dict(each.split("=", 1) for each in rest[:start])
    minus_m, module, *arguments = rest[start + 1 :]
    assert minus_m == "-m", f"got {order['argv']}"
    return Order(folder, {**order["env"], **given}, module, arguments)


def load_everything() -> None:
    """What workers import and load when they start."""
    from configs.collection import Collection, Routing
    from workers.kinds import KINDS, roles
    from workers.warm_up import warm_up

    import_module("podium.cli")
    import_module("workers.main")
    for role in roles().values():
        import_module(f"{role.package}.{role.name}")
    for name, kind in KINDS.items():
        for attributes in kind.shapes:
            collection = Collection(
                name=name.replace("_", "-"), kind=name, attributes=attributes, routing=Routing()
            )
            for role in kind.pipeline:
                warm_up(role, collection)
    threads = [(each / "comm").read_text().strip() for each in Path("/proc/self/task").iterdir()]
    others = [name for name in threads[1:] if name not in STARTED_AGAIN]
    assert not others, f"got threads {others}, which a forked process would do without"


def serve(link: socket.socket) -> Order | None:
    """Fork a worker for each order; returns in each worker, and at the end of the tests (None)."""
    while True:
        data, descriptors, *_ = socket.recv_fds(link, MOST_BYTES, 2)
        if not data:
            return None
        log, guard = descriptors
        reader, writer = os.pipe()
        between = os.fork()
        if between == 0:
            if os.fork() == 0:
                os.setsid()
                os.write(guard, f"+{os.getpid()}\n".encode())
                os.write(writer, b"%d" % os.getpid())
                for end in (reader, writer, guard):
                    os.close(end)
                nothing = os.open(os.devnull, os.O_RDONLY)
                for source, target in ((nothing, 0), (log, 1), (log, 2)):
                    os.dup2(source, target)
                link.close()
                return read_order(data)
            os._exit(0)
        os.waitpid(between, 0)
        link.send(os.read(reader, 64))
        for end in (reader, writer, log, guard):
            os.close(end)


def main() -> None:
    link = socket.socket(fileno=int(sys.argv[1]))
    load_everything()
    order = serve(link)
    if order is not None:
        os.chdir(order.folder)
        os.environ.clear()
        os.environ.update(order.env)
        sys.argv = [order.module, *order.arguments]
        runpy.run_module(order.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
