import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from spark_streaming.tasks.shard_state import ShardFold, ShardState
from storage import array_blob
from topics.kinds import contract_for

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


class FoldsAgainstDict(RuleBasedStateMachine):
    """Batches into folds, folds onto states, states through a blob, in any order and often."""

    # Of varying length, and beginning alike: bytes that are cut in the wrong place show.
    keys = st.sampled_from([b"a", b"ab", b"abc" * 20, "ö".encode(), b"b", b"ba", b"c" * 256])
    batches = st.lists(st.tuples(keys, st.none() | st.integers(0, 9)), max_size=8)

    def __init__(self):
        super().__init__()
        self.contract = contract_for("ranked", ["age"])
        self.state = ShardState.empty(self.contract)
        self.fold = ShardFold(self.contract, 0, 1)
        self.offset = 0
        self.live = {}  # key -> offset, score; after what is folded
        self.coming = {}  # after what is gathered, too

    @rule(batch=batches, before=st.integers(0, 2))
    def add(self, batch, before):
        """The arrays are slices: what is before them is not ours."""
        padding = [(b"not ours", 0)] * before
        keys = pa.array([key for key, _ in padding + batch], pa.binary())[before:]
        values = [
            None if score is None else b'{"where": {"age": [%d, 9]}, "score": %d}' % (score, score)
            for _, score in padding + batch
        ]
        offsets = self.offset + 2 * np.arange(len(batch))
        records = self.fold.records
        assert self.fold.add(keys, pa.array(values, pa.binary())[before:], offsets) == []
        assert self.fold.records == records + len(batch)
        self.offset += 2 * len(batch)
        for (key, score), offset in zip(batch, offsets.tolist(), strict=True):
            self.coming.pop(key, None)
            if score is not None:
                self.coming[key] = offset, score

    @rule()
    def fold_it(self):
        self.state = self.fold.onto(self.state)
        self.fold = ShardFold(self.contract, 0, 1)
        self.live = dict(self.coming)

    @rule()
    def fold_it_twice(self):
        """As a batch that is done again: the first time leaves no trace."""
        before = {name: array.copy() for name, array in self.state.to_arrays(self.contract).items()}
        again = self.fold.onto(self.state)
        _require_equal(self.state.to_arrays(self.contract), before)
        self.fold_it()
        _require_equal(self.state.to_arrays(self.contract), again.to_arrays(self.contract))

    @rule()
    def through_a_blob(self):
        arrays = self.state.to_arrays(self.contract)
        data = b"".join(array_blob.encode(b"PODX", 1, {}, arrays))
        _, back = array_blob.decode(b"PODX", 1, data)
        self.state = ShardState.from_arrays(back, self.contract)

    @invariant()
    def the_state_is_what_was_folded(self):
        expected = sorted((offset, key, score) for key, (offset, score) in self.live.items())
        lows, highs, scores = self.state.columns
        rows = zip(self.state.ids.tolist(), self.state.keys.to_pylist(), scores, strict=True)
        assert list(rows) == expected
        assert lows.tolist() == [[score] for _, _, score in expected]
        assert highs.tolist() == [[9.0]] * len(expected)
        arrays = self.state.to_arrays(self.contract)
        assert arrays["key_lengths"].tolist() == [len(key) for _, key, _ in expected]
        assert arrays["key_data"].tobytes() == b"".join(key for _, key, _ in expected)


TestFoldsAgainstDict = FoldsAgainstDict.TestCase
TestFoldsAgainstDict.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
