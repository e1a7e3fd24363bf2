"""Backfills against a real broker; every answer is the oracle's."""

import json
import random
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.backfill import BackfillJob
from spark_streaming.driver.pieces import BackfillRequest
from spark_streaming.errors import ForeignCheckpoint, JobError, OffsetsLost, UsageError
from tests.oracles import collection as oracle
from tests.retention import delete_records
from tests.spark_streaming.spark_collection import random_event

KINDS = [
    pytest.param({"kind": "ranked"}, id="ranked"),
    pytest.param({"kind": "ranked", "attributes": ["age", "visits"]}, id="ranked-two-attributes"),
    pytest.param({"kind": "relaxed", "attributes": ["age", "visits"]}, id="relaxed"),
    pytest.param({"kind": "boolean", "attributes": ["age", "colour"]}, id="boolean"),
    pytest.param({"kind": "boolean", "attributes": []}, id="boolean-without-attributes"),
    pytest.param({"kind": "spatial_text", "stemmer": "english"}, id="spatial-text"),
]


def send_events(stage, count, seed=1, **options):
    chance = random.Random(seed)
    for i in range(count):
        headers = [("podium-k", b"1")] if chance.random() < 0.2 else None
        key = f"e{i}" if chance.random() < 0.8 else None
        event = random_event(chance, stage.collection)
        stage.send_event(key, event, headers=headers, **options)
    stage.flush()


def expected_records(stage, as_of, kept=lambda message: True):
    """Key and document of every match record, by the event's record id."""
    subscriptions = oracle.Collection(
        stage.collection.kind,
        stage.collection.attributes,
        stage.records(),
        **stage.collection.dialect,
    )
    found = {}
    for event in filter(kept, stage.read("events")):
        try:
            document = json.loads(event.value())
        except ValueError:
            continue
        k = 1 if event.headers() else stage.collection.k
        hits = subscriptions.top_k(document, k, as_of)
        if hits or stage.collection.emit_empty:
            place = f"{event.topic()}[{event.partition()}]@{event.offset()}"
            matches = [{"id": name, "score": score} for name, score in hits]
            found[place] = (event.key(), matches)
    return found


def last_offsets(stage):
    return [partition[-1][0] if partition else -1 for partition in stage.records()]


def matches_by_event(stage):
    """What was written to a topic; what is there twice has to be there twice the same."""
    found = {}
    for message in stage.read("matches"):
        document = json.loads(message.value())
        answer = (message.key(), document["matches"])
        assert found.setdefault(document["event"], answer) == answer
    return found


@pytest.mark.parametrize("declared", KINDS)
def test_matches_are_those_of_the_fleet(spark, make_stage, declared):
    empty = declared["kind"] == "relaxed"
    stage = make_stage(k=4, emit_empty=empty, partitions={"events": 2}, **declared)
    stage.send_random(1, count=150)
    stage.send("x", b"nonsense")
    send_events(stage, 40)
    stage.send_event("bad", b"nonsense")
    stage.flush()
    request = BackfillRequest(None, None, stage.topic("matches"), None)
    job = stage.backfill(spark, request)
    assert job.run(most_events=25) == 41
    as_of = last_offsets(stage)
    token = ",".join(f"{shard}@{last}" for shard, last in enumerate(as_of)).encode()
    expected = expected_records(stage, as_of)
    written = stage.read("matches")
    got = {}
    for message in written:
        document = json.loads(message.value())
        got[document["event"]] = (message.key(), document["matches"])
        assert message.headers() == [("podium-as-of", token)]
    assert got == expected
    assert len(written) == len(expected)
    assert stage.backfill(spark, request).run() == 0
    assert not [name for name in stage.blobs() if name.endswith("state")]


def test_a_run_goes_on_where_it_stopped_with_the_subscriptions_it_began_with(spark, make_stage):
    stage = make_stage(partitions={"events": 1})
    stage.send_random(1, count=60)
    send_events(stage, 30)
    expected = expected_records(stage, last_offsets(stage))
    request = BackfillRequest(None, None, None, str(stage.folder / "out"))
    job = stage.backfill(spark, request)
    job.run(most_events=10)
    assert rows(request.parquet) == expected
    (Path(job.checkpoint_path) / "done" / "1").unlink()
    # Half a piece, as a killed writer leaves it, and subscriptions that came later.
    [piece] = (stage.folder / "out").glob("collection=*/run=*/piece=000001")
    (piece / "_SUCCESS").unlink()
    stage.send_random(9, count=60)
    send_events(stage, 5)
    again = stage.backfill(spark, request)
    assert again.run(most_events=999) == 10
    assert rows(request.parquet) == expected


def test_two_runs_may_have_one_folder_of_parquet(spark, make_stage):
    stage = make_stage(partitions={"events": 1})
    stage.send_random(1, count=60)
    send_events(stage, 20)
    folder = str(stage.folder / "out")
    for request in (
        BackfillRequest(None, "0@12", None, folder),
        BackfillRequest("0@12", None, None, folder),
    ):
        stage.backfill(spark, request).run(most_events=6)
    assert rows(folder) == expected_records(stage, last_offsets(stage))
    table = pq.read_table(folder)
    assert set(table["collection"].to_pylist()) == {stage.collection.name}
    assert len(set(table["run"].to_pylist())) == 2


