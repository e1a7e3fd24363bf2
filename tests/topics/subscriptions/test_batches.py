"""Batches of subscriptions: what is told of them together is what is told of each alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topics.codecs.json_record import BadRecord
from topics.kafka.partitioner import partition_of
from topics.kinds import contract_for
from topics.limits import PARSED_BYTES
from topics.subscriptions import MAX_ID_BYTES, check_ids, parse_batch

SHARDS, SHARD = 2, 1
CONTRACTS = {kind: contract_for(kind, ["age"]) for kind in ("ranked", "relaxed", "boolean")}
GOOD = {
    "ranked": b'{"where": {"age": [1, 2]}, "score": 3}',
    "relaxed": b'{"where": {"age": [1, 2]}, "weights": {"age": 3}}',
    "boolean": b'{"all": [{"attr": "age", "op": "<", "value": 3}]}',
}
HOME = [key for i in range(20) if partition_of(key := b"ad-%d" % i, SHARDS) == SHARD]
FOREIGN = next(key for i in range(20) if partition_of(key := b"ad-%d" % i, SHARDS) != SHARD)


def one_by_one(contract, keys, values):
    """Places of the subscriptions, what they say, and every complaint, by place."""
    good, rows, bad = [], [], {}
    verdicts = check_ids(list(zip(keys, values, strict=True)), SHARD, SHARDS)
    for i, (value, verdict) in enumerate(zip(values, verdicts, strict=True)):
        try:
            if verdict:
                raise verdict
            if value is not None:
                rows.append(contract.parse(value))
                good.append(i)
        except BadRecord as complaint:
            bad[i] = (complaint.field, str(complaint))
    return good, contract.columns(rows), bad


def assert_same(kind, keys, values):
    contract = CONTRACTS[kind]
    parsed = parse_batch(contract, keys, values, SHARD, SHARDS)
    good, columns, bad = one_by_one(contract, keys, values)
    assert parsed.subscribing == good
    assert {i: (one.field, str(one)) for i, one in parsed.bad.items()} == bad
    for column, wanted in zip(parsed.columns, columns, strict=True):
        assert column.dtype == wanted.dtype
        np.testing.assert_array_equal(column, wanted)


def with_a_home(key):
    """The key with a digit behind it that puts it on the shard."""
    return next(k for i in range(99) if partition_of(k := key + b"%d" % i, SHARDS) == SHARD)


usual = st.sampled_from(HOME)
keys = st.one_of(
    usual, st.binary(max_size=6).map(with_a_home), st.sampled_from([FOREIGN, None, b"", b"\xff"])
)


@pytest.mark.parametrize("kind", GOOD)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_batch_is_what_its_records_are_one_by_one(kind, data):
    good = st.sampled_from([GOOD[kind], None])
    values = st.one_of(good, st.sampled_from([b"{", b"", b"\xff", *GOOD.values()]))
    batch = st.lists(st.tuples(usual, good), max_size=6) | st.lists(
        st.tuples(keys, values), max_size=6
    )
    drawn = data.draw(batch)
    assert_same(kind, [key for key, _ in drawn], [value for _, value in drawn])


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(with_a_home(b'"\\'), id="quoted"),
        pytest.param(with_a_home(b"\x7f"), id="delete"),
        pytest.param(with_a_home(b"\x00" * 90), id="control-characters"),
        pytest.param(with_a_home("größe".encode()), id="utf-8"),
        pytest.param(with_a_home(b"x" * (MAX_ID_BYTES - 2)), id="long"),
        pytest.param(with_a_home(b"x" * MAX_ID_BYTES), id="too-long"),
    ],
)
def test_keys_that_are_not_usual_are_looked_at_one_by_one(key):
    assert_same("ranked", [HOME[0], key, HOME[1]], [GOOD["ranked"]] * 3)


def test_a_record_that_only_its_key_makes_too_large_is_refused():
    value = GOOD["ranked"].ljust(PARSED_BYTES - len(HOME[0]) + 1)
    assert_same("ranked", HOME[:1], [value])
    assert parse_batch(CONTRACTS["ranked"], HOME[:1], [value], SHARD, SHARDS).bad
    assert_same("ranked", HOME[:1], [value[:-1]])
    assert not parse_batch(CONTRACTS["ranked"], HOME[:1], [value[:-1]], SHARD, SHARDS).bad
