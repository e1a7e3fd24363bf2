"""Redis killed, flushed, slow, full: a clear error for the writer, none for the reader."""

import socket
import threading

import pytest
import redis

from storage.redis_client import open_redis
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
from workers.snapshots import NoSnapshot, SnapshotFailed, SnapshotStore

CHUNK_BYTES = 1000
TIMEOUT_S = 1.0


@pytest.fixture
def server(tmp_path):
    with own_redis(tmp_path) as server:
        yield server


@pytest.fixture
def direct(server):
    """A client that does not mind how the server fares."""
    with server.client() as client:
        yield client


class Interrupted(redis.Redis):
    """Calls `between` before the nth command of a name; "set" is for a chunk, "getrange" too."""

    def interrupt(self, name, nth, between):
        self.plan = [name.upper(), nth, between]
        return self

    def execute_command(self, *args, **options):
        if getattr(self, "plan", None) and args[0] == self.plan[0]:
            self.plan[1] -= 1
            if self.plan[1] == 0:
                self.plan[2]()
        return super().execute_command(*args, **options)


def an_interrupted(url):
    pool = open_redis(url, TIMEOUT_S).connection_pool
    return Interrupted(connection_pool=pool)


def a_store(client, **options):
    options = {"chunk_bytes": CHUNK_BYTES, "now": lambda: MADE_AT} | options
    return SnapshotStore(client, PREFIX, COLLECTION, **options)


def failure(do):
    with pytest.raises(SnapshotFailed) as caught:
        do()
    return caught.value


def absence(store):
    with pytest.raises(NoSnapshot) as caught:
        store.read(SHARD, EXPECTED)
    return caught.value


def assert_unreachable(store):
    assert absence(store).reason == "unreachable"
    with pytest.raises(NoSnapshot):
        store.ls([SHARD])
    for do in (
        lambda: store.claim(SHARD),
        lambda: store.write(a_snapshot(), 1),
        lambda: store.drop(SHARD),
    ):
        assert failure(do).reason in ("unreachable", "slow")


def chunk_keys(client):
    return [key for key in client.keys("*:*:*") if not key.endswith((b"}", b":claim"))]


def test_without_redis_there_is_no_snapshot_and_no_hang(server):
    store = a_store(an_interrupted(server.url))
    store.write(a_snapshot(), 1)
    server.kill()
    assert_unreachable(store)
    assert "Connection refused" in str(absence(store))
    server.start()
    assert absence(store).reason == "missing"
    store.write(a_snapshot(), 1)
    assert_whole(store.read(SHARD, EXPECTED))


@pytest.mark.parametrize("url", ["redis://nowhere.invalid:6379/0", "unix:///nowhere/redis.sock"])
def test_an_address_where_nobody_is(url):
    assert_unreachable(a_store(open_redis(url, TIMEOUT_S)))


