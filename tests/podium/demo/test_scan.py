import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.demo.scan import FOREVER, hits, matching, read_log, top_k
from tests.oracles.collection import Collection, murmur2

ATTRIBUTES = ("age", "visits")
SHARDS = 2
# Few keys and few values: updates, unsubscriptions, touching ends and equal scores are common.
KEYS = [b"ad-%d" % number for number in range(8)]
end = st.none() | st.integers(0, 4)
interval = st.tuples(end, end).filter(lambda ends: None in ends or ends[0] <= ends[1])
subscription = st.builds(
    lambda where, score: json.dumps({"where": where, "score": score}).encode(),
    st.dictionaries(st.sampled_from(ATTRIBUTES), interval),
    st.integers(1, 3),
)
records = st.lists(st.tuples(st.sampled_from(KEYS), st.none() | subscription), max_size=30)
event = st.dictionaries(st.sampled_from(ATTRIBUTES), st.none() | st.integers(0, 4))


def partitions(sent):
    """`sent` as it lies in a topic: by murmur2 of the key, at offsets that start at 0."""
    topic = [[] for _ in range(SHARDS)]
    for key, value in sent:
        partition = topic[(murmur2(key) & 0x7FFFFFFF) % SHARDS]
        partition.append((len(partition), key, value))
    return topic


@given(records, event, st.data())
def test_a_scan_finds_what_the_oracle_finds_as_of_any_state(sent, visitor, data):
    topic = partitions(sent)
    as_of = [data.draw(st.integers(-1, len(partition) - 1)) for partition in topic]
    k = data.draw(st.integers(0, 10))
    ledger = read_log(topic, ATTRIBUTES)
    rows = top_k(ledger, visitor, dict(enumerate(as_of)), k)
    assert hits(ledger, rows) == Collection("ranked", ATTRIBUTES, topic).top_k(visitor, k, as_of)


@given(records, event, st.data())
def test_what_matched_all_the_time_matched_in_every_state_on_the_way(sent, visitor, data):
    topic = partitions(sent)
    ledger = read_log(topic, ATTRIBUTES)
    stretch = st.integers(-1, len(topic[0]) - 1)
    first, last = sorted((data.draw(stretch), data.draw(stretch)))
    every = [
        set(matching(ledger, visitor, state, state).tolist())
        for state in ({0: offset} for offset in range(first, last + 1))
    ]
    steady = set(matching(ledger, visitor, {0: first}, {0: last}).tolist())
    assert steady == set.intersection(*every)


def test_equal_scores_go_to_the_older_offset_and_then_to_the_lower_shard():
    value = b'{"where": {}, "score": 5}'
    topic = [[(0, b"a", value), (1, b"b", value)], [(0, b"c", value), (1, b"d", value)]]
    ledger = read_log(topic, ATTRIBUTES)
    rows = top_k(ledger, {}, {0: 1, 1: 1}, 4)
    assert [ledger.ids[row] for row in rows] == ["a", "c", "b", "d"]


def test_a_row_ends_where_the_next_record_of_its_key_begins():
    value = b'{"where": {"age": [1, null]}, "score": 5}'
    ledger = read_log([[(3, b"a", value), (5, b"a", value), (9, b"a", None)]], ATTRIBUTES)
    assert ledger.since.tolist() == [3, 5]
    assert ledger.until.tolist() == [5, 9]
    again = read_log([[(3, b"a", value)]], ATTRIBUTES)
    assert again.until.tolist() == [FOREVER]
    assert again.where(0) == {"age": (1.0, None)}


def test_a_condition_on_an_attribute_that_the_collection_lacks_is_refused():
    with pytest.raises(ValueError, match=r"got conditions on \['height'\]"):
        read_log([[(0, b"a", b'{"where": {"height": [1, 2]}, "score": 1}')]], ATTRIBUTES)
