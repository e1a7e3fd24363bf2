"""What a matcher does beside answering: snapshots, new bases, changes of subscriptions."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from confluent_kafka import Message

from benchmarks.state.lab import Subscriptions
from benchmarks.state.loop import Disturbance, Loop
from indexes.kinds import KINDS
from spark_streaming.tasks.shard_state import ShardState
from storage.base_store import BaseStore
from topics.bases import VERSION, Base, BaseName, StoredBlob, TreeBlob, encode_tree
from workers.process.context import Context
from workers.shard.changes import Changes, read_live
from workers.shard.rebuild import MOST_TIME, BaseFollower
from workers.shard.shard import Shard
from workers.snapshots.keeper import SnapshotKeeper

__all__ = ["Changing", "NewBase", "Rebase", "Renewing", "Snapshots", "Updates", "received"]

CHANGES_S = 20_000
# A producer that gathers for 20 ms, as `podium send` does, sends so many records together.
BATCHES_S = 50
_MOST_BEHIND = 2  # as in a matcher: batches that a new index may still miss when it takes over


Record = tuple[int, bytes, bytes]  # offset, key, value


def received(records: Iterable[Record]) -> list[Message]:
    """As a consumer hands them over; made late, as millions of them would slow Python's GC down."""
    return [
        Message(topic="t", partition=0, offset=offset, key=key, value=value)
        for offset, key, value in records
    ]


class Updates(NamedTuple):
    """Subscriptions that become like others: each is a delete and an insert."""

    first_offset: int
    rows: np.ndarray  # i8[m]  of the subscriptions that change
    like: np.ndarray  # i8[m]  the rows that they become like

    @classmethod
    def draw(cls, data: Subscriptions, first_offset: int, count: int, seed: int) -> "Updates":
        rng = np.random.default_rng(seed)
        rows = rng.choice(len(data.keys), count, replace=False)
        return cls(first_offset, rows, rng.integers(0, len(data.keys), count))

    def records(self, data: Subscriptions) -> list[Record]:
        lows, highs, scores = data.columns
        made = []
        for at, (row, like) in enumerate(zip(self.rows.tolist(), self.like.tolist(), strict=True)):
            ends = zip(lows[like].tolist(), highs[like].tolist(), strict=True)
            where = {f"a{number}": pair for number, pair in enumerate(ends)}
            value = msgspec.json.encode({"where": where, "score": float(scores[like])})
            made.append((self.first_offset + at, data.keys[row], value))
        return made

    def state(self, data: Subscriptions, count: int) -> ShardState:
        """As the Spark job has it after the first `count` of them."""
        ids = np.arange(len(data.keys))
        rows = ids.copy()
        ids[self.rows[:count]] = self.first_offset + np.arange(count)
        rows[self.rows[:count]] = self.like[:count]
        order = np.argsort(ids)
        columns = tuple(column[rows][order] for column in data.columns)
        keys = pa.array([data.keys[i] for i in order.tolist()], pa.large_binary())
        return ShardState(ids[order], keys, columns)


class Snapshots(Disturbance):
    """One after the other, without the minutes between them."""

    name = "snapshots are gathered and written"

    def __init__(self, context: Context, shard: Shard) -> None:
        self._keeper = SnapshotKeeper(context, shard)

    def once(self, loop: Loop) -> float:
        snapshot = self._keeper.gather()
        if self._keeper.write(snapshot) is None:
            raise RuntimeError("a snapshot was not written; the log says why")
        return 0.0

    def close(self) -> None:
        self._keeper.close()


