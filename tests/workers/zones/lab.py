"""A painter and its zones without Kafka: logs are lists, and whoever reads them stops at will."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from configs.collection import Collection
from indexes.paint.world import World, slices_of
from tests.oracles.range_topk import History, begun_by, objects_of
from topics import lists, messages
from topics.codecs.columns import CodecError
from topics.messages import BEGIN, FORGET, LAST, LISTS, ZoneRecord, life_of, place_of
from topics.zones import steps
from topics.zones.gone import GoneKeys
from topics.zones.steps import NewSubscriptions, coming, leaving, message_records
from topics.zones.told import Told, begun_batches, common_position, is_usable
from workers.zones.history import _place as place_in
from workers.zones.lists import Known, ZoneLists

OBJECTS, SUBSCRIPTIONS = "p.objects", "p.subscriptions"
K, SHARDS, WORLD = 3, 2, 77
UNREADABLE = b"PODZ"


class Written(NamedTuple):
    """A record of `matches`."""

    value: bytes | None
    as_of: bytes
    by: tuple[int, int]  # zone, and offset of the record of `messages`


class Lab:
    def __init__(
        self, bounds: Iterable[float] = (), min_interval_ms: float = 0.0, emit: str = "both"
    ) -> None:
        self.bounds = list(bounds)
        zones = len(self.bounds) + 1
        self.collection = Collection(
            name="p", kind="range_topk", k=K, shards=SHARDS, zones=zones,
            min_interval_ms=min_interval_ms, emit=emit,
        )  # fmt: skip
        self.objects: list[tuple[bytes, float, float]] = []  # y: nan, removed
        self.subscriptions: list[list[tuple[bytes, Any]]] = [[] for _ in range(SHARDS)]
        self.history = History(K)
        self.messages: list[list[bytes]] = [[] for _ in range(zones)]
        self.matches: dict[bytes, list[Written]] = {}
        self.zones = [Zone(self, number) for number in range(zones)]
        self.painter = Painter(self, epoch=1)
        self.painter.reset_all()

    # What people write.

    def put(self, id: str, x: float, y: float | None) -> None:
        value = None if y is None else {"x": x, "y": y}
        self.history.put(len(self.objects), id, value)
        self.objects.append((id.encode(), x, np.nan if y is None else y))

    def subscribe(self, key: str, value: Any) -> None:
        """`value`: as in the topic."""
        shard = sum(key.encode()) % SHARDS
        self.history.subscribe(shard, len(self.subscriptions[shard]), key, value)
        self.subscriptions[shard].append((key.encode(), value))

    # What happens to those who work.

    def restart_painter(self, bounds: Iterable[float] | None = None) -> "Painter":
        """Another takes over; who was it before may go on."""
        before = self.painter
        wanted = None if bounds is None else slices_of(list(bounds))
        records = [latest(log) for log in self.messages]
        told = [Told(record, is_new=False) for record in records]
        self.painter = Painter(self, epoch=before.epoch + 1)
        if is_usable(told, WORLD, wanted):
            at = common_position(records)
            self.painter.world.bounds = [record.low for record in records[1:]]
            self.painter.replay(at.objects, at.subscriptions)
            self.painter.heard = {record.zone: record.positions for record in records}
            self.painter.to_repeat = begun_batches(records)
            self.painter.begun = list(self.painter.to_repeat)
            self.painter.said = [record.objects for record in records]
            self.painter.say_where()
            return before
        if bounds is not None:
            self.bounds = list(bounds)
        self.painter.replay(len(self.objects), [len(log) for log in self.subscriptions])
        self.painter.forget_all()
        for zone in self.zones:
            zone.take_all()
        self.painter.reset_all()
        return before

    def lose_messages(self, left: Callable[[int, int, int], int]) -> None:
        """A painter dies with records on their way.

        `left` says how many records a zone has then: of a zone, from so many to so many.
        """
        for number, zone in enumerate(self.zones):
            least = max(self.painter.acknowledged[number], zone.lists.next_offset)
            log = self.messages[number]
            del log[left(number, least, len(log)) :]

    def settle(self) -> None:
        for shard in range(SHARDS):
            while self.painter.take_subscriptions(shard, 100):
                pass
        self.painter.take_objects(len(self.objects))
        for number, zone in enumerate(self.zones):
            zone.take_all()
            if zone.lists.is_lost:
                self.painter.reset_zone(number, self.painter.epoch * 1000 + len(zone.log))
                zone.take_all()

    def records(self) -> dict[str, list[dict[str, Any] | None]]:
        return {key.decode(): [*map(self._read, found)] for key, found in self.matches.items()}

    def _read(self, one: Written) -> dict[str, Any] | None:
        if one.value is None:
            return None
        record: dict[str, Any] = json.loads(one.value)
        zone, offset = one.by
        log = self.messages[zone][offset]
        if log != UNREADABLE and messages.decode(log).reset:
            # A zone that has missed messages does not know why an object has left meanwhile.
            life = self.history.subscriptions[begun_by(record)]
            for change in record["changes"]:
                if change["op"] == "leave":
                    change["why"] = self.history.why(change["id"], objects_of(record), life)
        return record


class Painter:
    def __init__(self, lab: Lab, epoch: int) -> None:
        self._lab, self.epoch = lab, epoch
        self.world = World(K, "sparse", None, lab.bounds)
        self.next_object, self.positions = 0, [0] * SHARDS
        self.gone = GoneKeys(SHARDS)
        self.begun, self.to_repeat = [0] * SHARDS, [0] * SHARDS
        self.said = [0] * len(lab.messages)
        self.acknowledged = [len(log) for log in lab.messages]
        self.heard: dict[int, np.ndarray] = {}  # by zone, positions that predecessors have told
        self.is_stale = False

    def replay(self, objects: int, positions: list[int]) -> None:
        net = {id: (x, y) for id, x, y in self._lab.objects[:objects]}
        self.world.load(net)
        self.next_object = objects
        for shard, end in enumerate(positions):
            while self.positions[shard] < end:
                came, gone = self._read(shard, 1)
                self.gone.add(self.world.leave(gone, [(key, life) for key, life, _ in came]))
                self.gone.take({key: 0 for key, _, _ in came})
                self._come(came)
                self.positions[shard] += 1

    def forget_all(self) -> None:
        for zone in range(len(self._lab.messages)):
            self._send(self._header(zone)._replace(reset=self.epoch * 1000, phase=FORGET))

    def reset_all(self) -> None:
        for zone in range(len(self._lab.messages)):
            self.reset_zone(zone, self.epoch * 1000)

    def reset_zone(self, zone: int, reset: int) -> None:
        self.heard.pop(zone, None)
        header = self._header(zone)._replace(reset=reset)
        self._send(header._replace(phase=BEGIN))
        new = NewSubscriptions(*self.world.subscribers(zone))
        parts = np.array_split(np.arange(len(new.keys)), 2)
        for rows, phase in zip(parts, (LISTS, LAST), strict=True):
            self._send_lists(header._replace(phase=phase), new.part(rows))
        self.acknowledged[zone] = len(self._lab.messages[zone])

    def say_where(self) -> None:
        """To all zones, and wait until they have it."""
        for zone in range(len(self._lab.messages)):
            self._send(self._header(zone))
        self.acknowledged = [len(log) for log in self._lab.messages]

    def take_objects(self, most: int) -> None:
        if any(at < end for at, end in zip(self.positions, self.to_repeat, strict=True)):
            return  # see `Painter._catches_up`
        changes = self._lab.objects[self.next_object : self.next_object + most]
        numbers = range(self.next_object, self.next_object + len(changes))
        self.next_object += len(changes)
        if changes:
            told = self.world.put(*map(list, zip(*changes, strict=True)), list(numbers))
            for zone, part in told.items():
                header = self._header(zone)._replace(objects=self.said[zone])
                for record in message_records(header, part, self.next_object):
                    self._send(record)

    def take_subscriptions(self, shard: int, most: int) -> bool:
        if self.positions[shard] < self.to_repeat[shard]:
            most = self.to_repeat[shard] - self.positions[shard]
        came, gone = self._read(shard, most)
        count = min(most, len(self._lab.subscriptions[shard]) - self.positions[shard])
        if count:
            self.say_where()
            self.begun[shard] = self.positions[shard] + count
        homes = {key: int(self.world.zones_of([low])[0]) for key, _, (low, _, _) in came}
        leavers = self.world.leave(gone, [(key, life) for key, life, _ in came])
        for zone, ended in leavers.items():
            self._send(self._header(zone)._replace(leaving=leaving(ended)))
            if not self.is_stale and any(one.follows and homes[one.key] != zone for one in ended):
                self._lab.zones[zone].take_all()
        self.gone.add(leavers)
        for (number, _), offset in self.gone.take(homes).items():
            zone = self._lab.zones[number]
            if not self.is_stale and zone.lists.left.get(shard, -1) < offset:
                zone.take_all()
                through = zone.lists.left.get(shard, -1) >= offset
                assert through or not zone.lists.is_live, "the painter would wait for ever"
        new = self._come(came)
        self.positions[shard] += count
        at = self.world.zones_of(new.lows)
        for zone in np.unique(at).tolist():
            self._send_lists(self._header(zone), new.part(np.flatnonzero(at == zone)))
        return count > 0

    def _read(self, shard: int, most: int) -> tuple[list, list]:
        """The last record of each key: those that subscribe, those that are gone."""
        first = self.positions[shard]
        latest: dict[bytes, tuple[int, Any]] = {}
        for place, (key, value) in enumerate(self._lab.subscriptions[shard][first:][:most], first):
            latest[key] = (life_of(shard, place, SHARDS), value)
        ranges = self._lab.history.subscriptions
        ordered = sorted(latest.items(), key=lambda one: one[1][0])
        came = [
            (key, life, ranges[place_of(life, SHARDS)][1:])
            for key, (life, value) in ordered
            if value is not None
        ]
        return came, [(key, life) for key, (life, value) in ordered if value is None]

    def _come(self, came: list) -> NewSubscriptions:
        lows, highs, ks = ([one[2][i] for one in came] for i in range(3))
        new = NewSubscriptions(
            [key for key, _, _ in came],
            np.array([life for _, life, _ in came], np.int64),
            np.array(lows, np.float64),
            np.array(highs, np.float64),
            np.array(ks, np.int32),
        )
        self.world.come(*new)
        return new

    def _header(self, zone: int) -> ZoneRecord:
        low, high = slices_of(self.world.bounds)[zone]
        return ZoneRecord(
            zone=zone,
            zones=len(self._lab.messages),
            low=low,
            high=high,
            epoch=self.epoch,
            world=WORLD,
            objects=self.next_object,
            positions=np.maximum(self.positions, self.heard.get(zone, 0)).astype(np.int64),
            begun=np.maximum(self.positions, self.begun).astype(np.int64),
            as_of=self.next_object - 1,
        )

    def _send_lists(self, header: ZoneRecord, new: NewSubscriptions) -> None:
        came, states = coming(new, self.world.first_lists(new.lows, new.highs))
        self._send(header._replace(coming=came, states=states))

    def _send(self, record: ZoneRecord) -> None:
        self._lab.messages[record.zone].append(messages.encode(record))
        self.said[record.zone] = record.objects


class Zone:
    def __init__(self, lab: Lab, number: int) -> None:
        self._lab, self.number = lab, number
        self.lists = self._new()
        self.acknowledged = 0
        self._snapshot: tuple[dict[str, np.ndarray], int] | None = None
        self._put_off = False

    def _new(self) -> ZoneLists:
        return ZoneLists(self.number, self._lab.collection, OBJECTS, SUBSCRIPTIONS)

    @property
    def log(self) -> list[bytes]:
        return self._lab.messages[self.number]

    def take_all(self) -> None:
        self.take(len(self.log))

    def take(self, most: int, due: bool = True) -> None:
        start = self.lists.next_offset
        for offset in range(start, min(start + most, len(self.log))):
            record = self._decoded(offset)
            if record is None:
                continue
            known, ended = {}, []
            if self.lists.ends_reset(record):
                lives = self.lists.resuming(record)
                known = self._known(lives, (self.number, offset))
                ended = list(self._ended(lives))
            self._write(self.lists.take(record, known, ended, due), offset)
        if due:
            self.flush()

    def _decoded(self, offset: int) -> ZoneRecord | None:
        """None if it cannot be read: then the zone has lost its lists."""
        self.lists.next_offset = offset + 1
        try:
            return messages.decode(self.log[offset])
        except CodecError:
            self.lists.lose()
            return None

    def flush(self) -> None:
        self._write(self.lists.flush(), self.lists.next_offset - 1)
        self.acknowledge()

    def acknowledge(self) -> None:
        self.acknowledged = self.lists.next_offset

    def save(self) -> None:
        if self.lists.is_whole and self.acknowledged == self.lists.next_offset:
            self._snapshot = self.lists.to_arrays(), self.lists.next_offset

    def restart(self, acknowledged: int) -> None:
        """As after a crash: from a snapshot, in silence up to what was acknowledged."""
        self.acknowledged = acknowledged
        self.lists, was_reset = self._new(), False
        if self._snapshot is not None:
            self.lists.restore(*self._snapshot)
        for offset in range(self.lists.next_offset, acknowledged):
            record = self._decoded(offset)
            if record is not None:
                was_reset = was_reset or self.lists.ends_reset(record)
                self.lists.take(record)
        if was_reset:
            here = (self.number, self.lists.next_offset)
            self.lists.count_on(self._known(self.lists.lives, here))

    def _write(self, outputs: Iterable[Any], offset: int) -> None:
        for key, value, as_of in outputs:
            written = Written(value, as_of, (self.number, offset))
            self._lab.matches.setdefault(key, []).append(written)

    def _known(
        self, lives: dict[bytes, int], before: tuple[int, int] | None = None
    ) -> dict[bytes, Known]:
        found: dict[bytes, Known] = {}
        for key, life in lives.items():
            for value, _, (zone, offset) in self._lab.matches.get(key, []):
                if before is not None and zone == before[0] and offset >= before[1]:
                    continue
                if value is None:
                    found.pop(key, None)
                    continue
                record = lists.decode(value)
                if life_of(*place_in(record.since), SHARDS) == life:
                    found[key] = Known(life, record)
        return found

    def _ended(self, lives: dict[bytes, int]) -> Iterator[tuple[bytes, int]]:
        for key, found in self._lab.matches.items():
            shard = sum(key) % SHARDS
            log = self._lab.subscriptions[shard]
            last = max(place for place, (one, _) in enumerate(log) if one == key)
            if key not in lives and found[-1].value is not None and log[last][1] is None:
                yield key, life_of(shard, last, SHARDS)


def latest(log: Iterable[bytes]) -> ZoneRecord:
    """The last of the newest painter: zones have not done what older ones said after it."""
    records = [messages.decode(one) for one in log if one != UNREADABLE]
    return max(enumerate(records), key=lambda one: (one[1].epoch, one[0]))[1]


class cut_after:
    """Records of so many messages, within."""

    def __init__(self, most: int) -> None:
        self._most, self._before = most, steps._BYTES_OF_A_MESSAGE

    def __enter__(self) -> None:
        steps._BYTES_OF_A_MESSAGE = steps.ZONE_MESSAGES_BYTES // self._most

    def __exit__(self, *_: object) -> None:
        steps._BYTES_OF_A_MESSAGE = self._before
