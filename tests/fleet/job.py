"""The job that builds bases, by hand: one base of one shard whenever a test wants it."""

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer

from indexes.kinds import KINDS
from spark_streaming.tasks.shard_state import ShardFold, ShardState
from storage.base_store import BaseStore
from tests.fleet.fleet import Fleet
from topics.bases import VERSION, Base, BaseName, StoredBlob, TreeBlob, encode_record, encode_tree
from topics.kafka.topic_ids import find_topic
from topics.kinds import contract_for


class Job:
    """Does by hand what the Spark job does, with its code."""

    def __init__(self, fleet: Fleet, redis_url: str) -> None:
        self.fleet, self.topic = fleet, fleet.topic("subscriptions")
        self.store = BaseStore.open(redis_url)
        client = {"bootstrap.servers": fleet.brokers}
        self.topic_id = find_topic(client, self.topic, timeout_s=10).topic_id
        self._producer = Producer(client)

    def build(self, shard: int, next_offset: int) -> Base:
        """A base of the records below an offset, stored but not announced."""
        kind, attributes = self.fleet.declared.kind, self.fleet.declared.attributes
        state = self._state(shard, next_offset)
        name = BaseName(self.topic, self.topic_id, shard, next_offset)
        blobs = []
        for i, tree in enumerate(
            KINDS[kind].trees_for_a_base(attributes, state.ids, state.columns)
        ):
            parts = encode_tree(name, attributes[i], tree._asdict())
            self.store.put(name.tree(i), parts)
            blob = StoredBlob.of(name.tree(i), parts)
            blobs.append(TreeBlob(blob.name, blob.size, blob.crc32, attribute=attributes[i]))
        return Base(
            VERSION,
            kind,
            self.topic,
            self.topic_id,
            shard,
            next_offset,
            len(state.ids),
            "redis",
            blobs,
            StoredBlob(name.state, 0, "00000000"),
        )

    def _state(self, shard: int, next_offset: int) -> ShardState:
        contract = contract_for(self.fleet.declared.kind, self.fleet.declared.attributes)
        records = [r for r in self.fleet.records[shard] if r[0] < next_offset]
        fold = ShardFold(contract, shard, self.fleet.declared.shards)
        offsets = np.array([offset for offset, _, _ in records], np.int64)
        keys = pa.array([key for _, key, _ in records], pa.binary())
        fold.add(keys, pa.array([value for _, _, value in records], pa.binary()), offsets)
        return fold.onto(ShardState.empty(contract))

    def announce_newest(self, shard: int, missing: int) -> None:
        """Build and announce a base of all that is in the topic but the last few offsets."""
        records = self.fleet.records[shard]
        if records and records[-1][0] + 1 > missing:
            self.announce(self.build(shard, records[-1][0] + 1 - missing))

    def announce(self, base: Base) -> None:
        key = str(base.shard).encode()
        self._producer.produce(self.fleet.topic("bases"), encode_record(base), key, base.shard)
        self._producer.flush()
