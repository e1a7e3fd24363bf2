"""The exact matcher: what it promises beyond the contract of matchers, and the work it may do."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from indexes.hits import empty_table
from indexes.intervals import ExactMatcher, LiveMatcher, SOPTRTree
from indexes.intervals.exact_boxes import encode_events
from indexes.intervals.exact_kernels import walk
from tests.indexes.intervals import strategies as some
from tests.indexes.intervals.columns import (
    ID_ERRORS,
    INF,
    SHRINKING,
    array_bytes,
    assert_plain,
    assert_table,
    refused,
)
from tests.indexes.intervals.matcher_subjects import (
    ATTRIBUTES,
    EVERYWHERE,
    EXACT_1,
    EXACT_2,
    EXACT_3,
    LIVE,
    NAN,
    Exact,
    ends_columns,
    event_grid,
)
from tests.indexes.matcher_contract import agree, hot_ids, ids, insert, machine, modelled, revived


def seen(matcher):
    """All that a caller can see of a matcher."""
    answers = [matcher.top_k(event, len(matcher)) for event in event_grid(matcher.attributes)]
    return [len(matcher), matcher.nbytes, answers, array_bytes(matcher.to_arrays())]


def keeps(matcher, error, *named):
    """The block raises and leaves the matcher as it was."""
    return refused(matcher, error, *named, see=seen)


def walked(matcher, batch, k, attribute):
    """The answers by one attribute's trees, which few subscriptions make too costly to choose."""
    wanted = encode_events(batch, matcher._column)
    table, every = empty_table(len(batch), k), np.arange(len(batch))
    trees, keys, most = matcher._trees.of(attribute), matcher._rows.keys, len(matcher)
    given_up = walk(trees, keys, matcher._boxes, wanted, every, attribute, most, table)
    assert k == 0 or not given_up.any()
    return table


def against_scan(subject):
    """The contract's machine, with what these matchers can do beside it, as a test case."""
    new = st.tuples(ids, subject.subscriptions)
    changes = st.lists(st.tuples(hot_ids, some.scores), max_size=4, unique_by=lambda one: one[0])

    class ExactAgainstScan(machine(subject)):
        @rule(new=new)
        def insert(self, new):
            id, (intervals, score) = new
            if self.knows(id):
                with self.keeps(KeyError, id):
                    self.matcher.insert(id, intervals, score)
            else:
                self.matcher.insert(id, intervals, score)
                self.expected.insert(id, intervals, score)

        @rule(
            batch=st.lists(new, min_size=1, unique_by=lambda one: one[0]),
            at=st.integers(0, 5),
            spoilt=st.sampled_from(["low", "high", "inverted", "score"]),
        )
        def insert_many_with_a_bad_row(self, batch, at, spoilt):
            batch = [one for one in batch if not self.knows(one[0])] or [(99, ({}, 1.0))]
            lows, highs, scores = subject.columns([subscription for _, subscription in batch])
            at %= len(batch)
            if spoilt == "score":
                scores[at] = INF
            else:
                half = {"low": (NAN, 1.0), "high": (0.0, NAN), "inverted": (1.0, 0.0)}[spoilt]
                lows[at, -1], highs[at, -1] = half
            with self.keeps(ValueError):
                self.matcher.insert_many([id for id, _ in batch], lows, highs, scores)

        @rule(id=ids)
        def delete(self, id):
            if self.knows(id):
                self.matcher.delete(id)
                self.expected.delete(id)
            else:
                with self.keeps(KeyError, id):
                    self.matcher.delete(id)

        @rule(event=subject.events, k=some.counts)
        def top_k(self, event, k):
            wanted = self.expected.top_k(event, k)
            assert self.matcher.top_k(event, k) == wanted
            if isinstance(self.matcher, ExactMatcher):
                for j in range(len(subject.attributes)):
                    assert_table(walked(self.matcher, [event], k, j), [wanted], k)

        @rule(batch=changes)
        def update_scores(self, batch):
            ids, scores = [id for id, _ in batch], [score for _, score in batch]
            if all(map(self.knows, ids)):
                self.matcher.update_scores(ids, scores)
                for id, score in batch:
                    self.expected.insert(id, self.expected.live[id][0], score)
            else:
                with self.keeps(KeyError):
                    self.matcher.update_scores(ids, scores)

        def teardown(self):
            super().teardown()
            n = len(self.expected.live)
            for event in subject.probes:
                assert self.matcher.top_k(event, n) == self.expected.top_k(event, n)

    return SHRINKING(ExactAgainstScan.TestCase)


