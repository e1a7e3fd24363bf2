"""The service of one shard: what it starts from, what it says, and how it ends."""

import asyncio
import json
import logging
import threading
from itertools import product

import numpy as np
import pytest
from confluent_kafka import Message

from tests.own_redis import OwnRedis, own_redis
from tests.workers.shard.shard_lab import A_SUBSCRIPTION, ShardLab, until
from topics.kafka.producer import Outbox
from workers.shard.changes import Changes, read_changes
from workers.shard.feed import RecordsLost, ShardGone, SubscriptionReader
from workers.shard.shard import Shard
from workers.snapshots import Snapshot, SnapshotStore
from workers.snapshots.keeper import SnapshotKeeper


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory):
    with own_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def lab(broker: str, redis_server: OwnRedis, unique_name) -> ShardLab:
    return ShardLab(unique_name("feed"), broker, redis_server.url)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "workers")
    return caplog


async def left_behind(lab: ShardLab, next_offset: int) -> None:
    """A feed reads up to an offset, and leaves its snapshot."""
    async with lab.service() as service:
        await until(lambda: service.shard.next_offset == next_offset)


@pytest.mark.parametrize(("ids", "level"), [(["a"], "WARNING"), ([], "INFO")])
def test_a_missing_snapshot_is_a_warning_unless_there_is_nothing_to_miss(
    lab: ShardLab, said, ids: list[str], level: str
):
    async def run() -> None:
        lab.subscribe(*ids)
        async with lab.service():
            pass

    asyncio.run(run())
    (record,) = [each for each in said.records if "no snapshot to start from" in each.message]
    assert record.levelname == level
    assert "(missing: there is no " in record.message


def test_metrics_of_a_shard_are_there_from_its_first_moment(
    broker: str, redis_server: OwnRedis, unique_name, monkeypatch
):
    """Also when it comes from a snapshot and nothing changes afterwards."""
    monkeypatch.setattr("indexes.boolean.naming.MOST_COLUMNS", 4)
    lab = ShardLab(unique_name("feed"), broker, redis_server.url, kind="boolean", attributes=[])
    told: list[list[float | None]] = []

    async def run() -> None:
        for number in range(6):
            predicate = {"attr": f"n{number}", "op": "=", "value": 1}
            lab.subscribe(f"{number}", value=json.dumps({"all": [predicate]}).encode())
        for _ in range(2):
            async with lab.service() as service:
                await until(lambda service=service: service.shard.next_offset == 6)
                names = ("subscriptions", "unplaced_conjunctions", "delta_share")
                told.append([lab.metric(f"podium_{name}") for name in names])
                assert (lab.metric("podium_index_bytes") or 0) > 0

    asyncio.run(run())
    assert lab.metric("podium_restores_total", start="snapshot") == 1
    assert told == [[6, 3, 0], [6, 3, 0]]


def test_a_snapshot_from_before_deleted_records_is_refused(lab: ShardLab, said):
    async def run() -> None:
        lab.subscribe("a", "b", "c")
        await left_behind(lab, 3)
        lab.unsubscribe("a")
        lab.subscribe("d", "e")
        lab.delete_records(below=5)  # the unsubscription is gone, and nobody has read it
        async with lab.service() as service:
            assert (len(service.shard), service.shard.next_offset) == (1, 6)

    asyncio.run(run())
    assert lab.metric("podium_restores_total", start="gap") == 1
    assert "(gap: " in said.text
    assert "got next offset 3, expected at least 5" in said.text
    assert "begins at offset 5" in said.text
    assert "send the missing subscriptions again" in said.text


def test_a_snapshot_that_has_what_was_deleted_is_taken(lab: ShardLab, said):
    async def run() -> None:
        lab.subscribe("a", "b", "c")
        await left_behind(lab, 3)
        lab.delete_records(below=3)
        lab.subscribe("d")
        async with lab.service() as service:
            assert (len(service.shard), service.shard.next_offset) == (4, 4)

    asyncio.run(run())
    assert lab.metric("podium_restores_total", start="snapshot") == 1
    assert "begins at offset" not in said.text


