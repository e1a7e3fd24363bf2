"""The job against a real broker: what its bases hold, and that nothing is lost or doubled."""

import json
import shutil
import time

import pytest
import redis
from confluent_kafka import Consumer, Producer, TopicPartition
from prometheus_client import REGISTRY

from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.bases import BasesJob
from spark_streaming.errors import ForeignCheckpoint, JobError, OffsetsLost
from spark_streaming.metrics import ProgressMetrics
from tests.retention import delete_records

KINDS = [
    pytest.param({"kind": "ranked"}, id="ranked"),
    pytest.param({"kind": "ranked", "attributes": ["age", "visits"]}, id="ranked-two-attributes"),
    pytest.param({"kind": "relaxed", "attributes": ["age", "visits"]}, id="relaxed"),
]


@pytest.mark.parametrize("declared", KINDS)
def test_bases_hold_what_is_live_and_do_not_depend_on_how_it_was_batched(
    spark, make_stage, declared
):
    stage = make_stage(**declared)
    stage.send_random(seed=1, count=120)
    stage.run(spark)
    first = stage.check_bases()
    stage.send_random(seed=2, count=80)
    stage.run(spark)
    second = stage.check_bases()
    assert all(second[shard].next_offset > first[shard].next_offset for shard in first)

    in_two = stage.blobs()
    stage.configure(checkpoints=str(stage.folder / "fresh"))
    shutil.rmtree(stage.folder / "bases")
    stage.run(spark)
    in_one = stage.blobs()
    assert in_one.keys() < in_two.keys()
    assert all(in_two[name] == data for name, data in in_one.items())


