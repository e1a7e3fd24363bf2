"""A Redis of a test's own, which it may kill, flush, fill and slow down."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from podium.stack.run import ports
from podium.stack.run.child import Child, GuardLink
from podium.stack.run.redis_server import RedisServer
from podium.stack.setup import tools


class OwnRedis:
    def __init__(self, folder: Path, link: GuardLink) -> None:
        (port,) = ports.choose(1)
        self._server = RedisServer(folder, port)
        self._log, self._link = folder / "redis.log", link
        self._child: Child | None = None
        self.start()

    @property
    def url(self) -> str:
        return self._server.url

    def client(self, **options) -> redis.Redis:
        return redis.Redis.from_url(self.url, **options)

    def start(self) -> None:
        argv = [*self._server.argv(tools.require("redis-server")), "--save", ""]
        self._child = Child(argv, self._log, self._link)
        deadline = time.monotonic() + 20
        while not self._server.ready():
            assert self._child.running(), self._log.read_text()
            assert time.monotonic() < deadline, f"{self.url} does not answer"
            time.sleep(0.02)

    def stall(self) -> None:
        """It keeps its connections and takes new ones, but answers nobody."""
        assert self._child is not None
        os.kill(self._child.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self._child is not None
        os.kill(self._child.pid, signal.SIGCONT)

    def kill(self) -> None:
        """With SIGKILL; what it held is gone."""
        if self._child is not None:
            self._child.reap()
            self._child = None


@contextmanager
def own_redis(folder: Path) -> Iterator[OwnRedis]:
    link = GuardLink()  # stops it also when the test run is killed
    server = OwnRedis(folder, link)
    try:
        yield server
    finally:
        server.kill()
        link.close()
