"""A backfill and a live fleet, given the same events and subscriptions: the same records."""

import random
from collections import Counter

import pytest
from confluent_kafka.admin import AdminClient

from configs import load_collection, load_settings
from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.backfill import BackfillJob
from spark_streaming.driver.pieces import BackfillRequest
from tests.effort import effort
from tests.fleet.conftest import fleets_of
from tests.fleet.traffic import ANSWER_S, TopicReader, eventually
from tests.spark_streaming.spark_collection import random_event, random_subscription
from topics.catalogue import TopicSpec
from topics.kafka.creation import apply, plan

# For all kinds `test_backfill` has the oracle to compare with.
SOME = {
    "ranked-two": {"kind": "ranked", "emit_empty": False},
    "boolean": {"kind": "boolean", "attributes": ["age", "colour"]},
}
COLLECTIONS = effort(
    short=SOME,
    long={
        **SOME,
        "ranked-one": {"kind": "ranked", "attributes": ["age"], "k": 4},
        "relaxed": {"kind": "relaxed", "k": 5},
    },
)


@pytest.fixture(scope="module")
def fleets(make_fleet, broker, redis_url):
    with fleets_of(make_fleet, broker, redis_url, COLLECTIONS) as made:
        yield made


@pytest.mark.parametrize("which", COLLECTIONS)
def test_a_backfill_writes_what_the_fleet_has_written(spark, fleets, tmp_path, which):
    fleet = fleets[which]
    chance = random.Random(which)
    _subscribe(fleet, chance)
    events = _publish(fleet, chance)

    again = fleet.topic("matches") + ".again"
    admin = AdminClient({"bootstrap.servers": fleet.brokers})
    apply(admin, plan([TopicSpec(again, 1)], {}))
    changed = {"spark.checkpoints": str(tmp_path / "spark"), "spark.bases": f"file://{tmp_path}/b"}
    settings = load_settings(fleet.settings_path, changed)
    io = CollectionIO(spark, settings, load_collection(fleet.collection_path))
    job = BackfillJob(io, BackfillRequest(None, None, again, None))
    assert job.run(most_events=50) == len(events)
    backfilled = _read(fleet, again, 1)
    assert len(backfilled) > 100

    def live() -> Counter:
        return _read(fleet, fleet.topic("matches"), fleet.declared.partitions.matches)

    def difference() -> str:
        only_live, only_backfilled = live() - backfilled, backfilled - live()
        return f"only live {only_live}\nonly backfilled {only_backfilled}\n{fleet.diagnosis()}"

    eventually(lambda: live() == backfilled, difference, ANSWER_S)


def _subscribe(fleet, chance):
    for _ in range(300):
        id = f"s{chance.randrange(120)}"
        if chance.random() < 0.15:
            fleet.unsubscribe(id)
        else:
            fleet.subscribe_with(id, random_subscription(chance, fleet.declared))
    fleet.send("subscriptions", b"nonsense", b"s1", refused=True)


def _publish(fleet, chance):
    """All wait for all subscriptions, so that the fleet answers from the same as the backfill."""
    after, events = fleet.token(), []
    for i in range(150):
        event = random_event(chance, fleet.declared)
        key = f"e{i}".encode() if chance.random() < 0.8 else None
        k = chance.choice([None, None, 0, 1, 7])
        events.append(fleet.publish(event, key=key, k=k, after=after))
    events.append(fleet.publish(b"nonsense", refused=True))
    fleet.deliver(*events)
    return events


def _read(fleet, topic, partitions):
    """Every record of a topic, and how often it is there."""
    reader = TopicReader({"bootstrap.servers": fleet.brokers}, topic, partitions)
    try:
        return Counter(
            (message.key(), message.value(), tuple(message.headers()))
            for message in reader.read_to_end()
        )
    finally:
        reader.close()
