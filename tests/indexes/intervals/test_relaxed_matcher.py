"""The relaxed matcher beyond the contract of matchers: merging, sifting, and both in turn."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from indexes.intervals import SOPTRTree
from indexes.intervals.relaxed import RelaxedMatcher
from tests.indexes.intervals import strategies as some
from tests.indexes.intervals.columns import (
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
    MERGES,
    MERGING_1,
    MERGING_2,
    MERGING_3,
    NAN,
    RELAXED_3,
    SIFTING_2,
    SIFTS,
    TRIES,
    coarse_weights,
    event_grid,
)
from tests.indexes.matcher_contract import hot_ids, ids, machine
from tests.oracles import intervals as oracle


def seen(matcher):
    """All that a caller can see of a matcher."""
    events = event_grid(matcher.attributes)
    answers = [matcher.top_k(event, len(matcher)) for event in events]
    return [len(matcher), matcher.nbytes, answers, array_bytes(matcher.to_arrays())]


def keeps(matcher, error, *named):
    """The block raises and leaves the matcher as it was."""
    return refused(matcher, error, *named, see=seen)


def against_scan(subject):
    """The contract's machine, with what this matcher can do beside it, as a test case."""

    class RelaxedAgainstScan(machine(subject)):
        @rule(new=st.tuples(ids, subject.subscriptions))
        def insert(self, new):
            id, subscription = new
            if self.knows(id):
                with self.keeps(KeyError, id):
                    self.matcher.insert(id, *subscription)
            else:
                self.matcher.insert(id, *subscription)
                self.expected.insert(id, *subscription)

        @rule(id=ids)
        def delete(self, id):
            if self.knows(id):
                self.matcher.delete(id)
                self.expected.delete(id)
            else:
                with self.keeps(KeyError, id):
                    self.matcher.delete(id)

        @rule(id=hot_ids, drawn=st.lists(coarse_weights, min_size=3, max_size=3))
        def update_weights(self, id, drawn):
            if not self.knows(id):
                with self.keeps(KeyError, id):
                    self.matcher.update_weights(id, {})
                return
            held = self.expected.live[id][0]
            pairs = zip(subject.attributes, drawn, strict=False)
            weights = {name: weight for name, weight in pairs if name in held}
            self.matcher.update_weights(id, weights)
            self.expected.update_weights(id, weights)

        @rule(event=subject.events, k=some.counts)
        def top_k(self, event, k):
            assert self.matcher.top_k(event, k) == self.expected.top_k(event, k)

        def teardown(self):
            super().teardown()
            for k in (1, 2, len(self.expected.live)):
                for event in subject.probes:
                    assert self.matcher.top_k(event, k) == self.expected.top_k(event, k)

    return SHRINKING(RelaxedAgainstScan.TestCase)


TestMergingOneAttribute = against_scan(MERGING_1)
TestMergingTwoAttributes = against_scan(MERGING_2)
TestMergingThreeAttributes = against_scan(MERGING_3)
TestSiftingTwoAttributes = against_scan(SIFTING_2)
TestWithThreeAttributes = against_scan(RELAXED_3)