@pytest.fixture(params=["full", "read-only"])
def unwilling(redis_server: OwnRedis, request: pytest.FixtureRequest):
    """Switches the Redis to one that can be read but not written, and back at the end."""

    def switch() -> None:
        if request.param == "full":
            client.config_set("maxmemory", 1)
        else:
            client.replicaof("127.0.0.1", 1)

    with redis_server.client() as client:
        yield switch
        client.config_set("maxmemory", 0)
        client.replicaof("no", "one")


def test_a_redis_that_takes_no_writes_is_read_all_the_same(lab: ShardLab, said, unwilling):
    async def run() -> None:
        lab.subscribe("a", "b", "c")
        await left_behind(lab, 3)
        unwilling()
        lab.subscribe("d")
        async with lab.service() as service:
            assert len(service.shard) == 4

    asyncio.run(run())
    assert lab.metric("podium_restores_total", start="snapshot") == 1
    assert "shard 0 not claimed" in said.text


ODD = {
    "missing": None,
    "empty": np.empty(0),
    "no-array": np.array(7),
    "huge-numbers": np.full(3, 2**40),
    "two-dimensions": np.zeros((2, 2)),
}


def an_odd_snapshot(lab: ShardLab, name: str, odd: np.ndarray | None) -> Snapshot:
    """What a shard would write, but for one array; every byte of it is as it was written."""
    shard = lab.new_shard()
    messages = [
        Message(topic=lab.topic, partition=0, offset=i, key=b"%d" % i, value=A_SUBSCRIPTION)
        for i in range(3)
    ]
    shard.apply(read_changes(messages, shard.contract, 1))
    shard.open()
    snapshot = SnapshotKeeper(lab.context, shard).gather()
    arrays = {key: array for key, array in snapshot.arrays.items() if key != name}
    return Snapshot(snapshot.head, arrays if odd is None else arrays | {name: odd})


def test_a_whole_snapshot_of_odd_arrays_means_a_replay(lab: ShardLab, redis_server, said):
    names = an_odd_snapshot(lab, "", None).arrays.keys()
    store = SnapshotStore(redis_server.client(), "podium", lab.collection.name)
    for name, odd in product(names, ODD.values()):
        store.write(an_odd_snapshot(lab, name, odd), store.claim(0))
        shard = lab.new_shard()
        SnapshotKeeper(lab.context, shard).restore("", range(3))
        assert shard.next_offset in (0, 3)
    assert lab.metric("podium_restores_total", start="corrupt") >= len(names)
    assert "Traceback" in said.text


def test_a_snapshot_that_cannot_be_made_is_counted_and_the_next_one_is_written(lab: ShardLab, said):
    keeper = SnapshotKeeper(lab.context, lab.new_shard())
    whole = keeper.gather()
    assert keeper.write(Snapshot(whole.head, {"not/a/name": np.zeros(1)})) is None
    assert lab.metric("podium_snapshots_total", result="failed") == 1
    assert "Traceback" in said.text
    assert keeper.write(whole) is not None


def read_on(reader: SubscriptionReader) -> None:
    for _ in range(100):
        reader.read(restored=True)


def test_records_deleted_under_a_reader_are_noticed(lab: ShardLab):
    """Compaction leaves holes, too; only the broker knows that these are none."""
    lab.subscribe("a", "b", "c", "d")
    shard = lab.new_shard()
    reader = SubscriptionReader(lab.context, shard, Outbox(lab.context.client))
    try:
        assert reader.open(lambda: False)
        lab.delete_records(below=2)
        reader.start()
        with pytest.raises(RecordsLost, match=r"\[0\]@0: .*restart the worker"):
            read_on(reader)
    finally:
        reader.close()


def threads_of_feeds() -> list[str]:
    own = ("feed-0", "rebuilder-0")
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(own)]


