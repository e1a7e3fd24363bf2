"""The exact matcher against a full scan, with one, two and three attributes, and its bases."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from indexes.hits import empty_table
from indexes.intervals import ExactMatcher, IRTree, LiveMatcher, SOPTRTree
from indexes.intervals.exact_boxes import encode_events
from indexes.intervals.exact_kernels import walk
from indexes.intervals.live_matcher import stabbed
from tests.indexes.intervals import strategies as some
from tests.indexes.intervals.base_machine import Renewing
from tests.indexes.intervals.columns import (
    ID_ERRORS,
    INF,
    SHRINKING,
    array_bytes,
    assert_plain,
    assert_table,
    refused,
)
from tests.oracles import intervals as oracle

NAN = math.nan
EVERYWHERE = (-INF, INF)
ATTRIBUTES = ("age", "income", "visits")


def event_grid(attributes):
    """Events that lack nothing, lack each attribute in turn, and lack everything."""
    full = [dict.fromkeys(attributes, v) for v in (-5.0, -4.0, -1.0, -0.0, 0.5, 1.0, 2.0, 4.0)]
    mixed = {name: float(i) for i, name in enumerate(attributes)}
    short = [{a: v for a, v in mixed.items() if a != absent} for absent in attributes]
    return [{}, *full, mixed, *short]


def seen(matcher, attributes=ATTRIBUTES):
    """All that a caller can see of a matcher."""
    answers = [matcher.top_k(event, len(matcher)) for event in event_grid(attributes)]
    return [len(matcher), matcher.nbytes, answers, array_bytes(matcher.to_arrays())]


def keeps(matcher, error, *named):
    """The block raises and leaves the matcher as it was."""
    return refused(matcher, error, *named, see=seen)


def restored(matcher):
    if isinstance(matcher, LiveMatcher):
        return LiveMatcher.from_arrays(matcher.attributes, matcher.to_arrays())
    return ExactMatcher.from_arrays(matcher.to_arrays())


def ends_columns(attributes, wanted):
    """The array form of interval mappings: NaN in both where an attribute is free."""
    lows = [[intervals.get(a, (NAN, NAN))[0] for a in attributes] for intervals in wanted]
    highs = [[intervals.get(a, (NAN, NAN))[1] for a in attributes] for intervals in wanted]
    shape = (len(wanted), len(attributes))
    return np.array(lows, dtype=float).reshape(shape), np.array(highs, dtype=float).reshape(shape)


def value_rows(attributes, events):
    """The array form of events: NaN where one lacks an attribute."""
    rows = [[event.get(a, NAN) for a in attributes] for event in events]
    return np.array(rows, dtype=float).reshape(len(events), len(attributes))


def agree(matcher, expected, attributes):
    matcher.check()
    n = len(expected.live)
    assert len(matcher) == n
    events = event_grid(attributes)
    wanted = [expected.top_k(event, n) for event in events]
    assert [matcher.top_k(event, n) for event in events] == wanted
    assert_table(matcher.top_k_many(events, n), wanted, n)
    assert_table(matcher.top_k_many(value_rows(attributes, events), n), wanted, n)


# A constraint of everything differs from none: the event must have the attribute.
constraint = st.one_of(st.just(EVERYWHERE), some.intervals)


def events(attributes):
    known = dict.fromkeys(attributes, some.values)
    return st.fixed_dictionaries({}, optional={**known, "unheard of": some.values})


def subscriptions(attributes):
    free = st.fixed_dictionaries({}, optional=dict.fromkeys(attributes, constraint))
    return st.tuples(some.ids, free, some.scores)


def bulk(attributes, batch):
    """The arguments of `insert_many` for a list of subscriptions."""
    ids, wanted, scores = zip(*batch, strict=True) if batch else ((), (), ())
    return list(ids), *ends_columns(attributes, wanted), list(scores)


def walked(matcher, batch, k, attribute):
    """The answers by one attribute's trees, which few subscriptions make too costly to choose."""
    wanted = encode_events(batch, matcher._column)
    table, every = empty_table(len(batch), k), np.arange(len(batch))
    trees, keys, most = matcher._trees.of(attribute), matcher._rows.keys, len(matcher)
    given_up = walk(trees, keys, matcher._boxes, wanted, every, attribute, most, table)
    assert k == 0 or not given_up.any()
    return table