def crowd(n, levels, seed=0, sparse=0.3):
    """Random subscriptions over three attributes; weights are whole tenths up to `levels`."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(4 * n)[:n]
    lows = rng.integers(0, 30, (n, 3)) + 0.0
    highs = lows + rng.integers(0, 12, (n, 3))
    weights = rng.integers(1, levels + 1, (n, 3)) / 10
    free = rng.random((n, 3)) < sparse
    free[free.all(axis=1), 0] = False
    for column in (lows, highs, weights):
        column[free] = NAN
    return ids, lows, highs, weights


def crowd_oracle(ids, lows, highs, weights):
    expected = oracle.RelaxedMatches(ATTRIBUTES)
    for id, low, high, weight in zip(ids, lows, highs, weights, strict=True):
        held = [j for j in range(3) if not math.isnan(weight[j])]
        intervals = {ATTRIBUTES[j]: (float(low[j]), float(high[j])) for j in held}
        expected.insert(int(id), intervals, {ATTRIBUTES[j]: float(weight[j]) for j in held})
    return expected


@pytest.mark.parametrize("patience", [MERGES, SIFTS, TRIES, 1.0, 10.0])
@pytest.mark.parametrize("levels", [1, 3, 10**6])
def test_every_way_to_answer_gives_the_same_hits(levels, patience):
    columns = crowd(1400, levels)
    matcher = RelaxedMatcher(ATTRIBUTES, branching=4, patience=patience)
    matcher.insert_many(*columns)
    expected = crowd_oracle(*columns)
    probes = [
        dict(zip(ATTRIBUTES, at, strict=True)) for at in ((9.0, 20.0, 3.0), (14.0, 14.0, 14.0))
    ]
    probes += [{"age": 9.0}, {"income": 20.0, "visits": 8.0}, {}]
    for k in (1, 7, 300):
        wanted = [expected.top_k(event, k) for event in probes]
        assert_table(matcher.top_k_many(probes, k), wanted, k)


def test_pages_out_of_order_after_many_changes_still_answer_exactly():
    ids, lows, highs, weights = crowd(900, 50)
    matcher = RelaxedMatcher(ATTRIBUTES, branching=4, patience=SIFTS)
    matcher.insert_many(ids[:600], lows[:600], highs[:600], weights[:600])
    matcher.delete_many(ids[:100])
    matcher.insert_many(*(column[600:] for column in (ids, lows, highs, weights)))
    heavier = {a: 77.0 for a, w in zip(ATTRIBUTES, weights[150], strict=True) if w == w}
    matcher.update_weights(int(ids[150]), heavier)  # beyond what the steps were made for
    matcher.check()
    expected = crowd_oracle(*(column[100:] for column in (ids, lows, highs, weights)))
    expected.update_weights(int(ids[150]), heavier)
    for value in (0.0, 9.0, 20.0, 41.0):
        event = dict.fromkeys(ATTRIBUTES, value)
        assert matcher.top_k(event, 30) == expected.top_k(event, 30)


def test_merging_stops_early_where_the_best_of_all_attributes_are_the_same():
    n = 5000
    weights = np.repeat(np.arange(n, 0.0, -1.0)[:, np.newaxis], 2, axis=1)
    matcher = RelaxedMatcher(["age", "income"], patience=MERGES)
    matcher.insert_many(np.arange(n), np.zeros((n, 2)), np.ones((n, 2)), weights)
    assert matcher.visited == 0
    hits = matcher.top_k({"age": 0.5, "income": 0.5}, 10)
    assert hits == [(i, 2.0 * (n - i)) for i in range(10)]
    assert 0 < matcher.visited < n // 10


def test_merging_stops_early_where_all_weights_are_equal():
    n = 5000
    matcher = RelaxedMatcher(["age", "income"], patience=MERGES)
    matcher.insert_many(np.arange(n), np.zeros((n, 2)), np.ones((n, 2)), np.full((n, 2), 0.1))
    hits = matcher.top_k({"age": 0.5, "income": 0.5}, 10)
    assert hits == [(i, 0.2) for i in range(10)]
    assert 0 < matcher.visited < n // 25


def test_one_attribute_of_an_event_needs_no_more_than_k_of_its_rows():
    n = 5000
    matcher = RelaxedMatcher(["age", "income"])
    weights = np.ones((n, 2)) + np.random.default_rng(5).random((n, 2))
    matcher.insert_many(np.arange(n), np.zeros((n, 2)), np.ones((n, 2)), weights)
    best = np.argsort(-weights[:, 1], kind="stable")[:3].tolist()
    assert [hit.id for hit in matcher.top_k({"income": 0.5}, 3)] == best
    assert 0 < matcher.visited < n // 50


def test_sifting_skips_pages_too_light_to_matter():
    n = 5000
    matcher = RelaxedMatcher(["age", "income"], patience=SIFTS)
    weights = np.arange(1.0, 2 * n + 1).reshape(n, 2)
    matcher.insert_many(np.arange(n), np.zeros((n, 2)), np.ones((n, 2)), weights)
    matcher.top_k({"age": 0.5, "income": 0.5}, 10)
    assert 0 < matcher.visited < n // 10


def test_sifting_skips_pages_that_could_only_tie_with_lower_ids():
    n = 5000
    matcher = RelaxedMatcher(["age", "income"], patience=SIFTS)
    matcher.insert_many(np.arange(n), np.zeros((n, 2)), np.ones((n, 2)), np.full((n, 2), 0.1))
    event = {"age": 0.5, "income": 0.5}
    assert matcher.top_k(event, 10) == [(i, 0.2) for i in range(10)]
    assert 0 < matcher.visited < n // 10
    matcher.delete(4321)
    matcher.insert(n + 1, {"age": (0, 1), "income": (0, 1)}, {"age": 0.1, "income": 0.1})
    matcher.delete_many(np.arange(20))
    matcher.insert(3, {"age": (0, 1), "income": (0, 1)}, {"age": 0.1, "income": 0.1})
    matcher.check()
    assert matcher.top_k(event, 3) == [(3, 0.2), (20, 0.2), (21, 0.2)]


def test_merging_bases_stops_early_also_beside_a_delta():
    n = 5000
    weights = np.repeat(np.arange(n, 0.0, -1.0)[:, np.newaxis], 2, axis=1)
    matcher = RelaxedMatcher(["age", "income"], patience=MERGES)
    matcher.insert_many(np.arange(n), np.zeros((n, 2)), np.ones((n, 2)), weights)
    matcher.rebase()
    matcher.update_weights(4000, {"age": n + 1.0, "income": 1.0})
    matcher.update_weights(0, {"age": 0.5, "income": 0.5})
    hits = matcher.top_k({"age": 0.5, "income": 0.5}, 10)
    best = [(i, 2.0 * (n - i)) for i in range(1, 11)]
    assert hits == best
    assert matcher.top_k({"age": 0.5}, 2) == [(4000, n + 1.0), (1, n - 1.0)]
    assert 0 < matcher.visited < n // 5


@pytest.mark.parametrize("wrong", [(-1.0, 1.0, 1.0), (0.0, 2.0, 1.0), (0.0, 1.0, 2.0), None])
def test_a_subscription_that_one_tree_has_otherwise_is_not_answered_from_the_trees(wrong):
    matcher = RelaxedMatcher(["age", "income"], branching=2, patience=MERGES)
    both = {"age": (0, 1), "income": (0, 1)}
    matcher.insert(1, both, {"age": 1.0, "income": 1.0})
    matcher.insert(2, {"age": (0, 1)}, {"age": 1.0})
    age = SOPTRTree.build([1, 2], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0])
    rows = [(2, 0.0, 1.0, 5.0)]  # which does not constrain income
    rows += [(1, *wrong)] if wrong else []
    income = SOPTRTree.build(*map(list, zip(*rows, strict=True)))
    matcher.replace_base([age, income], 9)
    matcher.check()
    assert matcher.delta_share == 0.5
    assert matcher.top_k({"age": 0.5, "income": 0.5}, 9) == [(1, 2.0), (2, 1.0)]
    assert matcher.top_k({"income": 0.5}, 9) == [(1, 1.0)]


@pytest.mark.parametrize("patience", [MERGES, SIFTS])
def test_a_lower_id_that_ties_at_the_threshold_still_wins(patience):
    matcher = RelaxedMatcher(["age", "income"], patience=patience)
    # Read from age: 9, 1, 5; from income: 2, 3, 5.  Before 5 is read, the threshold is 3 + 1, as
    # much as the best so far, 9, scores.
    matcher.insert(9, {"age": (0, 1)}, {"age": 4.0})
    matcher.insert(1, {"age": (0, 1)}, {"age": 3.0})
    matcher.insert(2, {"income": (0, 1)}, {"income": 1.0})
    matcher.insert(3, {"income": (0, 1)}, {"income": 1.0})
    matcher.insert(5, {"age": (0, 1), "income": (0, 1)}, {"age": 3.0, "income": 1.0})
    event = {"age": 0.5, "income": 0.5}
    assert matcher.top_k(event, 1) == [(5, 4.0)]
    assert matcher.top_k(event, 9) == [(5, 4.0), (9, 4.0), (1, 3.0), (2, 1.0), (3, 1.0)]


@pytest.mark.parametrize("patience", [MERGES, SIFTS])
def test_a_tie_that_only_rounding_makes_goes_to_the_lower_id(patience):
    matcher = RelaxedMatcher(["age", "income"], patience=patience)
    # 1 is lost beside 1e16, so 9 and 3 tie, although 3 is lighter in income than 9 and 7.
    matcher.insert(9, {"age": (0, 1), "income": (0, 1)}, {"age": 1e16, "income": 1.0})
    matcher.insert(7, {"income": (0, 1)}, {"income": 0.9})
    matcher.insert(3, {"age": (0, 1), "income": (0, 1)}, {"age": 1e16, "income": 0.5})
    matcher.insert(4, {"age": (0, 1)}, {"age": 1e16})
    assert matcher.top_k({"age": 0, "income": 0}, 1) == [(3, 1e16)]
    assert matcher.top_k({"age": 0, "income": 0}, 2) == [(3, 1e16), (4, 1e16)]


@pytest.mark.parametrize("crowded", [False, True], ids=["few-weights", "many-weights"])
@pytest.mark.parametrize("patience", [MERGES, SIFTS])
def test_a_lighter_row_that_rounding_makes_tie_at_the_threshold_is_waited_for(patience, crowded):
    matcher = RelaxedMatcher(["age", "income"], patience=patience)
    # Read first: 5 from age and 1 from income, which makes the threshold 2, as much as 5 scores.
    matcher.insert(5, {"age": (0, 1), "income": (0, 1)}, {"age": 1.0, "income": 1.0})
    matcher.insert(1, {"income": (0, 1)}, {"income": 1.0})
    matcher.insert(3, {"age": (0, 1), "income": (0, 1)}, {"age": 1 - 2**-53, "income": 1.0})
    if crowded:
        for id in range(100, 180):
            matcher.insert(id, {"age": (0, 1)}, {"age": 1 / id})
    assert matcher.top_k({"age": 0, "income": 0}, 1) == [(3, 2.0)]


@pytest.mark.parametrize("order", list(itertools.permutations(["a", "b", "c"])))
def test_weights_are_added_in_the_order_of_the_attributes(order):
    weights = {"a": 0.1, "b": 0.2, "c": 0.3}
    matcher = RelaxedMatcher(order)
    matcher.insert(1, dict.fromkeys("abc", EVERYWHERE), weights)
    score = 0.0
    for name in order:
        score += weights[name]
    assert matcher.top_k(dict.fromkeys("abc", 0.0), 1) == [(1, score)]


@pytest.mark.parametrize("patience", [MERGES, SIFTS])
@pytest.mark.parametrize("weight", [5e-324, 1e-310, 4e307])
def test_the_least_and_greatest_weights_count(weight, patience):
    matcher = RelaxedMatcher(["age", "income"], patience=patience)
    matcher.insert(1, {"age": (0, 1), "income": (0, 1)}, {"age": weight, "income": weight})
    matcher.insert(2, {"age": (0, 1)}, {"age": weight})
    matcher.insert(3, {"age": (0, 1), "income": (2, 3)}, {"age": weight, "income": weight})
    matcher.check()
    expected = [(1, 2 * weight), (2, weight), (3, weight)]
    assert matcher.top_k({"age": 1, "income": 1}, 9) == expected


@pytest.fixture
def ads():
    """The seed's mortgage vendor (§1), to whom credit matters most, beside others."""
    matcher = RelaxedMatcher(["age", "credit", "visits"])
    matcher.insert(
        10,
        {"age": (20, 35), "credit": (400, 500), "visits": (3, INF)},
        {"age": 1.0, "credit": 5.0, "visits": 2.0},
    )
    matcher.insert(11, {"age": (20, 35)}, {"age": 2.0})
    matcher.insert(13, {"visits": EVERYWHERE}, {"visits": 2.0})
    matcher.insert(14, {"age": (25, 25), "credit": (-INF, 441)}, {"age": 4.0, "credit": 4.0})
    return matcher


