"""From events to their matches against fixed subscriptions, as the fleet would answer them.

Runs in Spark's tasks.  A task holds its events in columns and takes one shard's index after the
other, so that it needs the memory of few shards however many there are; what the shards answer is
merged as the fleet's merger does.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from indexes.hits import merge_shards
from indexes.kinds import new_index
from spark_streaming.tasks.shard_state import ShardState
from spark_streaming.tasks.worker_process import keep_quick
from storage.base_store import BaseStore
from topics.bases import BaseName, decode_state
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.json_record import BadRecord, refuse_oversized
from topics.events.contract import EventContract
from topics.headers import AS_OF, format_token
from topics.kinds import Dialect, contract_for, event_contract
from topics.matches import Hits, encode_many

MATCHES = "partition int, offset long, key binary, value binary, as_of string"
_DOCUMENT = "event string, matches array<struct<id: string, score: double>>"
# Held at once by a task: their answers, with a large k, take more room than they do.
_EVENTS_AT_ONCE = 100_000
# Kept from one batch of events to the next: a small collection is loaded once.
_SHARDS_AT_ONCE = 2


class MatchPlan(NamedTuple):
    """What the tasks have to know.  Holds the store's password: never log it."""

    kind: str
    attributes: tuple[str, ...]
    dialect: Dialect
    k: int
    max_k: int
    emit_empty: bool
    topic: str  # of the events
    store: str
    layout: dict[str, Any]  # of the states
    states: tuple[BaseName, ...]  # one a shard; offset 0: there is nothing in it

    @property
    def as_of(self) -> str:
        """The last subscription offset that counts, by shard."""
        return format_token({state.shard: state.next_offset - 1 for state in self.states})


def matched(events: DataFrame, plan: MatchPlan) -> DataFrame:
    """One row a match record of the fleet.

    Columns in: those of Spark's Kafka source with headers.  Columns out: partition and offset of
    the event, key, value and `podium-as-of` of its match record.  A bad event has no row; nor has
    one without matches, unless the collection asks for it.
    """
    chosen = events.select("partition", "offset", "key", "value", "headers")
    return chosen.mapInArrow(lambda batches: _match_records(batches, plan), MATCHES)


def for_topic(matches: DataFrame) -> DataFrame:
    """The match records as the fleet sends them.

    Columns in: those of `matched`.  Columns out: key, value, headers with `podium-as-of`.
    """
    as_of = F.struct(F.lit(AS_OF).alias("key"), F.col("as_of").cast("binary").alias("value"))
    return matches.select("key", "value", F.array(as_of).alias("headers"))


def for_parquet(matches: DataFrame) -> DataFrame:
    """What is in the match records, as columns.

    Columns in: those of `matched`.  Columns out: key, as_of, event, matches.
    """
    document = F.from_json(F.col("value").cast("string"), _DOCUMENT)
    return matches.withColumn("document", document).select("key", "as_of", "document.*")


class _Events(NamedTuple):
    """Events of one partition that keep their contract."""

    offsets: list[int]
    keys: list[bytes | None]
    rows: list[Any]  # as the contract of their kind has them
    ks: list[int]


def _match_records(batches: Iterable[pa.RecordBatch], plan: MatchPlan) -> Iterator[pa.RecordBatch]:
    of, shards = (plan.kind, plan.attributes), len(plan.states)
    contract = event_contract(*of, plan.k, plan.max_k, shards, plan.dialect)
    held: dict[int, _Events] = {}
    for batch in batches:
        for event in batch.to_pylist():
            _take(event, contract, held)
        if sum(len(events.offsets) for events in held.values()) >= _EVENTS_AT_ONCE:
            yield from _answers(held, contract, plan)
            held = {}
    yield from _answers(held, contract, plan)
    keep_quick()


def _take(event: dict[str, Any], contract: EventContract, held: dict[int, _Events]) -> None:
    headers = [(header["key"], header["value"]) for header in event["headers"] or ()]
    try:
        refuse_oversized(event["key"], event["value"])
        row, options = contract.form.row(event["value"]), contract.options(headers)
    except BadRecord:
        return  # the router has reported it, or will
    events = held.setdefault(event["partition"], _Events([], [], [], []))
    events.offsets.append(event["offset"])
    events.keys.append(event["key"])
    events.rows.append(row)
    events.ks.append(options.k)


