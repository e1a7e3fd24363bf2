"""Records of `objects` and `subscriptions`, checked and parsed: what a painter takes in.

Runs in Spark's tasks.  Of a bad record a dead letter is written, unless somebody has met it before.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from spark_streaming.kafka_options import DELIVERY
from spark_streaming.tasks.worker_process import keep_quick
from topics.codecs.json_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.kafka.producer import Outbox
from topics.objects import parse_objects
from topics.subscriptions import RangeContract
from topics.zones.lives import life_changes

OBJECT, BEGIN, END, REFUSED = range(4)  # what a row is
CHANGES = "what int, shard int, number long, key binary, low double, high double, k int"
_SCHEMA = pa.schema(
    [
        ("what", pa.int32()),
        ("shard", pa.int32()),
        ("number", pa.int64()),
        ("key", pa.binary()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("k", pa.int32()),
    ]
)


class ReadPlan(NamedTuple):
    """What the tasks of one batch have to know.  Holds secrets: never log it."""

    objects: str  # topics
    subscriptions: str
    shards: int
    k: int
    client: dict[str, Any]  # confluent-kafka's options, for dead letters
    # By topic and partition: bad records below are in the dead-letter topic already.
    letters_from: Mapping[str, Mapping[int, int]]


def read_changes(records: DataFrame, plan: ReadPlan) -> DataFrame:
    """One row a change; of an id that changes again, perhaps only the latest one.

    Columns in: those of Spark's Kafka source with headers.  Columns out, by `what`:

        OBJECT    number: offset; key; low: x; high: y, nan if it is gone
        BEGIN     number: life; key; low, high, k
        END       number: that of the life which ends the one before; key
        REFUSED   number: offset; shard: -1 for objects; k: 1 if its dead letter was written now
    """
    chosen = records.select("topic", "partition", "offset", "key", "value", "headers")
    return chosen.mapInArrow(lambda batches: _changes(batches, plan), CHANGES)


def _changes(batches: Iterable[pa.RecordBatch], plan: ReadPlan) -> Iterator[pa.RecordBatch]:
    letters = _Letters(plan)
    for batch in batches:
        for topic in batch.column("topic").unique().to_pylist():
            of_topic = batch.filter(pc.equal(batch.column("topic"), topic))
            if topic == plan.objects:
                yield _objects(of_topic, letters)
                continue
            for shard in of_topic.column("partition").unique().to_pylist():
                part = of_topic.filter(pc.equal(of_topic.column("partition"), shard))
                yield from _lives(part, shard, plan, letters)
    letters.settle()
    keep_quick()


def _objects(batch: pa.RecordBatch, letters: "_Letters") -> pa.RecordBatch:
    keys, values = batch.column("key").to_pylist(), batch.column("value").to_pylist()
    offsets = batch.column("offset").to_numpy()
    parsed = parse_objects(keys, values)
    good = _rows(OBJECT, 0, offsets[parsed.places], parsed.ids, parsed.x, parsed.y, None)
    return _joined([good, letters.write(batch, -1, parsed.bad)])


def _lives(
    batch: pa.RecordBatch, shard: int, plan: ReadPlan, letters: "_Letters"
) -> Iterator[pa.RecordBatch]:
    keys, values = batch.column("key").to_pylist(), batch.column("value").to_pylist()
    contract, offsets = RangeContract(k=plan.k), batch.column("offset").to_pylist()
    lives = life_changes(contract, shard, plan.shards, keys, values, offsets)
    columns = lives.lives, lives.keys, lives.lows, lives.highs, lives.ks
    ended = [by for _, by in lives.gone], [key for key, _ in lives.gone]
    yield _joined(
        [
            _rows(BEGIN, shard, *columns),
            _rows(END, shard, *ended, None, None, None),
            letters.write(batch, shard, lives.bad),
        ]
    )


class _Letters:
    def __init__(self, plan: ReadPlan) -> None:
        self._plan = plan
        self._outbox: Outbox | None = None

    def write(
        self, batch: pa.RecordBatch, shard: int, bad: Mapping[int, BadRecord]
    ) -> pa.RecordBatch:
        """Dead letters of those that nobody has written; a row for each that is bad."""
        numbers, written = [], []
        for row in sorted(bad):
            record = batch.slice(row, 1).to_pylist()[0]
            place = record["topic"], record["partition"], record["offset"]
            is_new = record["offset"] >= self._plan.letters_from[place[0]].get(place[1], 0)
            if is_new:
                headers = [(header["key"], header["value"]) for header in record["headers"] or ()]
                letter = DeadLetter.of(*place, record["key"], record["value"], headers, bad[row])
                self._open().send_dead_letter(letter)
            numbers.append(record["offset"])
            written.append(int(is_new))
        return _rows(REFUSED, shard, numbers, [None] * len(bad), None, None, written)

    def _open(self) -> Outbox:
        if self._outbox is None:
            # The job counts them; a line each in the executors' logs would say no more.
            logging.getLogger(Outbox.__module__).setLevel(logging.ERROR)
            self._outbox = Outbox(self._plan.client, **DELIVERY)
        return self._outbox

    def settle(self) -> None:
        if self._outbox is not None:
            self._outbox.settle()


def _rows(
    what: int, shard: int, numbers: Any, keys: Any, lows: Any, highs: Any, ks: Any
) -> pa.RecordBatch:
    count = len(numbers)
    none = np.zeros(count)
    columns = [
        np.full(count, what, np.int32),
        np.full(count, shard, np.int32),
        np.asarray(numbers, np.int64),
        pa.array(keys, pa.binary()),
        none if lows is None else lows,
        none if highs is None else highs,
        none.astype(np.int32) if ks is None else np.asarray(ks, np.int32),
    ]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_SCHEMA)


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch: a task's output goes to the driver batch by batch."""
    whole = pa.Table.from_batches(parts).combine_chunks().to_batches()
    return whole[0] if whole else parts[0]
