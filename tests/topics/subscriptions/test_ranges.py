import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topics.codecs.json_record import BadRecord
from topics.kafka.partitioner import partitions_of
from topics.subscriptions import RangeContract, fold_batch

CONTRACT = RangeContract(k=10)


@pytest.mark.parametrize(
    ("value", "row"),
    [
        (b'{"range": [10, 50], "k": 5}', (10, 50, 5)),
        (b'{"range": [10, 10]}', (10, 10, 10)),
        (b'{"range": [null, 50]}', (-math.inf, 50, 10)),
        (b'{"range": [10, null], "k": 10}', (10, math.inf, 10)),
        (b'{"range": [null, null], "k": 1}', (-math.inf, math.inf, 1)),
        (b'{"range": [0.0, -0.0]}', (0, 0, 10)),
    ],
)
def test_a_range_and_how_many(value, row):
    assert CONTRACT.parse(value) == row


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (b"", "value"),
        (b"[1, 2]", "value"),
        (b"{}", "range"),
        (b'{"range": null}', "range"),
        (b'{"range": [1]}', "range"),
        (b'{"range": [1, 2, 3]}', "range"),
        (b'{"range": [50, 10]}', "range"),
        (b'{"range": [NaN, 10]}', "range[0]"),
        (b'{"range": [1, "2"]}', "range[1]"),
        (b'{"range": [1, 1e999]}', "range[1]"),
        (b'{"range": [-1e999, 1]}', "range[0]"),
        (b'{"range": [1, 2], "k": 0}', "k"),
        (b'{"range": [1, 2], "k": 11}', "k"),
        (b'{"range": [1, 2], "k": 1.5}', "k"),
        (b'{"range": [1, 2], "k": null}', "k"),
        (b'{"range": [1, 2], "K": 5}', "K"),
    ],
)
def test_a_bad_one_names_the_field(value, field):
    with pytest.raises(BadRecord) as caught:
        CONTRACT.parse(value)
    assert caught.value.field == field


def test_columns_of_a_batch_and_of_none():
    lows, highs, ks = CONTRACT.columns([(1.0, 2.0, 3), (-math.inf, 4.0, 5)])
    assert (lows.tolist(), highs.tolist(), ks.tolist()) == ([1, -math.inf], [2, 4], [3, 5])
    none = CONTRACT.columns([])
    assert [column.dtype for column in none] == [np.float64, np.float64, np.int32]
    saved = CONTRACT.to_arrays((lows, highs, ks))
    assert CONTRACT.from_arrays(saved).ks.tolist() == [3, 5]


def test_bad_records_of_a_batch_leave_the_others():
    keys = [b"a", b"b", b"a" * 2**20, b"c", b"a"]
    good = b'{"range": [1, 2]}'
    values = [good, b'{"range": [2, 1]}', good, None, b'{"range": [3, 4], "k": 2}']
    folded = fold_batch(CONTRACT, keys, values, 0, 1)
    assert folded.subscribed.tolist() == [4]
    assert folded.unsubscribed.tolist() == [3]
    assert [column.tolist() for column in folded.columns] == [[3], [4], [2]]
    assert sorted(folded.bad) == [1, 2]
    assert partitions_of([b"a"], 1).tolist() == [0]


@given(st.binary(max_size=60))
def test_any_bytes_are_a_range_or_a_bad_record(value):
    try:
        low, high, k = CONTRACT.parse(value)
    except BadRecord:
        return
    assert low <= high
    assert 1 <= k <= 10
