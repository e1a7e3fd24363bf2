"""What a batch painter says, without Spark and Kafka."""

import json
import random
from types import SimpleNamespace

import numpy as np
import pytest

from configs import Collection
from indexes.paint.world import World
from spark_streaming.driver.batch_painter import BatchPainter, Takeover
from spark_streaming.driver.world_changes import WorldChanges
from tests.effort import effort
from tests.oracles.range_topk import top_k
from tests.spark_streaming.paint.list_collection import change
from topics import messages
from topics.subscriptions import RangeContract
from topics.zones.lives import life_changes
from topics.zones.told import Position
from workers.zones.lists import ZoneLists

WORLD = 7


class Voice:
    """Keeps what is said; zones take it at once, and so nobody has to be waited for."""

    def __init__(self, collection):
        self.said, self.written = [], {}
        self.zones = [ZoneLists(z, collection, "o", "s") for z in range(collection.zones)]

    def say(self, record):
        self.said.append(messages.encode(record))
        for output in self.zones[record.zone].take(messages.decode(self.said[-1])):
            self.written[output.key] = output.value

    def wait_until(self, is_so, what):
        pass


def collection(**declared):
    given = {"name": "l", "kind": "range_topk", "k": 3, "painter": "batch", "shards": 1}
    return Collection(**{**given, "zones": 2, "zone_bounds": [5.0], **declared})


class Logs:
    """Random records, cut into batches."""

    def __init__(self, seed):
        self._chance, self.end = random.Random(seed), Position(0, [0])
        self.objects, self.ranges = {}, {}

    def batch(self, count):
        changes = [change(self._chance) for _ in range(count)]
        objects = [(key, value) for topic, key, value in changes if topic == "objects"]
        wanted = [(key, value) for topic, key, value in changes if topic != "objects"]
        before = self.end
        self.end = Position(before.objects + len(objects), [before.subscriptions[0] + len(wanted)])
        for latest, each in ((self.objects, objects), (self.ranges, wanted)):
            latest.update(each)
        return WorldChanges(
            [key.encode() for key, _ in objects],
            np.array([value["x"] if value else 0.0 for _, value in objects], np.float64),
            np.array([value["y"] if value else np.nan for _, value in objects], np.float64),
            np.arange(before.objects, self.end.objects),
            life_changes(
                RangeContract(k=3),
                0,
                1,
                [key.encode() for key, _ in wanted],
                [None if value is None else _json(value) for _, value in wanted],
                range(before.subscriptions[0], self.end.subscriptions[0]),
            ),
            {},
            {},
        )


def _json(value):
    return json.dumps(value).encode()


def begun(of, logs, count=80):
    painter = BatchPainter(of, WORLD, World(of.k, of.paint, of.epsilon), logs.end, 0)
    changes, voice = logs.batch(count), Voice(of)
    painter.take_in(changes, logs.end)
    painter.take_over(Takeover(1, [5.0], is_first=True), voice)
    return painter, voice


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("seed", range(effort(3, 30)))
def test_lists_are_those_of_brute_force(form, seed):
    of, logs = collection(paint=form), Logs(seed)
    painter, voice = begun(of, logs)
    for _ in range(5):
        painter.paint(logs.batch(40), logs.end, voice)
        painter.world.check()
        check_lists(voice, logs)


def check_lists(voice, logs):
    objects = {id: (at["x"], at["y"]) for id, at in logs.objects.items() if at}
    lists = {}
    for zone in voice.zones:
        for key, life in zone.lives.items():
            lists[key.decode()] = zone.lists.list_of(life)
    wanted = {key: value["range"] for key, value in logs.ranges.items() if value}
    assert lists.keys() == wanted.keys()
    for key, (low, high) in wanted.items():
        low, high = (-np.inf if low is None else low, np.inf if high is None else high)
        best = top_k(objects, low, high, 3)
        assert lists[key] == [(one["id"].encode(), one["x"], one["y"]) for one in best], key


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("seed", range(effort(3, 30)))
def test_a_world_that_was_stored_says_the_same_as_one_that_went_on(form, seed):
    of, logs = collection(paint=form), Logs(seed)
    painter, voice = begun(of, logs)
    for _ in range(5):
        stored = painter.world.to_arrays()
        again = BatchPainter(of, WORLD, World.from_arrays(stored), painter.at, painter.epoch)
        changes, other = logs.batch(40), Voice(of)
        voice.said.clear()
        painter.paint(changes, logs.end, voice)
        again.paint(changes, logs.end, other)
        assert other.said == voice.said
        for (name, one), other_one in zip(
            painter.world.to_arrays().items(), again.world.to_arrays().values(), strict=True
        ):
            assert np.array_equal(one, other_one), name


