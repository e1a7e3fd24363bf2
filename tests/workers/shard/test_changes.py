import json
import math
from itertools import count

import numpy as np
import pytest
from confluent_kafka import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import collection as oracle
from topics.limits import PARSED_BYTES
from topics.subscriptions import RankedContract
from workers.shard.changes import read_changes, read_live

TOPIC = "podium.ads.subscriptions"
SHARDS, SHARD = 3, 1
ATTRIBUTES = ("age", "visits")
CONTRACT = RankedContract(ATTRIBUTES)


def home(key):
    return (oracle.murmur2(key) & 0x7FFFFFFF) % SHARDS


KEYS = [key for i in range(60) if home(key := f"ad-{i}".encode()) == SHARD]
FOREIGN = next(key for i in count() if home(key := f"ad-{i}".encode()) != SHARD)


def message(offset, key, value, headers=None):
    return Message(
        topic=TOPIC,
        partition=SHARD,
        offset=offset,
        key=key,
        value=value,
        headers=headers,
        timestamp=(1, 0),
    )


def good(low, score):
    return json.dumps({"where": {"age": [low, None]}, "score": score}).encode()


def read(*records):
    """Changes of records given as (offset, key, value)."""
    return read_changes([message(*record) for record in records], CONTRACT, SHARDS)


def test_the_latest_record_of_a_key_counts():
    key, other = KEYS[:2]
    changes = read((5, key, good(1, 1)), (6, other, good(2, 2)), (9, key, good(3, 3)))
    assert dict(zip(changes.keys, changes.offsets.tolist(), strict=True)) == {key: 9, other: 6}
    at = changes.keys.index(key)
    np.testing.assert_array_equal(changes.columns.lows[at], [3, math.nan])
    np.testing.assert_array_equal(changes.columns.highs[at], [math.inf, math.nan])
    assert changes.columns.scores[at] == 3
    assert (changes.removed, changes.letters, changes.next_offset) == ([], [], 10)


def test_a_null_value_removes_the_key_whatever_came_before():
    changes = read((5, KEYS[0], good(1, 1)), (6, KEYS[0], None), (7, KEYS[1], None))
    assert changes.keys == []
    assert changes.removed == KEYS[:2]
    assert len(changes.offsets) == len(changes.columns.scores) == 0


def test_a_key_may_come_back():
    changes = read((5, KEYS[0], None), (6, KEYS[0], good(1, 1)))
    assert (changes.keys, changes.offsets.tolist(), changes.removed) == ([KEYS[0]], [6], [])


def test_a_bad_record_leaves_what_it_would_replace():
    changes = read((5, KEYS[0], good(1, 1)), (6, KEYS[0], b"{"), (7, KEYS[1], b"{"))
    assert (changes.keys, changes.offsets.tolist(), changes.removed) == ([KEYS[0]], [5], [])
    assert [letter.offset for letter in changes.letters] == [6, 7]


def test_only_bad_records_move_the_offset_on():
    changes = read((5, None, good(1, 1)), (8, KEYS[0], b"{"))
    assert (changes.keys, changes.removed, changes.next_offset) == ([], [], 9)
    assert changes.columns.lows.shape == (0, 2)
    assert changes.offsets.dtype == np.int64


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        pytest.param(None, good(1, 1), "key", id="null-key"),
        pytest.param(b"", good(1, 1), "key", id="empty-key"),
        pytest.param(b"\xff", good(1, 1), "key", id="not-utf-8"),
        pytest.param(FOREIGN, good(1, 1), "key", id="foreign-partition"),
        pytest.param(FOREIGN, None, "key", id="unsubscribe-on-a-foreign-partition"),
        pytest.param(KEYS[0], b"{", "value", id="not-json"),
        pytest.param(KEYS[0], b"", "value", id="empty-value"),
        pytest.param(KEYS[0], b'{"where": {}, "score": NaN}', "score", id="nan"),
        pytest.param(
            KEYS[0], b'{"where": {"age": [9, 1]}, "score": 1}', "where.age", id="inverted"
        ),
        pytest.param(KEYS[0], bytes(2 * PARSED_BYTES), "value", id="oversized"),
    ],
)
def test_a_bad_record_becomes_a_dead_letter_to_the_byte(key, value, field):
    headers = [("trace", b"\xff")]
    bad = message(6, key, value, headers)
    changes = read_changes([message(5, KEYS[1], good(1, 1)), bad], CONTRACT, SHARDS)
    (letter,) = changes.letters
    assert letter.source == f"{TOPIC}[{SHARD}]@6"
    assert (letter.key, letter.value, letter.headers) == (key, value, headers)
    assert letter.field == field
    assert letter.error.startswith(f"{field}: ")
    assert (changes.keys, changes.removed, changes.next_offset) == ([KEYS[1]], [], 7)