def test_one_interval_is_enough_and_more_score_more(ads):
    visitor = {"age": 25, "credit": 441, "visits": 6}
    assert ads.top_k(visitor, 9) == [(10, 8.0), (14, 8.0), (11, 2.0), (13, 2.0)]
    assert ads.top_k(visitor, 3) == [(10, 8.0), (14, 8.0), (11, 2.0)]
    assert ads.top_k({**visitor, "credit": 442}, 9) == [(10, 8.0), (14, 4.0), (11, 2.0), (13, 2.0)]
    assert ads.top_k({**visitor, "credit": 501}, 9) == [(14, 4.0), (10, 3.0), (11, 2.0), (13, 2.0)]
    assert ads.top_k({**visitor, "age": 36}, 9) == [(10, 7.0), (14, 4.0), (13, 2.0)]
    assert_plain(ads.top_k(visitor, 9))


def test_a_missing_attribute_adds_nothing_also_to_an_interval_of_everything(ads):
    assert ads.top_k({"age": 25}, 9) == [(14, 4.0), (11, 2.0), (10, 1.0)]
    assert ads.top_k({"visits": 0}, 9) == [(13, 2.0)]
    assert ads.top_k({}, 9) == []


def test_an_event_attribute_that_the_matcher_does_not_know_is_ignored(ads):
    assert ads.top_k({"visits": 0, "shoe size": NAN}, 9) == [(13, 2.0)]
    assert ads.top_k({"shoe size": 43.0}, 9) == []