def trees_of(attributes, live):
    """What a job elsewhere builds: a tree an attribute, each of all subscriptions."""
    wanted, scores = [list(column) for column in zip(*live.values(), strict=True)] or [[], []]
    boxes = stabbed(*ends_columns(attributes, wanted), attributes)
    return [
        SOPTRTree.build(list(live), boxes.lows[:, j], boxes.highs[:, j], scores, branching=2)
        for j in range(len(attributes))
    ]


def against_scan(attributes, make=ExactMatcher):
    """A state machine of a matcher with these attributes."""

    class MatcherAgainstScan(Renewing):
        def __init__(self):
            super().__init__()
            self.matcher = make(attributes)
            self.expected = oracle.ExactMatches()

        def keeps(self, error, *named):
            return refused(self.matcher, error, *named, see=lambda it: seen(it, attributes))

        def trees(self, live):
            return trees_of(attributes, live)

        def knows(self, id):
            return id in self.expected.live

        @rule(subscription=subscriptions(attributes))
        def insert(self, subscription):
            if self.knows(subscription[0]):
                with self.keeps(KeyError, subscription[0]):
                    self.matcher.insert(*subscription)
            else:
                self.matcher.insert(*subscription)
                self.expected.insert(*subscription)

        @rule(batch=st.lists(subscriptions(attributes), max_size=10), fresh=st.booleans())
        def insert_many(self, batch, fresh):
            if fresh:
                batch = list({new[0]: new for new in batch if not self.knows(new[0])}.values())
            ids = [id for id, _, _ in batch]
            if len(set(ids)) < len(ids) or any(map(self.knows, ids)):
                with self.keeps(ID_ERRORS):
                    self.matcher.insert_many(*bulk(attributes, batch))
            else:
                self.matcher.insert_many(*bulk(attributes, batch))
                for subscription in batch:
                    self.expected.insert(*subscription)

        @rule(
            batch=st.lists(subscriptions(attributes), min_size=1, unique_by=lambda new: new[0]),
            at=st.integers(0, 5),
            spoilt=st.sampled_from(["low", "high", "inverted", "score"]),
        )
        def insert_many_with_a_bad_row(self, batch, at, spoilt):
            batch = [new for new in batch if not self.knows(new[0])] or [(99, {}, 1.0)]
            ids, lows, highs, scores = bulk(attributes, batch)
            at %= len(batch)
            if spoilt == "score":
                scores[at] = INF
            else:
                half = {"low": (NAN, 1.0), "high": (0.0, NAN), "inverted": (1.0, 0.0)}[spoilt]
                lows[at, -1], highs[at, -1] = half
            with self.keeps(ValueError):
                self.matcher.insert_many(ids, lows, highs, scores)

        @rule(id=some.ids)
        def delete(self, id):
            if self.knows(id):
                self.matcher.delete(id)
                self.expected.delete(id)
            else:
                with self.keeps(KeyError, id):
                    self.matcher.delete(id)

        @rule(subscription=subscriptions(attributes))
        def move(self, subscription):
            if self.knows(subscription[0]):
                self.delete(subscription[0])
                self.insert(subscription)

        @rule(ids=st.lists(some.ids, max_size=8), live=st.booleans())
        def delete_many(self, ids, live):
            if live:
                ids = list({id for id in ids if self.knows(id)})
            if len(set(ids)) == len(ids) and all(map(self.knows, ids)):
                self.matcher.delete_many(ids)
                for id in ids:
                    self.expected.delete(id)
            else:
                with self.keeps(ID_ERRORS):
                    self.matcher.delete_many(ids)

        @rule(event=events(attributes), k=some.counts)
        def top_k(self, event, k):
            assert self.matcher.top_k(event, k) == self.expected.top_k(event, k)

        @rule(batch=st.lists(events(attributes), max_size=5), k=some.counts)
        def top_k_many(self, batch, k):
            wanted = [self.expected.top_k(event, k) for event in batch]
            assert_table(self.matcher.top_k_many(batch, k), wanted, k)
            assert_table(self.matcher.top_k_many(value_rows(attributes, batch), k), wanted, k)
            if isinstance(self.matcher, ExactMatcher):
                for j in range(len(attributes)):
                    assert_table(walked(self.matcher, batch, k, j), wanted, k)

        @rule(
            batch=st.lists(
                st.tuples(some.hot_ids, some.scores), max_size=4, unique_by=lambda one: one[0]
            )
        )
        def update_scores(self, batch):
            ids, scores = [id for id, _ in batch], [score for _, score in batch]
            if all(map(self.knows, ids)):
                self.matcher.update_scores(ids, scores)
                for id, score in batch:
                    self.expected.insert(id, self.expected.live[id][0], score)
            else:
                with self.keeps(KeyError):
                    self.matcher.update_scores(ids, scores)

        @rule()
        def round_trip(self):
            before = array_bytes(self.matcher.to_arrays())
            self.matcher = restored(self.matcher)
            assert array_bytes(self.matcher.to_arrays()) == before

        @invariant()
        def structure_holds(self):
            self.matcher.check()
            assert len(self.matcher) == len(self.expected.live)

        def teardown(self):
            agree(self.matcher, self.expected, attributes)

    return MatcherAgainstScan


