"""From records of `subscriptions` to bases: previous base + changes → new SOPT-R-trees.

Runs in Spark's tasks, one shard a task.  A base is a function of the records below its offset, so
a task that is done again writes the same bytes under the same names.
"""

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from indexes.intervals import SOPTArrays
from indexes.kinds import KINDS
from spark_streaming.kafka_options import DELIVERY
from spark_streaming.tasks.shard_state import Refused, ShardFold, ShardState
from spark_streaming.tasks.worker_process import keep_quick
from storage.array_blob import BlobError
from storage.base_store import BaseStore, NotStored
from topics.bases import (
    VERSION,
    Base,
    BaseName,
    StoredBlob,
    TreeBlob,
    decode_state,
    encode_record,
    encode_state,
    encode_tree,
)
from topics.dead_letters import DeadLetter
from topics.kafka.producer import Outbox
from topics.kinds import NO_DIALECT, Dialect, contract_for, reading_of
from topics.subscriptions import SubscriptionContract

OUTCOMES = "shard int, base binary, lost string, records long, refused long, letters long"


class BuildPlan(NamedTuple):
    """What the tasks of one batch have to know.  Holds secrets: never log it."""

    kind: str
    attributes: tuple[str, ...]
    shards: int
    topic: str
    topic_id: str
    store: str
    shown_store: str  # without its password
    client: dict[str, Any]  # confluent-kafka's options, for dead letters
    starts: dict[int, int]  # by shard: the base up to here is the one to go on from
    ends: dict[int, int]
    # By shard: bad records below this offset are in the dead-letter topic already.
    letters_from: dict[int, int]
    with_trees: bool = True  # False: only the state is wanted
    dialect: Dialect = NO_DIALECT

    def base(self, shard: int, next_offset: int) -> BaseName:
        return BaseName(self.topic, self.topic_id, shard, next_offset)

    @property
    def contract(self) -> SubscriptionContract:
        return contract_for(self.kind, self.attributes, self.dialect)

    @property
    def layout(self) -> dict[str, Any]:
        """What two states must agree in for one to be made from the other."""
        said = {"kind": self.kind, "attributes": list(self.attributes), "shards": self.shards}
        reading = reading_of(self.kind, self.dialect)
        return {**said, "reading": list(reading)} if reading else said

    def from_the_beginning(self, shards: Iterable[int]) -> "BuildPlan":
        """The same ends without a base to go on from; letters of earlier batches are written."""
        some = list(shards)
        written = {shard: max(self.letters_from[shard], self.starts[shard]) for shard in some}
        return self._replace(
            starts=dict.fromkeys(some, 0),
            ends={shard: self.ends[shard] for shard in some},
            letters_from=written,
        )


def rebased(records: DataFrame, plan: BuildPlan) -> DataFrame:
    """Store a new base for every shard that has records, and say what was done.

    Columns in: those of Spark's Kafka source with headers, all records of a shard in one Spark
    partition, in order.  A row whose offset is null names a shard without new records.
    Columns out: shard; base, the record to announce, or null with the reason in lost if the base
    to go on from is not there; records read, refused among them, letters written.
    """
    chosen = records.select("partition", "offset", "key", "value", "headers")
    return chosen.mapInArrow(lambda batches: _outcomes(batches, plan), OUTCOMES)


def _outcomes(batches: Iterable[pa.RecordBatch], plan: BuildPlan) -> Iterator[pa.RecordBatch]:
    store = BaseStore.open(plan.store)
    # With one shard in the batch, its base is read while Spark reads the records.
    known = plan.ends if len(plan.ends) == 1 else ()
    shards = {shard: _ShardTask(shard, plan, store) for shard in known}
    for batch in batches:
        for shard in batch.column("partition").unique().to_pylist():
            if shard not in shards:
                shards[shard] = _ShardTask(shard, plan, store)
            shards[shard].add(batch.filter(pc.equal(batch.column("partition"), shard)))
    outcomes = [task.finish() for task in shards.values()]
    keep_quick()
    yield pa.RecordBatch.from_pylist(outcomes, _SCHEMA)


