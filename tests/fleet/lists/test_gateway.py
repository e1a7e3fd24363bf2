"""`deliver: messages`: the loop of docs/range-topk.md, as it stands there, keeps lists right."""

import random
import re
from collections import defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

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


def traffic(fleet, rng):
    for _ in range(60):
        fleet.put(f"o-{rng.randrange(12)}", rng.randrange(10), rng.randrange(6))
        if rng.random() < 0.3:
            fleet.remove(f"o-{rng.randrange(12)}")
        if rng.random() < 0.6:
            low = rng.randrange(10)
            k = rng.choice([None, 1, 2, 3])
            fleet.want(f"s-{rng.randrange(15)}", low, low + rng.randrange(6), k)
        if rng.random() < 0.1:
            fleet.leave(f"s-{rng.randrange(15)}")


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


def test_a_gateway_keeps_its_lists_also_when_another_painter_takes_over(
    make_list_fleet, broker, zones
):
    fleet = make_list_fleet("gateway", collection={"deliver": "messages", "k": K})
    fleet.create_topics()
    fleet.start("painter")
    fleet.wait_ready("painter")
    gateway, rng = Gateway(fleet, broker, zones), random.Random(1)
    traffic(fleet, rng)
    check(gateway, fleet)
    traffic(fleet, rng)
    fleet.kill("painter")
    traffic(fleet, rng)
    check(gateway, fleet)
