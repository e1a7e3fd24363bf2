"""A painter alone: what it says to zones that the test plays, and makes of their answers."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from storage.redis_client import open_redis
from tests.fleet.fleet import SOON_MISSED
from tests.fleet.list_fleet import PATIENCE_S, ListFleet
from tests.fleet.lists.conftest import MakeListFleet
from tests.fleet.traffic import TopicReader, eventually, key_on
from topics import messages, progress
from topics.messages import ZoneRecord, life_of
from topics.progress import Progress

ZONES, SHARDS = 2, 2
SOON_S = 30.0


class PlayedZones:
    """Reads `messages`, and says in `progress` what it is told to say."""

    def __init__(self, fleet: ListFleet) -> None:
        self.told: list[list[ZoneRecord]] = [[] for _ in range(ZONES)]
        client = {"bootstrap.servers": fleet.brokers}
        self._reader = TopicReader(client, fleet.topic("messages"), ZONES)
        self._producer, self._progress = Producer(client), fleet.topic("progress")

    def read(self) -> list[list[ZoneRecord]]:
        for message in self._reader.read_to_end():
            self.told[message.partition()].append(messages.decode(message.value()))
        return self.told

    def say(self, zone: int, **said: object) -> None:
        value = progress.encode(Progress(**({"objects": None, "at": 0} | said)))  # type: ignore[arg-type]
        self._producer.produce(self._progress, value, progress.key_of(zone), partition=zone)
        assert not self._producer.flush(SOON_S)

    def has_come(self, zone: int, shard: int, offset: int) -> bool:
        """Whether the zone was told of a subscription, by its record."""
        life = life_of(shard, offset, SHARDS)
        return any(life in record.coming.lives for record in self.read()[zone])

    def close(self) -> None:
        self._reader.close()


@pytest.fixture
def fleet(make_list_fleet: MakeListFleet) -> Iterator[ListFleet]:
    """No workers but a painter, which has yet to be started."""
    snapshots = {"every_s": 0.2, "least_changes": 1}
    fleet = make_list_fleet("painter", settings={**SOON_MISSED, "snapshots": snapshots})
    fleet.create_topics()
    yield fleet
    fleet.stop()


@pytest.fixture
def zones(fleet: ListFleet) -> Iterator[PlayedZones]:
    zones = PlayedZones(fleet)
    yield zones
    zones.close()


def start(fleet: ListFleet, begin: Callable[..., None] | None = None) -> None:
    """Until it speaks; `begin` starts it, if it is not for the first time."""
    before = 0 if begin is None else openings(fleet)
    (begin or fleet.start)("painter")
    eventually(lambda: openings(fleet) > before, fleet.diagnosis, PATIENCE_S)


def openings(fleet: ListFleet) -> int:
    return fleet.log("painter").count("world restored")


def test_a_null_that_a_zone_has_not_written_is_remembered_by_the_next_painters(
    fleet: ListFleet, zones: PlayedZones, redis_url: str
):
    """From a snapshot, and without one."""
    mover, other = (key_on(shard, SHARDS, "key") for shard in range(SHARDS))
    start(fleet)
    fleet.want(mover, 0, 4)
    fleet.deliver()
    eventually(lambda: zones.has_come(0, 0, 0), "its first list", SOON_S)
    fleet.leave(mover)
    eventually(lambda: any(len(r.leaving.lives) for r in zones.read()[0]), "its end", SOON_S)
    fleet.put("object", 1, 1)
    eventually(lambda: "snapshot up to offset 1" in fleet.log("painter"), "a snapshot", SOON_S)
    assert fleet.terminate("painter")[0] == 0

    start(fleet, fleet.start)
    assert "subscriptions up to offset 1 from a snapshot" in fleet.log("painter")
    check_that_it_waits(fleet, zones, mover, other, turn=0)
    fleet.kill("painter", restart=False)
    client = open_redis(redis_url, 5.0)
    client.delete(*client.scan_iter(f"*{fleet.declared.name}*"))
    client.close()
    start(fleet, fleet.revive)
    check_that_it_waits(fleet, zones, mover, other, turn=1)

    zones.say(0, left="0@1")
    eventually(lambda: zones.has_come(1, 0, 3), "its list in the other zone", SOON_S)


def check_that_it_waits(
    fleet: ListFleet, zones: PlayedZones, mover: str, other: str, turn: int
) -> None:
    fleet.want(mover, 7, 9)
    fleet.deliver()
    fleet.want(other, 7, 9)
    fleet.deliver()
    eventually(lambda: zones.has_come(1, 1, turn), "another's list", SOON_S)
    time.sleep(0.2)
    assert not zones.has_come(1, 0, 2 + turn)