def rows(folder):
    return {row["event"]: (row["key"], row["matches"]) for row in pq.read_table(folder).to_pylist()}


# Long ago would not do: the broker may delete such events at any moment.
START_S = int(time.time()) - 3600


def at(second: int, zone: str) -> str:
    return datetime.fromtimestamp(START_S + second, UTC).strftime("%Y-%m-%dT%H:%M:%S") + zone


@pytest.mark.parametrize(
    ("since", "until", "kept"),
    [
        pytest.param(at(10, "Z"), at(20, "+00:00"), range(10, 20), id="times"),
        pytest.param(at(25, ""), None, range(25, 30), id="to-the-end"),
        pytest.param("0@3", "0@7", range(3, 7), id="offsets"),
        pytest.param(None, "0@2", range(2), id="from-the-beginning"),
        pytest.param("2030-01-01T00:00:00", None, range(0), id="nothing"),
    ],
)
def test_events_are_chosen_by_time_or_offset(spark, make_stage, since, until, kept):
    stage = make_stage(shards=1, partitions={"events": 1}, emit_empty=True)
    for i in range(30):
        stage.send_event(None, {"age": 1}, timestamp=1000 * (START_S + i))
    stage.flush()
    request = BackfillRequest(since, until, None, str(stage.folder / "out"))
    assert stage.backfill(spark, request).run() == len(kept)
    if kept:
        places = {f"{stage.topic('events')}[0]@{offset}" for offset in kept}
        assert rows(request.parquet).keys() == places


@pytest.mark.parametrize(
    ("fields", "error", "told"),
    [
        pytest.param((None, None, None, None), UsageError, "name one of them", id="nowhere"),
        pytest.param((None, None, "t", "p"), UsageError, "name one of them", id="both"),
        pytest.param((None, None, "no.such", None), JobError, "no.such does not", id="topic"),
        pytest.param(("soon", None, None, "p"), UsageError, "--from: got 'soon'", id="time"),
        pytest.param((None, "9@1", None, "p"), UsageError, "--to: got partition 9", id="part"),
        pytest.param((None, "x@1", None, "p"), UsageError, "--to: got 'x@1'", id="token"),
    ],
)
def test_what_cannot_be_asked_is_refused(spark, make_stage, fields, error, told):
    stage = make_stage()
    with pytest.raises(error, match=told):
        stage.backfill(spark, BackfillRequest(*fields)).run()


def test_a_run_of_other_attributes_is_not_gone_on_with(spark, make_stage):
    stage = make_stage()
    request = BackfillRequest(None, None, None, str(stage.folder / "out"))
    stage.backfill(spark, request).run()
    changed = stage.collection.model_copy(update={"attributes": ("height",)})
    with pytest.raises(ForeignCheckpoint, match="attributes: got"):
        BackfillJob(CollectionIO(spark, stage.settings, changed), request).run()


def test_events_removed_between_two_starts_are_reported_with_what_to_do(spark, make_stage):
    stage = make_stage(shards=1, partitions={"events": 1})
    stage.send_random(1, count=20)
    send_events(stage, 30)
    expected = expected_records(stage, last_offsets(stage))
    request = BackfillRequest(None, None, None, str(stage.folder / "out"))
    job = stage.backfill(spark, request)
    job.run(most_events=10)
    for n in (1, 2):  # as if it had been stopped after its first piece
        (Path(job.checkpoint_path) / "done" / str(n)).unlink()
    delete_records(stage.brokers, stage.topic("events"), {0: 15})
    again = stage.backfill(spark, request)
    with pytest.raises(OffsetsLost, match="no longer has records") as caught:
        again.run()
    assert str(caught.value).startswith(stage.topic("events"))
    assert "\n" not in str(caught.value)
    assert f"remove the checkpoint {job.checkpoint_path}" in caught.value.remedy
    # What it says works: the events that are left are matched.
    shutil.rmtree(job.checkpoint_path)
    shutil.rmtree(request.parquet)
    assert stage.backfill(spark, request).run() == 15
    left = {f"{stage.topic('events')}[0]@{offset}" for offset in range(15, 30)}
    assert rows(request.parquet) == {
        place: hits for place, hits in expected.items() if place in left
    }


def test_a_store_that_does_not_answer_is_named_in_one_line(spark, make_stage):
    stage = make_stage(shards=1, partitions={"events": 1})
    stage.send_random(1, count=5)
    send_events(stage, 5)
    stage.configure(bases="redis://:hunter2@127.0.0.1:1/0")
    request = BackfillRequest(None, None, None, str(stage.folder / "out"))
    with pytest.raises((JobError, ConnectionError), match=r"127\.0\.0\.1:1") as caught:
        stage.backfill(spark, request).run()
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)
