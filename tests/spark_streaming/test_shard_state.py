import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_streaming.shard_state import ShardFold, ShardState
from topics.subscriptions import contract_for

KEYS = [b"a", b"bb", b"", "größe".encode(), b"zz", b"\xff"]
VALUES = {
    "ranked": [
        None,
        b'{"where": {"age": [1, 2]}, "score": 1}',
        b'{"where": {}, "score": 2}',
        b'{"where": {"age": [2, 1]}, "score": 2}',
        b"",
    ],
    "relaxed": [
        None,
        b'{"where": {"age": [1, null]}, "weights": {"age": 3}}',
        b'{"where": {}, "weights": {}}',
    ],
    "boolean": [
        None,
        b'{"all": [{"attr": "age", "op": "between", "value": [1, null], "weight": 0.5}]}',
        b'{"any": [{"all": [{"attr": "age", "op": "in", "value": ["\\u00f6", "\\n"]}]}]}',
        b'{"all": [{"attr": "age", "op": "between", "value": [2, 1]}]}',
    ],
}
GOOD_VALUES = {"ranked": 2, "relaxed": 1, "boolean": 2}  # so many, after None
GOOD_KEYS = {b"a", b"bb", "größe".encode(), b"zz"}


def folded(contract, records, first=0, previous=None, batch=3):
    """`records` are (key, value); offsets leave gaps, as compaction does."""
    fold = ShardFold(contract, 0, 1)
    refused = []
    for start in range(0, len(records), batch):
        some = records[start : start + batch]
        offsets = first + 2 * (start + np.arange(len(some)))
        keys, values = (pa.array(list(column), pa.binary()) for column in zip(*some, strict=True))
        refused += [int(offsets[one.row]) for one in fold.add(keys, values, offsets)]
    return fold.onto(previous or ShardState.empty(contract)), refused


def scanned(kind, records):
    """The oracle: one dictionary, record by record."""
    live, refused = {}, []
    for at, (key, value) in enumerate(records):
        good_value = value is None or value in VALUES[kind][1 : 1 + GOOD_VALUES[kind]]
        if key not in GOOD_KEYS or not good_value:
            refused.append(2 * at)
        elif value is None:
            live.pop(key, None)
        else:
            live[key] = (2 * at, json.loads(value))
    return sorted((offset, key, document) for key, (offset, document) in live.items()), refused


@pytest.mark.parametrize("kind", VALUES)
@settings(deadline=None)  # the first example waits for a compiler
@given(data=st.data())
def test_a_fold_in_any_pieces_is_the_scan_of_all(kind, data):
    contract = contract_for(kind, ["age"])
    record = st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES[kind]))
    records = data.draw(st.lists(record, max_size=30))
    cut = data.draw(st.integers(0, len(records)))
    state, refused = folded(contract, records[:cut])
    state, later = folded(contract, records[cut:], first=2 * cut, previous=state)
    expected, expected_refused = scanned(kind, records)
    assert state.ids.tolist() == [offset for offset, _, _ in expected]
    assert state.keys.to_pylist() == [key for _, key, _ in expected]
    assert refused + later == expected_refused
    whole, _ = folded(contract, records, batch=30)
    arrays = state.to_arrays(contract)
    _require_equal(whole.to_arrays(contract), arrays)
    _require_equal(ShardState.from_arrays(arrays, contract).to_arrays(contract), arrays)


def _require_equal(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].dtype == other[name].dtype
        assert np.array_equal(one[name], other[name], equal_nan=one[name].dtype == np.float64)


def test_columns_follow_their_keys():
    contract = contract_for("ranked", ["age", "visits"])
    values = [
        b'{"where": {"age": [1, 2]}, "score": 1}',
        b'{"where": {"visits": [null, 9]}, "score": 2}',
        None,
        b'{"where": {"age": {"gt": 5}}, "score": 3}',
    ]
    state, _ = folded(contract, list(zip([b"a", b"b", b"a", b"c"], values, strict=True)))
    lows, highs, scores = state.columns
    assert state.keys.to_pylist() == [b"b", b"c"]
    assert scores.tolist() == [2.0, 3.0]
    assert np.array_equal(lows[0], [np.nan, -np.inf], equal_nan=True)
    assert highs[1][0] == np.inf
    assert lows[1][0] == np.nextafter(5.0, np.inf)


def test_a_key_on_another_shards_partition_is_refused():
    fold = ShardFold(contract_for("ranked", ["age"]), 1, 2)
    keys = pa.array([b"a", b"b", b"c", b"d"])
    refused = fold.add(keys, pa.array([b'{"where": {}, "score": 1}'] * 4), np.arange(4))
    state = fold.onto(ShardState.empty(contract_for("ranked", ["age"])))
    assert 0 < len(refused) < 4
    assert all("when murmur2 gives 0" in str(one.bad) for one in refused)
    assert len(state.ids) == 4 - len(refused)
