"""What the experiments with a shard's state share: sizes, subscriptions, shards, a stack."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple

import numpy as np
import redis

from benchmarks.script import Step
from benchmarks.workloads.zipf_intervals import Zipf, generate
from configs.collection import Collection
from configs.section import Section
from configs.settings import Settings, load_settings
from podium.stack import Stack
from storage.redis_client import open_redis
from topics import frames
from topics.codecs.byte_strings import ByteStrings
from topics.frames import Frame, FrameId
from topics.subscriptions.ranked import RankedColumns
from workers.process.context import Context, Names
from workers.process.health import Health
from workers.shard.changes import Changes
from workers.shard.shard import Shard

EVENTS_A_FRAME = 100
_ID = b"ad-%07d"
_REDIS_TIMEOUT_S = 60.0  # to flush millions of subscriptions


@dataclass(frozen=True)
class Sizes:
    snapshots: tuple[int, ...] = (100_000, 300_000, 1_000_000, 3_000_000, 5_000_000)
    attributes: tuple[int, ...] = (1, 3)
    target: int = 1_000_000  # what targets are for
    all_starts: bool = True  # False: only those that the others cannot stand for
    turns: int = 5
    seconds_a_turn: float = 4.0
    patience_s: float = 10.0  # to wait for a quiet machine before a turn
    queries: int = 5_000
    merged_shards: tuple[int, ...] = (1, 2, 8, 32, 128)


QUICK = Sizes(
    snapshots=(10_000, 30_000),
    target=30_000,
    turns=2,
    seconds_a_turn=0.5,
    patience_s=0.0,
    queries=1_000,
    merged_shards=(1, 4),
)


class Subscriptions(NamedTuple):
    """Of one shard; an id is the offset of its record, counted from 0."""

    keys: list[bytes]
    columns: RankedColumns
    queries: np.ndarray  # f8[m, d]

    def as_changes(self) -> Changes:
        count = len(self.keys)
        return Changes(self.keys, np.arange(count), self.columns, [], [], count)


class Lab:
    def __init__(self, sizes: Sizes, step: Step, stack: Stack) -> None:
        self.sizes, self.step, self.stack = sizes, step, stack
        with open_redis(stack.redis_url, _REDIS_TIMEOUT_S) as client:
            # It would write all of it to disk every minute, while something is being measured.
            client.config_set("save", "")

    def settings(self, **changes: Section) -> Settings:
        """The stack's own, but for some groups."""
        return load_settings(self.stack.settings_path).model_copy(update=changes)

    def subscriptions(self, count: int, attributes: int) -> Subscriptions:
        """Those of Machanavajjhala et al., §4; ids in no order."""
        zipf = Zipf(subscriptions=count, dimensions=attributes, queries=self.sizes.queries)
        data = generate(zipf)
        numbers = np.random.default_rng(5).permutation(count).tolist()
        scores = np.add.accumulate(data.scores, axis=1)[:, -1].copy()
        columns = RankedColumns(data.lows, data.highs, scores)
        return Subscriptions([_ID % number for number in numbers], columns, data.queries)

    def flush_redis(self) -> None:
        with open_redis(self.stack.redis_url, _REDIS_TIMEOUT_S) as client:
            client.flushall()

    def context(self, collection: Collection, **settings: Section) -> Context:
        """What a matcher's parts ask for; nothing is connected by it."""
        ours = self.settings(**settings)
        names = Names.of(ours, collection)
        return Context("matcher", ours, collection, names, Health([]), Event(), deque(maxlen=1))

    def redis(self) -> redis.Redis:
        server = self.settings().redis
        return open_redis(server.url.get_secret_value(), server.timeout_s)


def collection_of(attributes: int, name: str = "state") -> Collection:
    return Collection(
        name=f"{name}-{attributes}",
        kind="ranked",
        attributes=tuple(f"a{i}" for i in range(attributes)),
        k=Zipf.k,
        shards=1,
    )


def empty_shard(collection: Collection) -> Shard:
    return Shard(0, collection.kind, collection.attributes)


def shard_of(collection: Collection, changes: Sequence[Changes]) -> Shard:
    """Restored from these, and open."""
    shard = empty_shard(collection)
    for some in changes:
        shard.apply(some)
    shard.open()
    return shard


def encoded_frames(queries: np.ndarray, events: int = EVENTS_A_FRAME) -> list[bytes]:
    """As a router would send them, so many events each."""
    count = len(queries) // events
    return [frames.encode(_frame(part, i)) for i, part in enumerate(np.split(queries, count))]


def _frame(values: np.ndarray, number: int) -> Frame:
    events = len(values)
    offsets = number * events + np.arange(events)
    return Frame(
        FrameId(0, 0, int(offsets[0]), int(offsets[-1])),
        0,
        np.zeros(1, np.uint16),
        -1,
        offsets,
        np.zeros(events, np.int64),
        values,
        np.full(events, Zipf.k, np.int32),
        ByteStrings.pack([None] * events),
    )