def test_a_feed_that_is_stopped_while_it_opens_disturbs_nobody(lab: ShardLab, redis_server):
    """By then the shard is another worker's: to claim it would fence that one off."""

    async def run() -> None:
        service = lab.new_service()
        await service.start()
        await until(lambda: threads_of_feeds())
        await service.stop()
        await until(lambda: not threads_of_feeds())

    lab.subscribe("a")
    asyncio.run(run())
    with redis_server.client() as client:
        assert client.keys(f"*{lab.collection.name}*") == []


def test_a_feed_that_is_stopped_leaves_no_thread(lab: ShardLab):
    async def run() -> None:
        async with lab.service():
            await until(lambda: len(threads_of_feeds()) == 2)
        await until(lambda: not threads_of_feeds())

    asyncio.run(run())


def test_the_lag_rises_while_changes_wait_and_falls_again(lab: ShardLab):
    def lag() -> float | None:
        return lab.metric("podium_feed_lag_records")

    async def run() -> None:
        async with lab.service() as service:
            await until(lambda: lag() == 0)
            async with service._changing:  # as a snapshot does while it is gathered
                lab.subscribe("a", "b", "c")
                await until(lambda: lag() == 3)
            await until(lambda: lag() == 0)

    asyncio.run(run())


def test_a_shard_that_is_gone_is_no_longer_measured(lab: ShardLab):
    gauges = ("subscriptions", "feed_lag_records", "index_bytes", "delta_share")
    written = ("snapshot_next_offset", "snapshot_bytes", "snapshot_seconds")

    def measured(names: tuple[str, ...]) -> list[str]:
        return [name for name in names if lab.metric(f"podium_{name}") is not None]

    async def run() -> None:
        lab.subscribe("a", "b", "c")
        async with lab.service():
            await until(lambda: measured(gauges) == list(gauges))
        await until(lambda: not measured(gauges + written))

    asyncio.run(run())
    assert lab.metric("podium_snapshots_total", result="written") == 1, "what was counted stays"


def test_a_shard_that_has_failed_to_change_answers_nothing_more(lab: ShardLab, monkeypatch):
    """From that moment on, however long it takes to leave its topic."""
    may_close = threading.Event()
    close = SubscriptionReader.close

    def fail(shard: Shard, changes: Changes) -> None:
        raise MemoryError("half of it is done")

    def close_late(reader: SubscriptionReader) -> None:
        may_close.wait()
        close(reader)

    async def run() -> None:
        async with lab.service() as service:
            monkeypatch.setattr(Shard, "apply", fail)
            monkeypatch.setattr(SubscriptionReader, "close", close_late)
            try:
                lab.subscribe("a")
                await until(lambda: service.crashed)
                with pytest.raises(ShardGone):
                    await service.feed.passed(-1)
            finally:
                may_close.set()

    asyncio.run(run())
    assert lab.metric("podium_snapshots_total", result="written") is None


def test_a_shard_that_finds_itself_inconsistent_leaves_the_log_to_its_next_owner(
    lab: ShardLab, said
):
    async def run() -> None:
        async with lab.service() as service:
            service.shard._keys.remove_many([b"a"])
            lab.subscribe("d")
            await until(lambda: service.shard.next_offset == 5)

    lab.subscribe("a", "b", "c")
    asyncio.run(left_behind(lab, 3))
    assert lab.metric("podium_snapshots_total", result="written") == 1
    lab.subscribe("b")
    asyncio.run(run())
    assert "no snapshot is written" in said.text
    assert lab.metric("podium_snapshots_total", result="written") == 1
    asyncio.run(left_behind(lab, 5))
    assert lab.metric("podium_restores_total", start="missing") == 2


def test_an_offset_that_the_partition_does_not_have_is_not_waited_for(lab: ShardLab, said):
    """It is of a topic of the same name, which was longer."""

    async def run() -> None:
        async with lab.service() as service:
            await asyncio.wait_for(service.feed.passed(7), 60)
            soon = asyncio.ensure_future(service.feed.passed(3))
            await asyncio.sleep(0.2)
            assert not soon.done()
            lab.subscribe("d")
            await asyncio.wait_for(soon, 5)

    lab.subscribe("a", "b", "c")
    asyncio.run(run())
    assert "waits for offset 7, the partition ends at 3; answered without" in said.text