def test_live_changes_come_in_steps_that_each_end_at_an_offset(monkeypatch):
    monkeypatch.setattr("workers.shard.changes._LIVE_RECORDS", 100)
    records = [(2 * i, KEYS[i % 3], good(i, i)) for i in range(250)]
    steps = read_live([message(*record) for record in records], CONTRACT, SHARDS)
    assert [step.next_offset for step in steps] == [199, 399, 499]
    assert [sorted(step.offsets.tolist()) for step in steps] == [
        [194, 196, 198],
        [394, 396, 398],
        [494, 496, 498],
    ]


values = st.one_of(
    st.builds(good, st.integers(0, 9), st.integers(-3, 3)),
    st.none(),
    st.sampled_from([b"{", b"", b'{"where": {}}', b'{"where": {"age": [2, 1]}, "score": 1}']),
)
keys = st.sampled_from([*KEYS[:4], *KEYS[:4], FOREIGN, None, b"", b"\xff"])
# Offsets grow, with gaps where compaction took records.
records = st.lists(st.tuples(st.integers(1, 3), keys, values), min_size=1, max_size=25)


def naive_fold(messages):
    """What is live, what is gone and what is refused, record by record."""
    live, gone, refused = {}, set(), []
    for offset, key, value in messages:
        try:
            name = oracle.subscription_id(key, SHARD, SHARDS).encode()
            parsed = None if value is None else oracle.ranked_subscription(value, ATTRIBUTES)
        except ValueError:
            refused.append(offset)
            continue
        gone.discard(name)
        live.pop(name, None)
        if parsed is None:
            gone.add(name)
        else:
            live[name] = (offset, *parsed)
    return live, gone, refused


@settings(max_examples=150, deadline=None)
@given(drawn=records)
def test_the_net_effect_is_that_of_applying_the_records_one_by_one(drawn):
    offsets = np.cumsum([gap for gap, _, _ in drawn]).tolist()
    given = [(offset, key, value) for offset, (_, key, value) in zip(offsets, drawn, strict=True)]
    changes = read(*given)
    live, gone, refused = naive_fold(given)

    assert sorted(changes.keys) == sorted(live)
    assert sorted(changes.removed) == sorted(gone)
    assert [letter.offset for letter in changes.letters] == refused
    assert changes.next_offset == offsets[-1] + 1
    lows, highs, scores = changes.columns
    for i, key in enumerate(changes.keys):
        offset, where, score = live[key]
        assert (changes.offsets[i], scores[i]) == (offset, score)
        ends = [where.get(name, (math.nan, math.nan)) for name in ATTRIBUTES]
        np.testing.assert_array_equal(np.array([lows[i], highs[i]]).T, ends)


def test_a_record_that_fails_as_nobody_has_foreseen_is_a_dead_letter(monkeypatch):
    parse = RankedContract.parse
    monkeypatch.setattr(
        RankedContract, "parse", lambda own, value: 1 / 0 if value == b"odd" else parse(own, value)
    )
    good = b'{"where": {}, "score": 1}'
    records = [(b"a", good), (b"b", b"odd"), (b"c", None), (b"d", good)]
    messages = [
        Message(topic="subscriptions", partition=0, offset=i, key=key, value=value)
        for i, (key, value) in enumerate(records)
    ]
    changes = read_changes(messages, RankedContract(["age"]), 1)
    assert (changes.keys, changes.removed) == ([b"a", b"d"], [b"c"])
    assert changes.offsets.tolist() == [0, 3]
    (letter,) = changes.letters
    assert (letter.offset, letter.key, letter.value) == (1, b"b", b"odd")
    assert "ZeroDivisionError" in letter.error