TestWithOneAttribute = against_scan(EXACT_1)
TestWithTwoAttributes = against_scan(EXACT_2)
TestWithThreeAttributes = against_scan(EXACT_3)
TestLive = against_scan(LIVE)


def tiny(attributes):
    """Blocks of two, so that trees of a few subscriptions have several levels."""
    return ExactMatcher(attributes, branching=2)


def test_a_live_matcher_has_one_attribute():
    for attributes in (["age", "visits"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="exactly one was expected"):
            LiveMatcher(attributes)


@pytest.mark.parametrize(
    "wrong", [{"lows": -1.0}, {"highs": 9.0}, {"scores": 3.0}], ids=["low", "high", "score"]
)
@pytest.mark.parametrize("j", [0, 1])
def test_a_subscription_that_one_tree_has_otherwise_is_not_answered_from_the_trees(wrong, j):
    ids, ends = np.arange(6), np.arange(6.0)
    matcher = tiny(ATTRIBUTES[:2])
    matcher.insert_many(ids, np.column_stack((ends, ends)), np.column_stack((ends, ends)), ends)
    columns = [{"lows": ends.copy(), "highs": ends.copy(), "scores": ends.copy()} for _ in "ab"]
    for name, value in wrong.items():
        columns[j][name][4] = value
    trees = [SOPTRTree.build(ids, **column, branching=2) for column in columns]
    matcher.replace_base(trees, since=6)
    matcher.check()
    assert matcher.delta_share == 1 / 6
    for at in range(6):
        assert matcher.top_k({"age": at, "income": at}, 9) == [(at, float(at))]


def test_a_tree_that_has_an_id_twice_does_not_answer_with_it_twice():
    matcher = tiny(ATTRIBUTES[:1])
    matcher.insert(7, {"age": (0, 1)}, 1.0)
    arrays = SOPTRTree.build([7, 8], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]).to_arrays()
    matcher.replace_base([SOPTRTree.from_arrays(arrays._replace(ids=np.array([7, 7])))], 9)
    matcher.check()
    assert matcher.top_k({"age": 0.5}, 9) == [(7, 1.0)]


def spread(n):
    """Points on a line in one attribute, everything in the other; the best are the last."""
    lows = np.column_stack((np.arange(n), np.zeros(n))).astype(float)
    highs = np.column_stack((np.arange(n), np.full(n, 9.0))).astype(float)
    return np.arange(n), lows, highs, np.arange(n).astype(float)


def test_a_walk_of_bases_reads_little_also_beside_a_delta():
    n = 5000
    matcher = ExactMatcher(["rare", "common"])
    matcher.insert_many(*spread(n))
    matcher.rebase()
    matcher.update_scores([3, 4], [0.5, n + 1.0])
    before = matcher.visited
    for at in (0, 3, 4, n - 5):
        assert [hit.id for hit in matcher.top_k({"rare": at, "common": 5}, 9)] == [at]
    assert 0 < matcher.visited - before < n // 4


def test_a_change_of_what_a_base_has_leaves_the_deltas_small():
    matcher = ExactMatcher(["rare", "common"])
    matcher.insert_many(*spread(5000))
    matcher.rebase()
    based = matcher.nbytes
    matcher.delete_many(np.arange(1000, 2000))
    assert matcher.delta_share == 0.0
    matcher.update_scores(np.arange(10), np.ones(10))
    assert matcher.delta_share == 10 / 4000
    assert matcher.nbytes < 1.1 * based
    matcher.check()


@pytest.fixture
def ads():
    """The seed's mortgage vendor (§1), beside looser and stricter subscriptions."""
    matcher = ExactMatcher(["age", "credit", "visits"])
    matcher.insert(10, {"age": (20, 35), "credit": (400, 500), "visits": (3, INF)}, 7.5)
    matcher.insert(11, {"age": (20, 35)}, 2.0)
    matcher.insert(12, {}, 1.0)
    matcher.insert(13, {"visits": EVERYWHERE}, 7.5)
    matcher.insert(14, {"age": (25, 25), "credit": (-INF, 441)}, 9.0)
    return matcher