def test_a_server_that_says_nothing_is_given_up():
    """It takes connections, and neither reads nor answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        store = a_store(open_redis(url, TIMEOUT_S))
        assert_unreachable(store)


def test_a_wrong_password_is_told(server, direct):
    direct.config_set("requirepass", "right")
    url = server.url.replace("redis://", "redis://:wrong@")
    store = a_store(open_redis(url, TIMEOUT_S))
    assert_unreachable(store)
    assert "password" in str(absence(store))


@pytest.mark.parametrize("nth", [1, 2, 4])
def test_redis_killed_while_chunks_are_written(server, nth):
    client = an_interrupted(server.url)
    failed = failure(
        lambda: a_store(client.interrupt("set", nth, server.kill)).write(a_snapshot(), 1)
    )
    assert failed.reason == "unreachable"
    assert "snapshot of shard 1 at 100 not written" in str(failed)


def test_redis_killed_before_the_pointer_is_swapped(server):
    client = an_interrupted(server.url)
    store = a_store(client.interrupt("evalsha", 1, server.kill))
    assert failure(lambda: store.write(a_snapshot(), 1)).reason == "unreachable"


@pytest.mark.parametrize("nth", [1, 3])
def test_redis_killed_while_chunks_are_read(server, nth):
    client = an_interrupted(server.url)
    store = a_store(client)
    store.write(a_snapshot(), 1)
    client.interrupt("getrange", nth, server.kill)
    assert absence(store).reason == "unreachable"


@pytest.mark.parametrize(("command", "nth"), [("set", 2), ("set", 4), ("evalsha", 1)])
def test_redis_flushed_between_chunks_publishes_nothing(server, direct, command, nth):
    client = an_interrupted(server.url)
    store = a_store(client)
    epoch = store.claim(SHARD)
    store.write(a_snapshot(100), epoch)
    client.interrupt(command, nth, direct.flushall)
    failed = failure(lambda: store.write(a_snapshot(200), epoch))
    assert failed.reason == "lost"
    assert "was it flushed" in str(failed)
    assert absence(store).reason == "missing"
    assert direct.keys("*") == [], "what had survived is removed at once"


@pytest.mark.parametrize(
    ("command", "nth", "reason"),
    [("hgetall", 1, "missing"), ("getrange", 1, "missing"), ("getrange", 3, "missing")],
)
def test_redis_flushed_while_a_snapshot_is_read(server, direct, command, nth, reason):
    client = an_interrupted(server.url)
    store = a_store(client)
    store.write(a_snapshot(), 1)
    client.interrupt(command, nth, direct.flushall)
    assert absence(store).reason == reason


def test_a_slow_redis_is_given_up_and_recovers(server):
    store = a_store(an_interrupted(server.url))
    store.write(a_snapshot(100), 1)
    server.stall()
    failed = failure(lambda: store.write(a_snapshot(200), 1))
    assert failed.reason == "slow"
    assert absence(store).reason == "unreachable"
    server.resume()
    assert store.read(SHARD, EXPECTED).head.next_offset in (100, 200)
    store.write(a_snapshot(300), 1)
    assert store.read(SHARD, EXPECTED).head.next_offset == 300


@pytest.mark.parametrize(("command", "nth"), [("set", 1), ("set", 3), ("evalsha", 1)])
def test_redis_that_stalls_in_the_middle_of_an_upload(server, command, nth):
    client = an_interrupted(server.url)
    store = a_store(client)
    store.write(a_snapshot(100), 1)
    client.interrupt(command, nth, server.stall)
    assert failure(lambda: store.write(a_snapshot(200), 1)).reason == "slow"
    server.resume()
    snapshot = store.read(SHARD, EXPECTED)
    assert_whole(snapshot)
    # The script that it was sent it runs in the end: what is not known is only the answer.
    assert snapshot.head.next_offset == 100 or command == "evalsha"


@pytest.mark.parametrize("nth", [1, 3])
def test_redis_that_stalls_in_the_middle_of_a_download(server, nth):
    client = an_interrupted(server.url)
    store = a_store(client)
    store.write(a_snapshot(), 1)
    client.interrupt("getrange", nth, server.stall)
    assert absence(store).reason == "unreachable"
    server.resume()
    assert_whole(store.read(SHARD, EXPECTED))


def test_a_whole_transfer_has_a_limit_though_every_command_is_answered(server, direct):
    patient = a_store(an_interrupted(server.url))
    patient.write(a_snapshot(), 1)
    hasty = a_store(an_interrupted(server.url), timeout_s=0)
    failed = failure(lambda: hasty.write(a_snapshot(200), 1))
    assert (failed.reason, "not written within 0 s" in str(failed)) == ("slow", True)
    absent = absence(hasty)
    assert (absent.reason, "not read within 0 s" in str(absent)) == ("unreachable", True)
    assert_whole(patient.read(SHARD, EXPECTED))
    abandoned = [key for key in chunk_keys(direct) if b":1-200-" in key]
    assert abandoned
    assert all(direct.ttl(key) > 0 for key in abandoned)


def test_a_full_redis_keeps_the_snapshot_that_it_has(server, direct):
    store = a_store(an_interrupted(server.url), chunk_bytes=64 * 1024)
    store.write(a_snapshot(100), 1)
    used = direct.info("memory")["used_memory"]
    direct.config_set("maxmemory-policy", "noeviction")
    direct.config_set("maxmemory", used + 2 * 1024 * 1024)
    before = set(direct.keys("*"))
    failed = failure(lambda: store.write(a_snapshot(200, size=1_000_000), 1))
    assert failed.reason == "full"
    assert "maxmemory" in str(failed)
    assert set(direct.keys("*")) == before, "the room is given back at once"
    assert_whole(store.read(SHARD, EXPECTED))
    direct.config_set("maxmemory", 0)
    store.write(a_snapshot(200, size=1_000_000), 1)
    assert_whole(store.read(SHARD, EXPECTED), size=1_000_000)


def test_redis_that_evicts_costs_a_replay_only(server, direct):
    store = a_store(an_interrupted(server.url), chunk_bytes=64 * 1024)
    used = direct.info("memory")["used_memory"]
    direct.config_set("maxmemory-policy", "allkeys-random")
    direct.config_set("maxmemory", used + 2 * 1024 * 1024)
    failed = failure(lambda: store.write(a_snapshot(200, size=1_000_000), 1))
    assert failed.reason in ("lost", "full")
    assert absence(store).reason == "missing"


def test_a_replica_that_refuses_writes_is_told(server, direct):
    store = a_store(an_interrupted(server.url))
    store.write(a_snapshot(100), 1)
    direct.execute_command("REPLICAOF", "127.0.0.1", "1")
    failed = failure(lambda: store.write(a_snapshot(200), 1))
    assert failed.reason == "refused"
    assert "read only replica" in str(failed)


def test_old_generations_and_abandoned_uploads_are_gone_in_the_end(server, direct):
    """With the shortest times that there are, and nobody to tidy up."""
    client = an_interrupted(server.url)
    store = a_store(client, keep_old_s=1, timeout_s=1)
    store.write(a_snapshot(100), 1)
    newest = store.write(a_snapshot(200), 1)
    client.interrupt("set", 3, lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        store.write(a_snapshot(300), 1)
    client.plan = None
    deadline = [direct.ttl(key) for key in direct.keys("*")]
    assert max(deadline) <= 2
    while len(chunk_keys(direct)) > newest.chunks:
        assert threading.Event().wait(0.05) is False
    assert_whole(store.read(SHARD, EXPECTED))
    assert len(direct.keys("*")) == newest.chunks + 2
