import gzip
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from podium.send import sender
from topics.catalogue import TopicSpec
from topics.kafka.creation import apply, plan
from topics.kafka.partitioner import partition_of

ROOT = Path(__file__).parents[3]


def jsonl(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_subscriptions_are_keyed_by_their_id_and_land_where_java_producers_put_them(podium, topics):
    ads = [{"id": f"ad-{i}", "where": {"age": [i, None]}, "score": i / 7} for i in range(50)]
    ended = podium("send", "-", *topics.options, stdin=jsonl(*ads, {"id": "ad-3"}))
    assert ended.code == 0, ended.err
    messages = topics.read("subscriptions")
    assert len(messages) == 51
    for message in messages:
        assert message.partition() == partition_of(message.key(), 2)
    latest = {message.key().decode(): message.value() for message in messages}
    assert latest.pop("ad-3") is None
    assert {key: json.loads(value) for key, value in latest.items()} == {
        ad["id"]: {"where": ad["where"], "score": ad["score"]} for ad in ads if ad["id"] != "ad-3"
    }


def test_the_token_is_the_last_offset_of_each_partition(podium, topics):
    lines = jsonl(*({"id": f"ad-{i}", "score": 1} for i in range(20)))
    told = json.loads(podium("send", "-", "--json", *topics.options, stdin=lines).out)
    last = {m.partition(): m.offset() for m in topics.read("subscriptions")}
    assert told.pop("podium-after") == ",".join(f"{p}@{last[p]}" for p in sorted(last))
    assert told.pop("seconds") >= 0
    assert told == {"subscriptions": 20, "events": 0, "undelivered": 0, "bad_lines": 0}
    shown = podium("send", "-", *topics.options, stdin=jsonl({"id": "ad-0"})).out
    assert "sent 1 subscription and 0 events" in shown
    assert f"podium-after: {partition_of(b'ad-0', 2)}@" in shown


def test_events_are_sent_as_they_are_with_their_options(podium, topics):
    line = b'{"age":  28.50, "x": "\\u00e9"}'
    options = ("--k", 5, "--after", "0@1,1@2")
    assert podium("send", "-", *options, *topics.options, stdin=line).code == 0
    (message,) = topics.read("events")
    assert message.value() == line
    assert message.key() is None
    assert message.headers() == [("podium-k", b"5"), ("podium-after", b"0@1,1@2")]


def test_lines_with_an_id_can_be_events_too(podium, topics):
    line = jsonl({"id": "visit-1", "user": "u7", "age": 3})
    options = ("--to", "events", "--key", "user")
    assert podium("send", "-", *options, *topics.options, stdin=line).code == 0
    (message,) = topics.read("events")
    assert (message.key(), message.value()) == (b"u7", line.strip())
    assert topics.read("subscriptions") == []


def test_a_bad_line_stops_the_sending_and_is_named(podium, topics):
    lines = b'{"age": 1}\n\n{"age": \n{"age": 2}\n'
    ended = podium("send", "-", *topics.options, stdin=lines)
    assert ended.code == 1
    assert ended.err.startswith("podium: line 3: not JSON")
    assert "sent 0 subscriptions and 1 event" in ended.out
    assert [message.value() for message in topics.read("events")] == [b'{"age": 1}']


def test_keep_going_sends_the_rest(podium, topics):
    lines = b'{"age": 1}\n{"age": \n[]\n{"age": 2}\n'
    ended = podium("send", "-", "--keep-going", "--json", *topics.options, stdin=lines)
    assert ended.code == 1
    assert [line.split(":")[1] for line in ended.err.splitlines()] == [" line 2", " line 3"]
    told = json.loads(ended.out)
    assert (told["events"], told["bad_lines"]) == (2, 2)
    assert len(topics.read("events")) == 2


def test_a_packed_file_is_unpacked_and_a_damaged_one_reported(podium, topics, tmp_path):
    file = tmp_path / "visits.jsonl.gz"
    packed = gzip.compress(jsonl(*({"age": random.random()} for _ in range(5000))))
    file.write_bytes(packed)
    assert json.loads(podium("send", file, "--json", *topics.options).out)["events"] == 5000
    file.write_bytes(packed[:-500])
    ended = podium("send", file, "--json", *topics.options)
    assert ended.code == 1
    assert "end-of-stream" in ended.err
    assert 0 < json.loads(ended.out)["events"] < 5000


def test_a_full_queue_is_waited_for(podium, topics, monkeypatch):
    small = {**sender.PRODUCER, "queue.buffering.max.messages": 10}
    monkeypatch.setattr(sender, "PRODUCER", small)
    lines = jsonl(*({"age": i} for i in range(500)))
    told = json.loads(podium("send", "-", "--json", *topics.options, stdin=lines).out)
    assert told["events"] == 500


@pytest.fixture
def narrow(undeclared, podium):
    """Topics that take no record above 2 kB."""
    admin = AdminClient({"bootstrap.servers": undeclared.brokers})
    config = {"max.message.bytes": "2000"}
    names = [undeclared.topic("subscriptions"), undeclared.topic("events")]
    apply(admin, plan([TopicSpec(name, 1, config) for name in names], {}))
    return undeclared


def test_a_record_that_the_broker_refuses_is_reported_with_its_line(podium, narrow, monkeypatch):
    unbatched = {**sender.PRODUCER, "linger.ms": 0, "batch.num.messages": 1}
    monkeypatch.setattr(sender, "PRODUCER", unbatched)
    noise = random.Random(1).randbytes(3000).hex()
    lines = jsonl({"age": 1}, {"noise": noise}, {"age": 2})
    ended = podium("send", "-", "--keep-going", "--json", *narrow.options, stdin=lines)
    assert ended.code == 1
    assert ended.err.startswith("podium: line 2: not delivered: ")
    assert "too large" in ended.err
    told = json.loads(ended.out)
    assert (told["events"], told["undelivered"]) == (2, 1)


def test_a_record_near_the_limit_arrives_and_one_above_it_is_a_bad_line(podium, topics):
    large = {"noise": random.Random(1).randbytes(2_000_000).hex()}
    lines = jsonl(large, {"age": 1, "blank": " " * (5 * 1024 * 1024)}, {"age": 2})
    ended = podium("send", "-", "--keep-going", "--json", *topics.options, stdin=lines)
    assert "line 2: got a line of more than 4,194,304 bytes" in ended.err
    assert json.loads(ended.out)["events"] == 2
    assert max(len(message.value()) for message in topics.read("events")) > 4_000_000


def test_topics_that_do_not_exist_are_named_with_the_remedy(podium, undeclared):
    ended = podium("send", "-", *undeclared.options, stdin=jsonl({"age": 1}))
    assert ended.code == 1
    cause, remedy = ended.err.splitlines()
    assert undeclared.topic("events") in cause
    assert f"podium topics create --collection {undeclared.file}" in remedy
    listed = Producer({"bootstrap.servers": undeclared.brokers}).list_topics(timeout=10).topics
    assert undeclared.topic("events") not in listed


def test_an_interrupt_keeps_what_was_sent_and_says_how_much(topics):
    """Also where a script has started it in the background, which makes it ignore interrupts."""
    sending = subprocess.Popen(
        [sys.executable, "-m", "podium", "send", "-", "--json", *topics.options],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if not k.startswith("PODIUM_")},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    sending.stdin.write(jsonl({"id": "ad-1", "score": 1}, {"age": 1}))
    sending.stdin.flush()
    while not (topics.read("subscriptions") and topics.read("events")):
        assert sending.poll() is None
    sending.send_signal(signal.SIGINT)
    out, err = sending.communicate(timeout=30)
    assert sending.returncode == 130, err
    told = json.loads(out)
    assert (told["subscriptions"], told["events"]) == (1, 1)
    assert b"Traceback" not in err


def test_objects_and_subscriptions_of_lists_go_to_their_topics(podium, parking):
    lines = jsonl(
        {"id": "p-1", "x": 31.5, "y": 0.4, "level": 2},
        {"id": "p-2", "x": 40, "y": 0.5},
        {"id": "w-1", "range": [10, 50], "k": 3},
    )
    told = json.loads(podium("send", "-", "--json", *parking.options, stdin=lines).out)
    assert told.pop("seconds") >= 0
    assert told == {
        "subscriptions": 1,
        "objects": 2,
        "undelivered": 0,
        "bad_lines": 0,
        "podium-after": None,
    }
    objects = {m.key(): json.loads(m.value()) for m in parking.read("objects")}
    assert objects == {b"p-1": {"x": 31.5, "y": 0.4, "level": 2}, b"p-2": {"x": 40, "y": 0.5}}
    (subscription,) = parking.read("subscriptions")
    assert subscription.partition() == partition_of(b"w-1", 2)


@pytest.mark.parametrize("to", ["objects", "subscriptions"])
def test_a_line_with_an_id_alone_needs_to_be_told_what_ends(podium, parking, to):
    line = jsonl({"id": "p-1"})
    ended = podium("send", "-", *parking.options, stdin=line)
    assert ended.code == 1
    assert "line 1: got neither of a `range` and of `x` and `y`" in ended.err
    assert "--to objects or --to subscriptions" in ended.err
    ended = podium("send", "-", "--to", to, *parking.options, stdin=line)
    assert ended.code == 0
    assert f"1 {to.removesuffix('s')}" in ended.out
    assert "podium-after" not in ended.out
    (record,) = parking.read(to)
    assert (record.key(), record.value()) == (b"p-1", None)


def test_what_goes_with_events_does_not_go_with_objects_nor_the_other_way_round(
    podium, parking, topics
):
    for arguments in (("--to", "events"), ("--k", 3), ("--after", "0@1"), ("--key", "x")):
        ended = podium("send", "-", *arguments, *parking.options)
        assert ended.code == 2, arguments
        assert "events" in ended.err
    ended = podium("send", "-", "--to", "objects", *topics.options)
    assert ended.code == 2
    assert "has events, no objects" in " ".join(ended.err.replace("│", "").split())
