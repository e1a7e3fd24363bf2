import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.fleet.odd_headers import send_oddly

ROOT = Path(__file__).parents[3]


@pytest.fixture
def produce(topics):
    producer = Producer({"bootstrap.servers": topics.brokers})

    def produce(topic, value, key=None, headers=()):
        producer.produce(topics.topic(topic), value, key, headers=list(headers))
        assert producer.flush(10) == 0

    return produce


def test_everything_is_shown_from_the_beginning(podium, topics, produce):
    for i in range(7):
        produce("events", json.dumps({"age": i}).encode(), f"k{i}")
    ended = podium("tail", "events", "--from-beginning", "--limit", 7, "--json", *topics.options)
    assert ended.code == 0
    told = [json.loads(line) for line in ended.out.splitlines()]
    assert {row["key"]: row["value"] for row in told} == {f"k{i}": {"age": i} for i in range(7)}
    assert {row["topic"] for row in told} == {topics.topic("events")}


def test_the_limit_leaves_the_rest(podium, topics, produce):
    for _ in range(5):
        produce("events", b"{}", "same")
    ended = podium("tail", "events", "--from-beginning", "--limit", 2, *topics.options)
    assert [line.split("@")[1].split()[0] for line in ended.out.splitlines()] == ["0", "1"]


def test_a_match_is_a_line_that_people_can_read(podium, topics, produce):
    value = b'{"event": "podium.ads.events[3]@1042", "matches": [{"id": "ad-7", "score": 9.1}]}'
    produce("matches", value, headers=[("podium-as-of", b"0@4,1@2")])
    ended = podium("tail", "matches", "--from-beginning", "--limit", 1, *topics.options)
    assert ended.out == "podium.ads.events[3]@1042  ad-7 9.1  as of 0@4,1@2\n"


def test_a_dead_letter_shows_what_was_wrong(podium, topics, produce):
    headers = {
        "podium-error": b"age: got text, expected a number",
        "podium-error-field": b"age",
        "podium-topic": topics.topic("events").encode(),
        "podium-partition": b"1",
        "podium-offset": b"77",
    }
    produce("events.dlq", b"\xff", headers=headers.items())
    options = ("--from-beginning", "--limit", 1, *topics.options)
    line = podium("tail", "events.dlq", *options).out
    assert f"from {topics.topic('events')}[1]@77  age: got text, expected a number" in line
    told = json.loads(podium("tail", "events.dlq", "--json", *options).out)
    assert told["headers"]["podium-error-field"] == "age"
    assert (told["value"], told["value_encoding"]) == ("/w==", "base64")


def test_time_that_is_up_ends_it_and_fails_only_a_limit_that_was_not_reached(
    podium, topics, produce
):
    produce("events", b"{}")
    seen = podium("tail", "events", "--from-beginning", "--timeout", 3, *topics.options)
    assert (seen.code, len(seen.out.splitlines())) == (0, 1)
    options = ("--from-beginning", "--timeout", 3, "--limit", 2, *topics.options)
    short = podium("tail", "events", *options)
    assert short.code == 1
    assert "1 record of 2 within the time" in short.err


def test_old_records_are_left_out_by_default(podium, topics, produce):
    produce("events", b"{}")
    assert podium("tail", "events", "--timeout", 0.5, *topics.options).out == ""


def test_new_records_are_shown_as_they_come_until_ctrl_c(topics, produce):
    produce("events", b'{"old": 1}')
    tailing = subprocess.Popen(
        [sys.executable, "-m", "podium", "tail", "events", "--json", *topics.options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if not k.startswith("PODIUM_")},
    )
    os.set_blocking(tailing.stdout.fileno(), False)
    line = b""
    while not line:  # it is not known when it has begun to listen
        assert tailing.poll() is None, tailing.stderr.read()
        produce("events", b'{"new": 1}')
        line = tailing.stdout.readline() or b""
    assert json.loads(line)["value"] == {"new": 1}
    tailing.send_signal(signal.SIGINT)
    _, err = tailing.communicate(timeout=30)
    assert tailing.returncode == 130
    assert err == b""


def test_a_closed_pipe_is_no_error_worth_a_traceback(topics, produce):
    produce("events", b'{"x": "' + b"y" * 200_000 + b'"}')
    reading = subprocess.run(
        f"{sys.executable} -m podium tail events --from-beginning --json --timeout 10 "
        f"{' '.join(topics.options)} | head -c 10",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        env={k: v for k, v in os.environ.items() if not k.startswith("PODIUM_")},
    )
    assert reading.stdout == b'{"topic":"'
    assert b"Traceback" not in reading.stderr


def test_a_header_name_that_is_not_utf_8_is_shown_as_such(podium, topics, produce, broker):
    send_oddly(broker, topics.topic("events"), 0, "odd", "{}")
    options = ("--from-beginning", "--limit", 1, "--json", *topics.options)
    told = json.loads(podium("tail", "events", *options).out)
    assert told["headers"] == {"?": "headers: got a name that is not UTF-8, expected text"}


def test_objects_lists_and_progress_of_a_collection_that_has_them(podium, parking):
    lines = b'{"id": "p-1", "x": 3, "y": 4}\n{"id": "w-1", "range": [0, 5]}\n'
    assert podium("send", "-", *parking.options, stdin=lines).code == 0
    options = ("--from-beginning", "--limit", 1, *parking.options)
    assert podium("tail", "objects", *options).out.endswith('  p-1  {"x":3,"y":4}\n')
    told = json.loads(podium("tail", "objects", "--json", *options).out)
    assert (told["key"], told["value"]) == ("p-1", {"x": 3, "y": 4})
    for topic in ("matches", "progress", "objects.dlq"):
        assert podium("tail", topic, "--timeout", 0.2, *parking.options).code == 0


def test_a_topic_that_the_kind_does_not_have_is_refused_with_those_that_it_has(
    podium, parking, topics
):
    refused = podium("tail", "events", *parking.options)
    said = " ".join(refused.err.replace("│", "").split())
    assert refused.code == 2
    assert "has no events, it has matches, objects, subscriptions, progress," in said
    assert podium("tail", "progress", *topics.options).code == 2
