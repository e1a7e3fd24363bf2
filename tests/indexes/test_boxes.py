"""Boxes of an index that has changed, against those of what is live in it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.kinds import KINDS, new_index
from tests.fleet import places
from topics.kinds import contract_for

sides = st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted).map(list)


def documents(kind, attributes):
    where = st.dictionaries(st.sampled_from(attributes), sides, min_size=1)
    if kind == "ranked":
        return st.builds(lambda w: {"where": w, "score": 1}, where)
    if kind == "relaxed":
        return st.builds(lambda w: {"where": w, "weights": dict.fromkeys(w, 1)}, where)
    if kind == "spatial_text":
        return st.randoms().map(lambda r: places.subscription(r, "sphere", attributes))
    return st.builds(
        lambda w: {"all": [{"attr": a, "op": "between", "value": v} for a, v in w.items()]}, where
    )


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        pytest.param("ranked", ("age",), id="one-attribute"),
        pytest.param("ranked", ("age", "visits"), id="ranked"),
        pytest.param("relaxed", ("age", "visits"), id="relaxed"),
        pytest.param("boolean", ("age", "visits"), id="boolean"),
        pytest.param("spatial_text", ("age", "visits"), id="spatial-text"),
    ],
)
@settings(max_examples=30)
@given(data=st.data())
def test_boxes_are_those_of_what_is_live(kind, attributes, data):
    """Whatever is in a base, buried there, in the delta or gone from it."""
    contract, index = contract_for(kind, attributes), new_index(kind, attributes)
    live, next_id = {}, 0
    for _ in range(data.draw(st.integers(1, 4))):
        made = data.draw(st.lists(documents(kind, attributes), max_size=6))
        rows = [contract.parse(json.dumps(document).encode()) for document in made]
        gone = sorted(data.draw(st.sets(st.integers(0, 20))) & live.keys())
        index.delete_many(np.array(gone, np.int64))
        ids = np.arange(next_id, next_id + len(rows))
        next_id += len(rows)
        if len(ids):
            index.insert_many(ids, *contract.columns(rows))
        for id in gone:
            del live[id]
        live.update(zip(ids.tolist(), rows, strict=True))
        if data.draw(st.booleans()):
            index.rebase()
        arrays = {n: a for n, a in index.to_arrays()._asdict().items() if n != "attributes"}
        columns = contract.columns(list(live.values()))
        expected = KINDS[kind].boxes_of_columns(attributes, np.array(list(live), np.int64), columns)
        got = KINDS[kind].boxes_of_arrays(attributes, arrays, index.ids())
        assert spelled(got) == spelled(expected)
        assert got.places.max(initial=0) < KINDS[kind].most_boxes(len(attributes))


def spelled(boxes):
    rows = zip(*(column.tolist() for column in boxes), strict=True)
    return sorted((id, place, tuple(low), tuple(high)) for id, place, low, high in rows)