class Renewed(Disturbance):
    """The shard's index is renewed, and then put back as it was, so that it can be once more."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._worn = shard.begin_rebuild().index
        shard.end_rebuild(shard.base_offset)

    def once(self, loop: Loop) -> float:
        rebuild = self.rebuild()
        renew(loop, self._shard, rebuild)
        renew(loop, self._shard, lambda _: None, self._worn.fork())
        return 0.0

    def rebuild(self) -> Callable[[Any], None]:
        raise NotImplementedError


class Rebase(Renewed):
    name = "the index rebases itself"

    def rebuild(self) -> Callable[[Any], None]:
        return lambda index: index.rebase()


class NewBase(Renewed):
    """A base of almost all that has changed is fetched from Redis, verified and taken."""

    name = "a new base is fetched and taken"

    def __init__(self, context: Context, shard: Shard, data: Subscriptions, since: Updates) -> None:
        super().__init__(shard)
        self._follower = BaseFollower(context, shard.number)
        count = len(since.rows) * 9 // 10
        self._base = stored_base(context, since.state(data, count), since.first_offset + count)

    def rebuild(self) -> Callable[[Any], None]:
        loaded = self._follower.load(self._base)
        if loaded is None:
            raise RuntimeError("a base was not loaded; the log says why")
        return lambda index: index.replace_base(loaded, self._base.next_offset)


def stored_base(context: Context, state: ShardState, next_offset: int) -> Base:
    """What the Spark job would store and announce."""
    kind, attributes = context.collection.kind, context.collection.attributes
    store = BaseStore.open(context.settings.redis.url.get_secret_value())
    name = BaseName(context.names.topic("subscriptions"), "", 0, next_offset)
    trees = []
    build = KINDS[kind].trees_for_a_base
    assert build is not None
    for i, tree in enumerate(build(attributes, state.ids, state.columns)):
        parts = encode_tree(name, attributes[i], tree._asdict())
        store.put(name.tree(i), parts)
        blob = StoredBlob.of(name.tree(i), parts)
        trees.append(TreeBlob(blob.name, blob.size, blob.crc32, attribute=attributes[i]))
    return Base(
        version=VERSION,
        kind=kind,
        topic=name.topic,
        topic_id=name.topic_id,
        shard=0,
        next_offset=next_offset,
        subscriptions=len(state.ids),
        store="",
        trees=trees,
        state=blob,
    )


def renew(
    loop: Loop, shard: Shard, rebuild: Callable[[Any], None], index: Any | None = None
) -> None:
    """As a matcher does it, from another thread than the loop's; with an index that there is."""
    with loop.changing:
        renewal = shard.begin_rebuild()
    if index is not None:
        renewal.index = index
    rebuild(renewal.index)
    while renewal.behind > _MOST_BEHIND:
        renewal.catch_up()
    with loop.changing:
        renewal.catch_up()
        retired = loop.call(lambda: shard.end_rebuild(shard.next_offset))
    del retired  # here, not on the loop


class Renewing(Disturbance):
    """The index is made anew, whatever has changed, as often as a matcher may do it by itself.

    With one attribute it gets a new base; with several only what it scans is put in order.  Every
    turn begins with it.
    """

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._rebases = len(shard.contract.attributes) == 1
        does = "rebases" if self._rebases else "orders"
        self.name = f"the index {does} itself now and then"

    def once(self, loop: Loop) -> float:
        began = time.monotonic()
        renew(loop, self._shard, self._rebuild)
        return (time.monotonic() - began) / MOST_TIME

    def _rebuild(self, index: Any) -> None:
        index.rebase() if self._rebases else index.refresh()


class Changing(Disturbance):
    """So many changes a second, read in a thread and applied on the loop."""

    name = f"{CHANGES_S:,} changes/s are applied"
    keeps_answers = False
    gives_way = False

    def __init__(self, shard: Shard, data: Subscriptions, seconds: float) -> None:
        self._shard, self._data, self._seconds = shard, data, seconds
        self._turn, self._due = 0, 0.0
        self._records: Iterator[Record] = iter(())
        self.applied: list[Changes] = []

    def prepare(self) -> None:
        """The index as quick as can be, and the records of a turn."""
        self._turn += 1
        self._shard.begin_rebuild().index.rebase()
        self._shard.end_rebuild(self._shard.next_offset)
        count = min(len(self._data.keys), int(self._seconds * CHANGES_S))
        drawn = Updates.draw(self._data, self._shard.next_offset, count, self._turn)
        self._records, self._due = iter(drawn.records(self._data)), 0.0

    def once(self, loop: Loop) -> float:
        self._due = (self._due or time.perf_counter()) + 1 / BATCHES_S
        messages = received(islice(self._records, CHANGES_S // BATCHES_S))
        for changes in read_live(messages, self._shard.contract, 1):
            with loop.changing:
                loop.call(partial(self._shard.apply, changes))
            self.applied.append(changes)
        return max(0.0, self._due - time.perf_counter())
