"""The Redis server of the local stack."""

from dataclasses import dataclass
from pathlib import Path

import redis

from podium.stack.run import ports
from storage.redis_client import open_redis


@dataclass(frozen=True)
class RedisServer:
    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"redis://{ports.HOST}:{self.port}/0"

    def argv(self, executable: str) -> list[str]:
        self.folder.mkdir(parents=True, exist_ok=True)
        # A save point makes TERM write the data out, so that a restart finds it again.
        options = {"bind": ports.HOST, "port": str(self.port), "dir": str(self.folder)}
        options |= {"save": "60 1", "appendonly": "no", "daemonize": "no"}
        words = [word for key, value in options.items() for word in (f"--{key}", value)]
        return [executable, *words]

    def ready(self) -> bool:
        with open_redis(self.url, timeout_s=1) as client:
            try:
                return bool(client.ping())
            except (redis.ConnectionError, redis.TimeoutError):
                # Refused while it starts; BusyLoading, a ConnectionError, while it reads its data.
                return False
