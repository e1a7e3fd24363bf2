"""The painter: `objects` and `subscriptions` in, messages for the zones out.

One painter of a collection works, the one that has the only partition of `objects`; others stand
by.  Its world is a function of the two logs.  The order in which it takes from them is the order of
`messages`, and any order gives right lists, as each list says which object record it is as of.

A painter that takes over brings its world, from a snapshot if there is one, to what its predecessor
said last, in silence, and goes on aloud.  If that cannot be known, or zones are cut anew, or a zone
has lost what it had, lists are sent anew (a reset, see `topics.messages`).
"""

import logging
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from indexes.paint.world import Leaver, World, quantile_bounds, slices_of
from topics import messages as codec
from topics.kafka.producer import Outbox
from topics.messages import BEGIN, CLAIM, FORGET, LAST, LISTS, ZoneRecord, place_of
from topics.objects import parse_objects
from topics.zones.followed import ProgressReader
from topics.zones.gone import GoneKeys
from topics.zones.steps import NewSubscriptions, coming, leaving, message_records, most_coming
from topics.zones.told import (
    Position,
    Told,
    begun_batches,
    common_position,
    fingerprint,
    is_usable,
    last_told,
)
from workers.kinds import WORLD
from workers.painter.subscriptions import SubscriptionChanges, SubscriptionStream
from workers.process import metrics
from workers.process.context import Context, wait_for_topics
from workers.process.group_reader import GroupReader
from workers.process.latency import lower_priority
from workers.process.object_lag import ObjectLag
from workers.process.records import RecordReader, dead_letter
from workers.snapshots.keeper import SnapshotKeeper
from workers.snapshots.watch import RedisWatch

log = logging.getLogger(__name__)

_OBJECTS_AT_ONCE = 2_000
_IDLE_S = 0.02
_SAY_WHERE_S = 1.0  # a zone hears where the world is, if that is elsewhere
_SAY_SOMETHING_S = 60.0  # ... and in any case, so that `messages` always has a last record
_SHARE_OF_LAG = 0.9  # of the time that the logs keep what is overwritten; clocks differ
_GONE = 100_000  # keys that have unsubscribed, before those that zones know of are forgotten
_ASKED_AGAIN_S = 30.0  # a zone that has asked for its lists gets them once in this time


class PainterState:
    """The world, the next offsets of its logs, and who has unsubscribed; what a snapshot is of."""

    number = 0

    def __init__(self, context: Context) -> None:
        collection = context.collection
        self._shards = collection.shards
        self.world = World(
            collection.k, collection.paint, collection.epsilon, collection.zone_bounds
        )
        self.next_offset = 0  # of objects
        # Whether objects came since the reader was sent here: an end that it reports before that
        # may be of where it was.
        self.has_read = False
        self.positions = [0] * collection.shards  # of subscriptions
        self.gone = GoneKeys(collection.shards)

    def __len__(self) -> int:
        return len(self.world)

    def to_arrays(self) -> dict[str, np.ndarray]:
        positions = {"positions": np.array(self.positions, np.int64)}
        return self.world.to_arrays() | self.gone.to_arrays() | positions

    def restore(self, arrays: Mapping[str, np.ndarray], next_offset: int) -> None:
        """Become what `to_arrays()` gave.  If that raises, nothing has changed."""
        positions = arrays["positions"].tolist()
        world, gone = World.from_arrays(arrays), GoneKeys.from_arrays(arrays, self._shards)
        mine = self.world
        got = (len(positions), world.k, world.paint.form, world.paint.epsilon)
        wanted = (self._shards, mine.k, mine.paint.form, mine.paint.epsilon)
        if got != wanted:
            raise ValueError(f"got shards, k, paint and epsilon {got}, expected {wanted}")
        self.world, self.gone = world, gone
        self.positions, self.next_offset = positions, next_offset


class _Moving(NamedTuple):
    """Subscriptions of a shard that wait until the zones that they leave have written all."""

    changes: SubscriptionChanges
    waits_for: dict[int, int]  # by zone: the offset up to which it has to be through
    leavers: dict[int, list[Leaver]]  # by zone: who was told to leave


