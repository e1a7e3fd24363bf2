import json
import os
import pty
import subprocess
import sys
import time

import pytest

from configs import Settings
from podium.commands.snapshot import _age
from storage.redis_client import open_redis
from tests.own_redis import own_redis
from tests.workers.snapshots.samples import a_snapshot
from workers.snapshots import NoSnapshot, SnapshotStore

COLLECTION = "name: ads\nkind: ranked\nattributes: [age, visits]\nshards: 3\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with own_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def client(server):
    client = open_redis(server.url, timeout_s=5)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def store(client):
    """Shards 0 and 1 of three have a snapshot."""
    store = SnapshotStore.of(client, Settings(), "ads")
    for shard in (0, 1):
        made_at = time.time() - 150
        store.write(a_snapshot(1200 + shard, shard=shard, made_at=made_at), epoch=7)
    return store


@pytest.fixture
def snapshot(podium, server, monkeypatch, tmp_path):
    monkeypatch.setenv("PODIUM_REDIS__URL", server.url)
    file = tmp_path / "ads.yaml"
    file.write_text(COLLECTION)

    def run(verb, *arguments, **options):
        return podium("snapshot", verb, "--collection", file, *arguments, **options)

    return run


def states(ended):
    return {row["shard"]: row["state"] for row in json.loads(ended.out)}


def test_the_list_has_a_line_for_every_shard(snapshot, store):
    ended = snapshot("ls")
    assert ended.code == 0
    first, second, third = ended.out.splitlines()
    size = store.ls([0])[0].bytes
    assert first.startswith(
        f"shard 0: 3 subscriptions at 1200, {size / 1e6:.1f} MB in 1 chunk, 2 min old, by "
    )
    assert first.endswith(f":{os.getpid()} (epoch 7)")
    assert second.startswith("shard 1: 3 subscriptions at 1201")
    assert third == "shard 2: missing: there is no {podium:ads:snapshot:2}"


def test_the_list_for_programs(snapshot, store):
    ended = snapshot("ls", "--json", "--shard", 1)
    (row,) = json.loads(ended.out)
    pointer = store.ls([1])[1]
    assert row["state"] == "ok"
    assert {name: row[name] for name in ("name", "epoch", "bytes", "chunks", "next_offset")} == {
        "name": pointer.name,
        "epoch": 7,
        "bytes": pointer.bytes,
        "chunks": 1,
        "next_offset": 1201,
    }
    assert row["attributes"] == ["age", "visits"]


def test_verifying_says_what_is_wrong(snapshot, store, client):
    for shard in (0, 1):
        assert snapshot("verify", "--shard", shard).code == 0
    name = store.ls([1])[1].name
    client.setrange(f"{{podium:ads:snapshot:1}}:{name}:0", 200, b"\xaa\xaa\xaa")
    ended = snapshot("verify", "--json")
    assert ended.code == 1
    assert states(ended) == {0: "ok", 1: "corrupt", 2: "missing"}
    assert "got checksum" in snapshot("verify").out
    assert snapshot("ls", "--shard", 1).code == 0, "listing does not read it"


def test_verifying_compares_with_the_collection(snapshot, store, tmp_path):
    (tmp_path / "ads.yaml").write_text(COLLECTION.replace("visits", "clicks"))
    ended = snapshot("verify", "--json", "--shard", 0)
    assert (ended.code, states(ended)) == (1, {0: "foreign"})
    old = "retention: {unsubscriptions_days: 0.001}\n"
    (tmp_path / "ads.yaml").write_text(COLLECTION + old)
    ended = snapshot("verify", "--json", "--shard", 0)
    assert (ended.code, states(ended)) == (1, {0: "too_old"})


def test_a_program_has_to_say_yes(snapshot, store):
    ended = snapshot("drop", stdin=b"y\n")
    assert ended.code == 2
    assert "add --yes" in ended.err
    assert store.verify(0)
    ended = snapshot("drop", "--yes", "--json")
    assert (ended.code, json.loads(ended.out)) == (0, {"dropped": [0, 1]})
    for shard in (0, 1):
        with pytest.raises(NoSnapshot):
            store.verify(shard)
    assert snapshot("drop", "--yes").out == "there was none\n"