def test_new_weights_change_the_order_in_every_attribute(ads):
    ads.update_weights(11, {"age": 9.0})
    ads.update_weights(14, {"age": 0.5, "credit": 0.25})
    ads.check()
    visitor = {"age": 25, "credit": 441, "visits": 6}
    assert ads.top_k(visitor, 9) == [(11, 9.0), (10, 8.0), (13, 2.0), (14, 0.75)]


def test_a_matcher_keeps_nothing_of_the_callers_arguments():
    matcher, intervals, weights = RelaxedMatcher(["age"]), {"age": (0.0, 4.0)}, {"age": 1.0}
    matcher.insert(1, intervals, weights)
    intervals["age"], weights["age"] = (9.0, 9.0), 7.0
    columns = np.array([[2.0]])
    matcher.insert_many([2], columns, columns, columns)
    columns[:] = 9.0
    assert matcher.top_k({"age": 2.0}, 9) == [(2, 2.0), (1, 1.0)]


INSERT_REFUSALS = [
    pytest.param(10, {"age": (0, 1)}, {"age": 1.0}, KeyError, [10], id="known-id"),
    pytest.param(-8, {"age": (0, 1)}, {"age": 1.0}, ValueError, [-8], id="negative-id"),
    pytest.param(50, {}, {}, ValueError, ["none"], id="no-interval"),
    pytest.param(50, {"hat": (0, 1)}, {"hat": 1.0}, ValueError, ["hat"], id="unknown-attribute"),
    pytest.param(50, {"age": (7.5, 3.5)}, {"age": 1.0}, ValueError, [7.5, "age"], id="inverted"),
    pytest.param(50, {"age": (NAN, NAN)}, {"age": 1.0}, ValueError, ["nan", "age"], id="nan-ends"),
    pytest.param(50, {"age": (0, 1)}, {}, ValueError, ["weights", "age"], id="no-weight"),
    pytest.param(
        50, {"age": (0, 1)}, {"age": 1.0, "visits": 1.0}, ValueError, ["visits"], id="idle-weight"
    ),
    pytest.param(50, {"age": (0, 1)}, {"credit": 1.0}, ValueError, ["credit"], id="other-weight"),
    pytest.param(50, {"age": (0, 1)}, {"age": NAN}, ValueError, ["nan", "age"], id="weight-nan"),
    pytest.param(50, {"age": (0, 1)}, {"age": INF}, ValueError, ["inf", "age"], id="weight-inf"),
    pytest.param(50, {"age": (0, 1)}, {"age": 0.0}, ValueError, ["0.0", "> 0"], id="weight-zero"),
    pytest.param(50, {"age": (0, 1)}, {"age": -2.5}, ValueError, [-2.5, "> 0"], id="negative"),
    pytest.param(50, {"age": (0, 1)}, {"age": "2"}, ValueError, ["2", "age"], id="weight-text"),
    pytest.param(
        50,
        {"age": (0, 1), "visits": (0, 1)},
        {"age": 1.7e308, "visits": 1.7e308},
        ValueError,
        ["1.7e+308", "finite sum"],
        id="endless-sum",
    ),
]