def test_every_interval_of_a_subscription_must_hold(ads):
    visitor = {"age": 25, "credit": 441, "visits": 6}
    assert ads.top_k(visitor, 9) == [(14, 9.0), (10, 7.5), (13, 7.5), (11, 2.0), (12, 1.0)]
    assert ads.top_k(visitor, 2) == [(14, 9.0), (10, 7.5)]
    assert ads.top_k({**visitor, "visits": 2}, 9) == [(14, 9.0), (13, 7.5), (11, 2.0), (12, 1.0)]
    assert ads.top_k({**visitor, "credit": 442}, 9) == [(10, 7.5), (13, 7.5), (11, 2.0), (12, 1.0)]
    assert ads.top_k({**visitor, "age": 36}, 9) == [(13, 7.5), (12, 1.0)]
    assert_plain(ads.top_k(visitor, 9))


def test_a_missing_attribute_fails_its_constraint_and_no_other(ads):
    assert ads.top_k({"age": 25, "credit": 441}, 9) == [(14, 9.0), (11, 2.0), (12, 1.0)]
    assert ads.top_k({"visits": 1e9}, 9) == [(13, 7.5), (12, 1.0)]
    assert ads.top_k({}, 9) == [(12, 1.0)]


def test_an_event_attribute_that_the_matcher_does_not_know_is_ignored(ads):
    assert ads.top_k({"age": 30, "shoe size": 43.0}, 9) == [(11, 2.0), (12, 1.0)]
    assert ads.top_k({"shoe size": 43.0}, 9) == [(12, 1.0)]


def test_equal_scores_come_in_order_of_id_across_kinds_of_constraint():
    matcher = ExactMatcher(["age", "income"])
    kinds: list[dict[str, tuple[float, float]]] = [
        {},
        {"age": (0, 9)},
        {"income": (0, 9)},
        {"age": EVERYWHERE, "income": (5, 5)},
    ]
    ids = [2**62, 7, 40, 3, 12, 0, 33, 8, 21, 5, 9, 4]
    for at, id in enumerate(ids):
        matcher.insert(id, kinds[at % 4], 1.0)
    expected = [(id, 1.0) for id in sorted(ids)]
    for k in range(len(ids) + 1):
        assert matcher.top_k({"age": 5, "income": 5}, k) == expected[:k]
    free = sorted(ids[0::4] + ids[1::4])
    assert matcher.top_k({"age": 5}, 99) == [(id, 1.0) for id in free]


def test_array_and_mapping_forms_build_the_same_answers():
    subject = Exact(ExactMatcher, 2)
    wanted = [
        {},
        {"age": (0.0, 4.0)},
        {"income": EVERYWHERE},
        {"age": (1.0, 1.0), "income": (0, INF)},
    ]
    new = {id: (intervals, float(id % 2)) for id, intervals in enumerate(wanted)}
    singly, bulk, expected = subject.new(), subject.new(), modelled(subject, new)
    for id, intervals in enumerate(wanted):
        singly.insert(id, intervals, id % 2)
    lows, highs = ends_columns(subject.attributes, wanted)
    bulk.insert_many(np.arange(4), lows, highs, np.arange(4) % 2)
    insert(subject, bulk, {})
    for matcher in (singly, bulk, revived(subject, bulk)):
        agree(subject, matcher, expected)


def test_the_columns_of_arrays_follow_the_order_of_the_attributes():
    matcher = ExactMatcher(["visits", "age"])
    matcher.insert_many([1], [[3.0, NAN]], [[INF, NAN]], [1.0])
    matcher.insert_many([2], [[NAN, 20.0]], [[NAN, 35.0]], [1.0])
    assert matcher.top_k({"visits": 5.0}, 9) == [(1, 1.0)]
    assert matcher.top_k({"age": 25.0}, 9) == [(2, 1.0)]
    assert_table(
        matcher.top_k_many(np.array([[5.0, 25.0], [NAN, 35.0]]), 2),
        [[(1, 1.0), (2, 1.0)], [(2, 1.0)]],
        2,
    )


