"""Writers that are killed half-way, and writers that race for one pointer."""

import itertools
import multiprocessing
import os
import random
import signal
import threading
import time

import pytest
import redis

from tests.own_redis import own_redis
from tests.workers.snapshots.samples import (
    COLLECTION,
    EXPECTED,
    MADE_AT,
    PREFIX,
    SHARD,
    a_snapshot,
    assert_whole,
)
from workers.snapshots import NoSnapshot, SnapshotStore, StaleWriter

CHUNK_BYTES = 1000
# A fork of a process without threads, which has imported this module: quick to start.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with own_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def client(server):
    with server.client() as client:
        client.flushall()
        yield client


def a_store(client, **options):
    options = {"chunk_bytes": CHUNK_BYTES, "now": lambda: MADE_AT} | options
    return SnapshotStore(client, PREFIX, COLLECTION, **options)


class MortalConnection(redis.Connection):
    """Dies by SIGKILL at the step that it was told: before or after one of the pieces that it
    sends, or after one of the answers."""

    steps_left = 0  # 0 is never

    @classmethod
    def step(cls):
        cls.steps_left -= 1
        if cls.steps_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def send_packed_command(self, command, check_health=True):
        if not self.is_connected:
            self.connect()
        for piece in command:
            self.step()
            super().send_packed_command([piece], check_health=False)
        self.step()

    def read_response(self, *args, **kwargs):
        response = super().read_response(*args, **kwargs)
        self.step()
        return response


def write_until_killed(url, step, next_offset):
    pool = redis.ConnectionPool.from_url(
        url, connection_class=MortalConnection, client_name="mortal"
    )
    client = redis.Redis(connection_pool=pool)
    store = a_store(client)
    epoch = store.claim(SHARD)
    MortalConnection.steps_left = step
    store.write(a_snapshot(next_offset), epoch)


def run(target, *arguments):
    process = PROCESSES.Process(target=target, args=arguments)
    process.start()
    process.join(60)
    return process.exitcode


def settle(client):
    """Wait until Redis has done what a killed writer had sent."""
    while any(each["name"] == "mortal" for each in client.client_list()):
        time.sleep(0.002)


def expiring(client, lasting_names):
    """The chunks of every generation but these, each of which has to expire."""
    names = [f":{name}:".encode() for name in lasting_names]
    return [
        key
        for key in client.keys("*snapshot*")
        if not key.endswith((b"}", b":claim")) and not any(name in key for name in names)
    ]


def test_a_writer_killed_at_any_step_leaves_the_old_snapshot_or_the_new_one_whole(server, client):
    reader = a_store(client)
    reader.write(a_snapshot(1), reader.claim(SHARD))
    seen, abandoned = [], 0
    for step in itertools.count(1):
        offset = 1 + step
        before = reader.read(SHARD, EXPECTED).head.next_offset
        code = run(write_until_killed, server.url, step, offset)
        settle(client)
        snapshot = reader.read(SHARD, EXPECTED)
        assert_whole(snapshot)
        assert snapshot.head.next_offset in (before, offset)
        published = snapshot.head.next_offset == offset
        seen.append(published)
        left = expiring(client, [reader.ls([SHARD])[SHARD].name])
        assert all(client.ttl(key) > 0 for key in left)
        abandoned += bool(left)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert seen[-1], "a writer that is not killed publishes"
    first = seen.index(True)
    assert all(seen[first:]), "what was published once the script was sent stays so"
    assert not any(seen[:first])
    chunks = reader.ls([SHARD])[SHARD].chunks
    # Head and body of every chunk's command and the answer to it, then those of the script.
    assert step > 4 * chunks
    assert first > 3 * chunks, "it was killed at every chunk"
    assert len(seen) - first >= 2, "it was killed after the swap"
    assert abandoned > chunks


def test_after_a_killed_writer_the_next_owner_writes_as_if_nothing_had_been(server, client):
    code = run(write_until_killed, server.url, 6, 100)
    assert code == -signal.SIGKILL
    store = a_store(client)
    store.write(a_snapshot(50), store.claim(SHARD))
    assert store.read(SHARD, EXPECTED).head.next_offset == 50


def write_many(url, seed, rounds):
    """A worker that does not know whether the shard is still its own.

    Now and then it takes the shard over and starts from its snapshot; in between it goes on from
    what it has, and claims the shard again, or not, when it is refused.
    """
    choose = random.Random(seed)
    store = a_store(redis.Redis.from_url(url), holder=f"writer-{seed}")
    epoch, offset = store.claim(SHARD), 0
    written = 0
    for _ in range(rounds):
        if choose.random() < 0.2:
            epoch = store.claim(SHARD)
            found = store.ls([SHARD])[SHARD]
            offset = 0 if isinstance(found, NoSnapshot) else found.next_offset
        offset = max(0, offset + choose.randint(-5, 10))
        try:
            store.write(a_snapshot(offset, size=50), epoch)
            written += 1
        except StaleWriter:
            if choose.random() < 0.5:  # as a worker that is just taking over would
                epoch = store.claim(SHARD)
    assert written, "each gets its turn"


class Watcher(threading.Thread):
    """Sees the pointer as often as it can."""

    def __init__(self, client):
        super().__init__()
        self.seen, self.stopping, self._store = [], threading.Event(), a_store(client)

    def run(self):
        while not self.stopping.is_set():
            pointer = self._store.ls([SHARD])[SHARD]
            if not isinstance(pointer, Exception):
                self.seen.append((pointer.epoch, pointer.next_offset))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join()


def test_the_pointer_never_goes_back_while_processes_race_for_it(server, client):
    reader = a_store(client)
    with Watcher(server.client()) as watcher:
        writers = [
            PROCESSES.Process(target=write_many, args=(server.url, s, 60)) for s in (1, 2, 3)
        ]
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            if watcher.seen:
                assert_whole(reader.read(SHARD, EXPECTED), size=50)
        for writer in writers:
            writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    epochs, offsets = zip(*watcher.seen, strict=True)
    assert list(epochs) == sorted(epochs)
    assert list(offsets) == sorted(offsets), "a higher epoch is no leave to go back"
    assert len(set(watcher.seen)) > 10
    assert_whole(reader.read(SHARD, EXPECTED), size=50)
    newest = reader.ls([SHARD])[SHARD]
    assert all(client.ttl(key) > 0 for key in expiring(client, [newest.name]))


def test_of_many_threads_that_claim_at_once_each_gets_an_epoch_of_its_own(server):
    stores = [a_store(server.client()) for _ in range(4)]
    epochs = [[] for _ in stores]

    def claim(index):
        for _ in range(100):
            epochs[index].append(stores[index].claim(SHARD))

    threads = [threading.Thread(target=claim, args=(index,)) for index in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == sorted(each) for each in epochs)
    assert len({epoch for each in epochs for epoch in each}) == 400