@pytest.mark.parametrize(("id", "intervals", "weights", "error", "named"), INSERT_REFUSALS)
def test_refused_inserts_name_the_value_and_change_nothing(
    ads, id, intervals, weights, error, named
):
    with keeps(ads, error, *named):
        ads.insert(id, intervals, weights)


BULK_REFUSALS = [
    pytest.param({"weights": np.ones((4, 3))}, ValueError, [4, 3], id="more-weights"),
    pytest.param({"weights": np.ones((3, 2))}, ValueError, [2, 3], id="narrow-weights"),
    pytest.param({"weights": np.ones(3)}, ValueError, [1, 2], id="one-dimension"),
    pytest.param({"weights": [[1, NAN, 1]] * 3}, ValueError, ["nan", "credit"], id="weight-nan"),
    pytest.param({"weights": [[1, 1, INF]] * 3}, ValueError, ["inf", "visits"], id="weight-inf"),
    pytest.param({"weights": [[0, 1, 1]] * 3}, ValueError, ["0.0", "age"], id="weight-zero"),
    pytest.param({"weights": [[1, -3.5, 1]] * 3}, ValueError, [-3.5], id="weight-negative"),
    pytest.param({"lows": np.zeros((3, 2))}, ValueError, [2, 3], id="an-attribute-short"),
    pytest.param({"lows": [[0, 0, 7.25]] * 3}, ValueError, [7.25, "visits"], id="inverted"),
    pytest.param({"lows": [[0, NAN, 0]] * 3}, ValueError, ["nan", "credit"], id="only-low-nan"),
    pytest.param({"highs": [[NAN, 1, 1]] * 3}, ValueError, ["nan", "age"], id="only-high-nan"),
    pytest.param(
        {"lows": [[0, 0, NAN]] * 3, "highs": [[1, 1, NAN]] * 3},
        ValueError,
        [1.0, "visits"],
        id="weight-without-interval",
    ),
    pytest.param(
        {name: [[0.5] * 3, [NAN] * 3, [0.5] * 3] for name in ("lows", "highs", "weights")},
        ValueError,
        ["none", 1],
        id="a-row-of-nothing",
    ),
]


