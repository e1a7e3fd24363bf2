"""What a worker knows of a Redis that does not answer, and what that spares its shards."""

import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from prometheus_client import REGISTRY

from configs import Collection, Settings
from tests.own_redis import OwnRedis, own_redis
from workers.process.context import Context, Names
from workers.process.health import Health
from workers.shard.shard import Shard
from workers.snapshots.keeper import SnapshotKeeper
from workers.snapshots.watch import REDIS, RedisWatch

TIMEOUT_S = 0.5
TOPIC_ID, OFFSETS = "a-topic", range(100)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class SilentRedis:
    """Takes connections, counts them, and says nothing."""

    def __init__(self, listening: socket.socket) -> None:
        self.url = f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
        self._listening, self._taken = listening, list[socket.socket]()

    @property
    def connections(self) -> int:
        """All that were made so far: they wait in the queue of the socket."""
        self._listening.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                self._taken.append(self._listening.accept()[0])
        return len(self._taken)

    def close(self) -> None:
        for connection in self._taken:
            connection.close()


@pytest.fixture
def silent() -> Iterator[SilentRedis]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = SilentRedis(listening)
        yield server
        server.close()


@pytest.fixture
def server(tmp_path) -> Iterator[OwnRedis]:
    with own_redis(tmp_path) as server:
        yield server


class Worker:
    """A matcher as far as its shards see it: settings and health, without Kafka."""

    def __init__(self, name: str, redis_url: str) -> None:
        self.clock = Clock()
        self.health = Health([], now=self.clock)
        self.settings = Settings(redis={"url": redis_url, "timeout_s": TIMEOUT_S})
        self.collection = Collection(name=name, kind="ranked", attributes=["age"], shards=1)
        self.context = Context(
            "matcher",
            self.settings,
            self.collection,
            Names.of(self.settings, self.collection),
            self.health,
            threading.Event(),
            deque(maxlen=1),
        )
        self.watch = RedisWatch(self.health, self.settings.redis)

    @contextmanager
    def shard(self) -> Iterator[tuple[Shard, SnapshotKeeper]]:
        shard = Shard(0, self.collection.kind, self.collection.attributes)
        keeper = SnapshotKeeper(self.context, shard)
        yield shard, keeper
        keeper.close()

    def open_shard(self) -> None:
        with self.shard() as (_, keeper):
            keeper.restore(TOPIC_ID, OFFSETS)

    def write_snapshot(self) -> None:
        with self.shard() as (shard, keeper):
            keeper.restore(TOPIC_ID, OFFSETS)
            shard.open()
            shard.next_offset = OFFSETS.stop
            assert keeper.write(keeper.gather()) is not None

    def started_from(self, start: str) -> float:
        labels = {"collection": self.collection.name, "shard": "0", "start": start}
        return REGISTRY.get_sample_value("podium_restores_total", labels) or 0.0

    @contextmanager
    def probed(self) -> Iterator[None]:
        probe = self.watch.probe()
        probe.start()
        try:
            yield
        finally:
            probe.stop()
            probe.join()

    def wait_until(self, degraded: bool) -> None:
        for _ in range(600):
            if (REDIS in self.health.degradations) == degraded:
                return
            threading.Event().wait(0.05)
        pytest.fail(f"not degraded={degraded}: {self.health.degradations}")


def test_a_redis_that_hangs_is_asked_once_for_a_restore(silent, unique_name):
    worker = Worker(unique_name("ads"), silent.url)
    worker.open_shard()
    assert silent.connections == 1
    assert worker.started_from("unreachable") == 1


def test_a_shard_that_is_opened_again_does_not_ask_a_redis_that_is_known_to_hang(
    silent, unique_name, caplog
):
    worker = Worker(unique_name("ads"), silent.url)
    for _ in range(3):
        worker.open_shard()
    assert silent.connections == 1
    assert worker.started_from("unreachable") == 3
    said = [record.message for record in caplog.records if record.name == "workers.process.health"]
    assert len(said) == 1
    assert said[0].startswith(f"redis: no answer from {silent.url} (")


def test_what_the_probe_has_found_out_costs_a_shard_nothing(silent, unique_name):
    worker = Worker(unique_name("ads"), silent.url)
    with worker.probed():
        worker.wait_until(degraded=True)
    asked = silent.connections
    worker.open_shard()
    assert silent.connections == asked
    assert worker.started_from("unreachable") == 1


def test_the_probe_asks_once_before_it_says_that_there_is_no_answer(silent, unique_name):
    worker = Worker(unique_name("ads"), silent.url)
    with worker.probed():
        worker.wait_until(degraded=True)
    assert silent.connections == 1


def test_where_no_probe_speaks_a_silent_redis_is_asked_again_after_a_few_seconds(
    silent, unique_name
):
    worker = Worker(unique_name("ads"), silent.url)
    worker.open_shard()
    worker.clock.now += 3
    worker.open_shard()
    assert silent.connections == 1
    worker.clock.now += 7
    worker.open_shard()
    assert silent.connections == 2


def test_a_worker_is_ready_without_redis_and_says_so(silent, unique_name):
    worker = Worker(unique_name("ads"), silent.url)
    worker.open_shard()
    assert worker.health.reasons == {}
    assert list(worker.health.degradations) == [REDIS]


def test_a_shard_leaves_no_snapshot_for_a_redis_that_is_known_to_hang(silent, unique_name):
    worker = Worker(unique_name("ads"), silent.url)
    with worker.shard() as (shard, keeper):
        shard.next_offset = 7
        assert keeper.is_behind()
        keeper.restore(TOPIC_ID, OFFSETS)
        assert not keeper.is_behind()


def test_after_a_short_stall_the_snapshot_is_used_again(server, unique_name):
    worker = Worker(unique_name("ads"), server.url)
    worker.write_snapshot()
    server.stall()
    worker.open_shard()
    assert worker.started_from("unreachable") == 1
    with worker.probed():
        server.resume()
        worker.wait_until(degraded=False)
        worker.open_shard()
    assert worker.started_from("snapshot") == 1


def test_a_shard_that_gets_an_answer_tells_the_others(server, unique_name):
    worker = Worker(unique_name("ads"), server.url)
    worker.write_snapshot()
    server.stall()
    worker.open_shard()
    server.resume()
    worker.clock.now += 60
    worker.open_shard()
    assert worker.started_from("snapshot") == 1
    assert worker.health.degradations == {}


def test_a_redis_that_takes_no_writes_is_no_silent_one(server, unique_name):
    worker = Worker(unique_name("ads"), server.url)
    worker.write_snapshot()
    with server.client() as client:
        client.config_set("maxmemory", 1)
        worker.open_shard()
        worker.open_shard()
    assert worker.started_from("snapshot") == 2
    assert worker.health.degradations == {}
