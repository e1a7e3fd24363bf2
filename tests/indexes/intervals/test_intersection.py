"""Matching by intersection gives the answers of the matcher that it is compared with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.intervals import ExactMatcher
from indexes.intervals.intersection import intersect_many
from tests.indexes.intervals.columns import array_bytes
from tests.indexes.intervals.matcher_subjects import Exact
from tests.indexes.matcher_contract import filled, ids


@pytest.mark.parametrize("d", [1, 2, 3])
@given(data=st.data(), k=st.integers(0, 8))
def test_the_answers_are_those_of_the_matcher(d, data, k):
    subject = Exact(ExactMatcher, d, branching=3)
    batch = data.draw(st.dictionaries(ids, subject.subscriptions, max_size=40))
    matcher = filled(subject, batch)
    asked = [*subject.probes, *data.draw(st.lists(subject.events, max_size=4))]
    plain = array_bytes(matcher.top_k_many(asked, k))
    assert array_bytes(intersect_many(matcher, asked, k).table) == plain
    matcher.rebase()
    moved = list(batch)[::3]
    matcher.update_scores(moved, np.zeros(len(moved)))
    assert array_bytes(intersect_many(matcher, asked, k).table) == array_bytes(
        matcher.top_k_many(asked, k)
    )


def test_it_reads_every_attribute_where_the_matcher_reads_one():
    """One attribute meets everything, the other a single subscription, the last by score."""
    n = 2000
    lows = np.column_stack((np.arange(n), np.zeros(n))).astype(float)
    highs = np.column_stack((np.arange(n), np.full(n, 9.0))).astype(float)
    matcher = ExactMatcher(["rare", "common"])
    matcher.insert_many(np.arange(n), lows, highs, np.arange(n)[::-1].astype(float))
    asked = [{"rare": n - 1.0, "common": 5.0}]
    before = matcher.visited
    table = matcher.top_k_many(asked, 1)
    looked_at = matcher.visited - before
    found = intersect_many(matcher, asked, 1)
    assert array_bytes(found.table) == array_bytes(table)
    assert table.ids.tolist() == [[n - 1]]
    assert found.read > looked_at