@pytest.mark.parametrize(("changed", "error", "named"), BULK_REFUSALS)
def test_a_bulk_insert_is_all_or_nothing(ads, changed, error, named):
    good = {"ids": [50, 51, 52], "lows": np.zeros((3, 3)), "highs": np.ones((3, 3))}
    good["weights"] = np.ones((3, 3))
    with keeps(ads, error, *named):
        ads.insert_many(**{**good, **changed})
    ads.insert_many(**good)
    ads.check()
    assert len(ads) == 7


@pytest.mark.parametrize(
    ("id", "weights", "error", "named"),
    [
        pytest.param(41, {"age": 1.0}, KeyError, [41], id="unknown-id"),
        pytest.param(14, {"age": 1.0}, ValueError, ["credit"], id="one-short"),
        pytest.param(11, {"age": 1.0, "credit": 1.0}, ValueError, ["credit"], id="one-too-many"),
        pytest.param(11, {"hat": 1.0}, ValueError, ["hat"], id="unknown-attribute"),
        pytest.param(14, {"age": 1.0, "credit": 0}, ValueError, ["credit", "> 0"], id="zero"),
        pytest.param(14, {"age": NAN, "credit": 1.0}, ValueError, ["nan"], id="nan"),
        pytest.param(14, {"age": 1.7e308, "credit": 1e308}, ValueError, ["1.7e+308"], id="endless"),
    ],
)
def test_refused_weights_change_nothing(ads, id, weights, error, named):
    with keeps(ads, error, *named):
        ads.update_weights(id, weights)


@pytest.mark.parametrize(
    ("attributes", "options"),
    [
        pytest.param([f"a{i}" for i in range(10_001)], {}, id="too-many"),
        pytest.param(["age"], {"branching": 1}, id="branching"),
        pytest.param(["age"], {"patience": -1.0}, id="patience"),
        pytest.param(["age"], {"patience": NAN}, id="patience-nan"),
    ],
)
def test_a_matcher_is_not_made_from_nonsense(attributes, options):
    with pytest.raises(ValueError, match="expected"):
        RelaxedMatcher(attributes, **options)
