"""kcat, as Debian ships it, is all that a producer and a consumer need."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator

import pytest

from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import Fleet
from tests.fleet.traffic import Place, Sent

SEPARATOR = "|"


@pytest.fixture(scope="module")
def kcat() -> str:
    path = shutil.which("kcat")
    if path is None:
        pytest.fail("kcat is missing; install it with: apt-get install -y kcat", pytrace=False)
    return path


@pytest.fixture(scope="module")
def shared_fleet(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[Fleet]:
    """One of its own: other tests' records have keys that kcat's JSON cannot show."""
    fleet = make_fleet("kcat", broker, redis_url)
    fleet.start_all()
    yield fleet
    fleet.stop()


def produce(kcat: str, fleet: Fleet, topic: str, lines: Iterable[str], *options: str) -> None:
    command = [kcat, "-P", "-b", fleet.brokers, "-t", fleet.topic(topic), "-K", SEPARATOR, *options]
    text = "".join(f"{line}\n" for line in lines)
    subprocess.run(command, input=text, text=True, check=True, timeout=60)


def produce_subscriptions(kcat: str, fleet: Fleet, lines: Iterable[str]) -> None:
    """`-Z` makes an empty value null, which unsubscribes."""
    options = ["-Z", "-X", "topic.partitioner=murmur2_random"]
    produce(kcat, fleet, "subscriptions", lines, *options)


def consume(kcat: str, fleet: Fleet, topic: str) -> list[dict]:
    """Everything in a topic, with headers, as kcat's JSON envelopes."""
    command = [kcat, "-C", "-b", fleet.brokers, "-t", fleet.topic(topic), "-J", "-e", "-q"]
    done = subprocess.run(
        [*command, "-o", "beginning"], capture_output=True, text=True, check=True, timeout=60
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def pairs(envelope: dict) -> list[tuple[str, str]]:
    """kcat lists headers as name, value, name, value, …"""
    headers = envelope.get("headers", [])
    return list(zip(headers[::2], headers[1::2], strict=True))


def test_kcat_gets_the_same_matches_as_the_oracle(kcat: str, fleet: Fleet):
    produce_subscriptions(
        kcat,
        fleet,
        [
            *(subscription(number, number % 6, number % 6 + 3) for number in range(40)),
            *(f"kcat-{number}{SEPARATOR}" for number in range(0, 40, 5)),
            *(subscription(number, 2, 4) for number in range(3)),
        ],
    )
    token = token_of_everything(fleet)
    for k, ages in ((None, range(9)), (2, range(9)), (20, range(5))):
        headers = ["-H", f"podium-after={token}"] + (["-H", f"podium-k={k}"] if k else [])
        lines = [f'visitor-{age}{SEPARATOR}{{"age": {age}, "from": "kcat"}}' for age in ages]
        produce(kcat, fleet, "events", lines, *headers)
    asked = adopt_events(kcat, fleet)
    assert len(asked) == 9 + 9 + 5
    fleet.answers_to(asked)

    judge = fleet.judge()
    by_event = {record["event"]: record for record in map(match, consume(kcat, fleet, "matches"))}
    for event in asked:
        record = by_event[f"{fleet.topic('events')}[{event.place.partition}]@{event.place.offset}"]
        assert record["key"].encode() == event.key
        k = int(event.header("podium-k") or fleet.declared.k)
        wanted = judge.top_k(json.loads(event.value or b""), k, record["as_of"])
        assert [(hit["id"], hit["score"]) for hit in record["matches"]] == wanted
    assert any(by_event[name]["matches"] for name in by_event)
    produce_subscriptions(kcat, fleet, [f"kcat-{number}{SEPARATOR}" for number in range(40)])
    token_of_everything(fleet)


def subscription(number: int, low: int, high: int) -> str:
    document = {"where": {"age": [low, high]}, "score": number % 7}
    return f"kcat-{number}{SEPARATOR}{json.dumps(document)}"


def token_of_everything(fleet: Fleet) -> str:
    """kcat does not tell the offsets that it was given, so they are looked up."""
    fleet.judge()
    ends = {shard: records[-1][0] for shard, records in enumerate(fleet.records) if records}
    fleet.delivered_elsewhere(ends)
    return fleet.token()


def adopt_events(kcat: str, fleet: Fleet) -> list[Sent]:
    """Events that kcat has sent, so that their answers are checked like any other."""
    known = {event.place for event in fleet.events}
    adopted = []
    for envelope in consume(kcat, fleet, "events"):
        place = Place(envelope["partition"], envelope["offset"])
        if place not in known and '"kcat"' in envelope["payload"]:
            headers = [(name, value.encode()) for name, value in pairs(envelope)]
            key, value = envelope["key"].encode(), envelope["payload"].encode()
            adopted.append(Sent(key, value, headers, place=place))
    fleet.events += adopted
    return adopted


def match(envelope: dict) -> dict:
    """A match record with its key and the offsets of its `podium-as-of`, by shard."""
    ((name, token),) = pairs(envelope)
    assert name == "podium-as-of"
    as_of = [int(part.split("@")[1]) for part in token.split(",")]
    return {**json.loads(envelope["payload"]), "key": envelope["key"], "as_of": as_of}


def test_without_murmur2_kcat_places_keys_elsewhere_and_is_told_so(kcat: str, fleet: Fleet):
    ids = [f"misplaced-{number}" for number in range(20)]
    lines = [f'{id}{SEPARATOR}{{"where": {{}}, "score": 1}}' for id in ids]
    produce(kcat, fleet, "subscriptions", lines)
    token_of_everything(fleet)
    fleet.check_all()
    letters = [dict(pairs(envelope)) for envelope in consume(kcat, fleet, "subscriptions.dlq")]
    misplaced = [letter for letter in letters if "murmur2_random" in letter["podium-error"]]
    assert 0 < len(misplaced) <= len(ids)
    produce_subscriptions(kcat, fleet, [f"{id}{SEPARATOR}" for id in ids])
    token_of_everything(fleet)