class Painter:
    def __init__(self, context: Context) -> None:
        self._context, collection = context, context.collection
        self._name, self._zones = collection.name, collection.zones
        self._labels = (collection.name,)
        self._topic = context.names.topic("messages")
        self._objects = context.names.topic("objects")
        self._outbox = Outbox(context.client)  # aiokafka unpacks no lz4 by itself
        self._stream = SubscriptionStream(context)
        self._scout: Consumer = context.consumer("scout", {"enable.partition.eof": True})
        self._progress = ProgressReader(
            context.consumer("scout"), context.names.topic("progress"), collection.zones
        )
        self._aside = ThreadPoolExecutor(1, "snapshots", initializer=lower_priority)
        self._written: Future | None = None
        self._state: PainterState | None = None
        self._keeper: SnapshotKeeper | None = None
        self._is_ours = False
        self._letters_written = 0  # up to here, as committed
        self._epoch = 0
        self._world_id = 0
        self._moving: dict[int, _Moving] = {}  # by shard
        # By shard, where the latest batch of subscriptions ends that was begun, and the one that a
        # predecessor had begun: zones may have heard a part of it.
        self._begun: list[int] = []
        self._to_repeat: list[int] = []
        # By zone, where predecessors have said so.  What one of them has told a zone it knows, also
        # while the world is before that, and the next painter has to learn of it.
        self._heard: dict[int, list[int]] = {}
        self._said: dict[int, tuple[float, int, list[int]]] = {}  # by zone: when, and where
        self._forgetting: int | None = None  # the reset that all zones have to follow first
        self._asked: dict[int, float] = {}  # by zone: when its lists were sent because it asked
        self._reader = GroupReader(context, "objects", self, ["subscriptions"])

    def run(self) -> None:
        self._reader.work(self._step, self._commit)
        keeper, is_whole = self._keeper, self._state is not None and not self._moving
        if is_whole and keeper is not None and keeper.is_behind():
            if self._written is not None:
                self._written.result()
            keeper.write(keeper.gather())
        self._aside.shutdown()

    def following(self) -> dict[tuple[str, ...], int]:
        """The next object record, by labels of metrics; nothing while it stands by."""
        state = self._state
        return {} if state is None else {self._labels: state.next_offset}

    # What the group says.

    def on_assigned(self, places: list[TopicPartition]) -> None:
        self._is_ours = bool(places)
        for place in places:
            self._letters_written = max(0, place.offset)

    def on_revoked(self, partitions: list[int]) -> None:
        if self._state is not None:
            self._commit()

    def on_gone(self, partitions: list[int]) -> None:
        self._is_ours, self._state = False, None
        self._moving.clear()
        self._heard.clear()
        self._said.clear()
        self._asked.clear()
        self._forgetting = None
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None

    def _step(self) -> None:
        if self._is_ours and self._state is None:
            self._open()
        state = self._state
        if state is None or self._forgetting is not None:
            self._reader.read(1, _none, _IDLE_S)  # which stays in the group, and is read again
            if state is not None:
                self._finish_reset(state)
            return
        self._stream.fill()
        busy = self._take_subscriptions(state)
        if self._catches_up(state):
            self._reader.read(1, _none, 0.0 if busy else _IDLE_S)
            self._answer_zones(state)
            self._outbox.poll()
            if not self._catches_up(state) and self._state is state:
                self._reader.start_at(0, state.next_offset)
            return
        batch = self._reader.read(_OBJECTS_AT_ONCE, _none, 0.0 if busy else _IDLE_S)
        if self._state is not state:  # a rebalance has taken it while records were read
            return
        if batch.records:
            self._take_objects(state, batch.records)
        for unread in batch.unread:
            self._outbox.send_dead_letter(unread.letter)
            state.next_offset = unread.next_offset
        if batch.ends and state.has_read:  # also behind what has no records
            state.next_offset = max(state.next_offset, *batch.ends.values())
        self._answer_zones(state)
        self._say_where(state)
        self._outbox.poll()

    def _catches_up(self, state: PainterState) -> bool:
        """Whether some zone may know of subscriptions that the world does not have again.

        What objects change for those would not be said, and the zone leaves their first lists,
        which it has had, alone.  So they come first.
        """
        return any(a < b for a, b in zip(state.positions, self._to_repeat, strict=True))

    # Objects and subscriptions.

    def _take_objects(self, state: PainterState, records: list[Message]) -> None:
        keys = [message.key() for message in records]
        parsed = parse_objects(keys, [message.value() for message in records])
        for place, bad in parsed.bad.items():
            if records[place].offset() >= self._letters_written:
                metrics.DEAD_LETTERS.labels(self._name, "objects").inc()
                self._outbox.send_dead_letter(dead_letter(records[place], bad))
        numbers = [records[place].offset() for place in parsed.places]
        state.next_offset, state.has_read = records[-1].offset() + 1, True
        if not numbers:
            return
        header = self._header(state)
        told = state.world.put(parsed.ids, parsed.x, parsed.y, numbers)
        for zone, part in told.items():
            metrics.PAINT_MESSAGES.labels(*self._labels).inc(len(part.group))
            before = self._said[zone][1]
            for record in message_records(
                header(zone)._replace(objects=before), part, state.next_offset
            ):
                self._send(record)
        metrics.PAINTED.labels(*self._labels).inc(len(numbers))
        metrics.PAINTER_OBJECTS.labels(*self._labels).set(state.world.objects)

    def _take_subscriptions(self, state: PainterState) -> bool:
        """Whether there was anything to do."""
        busy, batches = False, []
        for shard in range(len(state.positions)):
            if shard in self._moving:
                if not self._have_left(shard):
                    continue
                self._come(state, self._moving.pop(shard).changes)
                busy = True
            changes = self._next_batch(state, shard)
            if changes is not None:
                batches.append(changes)
            elif (end := self._stream.end_of(shard)) is not None:
                state.positions[shard] = max(state.positions[shard], end)
        if batches:
            self._say_where_batches_begin(state)
        for changes in batches:
            self._write_letters(changes)
            self._leave(state, changes)
        if busy or batches:
            metrics.PAINTER_SUBSCRIPTIONS.labels(*self._labels).set(len(state.world))
        return busy or bool(batches)

    def _next_batch(self, state: PainterState, shard: int) -> SubscriptionChanges | None:
        end = self._to_repeat[shard]
        if state.positions[shard] >= end:
            return self._stream.take(shard, most_coming(state.world.k))
        if not self._stream.has_up_to(shard, end):
            return None
        changes = self._stream.take(shard, end - state.positions[shard], below=end)
        if changes is None:
            state.positions[shard] = end
            return None
        return changes._replace(next_offset=max(changes.next_offset, end))

    def _say_where_batches_begin(self, state: PainterState) -> None:
        """All zones know where a batch begins before one of them hears of it.

        So of two zones the one has heard at most one batch more than the other, and a painter that
        takes over knows where the last one began.
        """
        header = self._header(state)
        for zone in range(self._zones):
            if self._said[zone][2] != header(zone).positions.tolist():
                self._send(header(zone))
        self._outbox.settle()

    def _write_letters(self, changes: SubscriptionChanges) -> None:
        for letter in changes.letters:
            if letter.offset >= self._stream.letters_written[changes.shard]:
                metrics.DEAD_LETTERS.labels(self._name, "subscriptions").inc()
                self._outbox.send_dead_letter(letter)

    def _leave(self, state: PainterState, changes: SubscriptionChanges) -> None:
        world = state.world
        lives = changes.lives
        self._begun[changes.shard] = changes.next_offset
        home = dict(zip(lives.keys, world.zones_of(lives.lows).tolist(), strict=True))
        leavers = world.leave(lives.gone, lives.replaced)
        header, waits_for = self._header(state), {}
        for zone, ended in leavers.items():
            self._send(header(zone)._replace(leaving=leaving(ended)))
            moved = [one.by for one in ended if one.follows and home[one.key] != zone]
            if moved:
                waits_for[zone] = place_of(max(moved), len(state.positions))[1]
        if self._context.collection.deliver == "lists":
            self._note_gone(state, leavers)
            for (zone, _), offset in state.gone.take(home).items():
                waits_for[zone] = max(offset, waits_for.get(zone, -1))
        else:
            waits_for.clear()
        if waits_for:
            self._moving[changes.shard] = _Moving(changes, waits_for, leavers)
        else:
            self._come(state, changes)

    def _note_gone(self, state: PainterState, leavers: Mapping[int, list[Leaver]]) -> None:
        state.gone.add(leavers)
        if len(state.gone) > _GONE:
            state.gone.forget(self._progress.left)

    def _have_left(self, shard: int) -> bool:
        waits_for = self._moving[shard].waits_for
        return all(self._progress.left(z, shard) >= offset for z, offset in waits_for.items())

    def _come(self, state: PainterState, changes: SubscriptionChanges) -> None:
        world, new = state.world, NewSubscriptions(*changes.lives[:5])
        world.come(*new)
        state.positions[changes.shard] = changes.next_offset
        homes = world.zones_of(new.lows)
        header = self._header(state)
        for zone in np.unique(homes).tolist():
            part = new.part(np.flatnonzero(homes == zone))
            self._send_lists(state, header(zone), part)

    def _send_lists(self, state: PainterState, header: ZoneRecord, new: NewSubscriptions) -> None:
        came, states = coming(new, state.world.first_lists(new.lows, new.highs))
        self._send(header._replace(coming=came, states=states))

    # Records.

    def _header(self, state: PainterState) -> "_Header":
        return _Header(state, self._begun, self._epoch, self._world_id, self._heard)

    def _send(self, record: ZoneRecord) -> None:
        self._outbox.send(self._topic, codec.encode(record), partition=record.zone)
        where = (time.monotonic(), record.objects, record.positions.tolist())
        self._said[record.zone] = where

    def _say_where(self, state: PainterState) -> None:
        now, header = time.monotonic(), self._header(state)
        for zone in range(self._zones):
            said_at, *said = self._said[zone]
            elsewhere = said != [state.next_offset, header(zone).positions.tolist()]
            if now - said_at >= (_SAY_WHERE_S if elsewhere else _SAY_SOMETHING_S):
                self._send(header(zone))

    # Taking over.

    def _open(self) -> None:
        """Bring the world to where the zones are; everything before was told."""
        context, stopping = self._context, self._context.stopping.is_set
        context.health.not_ready(context.role, "restoring the world")
        state = PainterState(context)
        bounds = self._stream.bounds(stopping)
        begin, end = self._reader.bounds_of("objects", 0)
        ids = [context.topic_id(topic) for topic in (self._objects, self._subscriptions)]
        of = context.collection
        self._world_id = fingerprint(ids, of.kind, of.k, of.epsilon, of.painter)
        told = self._claim()
        if bounds is None or told is None:
            return
        self._keeper = SnapshotKeeper(context, state, WORLD.of)
        self._keeper.restore(" ".join(ids), range(begin, end))
        given = context.collection.zone_bounds
        wanted = slices_of(given) if given or self._zones == 1 else None
        kept_ms = _SHARE_OF_LAG * of.retention.compaction_lag_minutes * 60_000
        goes_on = is_usable(told, self._world_id, wanted, 1e3 * time.time() - kept_ms)
        records = [one.last for one in told if one.last is not None]
        target = Position(end, [e for _, e in bounds])
        if goes_on:
            # A snapshot is written when all up to it is told: a zone that has heard of less since
            # had nothing to hear.
            told_to_all = common_position(records)
            target = Position(
                max(told_to_all.objects, state.next_offset),
                list(map(max, told_to_all.subscriptions, state.positions)),
            )
            state.world.bounds = [record.low for record in records[1:]]
        first = [b for b, _ in bounds]
        state.positions = [max(a, b) for a, b in zip(state.positions, first, strict=True)]
        self._replay(state, target)
        if context.stopping.is_set():
            return
        self._to_repeat = begun_batches(records) if goes_on else list(state.positions)
        self._begun = list(self._to_repeat)
        if goes_on:
            self._heard = {record.zone: record.positions.tolist() for record in records}
            now = time.monotonic()
            self._said = {
                r.zone: (now - _SAY_SOMETHING_S, r.objects, r.positions.tolist()) for r in records
            }
        else:
            self._cut_zones(state)
            self._begin_reset(state, all(one.is_new for one in told))
        self._state = state
        self._reader.start_at(0, state.next_offset)
        metrics.PAINTER_SUBSCRIPTIONS.labels(*self._labels).set(len(state.world))
        metrics.PAINTER_OBJECTS.labels(*self._labels).set(state.world.objects)
        context.health.ready(context.role)
        log.info(
            "world restored: %d objects up to offset %d, %d subscriptions; %s",
            state.world.objects,
            state.next_offset,
            len(state.world),
            "going on" if goes_on else "sending all lists anew",
        )

    def _claim(self) -> list[Told] | None:
        """What was said last, when nobody listens any more to those who said it."""
        stopping = self._context.stopping.is_set
        told = last_told(self._scout, self._topic, self._zones, stopping)
        if told is None:
            return None
        latest = max((one.last.epoch for one in told if one.last is not None), default=0)
        self._epoch = max(round(time.time() * 1000), latest + 1)
        nowhere = np.zeros(self._context.collection.shards, np.int64)
        for zone, one in enumerate(told):
            if not one.is_new:
                claim = ZoneRecord(
                    zone, self._zones, -np.inf, np.inf, self._epoch, self._world_id, 0, nowhere,
                    nowhere, phase=CLAIM,
                )  # fmt: skip
                self._outbox.send(self._topic, codec.encode(claim), partition=zone)
        self._outbox.settle()
        return last_told(self._scout, self._topic, self._zones, stopping)

    @property
    def _subscriptions(self) -> str:
        return self._context.names.topic("subscriptions")

    def _replay(self, state: PainterState, target: Position) -> None:
        """Take in what was told before, in silence."""
        net: dict[bytes, tuple[float, float]] = {}
        for records, following in self._read_objects(state.next_offset, target.objects):
            keys = [message.key() for message in records]
            parsed = parse_objects(keys, [message.value() for message in records])
            points = zip(parsed.x.tolist(), parsed.y.tolist(), strict=True)
            net.update(zip(parsed.ids, points, strict=True))
            state.next_offset = following
        state.world.load(net)
        state.next_offset = max(state.next_offset, target.objects)
        self._stream.start(dict(enumerate(state.positions)))
        behind = set(range(len(state.positions)))
        while behind and not self._context.stopping.is_set():
            self._context.health.beat()
            self._stream.fill(0.1)
            for shard in list(behind):
                end = target.subscriptions[shard]
                changes = self._stream.take(shard, 100_000, below=end, each_end=True)
                if changes is not None:
                    lives = changes.lives
                    leavers = state.world.leave(lives.gone, lives.replaced)
                    if self._context.collection.deliver == "lists":
                        state.gone.add(leavers, lives.gone)
                        # What came then had waited, or is sent anew.
                        state.gone.take(dict.fromkeys(lives.keys, 0))
                    state.world.come(*lives[:5])
                    state.positions[shard] = changes.next_offset
                elif self._stream.is_past(shard, end):
                    state.positions[shard] = max(state.positions[shard], end)
                    behind.remove(shard)

    def _read_objects(self, start: int, end: int) -> Iterator[tuple[list[Message], int]]:
        """Records from one offset to below another, and where it goes on."""
        if start >= end:
            return
        # One of its own: one that was elsewhere before may still report an end from there.
        consumer = self._context.consumer("scout", {"enable.partition.eof": True})
        consumer.assign([TopicPartition(self._objects, 0, start)])
        reader = RecordReader(self._context, consumer, self._objects)
        reached = start
        while reached < end and not self._context.stopping.is_set():
            self._context.health.beat()
            batch = reader.read(0.2, 10_000, _none)
            records = [message for message in batch.records if message.offset() < end]
            if batch.records:
                reached = min(batch.records[-1].offset() + 1, end)
            for unread in batch.unread:
                reached = unread.next_offset
            reached = max(reached, *batch.ends.values(), 0)
            if records:
                yield records, reached
        consumer.close()

    def _cut_zones(self, state: PainterState) -> None:
        given = self._context.collection.zone_bounds
        if given:
            state.world.bounds = list(given)
        elif len(state.world.bounds) != self._zones - 1 or not len(state.world):
            state.world.bounds = quantile_bounds(state.world.lows(), self._zones)

    # Resets.

    def _begin_reset(self, state: PainterState, nothing_was_said: bool) -> None:
        self._said = {zone: (0.0, -1, []) for zone in range(self._zones)}
        if nothing_was_said:
            for zone in range(self._zones):
                self._reset_zone(state, zone, "first")
            return
        self._forgetting = self._epoch
        header = self._header(state)
        for zone in range(self._zones):
            self._send(header(zone)._replace(reset=self._epoch, phase=FORGET))

    def _finish_reset(self, state: PainterState) -> None:
        """Send all lists once no zone writes any more what it had."""
        assert self._forgetting is not None
        self._progress.follow()
        self._outbox.poll()
        awaited = [z for z in range(self._zones) if self._progress.reset(z) < self._forgetting]
        if awaited and self._context.collection.deliver == "lists":
            listed = ", ".join(map(str, awaited))
            self._context.health.not_ready("zones", f"waiting for zones {listed} to let go")
            return
        self._context.health.ready("zones")
        self._forgetting = None
        for zone in range(self._zones):
            self._reset_zone(state, zone, "anew")
        self._reader.start_at(0, state.next_offset)

    def _reset_zone(self, state: PainterState, zone: int, reason: str) -> None:
        metrics.RESETS.labels(self._name, reason).inc()
        self._heard.pop(zone, None)
        new = NewSubscriptions(*state.world.subscribers(zone))
        header = self._header(state)(zone)
        state.gone.reset(zone, header.positions.tolist())
        reset = max(self._epoch, self._progress.reset(zone)) + (reason == "lost")
        self._send(header._replace(reset=reset, phase=BEGIN))
        most = most_coming(state.world.k)
        starts = range(0, max(1, len(new.keys)), most)
        for start in starts:
            rows = np.arange(start, min(start + most, len(new.keys)))
            phase = LAST if start == starts[-1] else LISTS
            self._send_lists(state, header._replace(reset=reset, phase=phase), new.part(rows))
        for moving in self._moving.values():
            if zone in moving.leavers:  # the zone has forgotten that it was told
                self._send(header._replace(leaving=leaving(moving.leavers[zone])))

    def _answer_zones(self, state: PainterState) -> None:
        """Send a zone its lists that has lost them."""
        self._progress.follow()
        now = time.monotonic()
        for zone in self._progress.lost():
            if now - self._asked.get(zone, -_ASKED_AGAIN_S) >= _ASKED_AGAIN_S:
                log.warning("zone %d has lost its lists; sending them anew", zone)
                self._asked[zone] = now
                self._reset_zone(state, zone, "lost")

    def _commit(self) -> None:
        state = self._state
        self._outbox.settle()
        if state is None or self._keeper is None or self._forgetting is not None:
            return
        if state.next_offset > self._letters_written and self._reader.commit(
            {0: state.next_offset}
        ):
            self._letters_written = state.next_offset
        try:
            self._stream.commit(dict(enumerate(state.positions)))
        except KafkaException as error:
            log.warning("offsets of subscriptions not committed: %s", error.args[0].str())
        # While some move between zones, the world is not what its positions say.
        is_free = self._written is None or self._written.done()
        if self._keeper.is_due() and is_free and not self._moving:
            state.gone.forget(self._progress.left)
            self._written = self._aside.submit(self._keeper.write, self._keeper.gather())


