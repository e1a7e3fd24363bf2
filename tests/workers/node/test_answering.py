"""A node answers with the same bytes as shards that are apart and a merger."""

import numpy as np
import pytest
from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.merger.answers import merged_hits
from topics import matches
from topics.kinds import event_contract
from workers.merger.assembly import MergedFrame, merge
from workers.node.answering import answer
from workers.router.framing import frames, read_events
from workers.router.warm_up import record
from workers.shard.changes import read_changes
from workers.shard.shard import Shard

ATTRIBUTES = ("age",)


def shards_of(*subscriptions: list[tuple[int, int, float]]) -> list[Shard]:
    """Shards with these low ends, high ends and scores; those of shard 1 begin at offset 10."""
    shards = []
    for number, rows in enumerate(subscriptions):
        shard = Shard(number, "ranked", ATTRIBUTES)
        records = [
            record(b'{"where": {"age": [%d, %d]}, "score": %r}' % (low, high, score), offset)
            for offset, (low, high, score) in enumerate(rows, 10 * number)
        ]
        if records:
            shard.apply(read_changes(records, shard.contract, 1))
        shard.open()
        shards.append(shard)
    return shards


def event(age: int, offset: int) -> Message:
    """Every other one belongs to a trace."""
    headers = [("traceparent", b"00-%032d-%016d-01" % (7, offset))] if offset % 2 else None
    value, key = b'{"age": %d}' % age, b"%d" % offset
    return Message(
        topic="events", partition=0, offset=offset, key=key, value=value, headers=headers
    )


def both(shards: list[Shard], ages: list[int], k: int) -> tuple[MergedFrame, MergedFrame]:
    contract = event_contract("ranked", ATTRIBUTES, k, 100, len(shards))
    events = [event(age, offset) for offset, age in enumerate(ages)]
    run = read_events(events, contract).accepted[0]
    apart = merge([shards[frame.shard].answer(frame) for frame in frames(run, contract, 1)])
    return answer(run, shards, contract.form), apart


def records_of(merged: MergedFrame) -> list[bytes]:
    return matches.encode_many("events", merged.partition, merged.offsets, merged.hits)


interval = st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.5, 1.0, 2.0]))
rows = st.lists(interval.map(lambda r: (min(r[:2]), max(r[:2]), r[2])), max_size=6)


@given(
    st.lists(rows, min_size=1, max_size=3),
    st.lists(st.integers(0, 3), min_size=1, max_size=5),
    st.integers(0, 4),
)
def test_a_node_writes_the_bytes_of_shards_that_are_apart(subscriptions, ages, k):
    together, apart = both(shards_of(*subscriptions), ages, k)
    assert records_of(together) == records_of(apart)
    assert together.keys == apart.keys
    assert together.as_of == apart.as_of
    assert together.traces == apart.traces
    assert list(together.traces) == list(range(1, len(ages), 2))
    for column in ("offsets", "timestamps", "as_of_by"):
        assert np.array_equal(getattr(together, column), getattr(apart, column))


@pytest.mark.parametrize("k", [0, 1, 5])
def test_ids_are_looked_up_in_the_shard_of_their_hit(k):
    shards = shards_of([(0, 9, 1.0), (0, 9, 3.0)], [(0, 9, 2.0), (0, 9, 3.0)])
    merged, _ = both(shards, [5], k)
    best = [(b'"1"', 3.0), (b'"11"', 3.0), (b'"10"', 2.0), (b'"0"', 1.0)]
    assert merged_hits(merged) == [best[:k]]
    assert merged.as_of == [{0: 1, 1: 11}]
