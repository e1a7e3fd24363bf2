import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topics.subscriptions import BooleanContract, RankedContract, RelaxedContract, fold_batch

GOOD = {
    "ranked": (RankedContract(["age"]), b'{"where": {"age": [%d, 9]}, "score": 1}'),
    "relaxed": (RelaxedContract(["age"]), b'{"where": {"age": [%d, 9]}, "weights": {"age": 2}}'),
    "boolean": (
        BooleanContract(["age"]),
        b'{"all": [{"attr": "age", "op": "between", "value": [%d, 9]}]}',
    ),
}


def fold(kind, records):
    contract, _ = GOOD[kind]
    keys, values = zip(*records, strict=True) if records else ((), ())
    return fold_batch(contract, list(keys), list(values), 0, 1)


@pytest.mark.parametrize("kind", GOOD)
@settings(max_examples=60, deadline=None)  # the first example waits for a compiler
@given(
    records=st.lists(
        st.tuples(
            st.sampled_from([b"a", b"b", b"c", b"", None]),
            st.none() | st.integers(0, 9) | st.just(b"{"),
        ),
        max_size=12,
    )
)
def test_each_id_counts_once_with_its_latest_good_record(kind, records):
    contract, good = GOOD[kind]
    values = [good % value if isinstance(value, int) else value for _, value in records]
    folded = fold(kind, [(key, value) for (key, _), value in zip(records, values, strict=True)])

    latest, bad = {}, set()
    for i, (key, value) in enumerate(records):
        if not key or value == b"{":
            bad.add(i)
        else:
            latest[key] = i
    subscribed = sorted(i for i in latest.values() if values[i] is not None)
    assert folded.subscribed.tolist() == subscribed
    assert folded.unsubscribed.tolist() == sorted(set(latest.values()) - set(subscribed))
    assert folded.bad.keys() == bad
    expected = contract.columns([contract.parse(values[i]) for i in subscribed])
    assert type(folded.columns) is type(expected)
    for got, wanted in zip(folded.columns, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_columns_of_a_batch_in_which_every_record_counts_are_not_copied(monkeypatch):
    monkeypatch.setattr("topics.subscriptions.folding._rows_of", None)  # a call is a TypeError
    _, good = GOOD["ranked"]
    folded = fold("ranked", [(b"a", good % 1), (b"b", good % 2)])
    assert folded.subscribed.tolist() == [0, 1]
    folded = fold("ranked", [(b"a", good % 1), (b"b", None), (b"c", b"{"), (b"d", good % 2)])
    assert (folded.subscribed.tolist(), folded.unsubscribed.tolist()) == ([0, 3], [1])