_SCHEMA = pa.schema(
    [
        ("shard", pa.int32()),
        ("base", pa.binary()),
        ("lost", pa.string()),
        ("records", pa.int64()),
        ("refused", pa.int64()),
        ("letters", pa.int64()),
    ]
)


class _ShardTask:
    def __init__(self, shard: int, plan: BuildPlan, store: BaseStore) -> None:
        self._shard, self._plan, self._store = shard, plan, store
        self._contract = plan.contract
        self._fold = ShardFold(self._contract, shard, plan.shards)
        self._refused = self._letters = 0
        self._lost: str | None = None
        try:
            self._previous = self._load()
        except (NotStored, BlobError) as reason:
            self._lost = str(reason)

    def _load(self) -> ShardState:
        start = self._plan.starts[self._shard]
        if start == 0:
            return ShardState.empty(self._contract)
        name = self._plan.base(self._shard, start)
        arrays = decode_state(name, self._plan.layout, self._store.get(name.state))
        return ShardState.from_arrays(arrays, self._contract)

    def add(self, batch: pa.RecordBatch) -> None:
        if self._lost is not None:  # another pass will read these records, and more
            return
        batch = batch.filter(batch.column("offset").is_valid())
        offsets = batch.column("offset").to_numpy()
        refused = self._fold.add(batch.column("key"), batch.column("value"), offsets)
        self._refused += len(refused)
        written = self._plan.letters_from[self._shard]
        new = [one for one in refused if offsets[one.row] >= written]
        if new:
            self._send([self._letter(batch, one) for one in new])

    def _send(self, letters: list[DeadLetter]) -> None:
        # The job counts them; a line each in the executors' logs would say no more.
        logging.getLogger(Outbox.__module__).setLevel(logging.ERROR)
        outbox = Outbox(self._plan.client, **DELIVERY)
        for letter in letters:
            outbox.send_dead_letter(letter)
        outbox.settle()
        self._letters += len(letters)

    def _letter(self, batch: pa.RecordBatch, refused: Refused) -> DeadLetter:
        record = batch.slice(refused.row, 1).to_pylist()[0]
        headers = [(header["key"], header["value"]) for header in record["headers"] or ()]
        place = self._plan.topic, self._shard, record["offset"]
        return DeadLetter.of(*place, record["key"], record["value"], headers, refused.bad)

    def finish(self) -> dict[str, Any]:
        counts = {"records": self._fold.records, "refused": self._refused, "letters": self._letters}
        base = None if self._lost is not None else encode_record(self._stored())
        return {"shard": self._shard, "base": base, "lost": self._lost, **counts}

    def _stored(self) -> Base:
        plan, state = self._plan, self._fold.onto(self._previous)
        name = plan.base(self._shard, plan.ends[self._shard])
        # Built by the code that the workers build theirs with.
        trees = KINDS[plan.kind].trees_for_a_base if plan.with_trees else None
        built = trees(plan.attributes, state.ids, state.columns) if trees else ()
        # Most of a build leaves the interpreter free: what is there is stored meanwhile.
        with ThreadPoolExecutor(max_workers=1) as storing:
            stored_state = storing.submit(self._store_state, name, state)
            stored = [storing.submit(self._store_tree, name, *one) for one in enumerate(built)]
        return Base(
            version=VERSION,
            kind=plan.kind,
            topic=plan.topic,
            topic_id=plan.topic_id,
            shard=self._shard,
            next_offset=name.next_offset,
            subscriptions=len(state.ids),
            store=plan.shown_store,
            trees=[tree.result() for tree in stored],
            state=stored_state.result(),
        )

    def _store_state(self, name: BaseName, state: ShardState) -> StoredBlob:
        plan = self._plan
        parts = encode_state(name, plan.layout, state.to_arrays(self._contract))
        self._store.put(name.state, parts)
        return StoredBlob.of(name.state, parts)

    def _store_tree(self, name: BaseName, i: int, tree: SOPTArrays) -> TreeBlob:
        attribute = self._plan.attributes[i]
        parts = encode_tree(name, attribute, tree._asdict())
        self._store.put(name.tree(i), parts)
        blob = StoredBlob.of(name.tree(i), parts)
        return TreeBlob(blob.name, blob.size, blob.crc32, attribute=attribute)