def test_one_shard_can_be_dropped_alone(snapshot, store):
    assert snapshot("drop", "--yes", "--shard", 0).out == "dropped shard 0\n"
    assert states(snapshot("ls", "--json")) == {0: "missing", 1: "ok", 2: "missing"}


@pytest.mark.parametrize(("answer", "code", "left"), [(b"n\n", 1, "ok"), (b"y\n", 0, "missing")])
def test_a_person_is_asked(snapshot, store, server, tmp_path, answer, code, left):
    terminal, theirs = pty.openpty()
    os.write(terminal, answer)
    command = [sys.executable, "-m", "podium", "snapshot", "drop"]
    ended = subprocess.run(
        [*command, "--collection", str(tmp_path / "ads.yaml")],
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(terminal)
    os.close(theirs)
    assert "Drop the snapshots of ads, shards 0, 1, 2? [y/N]" in ended.stderr
    assert ended.returncode == code
    assert states(snapshot("ls", "--json"))[0] == left


def test_a_shard_that_the_collection_does_not_have(snapshot):
    ended = snapshot("ls", "--shard", 3)
    assert ended.code == 2
    assert "got shard 3, expected 0 to 2 of ads" in ended.err


@pytest.mark.parametrize("verb", ["ls", "verify", "drop"])
def test_without_redis_the_exit_code_says_so(snapshot, monkeypatch, verb):
    monkeypatch.setenv("PODIUM_REDIS__URL", "redis://:hunter2@127.0.0.1:1/0")
    ended = snapshot(verb, *(["--yes"] if verb == "drop" else []))
    assert ended.code == 4
    assert "Redis at redis://:***@127.0.0.1:1/0" in ended.err
    assert "set redis.url" in ended.err
    assert ended.out == ""


@pytest.fixture
def lists(podium, server, client, monkeypatch, tmp_path):
    """Snapshots of the painter and of one zone of two."""
    monkeypatch.setenv("PODIUM_REDIS__URL", server.url)
    file = tmp_path / "parking.yaml"
    file.write_text("name: parking\nkind: range_topk\n")
    for name, number in (("parking/painter", 0), ("parking/zones", 1)):
        store = SnapshotStore.of(client, Settings(), name)
        said = {"collection": name, "kind": "range_topk", "attributes": ()}
        store.write(a_snapshot(1200, shard=number, made_at=time.time(), **said), epoch=7)

    def run(verb, *arguments):
        return podium("snapshot", verb, "--collection", file, *arguments)

    return run


def test_a_collection_of_lists_has_those_of_its_painter_and_zones(lists):
    painter, first, second = lists("ls").out.splitlines()
    assert painter.startswith("painter 0: 3 subscriptions at 1200")
    assert first == "zone 0: missing: there is no {podium:parking/zones:snapshot:0}"
    assert second.startswith("zone 1: 3 subscriptions at 1200")
    ended = lists("verify", "--json")
    assert ended.code == 1
    rows = [(row.get("painter"), row.get("zone"), row["state"]) for row in json.loads(ended.out)]
    assert rows == [(0, None, "ok"), (None, 0, "missing"), (None, 1, "ok")]


def test_those_of_lists_are_dropped_all_or_by_zone(lists):
    assert "got zone 2, expected 0 to 1 of parking" in lists("ls", "--shard", 2).err
    assert lists("drop", "--yes", "--shard", 1).out == "dropped zone 1\n"
    dropped = json.loads(lists("drop", "--yes", "--json").out)
    assert dropped == {"dropped": ["painter 0"]}
    assert lists("drop", "--yes").out == "there was none\n"


def test_ages_are_told_in_their_largest_unit():
    told = [_age(seconds) for seconds in (-5, 0.4, 59, 150, 7200, 200_000)]
    assert told == ["0 s", "0 s", "59 s", "2 min", "2 h", "2 d"]