def tiny(attributes):
    """Blocks of two, so that trees of a few subscriptions have several levels."""
    return ExactMatcher(attributes, branching=2)


TestWithOneAttribute = SHRINKING(against_scan(ATTRIBUTES[:1]).TestCase)
TestWithTwoAttributes = SHRINKING(against_scan(ATTRIBUTES[:2], tiny).TestCase)
TestWithThreeAttributes = SHRINKING(against_scan(ATTRIBUTES, tiny).TestCase)
TestLive = SHRINKING(against_scan(ATTRIBUTES[:1], LiveMatcher).TestCase)


def test_a_live_matcher_has_one_attribute():
    for attributes in (["age", "visits"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="exactly one was expected"):
            LiveMatcher(attributes)


MATCHERS = [
    pytest.param(LiveMatcher, 1, id="live"),
    pytest.param(ExactMatcher, 1, id="exact-1"),
    pytest.param(ExactMatcher, 3, id="exact-3"),
]


@pytest.mark.parametrize(("make", "d"), MATCHERS)
def test_a_matcher_is_worn_when_a_tenth_has_changed(make, d):
    matcher, ids = make(ATTRIBUTES[:d]), np.arange(20_000)
    ends = np.zeros((len(ids), d))
    matcher.insert_many(ids, ends, ends, np.zeros(len(ids)))
    assert matcher.is_worn
    assert matcher.delta_share == 1.0
    matcher.rebase()
    assert not matcher.is_worn
    assert matcher.delta_share == 0.0
    matcher.delete_many(ids[:1800])
    assert not matcher.is_worn
    matcher.update_scores(ids[1800:1900], np.ones(100))  # gone from the base, come to the delta
    assert matcher.is_worn
    assert matcher.delta_share == 100 / 18_200


def test_a_matcher_is_stale_when_a_quarter_has_changed_and_refreshed_it_is_not():
    matcher, ids = ExactMatcher(ATTRIBUTES), np.arange(8000)
    ends = np.zeros((len(ids), 3))
    matcher.insert_many(ids, ends, ends, np.zeros(len(ids)))
    matcher.rebase()
    matcher.delete_many(ids[:1600])
    assert not matcher.is_stale
    matcher.insert_many(ids[:100], ends[:100], ends[:100], np.ones(100))
    assert matcher.is_stale
    before = matcher.top_k({"age": 0.0}, 200)
    matcher.refresh()
    assert not matcher.is_stale
    assert matcher.top_k({"age": 0.0}, 200) == before
    matcher.delete_many(ids[2000:5200])  # half: it does so by itself
    assert not matcher.is_stale


@pytest.mark.parametrize(("make", "d"), MATCHERS)
def test_what_trees_have_and_is_no_longer_here_counts_as_change(make, d):
    attributes = ATTRIBUTES[:d]
    matcher, ids, ends = make(attributes), np.arange(2000), np.zeros((2000, d))
    matcher.insert_many(ids, ends, ends, np.zeros(2000))
    trees = [SOPTRTree.build(ids, ends[:, j], ends[:, j], np.zeros(2000)) for j in range(d)]
    matcher.delete_many(ids[:1000])
    matcher.replace_base(trees, since=2000)
    assert (matcher.delta_share, matcher.is_worn) == (0.0, False)
    matcher.delete_many(ids[1000:1025])
    assert matcher.is_worn


@pytest.mark.parametrize(("make", "d"), MATCHERS)
def test_trees_that_do_not_fit_are_refused(make, d):
    attributes = ATTRIBUTES[:d]
    matcher = make(attributes)
    matcher.insert(1, {}, 1.0)
    fitting = trees_of(attributes, {1: ({}, 1.0)})

    def refuses(*named):
        return refused(matcher, ValueError, *named, see=lambda it: seen(it, attributes))

    with refuses(d + 1, "age"):
        matcher.replace_base([*fitting, fitting[0]], 5)
    with refuses(0, "SOPTRTree"):
        matcher.replace_base([], 5)
    with refuses("SOPTRTree", "age"):
        matcher.replace_base(fitting[0], 5)
    with refuses("IRTree", attributes[-1]):
        matcher.replace_base([*fitting[:-1], IRTree()], 5)
    with refuses("since", -1):
        matcher.replace_base(fitting, -1)
    matcher.replace_base(fitting, 2**70)
    assert matcher.delta_share == 0.0


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


def test_bases_take_less_memory_than_deltas():
    matcher = ExactMatcher(["rare", "common"])
    matcher.insert_many(*spread(5000))
    before = matcher.nbytes
    matcher.rebase()
    assert matcher.nbytes < 0.95 * before


def test_a_fork_shares_the_bases_and_nothing_that_changes():
    matcher = ExactMatcher(["rare", "common"])
    matcher.insert_many(*spread(500))
    matcher.rebase()
    twin = matcher.fork()
    event = {"rare": 7, "common": 5}
    twin.delete(7)
    matcher.update_score(7, 99.0)
    assert twin.top_k(event, 9) == []
    assert matcher.top_k(event, 9) == [(7, 99.0)]
    for one in (matcher, twin):
        one.check()
    pairs = zip(matcher._trees.bases, twin._trees.bases, strict=True)
    assert all(ours is theirs for ours, theirs in pairs)


def test_bases_are_dropped_when_much_comes_or_goes_at_once():
    ids, lows, highs, scores = spread(4000)
    matcher = ExactMatcher(["rare", "common"])
    matcher.insert_many(ids[:2000], lows[:2000], highs[:2000], scores[:2000])
    matcher.rebase()
    matcher.insert_many(ids[2000:], lows[2000:], highs[2000:], scores[2000:])
    assert matcher.delta_share == 1.0
    matcher.rebase()
    full = matcher.nbytes
    matcher.delete_many(ids[100:])
    assert matcher.nbytes < full // 10
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


def test_a_batch_answers_each_event_and_pads(ads):
    batch = [{"age": 25, "credit": 441, "visits": 6}, {}, {"visits": 0}]
    wanted = [ads.top_k(event, 4) for event in batch]
    assert [len(hits) for hits in wanted] == [4, 1, 2]
    assert_table(ads.top_k_many(batch, 4), wanted, 4)
    rows = np.array([[25, 441, 6], [NAN, NAN, NAN], [NAN, NAN, 0]])
    assert_table(ads.top_k_many(rows, 4), wanted, 4)
    assert_table(ads.top_k_many(np.asfortranarray(rows), 4), wanted, 4)
    frozen = np.frombuffer(rows.tobytes()).reshape(rows.shape)
    assert_table(ads.top_k_many(frozen, 4), wanted, 4)


@pytest.mark.parametrize("k", [0, 1, 5, 9])
def test_a_hit_table_always_has_k_columns(ads, k):
    events = event_grid(["age", "credit", "visits"])
    assert_table(ads.top_k_many(events, k), [ads.top_k(event, k) for event in events], k)
    assert_table(ads.top_k_many([], k), [], k)
    assert_table(ads.top_k_many(np.empty((0, 3)), k), [], k)


def test_an_empty_matcher_answers_with_nothing():
    matcher = ExactMatcher(["age"])
    matcher.check()
    assert len(matcher) == 0
    assert matcher.top_k({"age": 1.0}, 3) == matcher.top_k({}, 3) == []
    assert_table(matcher.top_k_many([{"age": 1.0}, {}], 2), [[], []], 2)
    assert matcher.nbytes >= 0


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
    attributes = ["age", "income"]
    wanted = [
        {},
        {"age": (0.0, 4.0)},
        {"income": EVERYWHERE},
        {"age": (1.0, 1.0), "income": (0, INF)},
    ]
    singly, bulk, expected = (
        ExactMatcher(attributes),
        ExactMatcher(attributes),
        oracle.ExactMatches(),
    )
    for id, intervals in enumerate(wanted):
        singly.insert(id, intervals, id % 2)
        expected.insert(id, intervals, float(id % 2))
    lows, highs = ends_columns(attributes, wanted)
    bulk.insert_many(np.arange(4), lows, highs, np.arange(4) % 2)
    bulk.insert_many([], np.empty((0, 2)), np.empty((0, 2)), [])
    for matcher in (singly, bulk, restored(bulk)):
        agree(matcher, expected, attributes)
    lows[:], highs[:] = 0.0, 0.0
    agree(bulk, expected, attributes)


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


def test_a_deleted_subscription_leaves_every_attribute_and_may_come_back_otherwise(ads):
    ads.delete(10)
    ads.delete(12)
    ads.insert(10, {"credit": (441, 441)}, 0.5)
    ads.check()
    assert ads.top_k({"age": 25, "credit": 441, "visits": 6}, 9) == [
        (14, 9.0),
        (13, 7.5),
        (11, 2.0),
        (10, 0.5),
    ]
    assert ads.top_k({"credit": 441}, 9) == [(10, 0.5)]
    ads.delete_many([10, 11, 13, 14])
    ads.check()
    assert len(ads) == 0
    assert ads.top_k({"age": 25, "credit": 441, "visits": 6}, 9) == []


def test_a_matcher_keeps_nothing_of_the_callers_mapping():
    matcher, intervals = ExactMatcher(["age"]), {"age": (0.0, 4.0)}
    matcher.insert(1, intervals, 1.0)
    intervals["age"] = (9.0, 9.0)
    assert matcher.top_k({"age": 2.0}, 1) == [(1, 1.0)]


def test_a_structure_restored_from_arrays_lives_on_by_itself(ads):
    twin = restored(ads)
    ads.delete(11)
    twin.insert(99, {"age": (0, 99)}, 3.0)
    for matcher in (ads, twin):
        matcher.check()
    assert ads.top_k({"age": 30}, 9) == [(12, 1.0)]
    assert twin.top_k({"age": 30}, 9) == [(99, 3.0), (11, 2.0), (12, 1.0)]


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
    pytest.param({"ids": [50, 51, 10]}, KeyError, [10], id="known-id"),
    pytest.param({"ids": [50, 51, 50]}, ID_ERRORS, [50], id="id-twice"),
    pytest.param({"ids": [50, -8, 52]}, ValueError, [-8], id="negative-id"),
    pytest.param({"ids": [50, 51]}, ValueError, [2, 3], id="fewer-ids"),
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


@pytest.mark.parametrize(
    ("ids", "error", "named"),
    [
        pytest.param([10, 41, 11], KeyError, [41], id="unknown"),
        pytest.param([10, 11, 10], ID_ERRORS, [10], id="twice"),
        pytest.param([10, -8], ID_ERRORS, [-8], id="negative"),
        pytest.param([[10, 11]], ValueError, [2], id="two-dimensions"),
    ],
)
def test_a_bulk_delete_is_all_or_nothing(ads, ids, error, named):
    with keeps(ads, error, *named):
        ads.delete_many(ids)
    with keeps(ads, KeyError, 41):
        ads.delete(41)


EVENT_REFUSALS = [
    pytest.param(lambda m: m.top_k({"age": NAN}, 2), ["nan", "age"], id="nan"),
    pytest.param(lambda m: m.top_k({"age": 1.0, "visits": INF}, 2), ["inf", "visits"], id="inf"),
    pytest.param(lambda m: m.top_k({"age": -INF}, 0), ["-inf", "age"], id="minus-inf-of-none"),
    pytest.param(lambda m: m.top_k({}, -3), [-3], id="negative-k"),
    pytest.param(lambda m: m.top_k_many([{}, {"age": NAN}], 2), ["nan", "age"], id="many-nan"),
    pytest.param(lambda m: m.top_k_many([{}, {"age": INF}], 2), ["inf", "age"], id="many-inf"),
    pytest.param(lambda m: m.top_k_many([], -3), [-3], id="many-negative-k"),
    pytest.param(lambda m: m.top_k_many(np.full((2, 3), INF), 2), ["inf"], id="array-inf"),
    pytest.param(lambda m: m.top_k_many(np.zeros((4, 2)), 2), [2, 3], id="array-narrow"),
    pytest.param(lambda m: m.top_k_many(np.zeros(3), 2), [], id="array-one-dimension"),
    pytest.param(lambda m: m.top_k_many(np.zeros((4, 3)), -3), [-3], id="array-negative-k"),
]


@pytest.mark.parametrize(("query", "named"), EVENT_REFUSALS)
@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
def test_bad_events_are_refused_also_by_an_empty_matcher(ads, query, named, filled):
    if not filled:
        ads.delete_many([10, 11, 12, 13, 14])
    with keeps(ads, ValueError, *named):
        query(ads)


def test_a_bad_value_of_an_unknown_attribute_is_ignored_with_it(ads):
    assert ads.top_k({"age": 30, "shoe size": NAN}, 9) == [(11, 2.0), (12, 1.0)]
