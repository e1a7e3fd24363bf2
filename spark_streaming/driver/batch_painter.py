"""A world that changes batch by batch, and says to the zones what each batch changes.

A batch is one step: subscriptions leave, others come with lists as of the objects before the batch,
then one Paint-Batch of all object records, under the number of the last one.  What is said is a
function of the world before and of the batch, so that a batch that is repeated says the same, and
zones ignore what they have.

A painter that takes over from another sends all lists anew, as of the end of a batch.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from configs import Collection
from indexes.paint.world import World, quantile_bounds, slices_of
from spark_streaming.driver.world_changes import WorldChanges
from spark_streaming.driver.zone_voice import ZoneVoice
from topics.messages import BEGIN, FORGET, LAST, LISTS, ZoneRecord, place_of
from topics.zones.gone import GoneKeys, Waits
from topics.zones.steps import NewSubscriptions, coming, leaving, message_records, most_coming
from topics.zones.told import Position

log = logging.getLogger(__name__)

_LEAVING_AT_ONCE = 5_000
_GONE = 100_000  # keys that have unsubscribed, before all of them are waited for and forgotten
_ASKED_AGAIN_S = 30.0  # a zone that has asked for its lists gets them once in this time


class Takeover(NamedTuple):
    """How a painter begins to speak; noted before it does, so that a repeat is the same."""

    epoch: int
    bounds: list[float] | None  # between zones; None: chosen from the subscriptions
    is_first: bool  # nothing was ever said to the zones


class Spoken(NamedTuple):
    messages: int
    records: int


class BatchPainter:
    """`epoch` 0: it has not spoken yet."""

    def __init__(
        self,
        collection: Collection,
        world_id: int,
        world: World,
        at: Position,
        epoch: int,
        gone: GoneKeys | None = None,
    ) -> None:
        self._collection, self._world_id = collection, world_id
        self._zones, self._waits = collection.zones, collection.deliver == "lists"
        self.world, self.epoch = world, epoch
        self.at = at
        self._gone = GoneKeys(collection.shards) if gone is None else gone
        self._latest_reset = 0  # of a zone that had lost its lists
        self._let_go: dict[int, int] = {}  # by zone that has lost its lists, its reset that began
        self._asked: dict[int, float] = {}  # ... when its lists were sent

    # A batch.

    def paint(self, changes: WorldChanges, end: Position, voice: ZoneVoice) -> Spoken:
        world, lives = self.world, changes.lives
        self._leave(changes, voice)
        world.come(*lives[:5])
        new, homes = NewSubscriptions(*lives[:5]), world.zones_of(lives.lows)
        for zone in np.unique(homes).tolist():
            self._send_lists(zone, new.part(np.flatnonzero(homes == zone)), voice)
        before, told = self.at, {}
        if changes.ids:
            objects = changes.ids, changes.x, changes.y, changes.numbers
            told = world.put(*objects, at_once=True)
        self.at = end
        messages = records = 0
        for zone in range(self._zones):
            header = self._header(zone)
            if zone not in told:
                voice.say(header)
                continue
            part = told[zone]
            messages += len(part.group)
            for record in message_records(
                header._replace(objects=before.objects), part, end.objects
            ):
                voice.say(record)
                records += 1
        for zone, reset in self._let_go.items():
            self._send_all(zone, reset, voice)
        self._let_go.clear()
        return Spoken(messages, records)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Of which a painter goes on; a function of the batches, whatever zones have done."""
        epoch = np.array([self.epoch], np.int64)
        return self.world.to_arrays() | self._gone.to_arrays() | {"epoch": epoch}

    @classmethod
    def from_arrays(
        cls,
        collection: Collection,
        world_id: int,
        arrays: Mapping[str, np.ndarray],
        at: Position,
        restored: Callable[[dict[str, np.ndarray]], Any] | None = None,
    ) -> Self:
        """`restored` is for objects that are kept elsewhere: see `World.from_arrays`."""
        gone = GoneKeys.from_arrays(arrays, collection.shards)
        world, epoch = World.from_arrays(arrays, restored), int(arrays["epoch"][0])
        return cls(collection, world_id, world, at, epoch, gone)

    def take_in(self, changes: WorldChanges, end: Position) -> None:
        """The same in silence."""
        lives = changes.lives
        leavers = self.world.leave(lives.gone, lives.replaced)
        if self._waits:
            self._gone.add(leavers, lives.gone)
            self._gone.take(dict.fromkeys(lives.keys, 0))  # lists are sent anew before the next
        self.world.come(*lives[:5])
        self.world.load(changes.net_objects)
        self.at = end

    def _leave(self, changes: WorldChanges, voice: ZoneVoice) -> None:
        """End lives, and wait until zones that others leave for have written all."""
        world, lives = self.world, changes.lives
        if len(self._gone) > _GONE:
            self._wait_for(self._gone.all_waits(), voice)
            self._gone.clear()
        home = dict(zip(lives.keys, world.zones_of(lives.lows).tolist(), strict=True))
        leavers = world.leave(lives.gone, lives.replaced)
        awaited: Waits = {}
        for zone, ended in leavers.items():
            for start in range(0, len(ended), _LEAVING_AT_ONCE):
                part = leaving(ended[start : start + _LEAVING_AT_ONCE])
                voice.say(self._header(zone)._replace(leaving=part))
            for one in ended:
                if one.follows and home[one.key] != zone:
                    shard, offset = place_of(one.by, self._collection.shards)
                    awaited[zone, shard] = max(offset, awaited.get((zone, shard), -1))
        if self._waits:
            self._gone.add(leavers)
            for place, offset in self._gone.take(home).items():
                awaited[place] = max(offset, awaited.get(place, -1))
            self._wait_for(awaited, voice)

    def _wait_for(self, awaited: Waits, voice: ZoneVoice) -> None:
        if awaited:
            voice.wait_until(
                lambda: self._have_left(awaited, voice), "let go of subscriptions that have moved"
            )

    def _have_left(self, awaited: Waits, voice: ZoneVoice) -> bool:
        progress = voice.progress
        for zone in {zone for zone, _ in awaited} & set(progress.lost()) - self._let_go.keys():
            # It will not say that they have left, but that it holds nothing; lists come later.
            self._let_go[zone] = self._forget(zone, voice)
        return all(
            progress.left(zone, shard) >= offset
            or (zone in self._let_go and progress.reset(zone) >= self._let_go[zone])
            for (zone, shard), offset in awaited.items()
        )

    # All lists anew.

    def take_over(self, how: Takeover, voice: ZoneVoice) -> None:
        self.epoch, world = how.epoch, self.world
        world.bounds = (
            quantile_bounds(world.lows(), self._zones) if how.bounds is None else how.bounds
        )
        if not how.is_first:
            for zone in range(self._zones):
                voice.say(self._header(zone)._replace(reset=self.epoch, phase=FORGET))
            if self._waits:
                voice.wait_until(lambda: self._have_forgotten(voice), "let go of their lists")
        for zone in range(self._zones):
            self._send_all(zone, self.epoch, voice)

    def _have_forgotten(self, voice: ZoneVoice) -> bool:
        return all(voice.progress.reset(zone) >= self.epoch for zone in range(self._zones))

    def answer_zones(self, voice: ZoneVoice) -> list[int]:
        """Send zones their lists that have lost them; which these were."""
        now, answered = time.monotonic(), []
        for zone in voice.progress.lost():
            if now - self._asked.get(zone, -_ASKED_AGAIN_S) >= _ASKED_AGAIN_S:
                log.warning("zone %d has lost its lists; sending them anew", zone)
                self._asked[zone] = now
                self._send_all(zone, self._forget(zone, voice), voice)
                answered.append(zone)
        return answered

    def say_where(self, voice: ZoneVoice) -> None:
        for zone in range(self._zones):
            voice.say(self._header(zone))

    def _forget(self, zone: int, voice: ZoneVoice) -> int:
        """Begin a reset of one zone; its number, which no reset before has had."""
        known = max(self.epoch, voice.progress.reset(zone), self._latest_reset)
        reset = self._latest_reset = max(known + 1, round(time.time() * 1000))
        voice.say(self._header(zone)._replace(reset=reset, phase=FORGET))
        return reset

    def _send_all(self, zone: int, reset: int, voice: ZoneVoice) -> None:
        new = NewSubscriptions(*self.world.subscribers(zone))
        self._gone.reset(zone, self.at.subscriptions)
        voice.say(self._header(zone)._replace(reset=reset, phase=BEGIN))
        self._send_lists(zone, new, voice, reset)

    def _send_lists(
        self, zone: int, new: NewSubscriptions, voice: ZoneVoice, reset: int = 0
    ) -> None:
        header, most = self._header(zone), most_coming(self.world.k)
        starts = range(0, max(1, len(new.keys)), most)
        for start in starts:
            part = new.part(np.arange(start, min(start + most, len(new.keys))))
            came, states = coming(part, self.world.first_lists(part.lows, part.highs))
            if reset:
                phase = LAST if start == starts[-1] else LISTS
                header = header._replace(reset=reset, phase=phase)
            voice.say(header._replace(coming=came, states=states))

    def _header(self, zone: int) -> ZoneRecord:
        low, high = slices_of(self.world.bounds)[zone]
        return ZoneRecord(
            zone=zone,
            zones=self._zones,
            low=low,
            high=high,
            epoch=self.epoch,
            world=self._world_id,
            objects=self.at.objects,
            positions=np.array(self.at.subscriptions, np.int64),
            begun=np.array(self.at.subscriptions, np.int64),
            as_of=self.at.objects - 1,
        )