def test_a_repeated_batch_writes_the_same_bytes_under_the_same_names(spark, make_stage):
    stage = make_stage()
    for seed in (1, 2):
        stage.send_random(seed, count=60)
        stage.run(spark)
    once = stage.blobs()
    (stage.checkpoint / "commits" / "1").unlink()
    (stage.checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    newest = {shard: bases[-1] for shard, bases in stage.announced().items()}
    for base in newest.values():
        for blob in (*base.trees, base.state):
            (stage.folder / "bases" / blob.name).unlink()
    stage.run(spark)
    assert stage.blobs() == once
    again = stage.announced()
    assert {shard: bases[-2:] for shard, bases in again.items()} == {
        shard: [base, base] for shard, base in newest.items()
    }


def test_the_base_before_the_last_is_kept_and_older_ones_are_dropped(spark, make_stage):
    stage = make_stage(shards=1)
    for seed in range(3):
        stage.send_random(seed, count=20)
        stage.run(spark)
    bases = stage.announced()[0]
    assert len(bases) == 3
    kept = {name.split("/")[1] for name in stage.blobs()}
    assert kept == {f"{base.next_offset:020d}" for base in bases[-2:]}


def test_a_lost_base_is_rebuilt_to_the_same_bytes(spark, make_stage):
    stage = make_stage(shards=1)
    stage.send_random(0, count=60)
    stage.run(spark)
    for seed, damage in enumerate((_remove, _cut, _change), start=1):
        damage(stage.folder / "bases" / stage.announced()[0][-1].state.name)
        stage.send_random(seed, count=20)
        stage.run(spark)
        stage.check_bases()
        assert _rebuilt(stage) == seed
    newest, blobs = stage.announced()[0][-1], stage.blobs()
    stage.configure(checkpoints=str(stage.folder / "fresh"))
    stage.run(spark)
    assert stage.announced()[0][-1] == newest
    assert stage.blobs() == blobs


def _remove(blob):
    blob.unlink()


def _cut(blob):
    blob.write_bytes(blob.read_bytes()[:-64])


def _change(blob):
    data = blob.read_bytes()
    blob.write_bytes(data[:-100] + bytes(byte ^ 1 for byte in data[-100:]))


def test_after_a_pause_in_which_unsubscriptions_may_have_gone_bases_start_anew(spark, make_stage):
    stage = make_stage(shards=1, retention={"unsubscriptions_days": 2})
    stage.send_random(1, count=30)
    stage.run(spark)
    log = stage.checkpoint / "offsets" / "0"
    version, about, offsets = log.read_text().splitlines()
    about = json.loads(about)
    about["batchTimestampMs"] -= 3 * 24 * 3600 * 1000
    (log.parent / ".0.crc").unlink()
    log.write_text("\n".join((version, json.dumps(about), offsets)))
    stage.send_random(2, count=30)
    stage.run(spark)
    stage.check_bases()
    assert _rebuilt(stage) == 1


def _rebuilt(stage):
    labels = {"collection": stage.name, "shard": "0"}
    return REGISTRY.get_sample_value("podium_spark_bases_rebuilt_total", labels)


def test_bases_in_redis_survive_a_flush(spark, make_stage, redis_url):
    stage = make_stage()
    stage.configure(bases=redis_url)
    stage.send_random(1, count=60)
    stage.run(spark)
    stage.check_bases()
    client = redis.Redis.from_url(redis_url)
    doomed = list(client.scan_iter(f"podium:base:{stage.topic('subscriptions')}/*"))
    assert doomed
    client.delete(*doomed)
    stage.send_random(2, count=10)
    stage.run(spark)
    stage.check_bases()


def test_bad_records_are_skipped_and_each_is_one_dead_letter(spark, make_stage):
    stage = make_stage()
    stage.send("a", {"where": {"age": [1, 5]}, "score": 1})
    stage.send("a", {"where": {"age": [5, 1]}, "score": 2}, headers=[("trace", b"7")])
    stage.send("a", b"\xff", headers=[("x", b"")])
    stage.send("", {"where": {}, "score": 1}, partition=0)
    stage.send("b", {"where": {"height": [1, 2]}, "score": 1})
    stage.send("c", {"where": {}, "score": 1}, partition=0)
    stage.send("c", {"where": {}, "score": 1}, partition=1)
    stage.flush()
    stage.run(spark)
    stage.check_bases()
    letters = stage.read("subscriptions.dlq")
    assert len(letters) == 5
    told = {dict(letter.headers())["podium-error-field"].decode() for letter in letters}
    assert told == {"where.age", "value", "key", "where.height"}
    (crossed,) = [letter for letter in letters if ("trace", b"7") in letter.headers()]
    assert crossed.key() == b"a"
    assert crossed.value() == b'{"where": {"age": [5, 1]}, "score": 2}'
    assert dict(crossed.headers())["podium-topic"] == stage.topic("subscriptions").encode()
    # A job that starts anew meets them again, and does not write them again.
    stage.configure(checkpoints=str(stage.folder / "fresh"))
    stage.run(spark)
    stage.check_bases()
    assert len(stage.read("subscriptions.dlq")) == 5


def test_what_a_matcher_has_refused_the_job_does_not_report_again(spark, make_stage):
    stage = make_stage(shards=1)
    stage.send("a", b"nonsense")
    stage.flush()
    feed = Consumer({"bootstrap.servers": stage.brokers, "group.id": f"podium.{stage.name}.feed"})
    feed.commit(offsets=[TopicPartition(stage.topic("subscriptions"), 0, 1)], asynchronous=False)
    stage.send("b", b"nonsense")
    stage.flush()
    stage.run(spark)
    (letter,) = stage.read("subscriptions.dlq")
    assert letter.key() == b"b"
    (place,) = feed.committed([TopicPartition(stage.topic("subscriptions"), 0)], timeout=10)
    assert place.offset == 2
    feed.close()


def test_offsets_without_records_move_the_base_on(spark, make_stage):
    stage = make_stage(shards=1)
    stage.send_random(1, count=30)
    stage.run(spark)
    producer = Producer({"bootstrap.servers": stage.brokers, "transactional.id": stage.name})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(stage.topic("subscriptions"), b'{"where": {}, "score": 99}', b"never")
    producer.flush()
    producer.abort_transaction()
    stage.run(spark)
    first, second = stage.announced()[0]
    assert second.next_offset == first.next_offset + 2
    assert second.subscriptions == first.subscriptions
    stage.check_bases()
    stage.send_random(2, count=30)
    stage.run(spark)
    stage.check_bases()


def test_a_checkpoint_of_another_collection_is_refused(spark, make_stage):
    one, other = make_stage(), make_stage()
    one.send_random(1, count=10)
    one.run(spark)
    shutil.copytree(one.checkpoint, other.checkpoint)
    with pytest.raises(ForeignCheckpoint, match=r"topic: got .*expected") as caught:
        other.run(spark)
    assert "spark.checkpoints" in caught.value.remedy
    shutil.rmtree(other.checkpoint)
    shutil.copytree(one.checkpoint / "offsets", other.checkpoint / "offsets")
    with pytest.raises(ForeignCheckpoint, match="another program's"):
        other.run(spark)
    assert not other.read("bases")


def test_offsets_lost_to_retention_are_reported_with_what_to_do(spark, make_stage):
    stage = make_stage(shards=1)
    stage.send_random(1, count=10)
    stage.run(spark)
    stage.send_random(2, count=20)
    delete_records(stage.brokers, stage.topic("subscriptions"), {0: 25})
    with pytest.raises(OffsetsLost, match="no longer has records") as caught:
        stage.run(spark)
    assert str(stage.checkpoint) in caught.value.remedy


def test_a_topic_that_is_not_there_is_named(spark, make_stage):
    stage = make_stage()
    absent = stage.collection.model_copy(update={"name": "no-such-collection"})
    with pytest.raises(JobError, match=r"podium\.no-such-collection\.subscriptions") as caught:
        BasesJob(CollectionIO(spark, stage.settings, absent))
    assert "podium topics create" in caught.value.remedy


def test_a_store_that_does_not_answer_is_named_without_its_password(spark, make_stage):
    stage = make_stage(shards=1)
    stage.configure(bases="redis://:hunter2@127.0.0.1:1/0")
    stage.send_random(1, count=5)
    with pytest.raises(JobError, match=r"StoreFailed: .*127\.0\.0\.1:1") as caught:
        stage.run(spark)
    assert "hunter2" not in str(caught.value)
    assert not stage.read("bases")


def test_few_changes_wait_for_more_and_are_counted_meanwhile(spark, make_stage):
    stage = make_stage(shards=1)
    stage.configure(trigger_s=0.2, least_changes=50, longest_wait_s=600)
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "200ms")
    stage.send_random(1, count=10)
    listener = ProgressMetrics(spark.streams)
    spark.streams.addListener(listener)
    job = BasesJob(stage.io(spark))
    query = job.start(once=False)
    try:
        _wait_for_base(stage, 10)
        stage.send_random(2, count=10)
        _wait_until_behind(stage, 10)
        stage.send_random(3, count=60)
        _wait_for_base(stage, 80)
        _wait_until_behind(stage, 0)
    finally:
        query.stop()
        spark.streams.removeListener(listener)
    stage.check_bases()
    assert [base.next_offset for base in stage.announced()[0]] == [10, 80]


def _wait_for_base(stage, next_offset):
    deadline = time.monotonic() + 60
    while not (bases := stage.announced().get(0)) or bases[-1].next_offset < next_offset:
        assert time.monotonic() < deadline, f"got {bases} without offset {next_offset}"
        time.sleep(0.1)


def _wait_until_behind(stage, records):
    deadline = time.monotonic() + 90
    labels = {"collection": stage.name, "job": "sopt-bases"}
    while (got := REGISTRY.get_sample_value("podium_spark_offsets_behind", labels)) != records:
        assert time.monotonic() < deadline, f"got {got} behind, expected {records}"
        time.sleep(0.05)