class _Header:
    """The fields of a record to a zone, as the world is now."""

    def __init__(
        self,
        state: PainterState,
        begun: list[int],
        epoch: int,
        world_id: int,
        heard: Mapping[int, list[int]],
    ) -> None:
        self._state, self._begun, self._epoch, self._world_id = state, begun, epoch, world_id
        self._heard = heard
        self._slices = slices_of(state.world.bounds)

    def __call__(self, zone: int) -> ZoneRecord:
        state, (low, high) = self._state, self._slices[zone]
        return ZoneRecord(
            zone=zone,
            zones=len(self._slices),
            low=low,
            high=high,
            epoch=self._epoch,
            world=self._world_id,
            objects=state.next_offset,
            positions=np.maximum(state.positions, self._heard.get(zone, 0)).astype(np.int64),
            begun=np.maximum(state.positions, self._begun).astype(np.int64),
            as_of=state.next_offset - 1,
        )


def _none() -> float:
    return 0.0


def run(context: Context) -> int:
    RedisWatch(context.health, context.settings.redis).probe().start()
    topics = ["objects", "subscriptions", "messages", "progress"]
    if wait_for_topics(context, [*topics, "objects.dlq", "subscriptions.dlq"]):
        painter = Painter(context)
        lag = metrics.PAINTER_LAG, metrics.PAINTER_LAG_SECONDS
        ObjectLag(context, *lag, painter.following).start()
        painter.run()
    return 0
