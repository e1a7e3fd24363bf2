"""Subscriptions of kind `relaxed`, from JSON to columns."""

import json
import math

import numpy as np
import pytest

from topics.codecs.json_record import BadRecord
from topics.kinds import KINDS, contract_for
from topics.subscriptions import RankedContract, RelaxedContract

INF = math.inf


@pytest.fixture
def contract():
    return RelaxedContract(["age", "visits"])


def document(where, weights, **more):
    return json.dumps({"where": where, "weights": weights, **more}).encode()


def test_every_interval_has_its_weight_and_the_rest_is_nan(contract):
    rows = [
        contract.parse(document({"visits": {"gt": 3}}, {"visits": 0.5})),
        contract.parse(document({"age": [20, 35], "visits": [None, 9]}, {"visits": 1, "age": 2})),
    ]
    lows, highs, weights = contract.columns(rows)
    np.testing.assert_array_equal(lows, [[math.nan, math.nextafter(3, INF)], [20, -INF]])
    np.testing.assert_array_equal(highs, [[math.nan, INF], [35, 9]])
    np.testing.assert_array_equal(weights, [[math.nan, 0.5], [2, 1]])


def test_no_rows_are_columns_without_rows(contract):
    assert [column.shape for column in contract.columns([])] == [(0, 2)] * 3


@pytest.mark.parametrize(
    ("where", "weights", "field", "problem"),
    [
        pytest.param({"age": [1, 2]}, {}, "weights.age", "got nothing, expected", id="missing"),
        pytest.param(
            {"age": [1, 2]},
            {"age": 1, "visits": 2},
            "weights.visits",
            "got 2.0, expected an interval in where",
            id="too-many",
        ),
        pytest.param({}, {}, "where", "expected at least one", id="none"),
        pytest.param({"age": [1, 2]}, {"age": 0}, "weights.age", "> 0", id="zero"),
        pytest.param({"age": [1, 2]}, {"age": -3}, "weights.age", "> 0", id="negative"),
        pytest.param({"age": [1, 2]}, {"age": True}, "weights.age", "got bool", id="boolean"),
        pytest.param({"age": [1, 2]}, {"pages": 1}, "weights.pages", "remove it", id="unknown"),
        pytest.param({"age": [2, 1]}, {"age": 1}, "where.age", "low <= high", id="inverted"),
        pytest.param(
            {"age": [1, 2], "visits": [1, 2]},
            {"age": 1.7e308, "visits": 1.7e308},
            "weights",
            "finite sum",
            id="endless-sum",
        ),
    ],
)
def test_a_bad_weight_is_named_with_what_was_expected(contract, where, weights, field, problem):
    with pytest.raises(BadRecord) as bad:
        contract.parse(document(where, weights))
    assert bad.value.field == field
    assert problem in str(bad.value)


def test_a_ranked_subscription_is_refused(contract):
    with pytest.raises(BadRecord, match=r"score|weights"):
        contract.parse(b'{"where": {"age": [1, 2]}, "score": 3}')


def test_the_kind_says_which_contract_reads_a_collection():
    assert tuple(KINDS) == ("ranked", "relaxed", "boolean", "spatial_text", "range_topk")
    assert isinstance(contract_for("ranked", ["age"]), RankedContract)
    relaxed = contract_for("relaxed", ["age"])
    assert isinstance(relaxed, RelaxedContract)
    assert relaxed.attributes == ("age",)