def _answers(
    held: dict[int, _Events], contract: EventContract, plan: MatchPlan
) -> Iterator[pa.RecordBatch]:
    if not held:
        return
    values = contract.form.columns([row for events in held.values() for row in events.rows])
    ks = np.concatenate([np.array(events.ks, np.int64) for events in held.values()])
    hits = _merged([_shard_hits(state, values, ks, plan) for state in plan.states], ks)
    first = 0
    for partition, events in held.items():
        last = first + len(events.offsets)
        yield _records(partition, events, _only(hits, first, last), plan)
        first = last


class _ShardHits(NamedTuple):
    shard: int
    counts: np.ndarray  # i8[m]  by event
    ids: np.ndarray  # i8[h]  event after event, each event's best first
    scores: np.ndarray  # f8[h]
    texts: ByteStrings  # the subscriptions' ids as JSON strings


def _shard_hits(name: BaseName, values: Any, ks: np.ndarray, plan: MatchPlan) -> _ShardHits:
    said = msgspec.json.encode(plan.layout), msgspec.json.encode(plan.dialect)
    index, ids, keys = _loaded(name, plan.store, plan.kind, *said)
    table = index.top_k_many(values, int(ks.max(initial=0)))
    counts = np.minimum(table.counts, ks)
    valid = np.arange(table.ids.shape[1]) < counts[:, None]
    found = table.ids[valid]
    rows = pa.array(np.searchsorted(ids, found))
    texts = [msgspec.json.encode(key.decode()) for key in keys.take(rows).to_pylist()]
    return _ShardHits(
        name.shard,
        counts,
        found,
        table.scores[valid],
        ByteStrings.pack(texts),
    )


@lru_cache(maxsize=_SHARDS_AT_ONCE)
def _loaded(
    name: BaseName, store: str, kind: str, layout: bytes, said: bytes
) -> tuple[Any, np.ndarray, Any]:
    """The index of one shard, its ids ascending and their keys."""
    asked: dict[str, Any] = msgspec.json.decode(layout)
    dialect: dict[str, Any] = msgspec.json.decode(said)
    of = kind, asked["attributes"], dialect
    index: Any = new_index(*of)  # columns differ from kind to kind
    if name.next_offset == 0:
        return index, np.empty(0, np.int64), pa.array([], pa.large_binary())
    arrays = decode_state(name, asked, BaseStore.open(store).get(name.state))
    state = ShardState.from_arrays(arrays, contract_for(*of))
    if len(state.ids):
        index.insert_many(state.ids, *state.columns)
    return index, state.ids, state.keys


def _merged(parts: list[_ShardHits], ks: np.ndarray) -> Hits:
    """The best of all shards; of equal hits that of the lower shard."""
    parts = sorted(parts, key=lambda part: part.shard)
    ids = np.concatenate([part.ids for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    lengths = np.concatenate([part.texts.lengths for part in parts])
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    texts = np.concatenate([part.texts.data for part in parts])
    counts, best = merge_shards(np.stack([part.counts for part in parts]), ks, scores, ids)
    return Hits(counts, scores[best], starts[best], lengths[best], texts)


def _only(hits: Hits, first: int, last: int) -> Hits:
    """The hits of some of the events; the texts stay, for they are found by where they start."""
    start, stop = int(hits.counts[:first].sum()), int(hits.counts[:last].sum())
    return Hits(
        hits.counts[first:last],
        hits.scores[start:stop],
        hits.text_starts[start:stop],
        hits.text_lengths[start:stop],
        hits.texts,
    )


def _records(partition: int, events: _Events, hits: Hits, plan: MatchPlan) -> pa.RecordBatch:
    values = encode_many(plan.topic, partition, np.array(events.offsets, np.int64), hits)
    wanted = [i for i, count in enumerate(hits.counts.tolist()) if count or plan.emit_empty]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([partition] * len(wanted), pa.int32()),
            pa.array([events.offsets[i] for i in wanted], pa.int64()),
            pa.array([events.keys[i] for i in wanted], pa.binary()),
            pa.array([values[i] for i in wanted], pa.binary()),
            pa.array([plan.as_of] * len(wanted), pa.string()),
        ],
        ["partition", "offset", "key", "value", "as_of"],
    )
