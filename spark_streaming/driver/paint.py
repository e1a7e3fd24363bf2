"""`paint-batch`: keeps the lists of a collection right, batch by batch, in place of a live painter.

    podium.json       whose the checkpoint is
    world.json        the lineage of its worlds, which is in their names
    takeovers/<n>     batch n sends all lists anew: under which epoch, with which zones

A batch goes on from the world of the one before, which is kept in this process and in the base
store.  Without one, or if somebody else has spoken to the zones since, all lists are sent anew.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from confluent_kafka import KafkaException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from indexes.paint.world import World, slices_of
from spark_streaming import metrics
from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.batch_painter import BatchPainter, Takeover
from spark_streaming.driver.checkpoints import Offsets
from spark_streaming.driver.collection_job import CollectionJob
from spark_streaming.driver.sliced_paint import SlicedPaint
from spark_streaming.driver.topic_admin import LetterMark, topic_id_of
from spark_streaming.driver.world_changes import NO_CHANGES, WorldChanges, changes_from
from spark_streaming.driver.zone_voice import PATIENCE_S, ZoneVoice
from spark_streaming.errors import JobError
from spark_streaming.tasks.read_changes import ReadPlan, read_changes
from storage.array_blob import BlobError
from storage.base_store import NotStored
from topics import worlds
from topics.catalogue import group_name
from topics.worlds import WorldName
from topics.zones.told import Position, Told, fingerprint

log = logging.getLogger(__name__)

PAINT_BATCH = "paint-batch"

_FROM_THE_START = -2
_LOOK_S = 1.0
_SAY_SOMETHING_S = 60.0  # so that `messages` always has a last record


class PaintJob(CollectionJob):
    """The painter of one collection; batches and the watch over zones take turns."""

    def __init__(self, io: CollectionIO, patience_s: float = PATIENCE_S) -> None:
        super().__init__(io)
        collection, name = io.collection, io.collection.name
        self._objects = self._name("objects")
        self.source = f"{self._objects} or {self.topic}"
        self._objects_id = topic_id_of(self._client, self._objects, collection)
        self._shards = collection.shards
        self._world_id = self._fingerprint(collection.painter)
        self._voice = ZoneVoice(
            self._client,
            *(self._name("messages"), self._name("progress")),
            *(collection.zones, patience_s),
        )
        self._marks = {
            topic: LetterMark(self._client, group_name(io.settings.prefix, name, group), topic)
            for topic, group in ((self._objects, "painter"), (self.topic, "subscriptions"))
        }
        self._checkpoint = io.checkpoint(PAINT_BATCH)
        self.after_loss = (
            f"remove the checkpoint {self._checkpoint.path} and start the job again: it sends all"
            " lists anew, from what is left; send again what is missing"
        )
        self.failure: Exception | None = None
        self._turn = threading.Lock()
        self._painter: BatchPainter | None = None
        self._is_known = False  # that nobody else speaks to the zones
        self._said_at = 0.0
        self._lineage = ""

    def _fingerprint(self, painter: str) -> int:
        of, ids = self._collection, [self._objects_id, self._topic_id]
        return fingerprint(ids, of.kind, of.k, of.epsilon, painter)

    def start(self, once: bool) -> StreamingQuery:
        """Start, or go on from the checkpoint; `once` ends with what is there now."""
        self._require_room_for_slices()
        self._checkpoint.claim(self._identity(PAINT_BATCH))
        if not self._checkpoint.has("world.json"):
            self._checkpoint.write_json("world.json", {"lineage": uuid4().hex[:12]})
        self._lineage = self._checkpoint.read_json("world.json")["lineage"]
        self._go_on()
        topics, most = [self._objects, self.topic], self._settings.spark.most_changes
        query = self._io.start(PAINT_BATCH, topics, self._on_batch, once, most)
        threading.Thread(target=self._watch, args=(query,), daemon=True).start()
        return query

    def _require_room_for_slices(self) -> None:
        slices, tasks = self._collection.slices, self._io.spark.sparkContext.defaultParallelism
        if slices > tasks:
            raise JobError(
                f"collection {self._collection.name}: got {slices} slices, which are painted at"
                f" the same time, expected no more than the {tasks} tasks that Spark can run",
                "give Spark more cores, or cut the objects into fewer slices",
            )

    def _identity(self, job: str) -> dict[str, Any]:
        return {**super()._identity(job), "objects": self._objects, "objects_id": self._objects_id}

    def _on_batch(self, records: DataFrame, batch_id: int) -> None:
        try:
            with self._turn:
                self._paint(records, batch_id)
        except KafkaException as error:
            self.failure = JobError(f"Kafka: {error.args[0].str()}", "start the job again")
            self._painter = None
            raise
        except Exception as error:
            self.failure = error  # Spark would only repeat its text, in the middle of its own
            self._painter = None  # it may be anywhere in the batch
            raise

    def _paint(self, records: DataFrame, batch_id: int) -> None:
        end = self._position(batch_id)
        marks = {topic: mark.read(range(self._partitions(topic)))
                 for topic, mark in self._marks.items()}  # fmt: skip
        painter = self._painter_before(batch_id)
        if painter is not None:
            self._name_slices(painter.world, end)
        name = f"takeovers/{batch_id}"
        document = self._checkpoint.read_json(name)
        how = None if document is None else Takeover(**document)
        goes_on = how is None and painter is not None and painter.epoch > 0
        if how is None and not (goes_on and self._is_known):
            told = self._voice.last_told()
            goes_on = painter is not None and self._is_ours(told, painter)
            if not goes_on and not self._are_beyond(told, end):
                how = self._takeover(told)
                self._checkpoint.write_json(name, how._asdict())
        if goes_on and painter is not None:
            changes = self._read(records, marks)
            spoken = painter.paint(changes, end, self._voice)
            metrics.PAINT_MESSAGES.labels(self._collection.name).inc(spoken.messages)
        else:
            changes, painter = self._taken_in(painter, records, marks, end)
            if how is not None:
                log.info("sending all lists anew, as of objects up to %d", end.objects - 1)
                metrics.RESETS.labels(self._collection.name).inc(self._collection.zones)
                painter.take_over(how, self._voice)
            else:
                log.info("another painter has been further already; following it in silence")
        self._voice.settle()
        self._said_at = time.monotonic()
        self._is_known = goes_on or how is not None
        self._painter = painter
        self._store_world(painter)
        self._count(changes, painter)
        ends = {self._objects: {0: end.objects}, self.topic: dict(enumerate(end.subscriptions))}
        for topic, mark in self._marks.items():
            mark.move(ends[topic])
        # The world before this batch is needed until Spark has noted that the batch is done.
        if batch_id > 1:
            self._drop_world(self._name_at(self._position(batch_id - 2)))

    # The world before a batch.

    def _go_on(self) -> None:
        """Speak for the zones at once, unless a batch was begun: that comes first."""
        done = self._checkpoint.newest("commits")
        if done < 0 or self._checkpoint.newest("offsets") > done:
            return
        painter = self._loaded(self._position(done))
        if painter is not None and self._is_ours(self._voice.last_told(), painter):
            self._painter, self._is_known, self._said_at = painter, True, time.monotonic()

    def _painter_before(self, batch_id: int) -> BatchPainter | None:
        """None if its world is not there, or may have what Kafka has told to forget since."""
        before = self._position(batch_id - 1)
        ranges = [self._checkpoint.batch_range(batch_id, topic) for topic in self._marks]
        if batch_id == 0 or any(map(self._too_late, ranges)):
            return None
        if self._painter is not None and self._painter.at == before:
            return self._painter
        return self._loaded(before)

    def _loaded(self, at: Position) -> BatchPainter | None:
        name = self._name_at(at)
        try:
            arrays = worlds.decode(name, self._layout(), self._store.get(str(name)))
            painter = BatchPainter.from_arrays(
                self._collection, self._world_id, arrays, at, self._restored_slices(name)
            )
        except (NotStored, BlobError) as reason:
            log.warning("building the world from the beginning of the topics: %s", reason)
            return None
        return painter

    def _store_world(self, painter: BatchPainter) -> None:
        name = self._name_at(painter.at)
        if isinstance(painter.world.paint, SlicedPaint):
            painter.world.paint.settle()
        parts = worlds.encode(name, self._layout(), painter.to_arrays())
        self._store.put(str(name), parts)
        metrics.WORLD_BYTES.labels(self._collection.name).set(sum(map(len, parts)))

    def _name_at(self, at: Position) -> WorldName:
        positions = tuple(at.subscriptions)
        return WorldName(self._objects, self._objects_id, self._lineage, at.objects, positions)

    def _layout(self) -> dict[str, Any]:
        of = self._collection
        return {"k": of.k, "paint": of.paint, "epsilon": of.epsilon, "slices": of.slices}

    # Objects in slices, if the collection wants several.

    def _new_slices(self) -> SlicedPaint | None:
        if self._collection.slices == 1:
            return None
        return SlicedPaint(self._io.spark, self._store_url.get_secret_value(), self._collection)

    def _restored_slices(
        self, name: WorldName
    ) -> Callable[[dict[str, np.ndarray]], SlicedPaint] | None:
        paint = self._new_slices()
        if paint is None:
            return None

        def restored(arrays: dict[str, np.ndarray]) -> SlicedPaint:
            paint.restore(arrays, name)
            if not paint.is_stored():
                raise NotStored(f"a slice of {name} is not there")
            return paint

        return restored

    def _name_slices(self, world: World, end: Position) -> None:
        """Whatever changes now is on the way to the world at the end of the batch."""
        if isinstance(world.paint, SlicedPaint):
            world.paint.goes_to(self._name_at(end))

    def _drop_world(self, name: WorldName) -> None:
        self._store.drop(str(name))
        if self._collection.slices > 1:
            for number in range(self._collection.slices):
                self._store.drop(name.slice(number))

    def _position(self, batch_id: int) -> Position:
        """Where a batch ends."""
        objects = self._checkpoint.ends(batch_id, self._objects).get(0, 0)
        shards = self._checkpoint.ends(batch_id, self.topic)
        return Position(objects, [shards.get(shard, 0) for shard in range(self._shards)])

    # Records.

    def _partitions(self, topic: str) -> int:
        return 1 if topic == self._objects else self._shards

    def _read(self, records: DataFrame, marks: dict[str, dict[int, int]]) -> WorldChanges:
        return changes_from([self._table(records, marks)])

    def _table(self, records: DataFrame, marks: dict[str, dict[int, int]]) -> pa.Table:
        plan = ReadPlan(
            objects=self._objects,
            subscriptions=self.topic,
            shards=self._shards,
            k=self._collection.k,
            client=self._client,
            letters_from=marks,
        )
        return read_changes(records, plan).toArrow()

    def _taken_in(
        self,
        painter: BatchPainter | None,
        records: DataFrame,
        marks: dict[str, dict[int, int]],
        end: Position,
    ) -> tuple[WorldChanges, BatchPainter]:
        """The world at the end of a batch, of which nobody was told."""
        if painter is not None:
            changes = self._read(records, marks)
            painter.take_in(changes, end)
            return changes, painter
        of = self._collection
        world = World(of.k, of.paint, of.epsilon, of.zone_bounds, self._new_slices())
        self._name_slices(world, end)
        painter = BatchPainter(of, self._world_id, world, Position(0, [0] * self._shards), 0)
        for topic, starts, ends in self._pieces(end):
            changes = changes_from([self._table(self._records(topic, starts, ends), marks)])
            painter.take_in(changes, end)
            self._count(changes, painter)
        return NO_CHANGES, painter

    def _pieces(self, end: Position) -> Iterator[tuple[str, Offsets, Offsets]]:
        """All records up to there, in pieces that this process has room for."""
        for topic, ends in self._ends_of(end).items():
            at = _starts(ends)
            if topic == self.topic:
                yield topic, at, ends
                continue
            is_sliced = self._collection.slices > 1
            most = self._settings.spark.most_changes if is_sliced else ends[0]
            for start in range(0, ends[0], most):
                yield topic, {0: start or _FROM_THE_START}, {0: min(start + most, ends[0])}

    def _ends_of(self, end: Position) -> dict[str, Offsets]:
        """Of the topics and partitions that have any records."""
        ends = {self._objects: [end.objects], self.topic: end.subscriptions}
        found = {topic: {p: at for p, at in enumerate(each) if at} for topic, each in ends.items()}
        return {topic: each for topic, each in found.items() if each}

    def _count(self, changes: WorldChanges, painter: BatchPainter) -> None:
        name = self._collection.name
        metrics.PAINTED.labels(name).inc(len(changes.ids))
        metrics.WORLD_OBJECTS.labels(name).set(painter.world.objects)
        metrics.WORLD_SUBSCRIPTIONS.labels(name).set(len(painter.world))
        for shard, count in changes.refused.items():
            labels = (name, PAINT_BATCH, "objects" if shard < 0 else "subscriptions")
            metrics.REFUSED.labels(*labels).inc(count)
            metrics.DEAD_LETTERS.labels(*labels).inc(changes.letters[shard])

    # Who speaks to the zones.

    def _is_ours(self, told: list[Told], painter: BatchPainter) -> bool:
        """Whether this painter, or an earlier start of it, has spoken last to every zone."""
        bounds = painter.world.bounds
        if painter.epoch == 0 or len(bounds) != len(told) - 1:
            return False
        if self._collection.zone_bounds and list(self._collection.zone_bounds) != bounds:
            return False
        records = [one.last for one in told]
        return all(
            record is not None
            and (record.epoch, record.world) == (painter.epoch, self._world_id)
            and (record.low, record.high) == zone
            for record, zone in zip(records, slices_of(bounds), strict=True)
        )

    def _are_beyond(self, told: list[Told], end: Position) -> bool:
        """Whether a zone has heard of what comes after this position in the same topics."""
        known = {self._fingerprint(painter) for painter in ("live", "batch")}
        records = [one.last for one in told if one.last is not None]
        positions = [
            [record.objects, *record.positions.tolist()]
            for record in records
            if record.world in known
        ]
        here = [end.objects, *end.subscriptions]
        return any(a > b for there in positions for a, b in zip(there, here, strict=True))

    def _takeover(self, told: list[Told]) -> Takeover:
        records = [one.last for one in told if one.last is not None]
        last_epoch = max((record.epoch for record in records), default=0)
        epoch = max(round(time.time() * 1000), last_epoch + 1)
        bounds = list(self._collection.zone_bounds) or None
        same_zones = len(records) == len(told) and all(r.zones == len(told) for r in records)
        if bounds is None and same_zones:
            bounds = [record.low for record in records[1:]]
        return Takeover(epoch, bounds, all(one.is_new for one in told))

    def _watch(self, query: StreamingQuery) -> None:
        """Between batches: answer zones that have lost their lists, and say something at times."""
        while query.isActive:
            with self._turn:
                if self._painter is not None and self._is_known:
                    self._look_after_zones(self._painter)
            time.sleep(_LOOK_S)
        with self._turn:
            self._voice.close()

    def _look_after_zones(self, painter: BatchPainter) -> None:
        try:
            self._voice.progress.follow()
            painter.answer_zones(self._voice)
            if time.monotonic() - self._said_at >= _SAY_SOMETHING_S:
                self._said_at = time.monotonic()
                painter.say_where(self._voice)
            self._voice.settle()
        except Exception:  # the next batch meets it, too, and says so
            log.exception("zones are not looked after")


def _starts(ends: Offsets) -> Offsets:
    return dict.fromkeys(ends, _FROM_THE_START)