def test_a_matcher_keeps_nothing_of_the_callers_mapping():
    matcher, intervals = ExactMatcher(["age"]), {"age": (0.0, 4.0)}
    matcher.insert(1, intervals, 1.0)
    intervals["age"] = (9.0, 9.0)
    assert matcher.top_k({"age": 2.0}, 1) == [(1, 1.0)]


def test_nbytes_grows_with_the_subscriptions():
    few, many = ExactMatcher(["age", "income"]), ExactMatcher(["age", "income"])
    few.insert(1, {"age": (0, 1)}, 1.0)
    n = 1000
    many.insert_many(np.arange(n), np.zeros((n, 2)), np.ones((n, 2)), np.zeros(n))
    assert type(many.nbytes) is int
    assert many.nbytes >= n * (8 + 8 + 2 * 16) > 0
    assert many.nbytes > few.nbytes > 0


INSERT_REFUSALS = [
    pytest.param(10, {}, 1.0, KeyError, [10], id="known-id"),
    pytest.param(-8, {}, 1.0, ValueError, [-8], id="negative-id"),
    pytest.param(50, {"shoe size": (0, 1)}, 1.0, ID_ERRORS, ["shoe size"], id="unknown-attribute"),
    pytest.param(50, {"age": (0, 1), "": (0, 1)}, 1.0, ID_ERRORS, [], id="nameless-attribute"),
    pytest.param(50, {"age": (7.25, 3.5)}, 1.0, ValueError, [7.25, 3.5, "age"], id="inverted"),
    pytest.param(50, {"visits": (NAN, 1.0)}, 1.0, ValueError, ["nan", "visits"], id="low-nan"),
    pytest.param(50, {"visits": (1.0, NAN)}, 1.0, ValueError, ["nan", "visits"], id="high-nan"),
    pytest.param(50, {"age": (NAN, NAN)}, 1.0, ValueError, ["nan", "age"], id="nan-is-not-absence"),
    pytest.param(50, {"age": (0, 1)}, NAN, ValueError, ["nan"], id="score-nan"),
    pytest.param(50, {}, INF, ValueError, ["inf"], id="score-inf"),
    pytest.param(50, {}, -INF, ValueError, ["-inf"], id="score-minus-inf"),
]


@pytest.mark.parametrize(("id", "intervals", "score", "error", "named"), INSERT_REFUSALS)
def test_refused_inserts_name_the_value_and_change_nothing(ads, id, intervals, score, error, named):
    with keeps(ads, error, *named):
        ads.insert(id, intervals, score)


BULK_REFUSALS = [
    pytest.param({"scores": [1.0] * 4}, ValueError, [4, 3], id="more-scores"),
    pytest.param({"scores": [1.0, NAN, 1.0]}, ValueError, ["nan"], id="score-nan"),
    pytest.param({"scores": [1.0, 1.0, INF]}, ValueError, ["inf"], id="score-inf"),
    pytest.param({"lows": np.zeros((3, 2))}, ValueError, [2, 3], id="an-attribute-short"),
    pytest.param({"highs": np.ones((2, 3))}, ValueError, [2, 3], id="a-row-short"),
    pytest.param({"lows": np.zeros(3)}, ValueError, [], id="one-dimension"),
    pytest.param({"lows": [[0, 0, 7.25]] * 3}, ValueError, [7.25, "visits"], id="inverted"),
    pytest.param({"lows": [[0, NAN, 0]] * 3}, ValueError, ["nan", "credit"], id="only-low-nan"),
    pytest.param({"highs": [[NAN, 1, 1]] * 3}, ValueError, ["nan", "age"], id="only-high-nan"),
]


@pytest.mark.parametrize(("changed", "error", "named"), BULK_REFUSALS)
def test_a_bulk_insert_is_all_or_nothing(ads, changed, error, named):
    good = {"ids": [50, 51, 52], "lows": np.zeros((3, 3)), "highs": np.ones((3, 3))}
    good["scores"] = [1.0, 2.0, 3.0]
    with keeps(ads, error, *named):
        ads.insert_many(**{**good, **changed})
    ads.insert_many(**good)
    ads.check()
    assert len(ads) == 8