@pytest.mark.parametrize("seed", range(effort(2, 20)))
def test_a_batch_that_comes_again_changes_nothing(seed):
    """As a whole, or behind the beginning of one that a killed driver has left."""
    of, logs = collection(), Logs(seed)
    painter, voice = begun(of, logs)
    for left in (1, 2, 4, 100):
        stored = painter.world.to_arrays()
        changes, other = logs.batch(60), Voice(of)
        again = BatchPainter(of, WORLD, World.from_arrays(stored), painter.at, painter.epoch)
        again.paint(changes, logs.end, other)
        for value in other.said[:left]:
            record = messages.decode(value)
            voice.zones[record.zone].take(record)
        painter.paint(changes, logs.end, voice)
        check_lists(voice, logs)


def test_lists_that_are_sent_anew_are_written_as_they_are():
    of, logs = collection(), Logs(4)
    painter, voice = begun(of, logs)
    for epoch in range(2, 5):
        painter.take_in(logs.batch(60), logs.end)
        painter.take_over(Takeover(epoch, [5.0], is_first=False), voice)
        check_lists(voice, logs)
        for zone in voice.zones:
            for key, life in zone.lives.items():
                record = json.loads(voice.written[key])
                listed = [(one["id"].encode(), one["x"], one["y"]) for one in record["list"]]
                assert listed == zone.lists.list_of(life)[: record["k"]]


def test_live_steps_and_batches_end_in_the_same_lists():
    of, logs = collection(), Logs(9)
    painter, voice = begun(of, logs)
    live = World.from_arrays(painter.world.to_arrays())
    for _ in range(5):
        changes = logs.batch(50)
        live.leave(changes.lives.gone, changes.lives.replaced)
        live.come(*changes.lives[:5])
        live.put(changes.ids, changes.x, changes.y, changes.numbers)
        painter.paint(changes, logs.end, voice)
    keys, _, lows, highs, _ = live.subscribers()
    first = live.first_lists(lows, highs)
    at = 0
    lists = {
        key: zone.lists.list_of(life) for zone in voice.zones for key, life in zone.lives.items()
    }
    for key, count in zip(keys, first.counts.tolist(), strict=True):
        rows = first.states[at : at + count]
        at += count
        listed = [
            (first.objects.ids[r], float(first.objects.x[r]), float(first.objects.y[r]))
            for r in rows
        ]
        assert lists[key] == listed


class Slow(Voice):
    """Its zones say how far they are when they are asked to go on."""

    def __init__(self, collection):
        super().__init__(collection)
        self.waited = []  # how many lists had begun meanwhile
        self.progress = SimpleNamespace(left=lambda zone, shard: self.through, lost=list)
        self.through = -1

    def wait_until(self, is_so, what):
        assert not is_so()
        self.waited.append(sum(len(messages.decode(one).coming.lives) for one in self.said))
        self.through = 1
        assert is_so()


def wanted(first, *records):
    """A batch of subscriptions, from an offset on."""
    keys, values = zip(*records, strict=True)
    offsets = range(first, first + len(records))
    values = [None if value is None else _json({"range": value}) for value in values]
    lives = life_changes(RangeContract(k=3), 0, 1, [key.encode() for key in keys], values, offsets)
    none = np.empty(0)
    return WorldChanges([], none, none, none, lives, {}, {}), Position(0, [offsets.stop])


@pytest.mark.parametrize("stored", [False, True], ids=["goes-on", "stored"])
@pytest.mark.parametrize("most", [0, 100], ids=["many", "few"])
def test_a_null_is_written_before_the_list_that_another_zone_begins(monkeypatch, stored, most):
    monkeypatch.setattr("spark_streaming.driver.batch_painter._GONE", most)
    of = collection()
    voice = Slow(of)
    painter = BatchPainter(of, WORLD, World(3, "sparse", None, [5.0]), Position(0, [0]), 0)
    painter.take_in(*wanted(0, ("u", [1, 2])))
    painter.take_over(Takeover(1, [5.0], is_first=True), voice)
    painter.paint(*wanted(1, ("u", None)), voice)
    assert not voice.waited
    if stored:
        arrays = painter.to_arrays()
        painter = BatchPainter.from_arrays(of, WORLD, arrays, painter.at)
    voice.said.clear()
    painter.paint(*wanted(2, ("u", [7, 8])), voice)
    assert voice.waited == [0]
    assert len(voice.zones[1]) == 1


def test_a_key_that_unsubscribes_before_lists_are_sent_anew_is_remembered():
    """Whichever zone finds its list in `matches` writes the null."""
    of = collection()
    voice = Slow(of)
    painter = BatchPainter(of, WORLD, World(3, "sparse", None, [5.0]), Position(0, [0]), 0)
    painter.take_in(*wanted(0, ("u", [1, 2]), ("u", None)))
    painter.take_over(Takeover(1, [5.0], is_first=True), voice)
    painter.paint(*wanted(2, ("u", [1, 2])), voice)
    assert voice.waited == [0]
