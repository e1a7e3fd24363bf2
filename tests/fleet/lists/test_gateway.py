"""`deliver: messages`: the loop of docs/range-topk.md, as it stands there, keeps lists right."""

import re
import time
from collections import defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.fleet.fleet import SOON_MISSED
from tests.fleet.list_fleet import Crowd
from tests.fleet.traffic import eventually
from tests.oracles.range_topk import Ask
from topics import messages
from topics.messages import place_of

PAGE = Path(__file__).parents[3] / "docs" / "range-topk.md"
K = 3


@pytest.fixture
def zones():
    """The class `Zone` of the page, for each partition."""
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    defined: dict = {}
    exec(source, defined)
    return defaultdict(lambda: defined["Zone"](K))


class Gateway:
    def __init__(self, fleet, brokers, zones):
        self.zones, self.positions = zones, {}
        self._consumer = Consumer({"bootstrap.servers": brokers, "group.id": "gateway"})
        topic = fleet.topic("messages")
        count = fleet.declared.zones
        self._consumer.assign([TopicPartition(topic, zone, 0) for zone in range(count)])

    def read(self):
        for message in self._consumer.consume(1000, 0.2):
            assert message.error() is None
            zone = message.partition()
            self.zones[zone].follow(message.value())
            told = messages.decode(message.value())
            self.positions[zone] = told.objects, told.positions.tolist()

    def lists(self):
        return {
            life: known[1].items
            for zone in self.zones.values()
            for life, known in zone.lists.items()
        }


def check(gateway, fleet):
    history = fleet.history()
    last, shards = fleet.last_object(), fleet.declared.shards
    ends = defaultdict(int)
    for shard, offset in history.last_of.values():
        ends[shard] = max(ends[shard], offset + 1)

    def all_told():
        gateway.read()
        return len(gateway.positions) == fleet.declared.zones and all(
            objects > last and all(at >= ends[shard] for shard, at in enumerate(positions))
            for objects, positions in gateway.positions.values()
        )

    eventually(all_told, "all is told", 60.0)
    live = {
        place: one
        for place, one in history.subscriptions.items()
        if history.last_of[one.key] == place
    }
    expected = history.lists(Ask(last, *one[1:]) for one in live.values())
    kept = {place_of(life, shards): items for life, items in gateway.lists().items()}
    assert kept == {
        place: [(item["id"], item["x"], item["y"]) for item in expected[Ask(last, *one[1:])]]
        for place, one in live.items()
    }


@pytest.fixture
def fleet(make_list_fleet):
    """A painter that is soon missed, and no zone workers."""
    collection = {"deliver": "messages", "k": K, "zone_bounds": [6.0]}
    fleet = make_list_fleet("gateway", collection=collection, settings=SOON_MISSED)
    fleet.create_topics()
    fleet.start("painter")
    fleet.wait_ready("painter")
    yield fleet
    fleet.stop()


def test_a_gateway_keeps_its_lists_also_when_another_painter_takes_over(fleet, broker, zones):
    gateway, crowd = Gateway(fleet, broker, zones), Crowd(fleet, seed=1)
    crowd.step(150)
    check(gateway, fleet)
    crowd.step(100)
    fleet.kill("painter")
    crowd.step(100)
    check(gateway, fleet)


def test_a_gateway_keeps_its_lists_when_a_painter_was_taken_for_dead(fleet, broker, zones):
    """What that painter says late is of an old epoch, and what it says again is known."""
    gateway, crowd = Gateway(fleet, broker, zones), Crowd(fleet, seed=4)
    crowd.step(50)
    with fleet.frozen("painter"):
        crowd.step(50)
        time.sleep(1.5 * SOON_MISSED["matcher"]["session_timeout_s"])
    crowd.step(200)
    check(gateway, fleet)
    assert fleet.log("painter").count("world restored") > 1
