"""The same contract for every index of Boolean expressions, against plain evaluation."""

import copy
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from indexes.boolean import BEStarTree, BETree, Buckets, KIndex, Predicate, Scan
from indexes.boolean.rows import RowStore
from indexes.hits import Hit
from tests.indexes.boolean import strategies as some
from tests.indexes.intervals.columns import SHRINKING, array_bytes, assert_table
from tests.oracles.boolean import Expressions


class TinyTree(BEStarTree):
    """Splits and merges from the third member on."""

    def __init__(self) -> None:
        super().__init__(leaf_capacity=2, partition=1, beta=1.5)


class ApproximateTree(BEStarTree):
    def __init__(self) -> None:
        super().__init__(leaf_capacity=3, partition=2, split="approximate", alpha=0.3)


class TinyRigidTree(BETree):
    def __init__(self) -> None:
        super().__init__(leaf_capacity=2)


INDEXES = [Scan, Buckets, KIndex, BETree, BEStarTree, TinyTree, ApproximateTree, TinyRigidTree]
TINY = [Scan, Buckets, KIndex, TinyRigidTree, ApproximateTree, TinyTree]
PROBES = [
    {},
    *(dict.fromkeys(some.ATTRIBUTES, value) for value in [*some.NUMBERS, 1.5, *some.STRINGS]),
    {"a": (1.0, 2.0), "b": "x", "c": (0.0, 0.5)},
    {"a": "x", "b": (2.0, 0.0)},
    {"c": "unheard of", "b": 0.5, "nobody asks": 1},
]


@pytest.fixture(params=INDEXES, ids=lambda cls: cls.__name__)
def index(request):
    return request.param()


def assert_same_answers(index, expected, events=PROBES):
    index.check()
    n = len(expected.live)
    assert len(index) == n
    wanted = [expected.top_k(event, n + 1) for event in events]
    assert_table(index.top_k_many(events, n + 1), wanted, n + 1)
    assert index.match_many(events) == [expected.match(event) for event in events]
    for k in (1, 2):
        assert [index.top_k(event, k) for event in events] == [hits[:k] for hits in wanted]


def holding(op, value):
    """Events in which the predicate holds, and events in which it does not, at every boundary."""
    predicate = Predicate("a", op, value, 0.7)
    below, above = math.nextafter(1.0, -math.inf), math.nextafter(1.0, math.inf)
    values = [0.0, -0.0, 0.5, below, 1.0, above, 2.0, 3.0, -1e308, 1e308, "x", "y", "unheard of"]
    return predicate, [{"a": (got, 0.5)} for got in values]


CASES = [
    *itertools.product(["=", "!=", "<", "<=", ">", ">="], [0.0, 1.0, 2.0]),
    *itertools.product(["=", "!="], ["x", "w"]),
    *itertools.product(["in", "not in"], [[1.0], [1.0, 2.0], [0.0, 3.0], ["x"], ["x", "y"]]),
    *(("between", ends) for ends in ([0.0, 1.0], [1.0, 1.0], [-math.inf, 1.0], [1.0, math.inf])),
    ("between", [-math.inf, math.inf]),
]


@pytest.mark.parametrize(("op", "value"), CASES, ids=str)
@pytest.mark.parametrize("cls", [Scan, Buckets, KIndex, BETree, BEStarTree])
def test_operators_at_their_boundaries(cls, op, value):
    predicate, events = holding(op, value)
    index, expected = cls(), Expressions()
    for structure in (index, expected):
        structure.insert(5, [predicate])
        structure.insert(6, [Predicate("b", "=", "z")])  # another attribute of the vocabulary
    assert_same_answers(index, expected, [*events, {}, {"b": 1.0}, {"b": "z"}])


def test_an_empty_index_has_no_hits(index):
    assert_same_answers(index, Expressions())
    assert index.top_k({"a": 1}, 3) == []
    assert index.top_k_many([], 3).ids.shape == (0, 3)
    assert index.match_many([]) == []


def test_no_hits_are_asked_for(index):
    index.insert(1, [Predicate("a", "=", 1)])
    assert index.top_k({"a": 1}, 0) == []
    assert index.top_k_many([{"a": 1}], 0).ids.shape == (1, 0)


def test_ties_go_to_the_lower_id(index):
    for id in (9, 3, 7, 1):
        index.insert(id, [Predicate("a", ">", 0, 0.5)])
    assert index.top_k({"a": 1}, 3) == [Hit(1, 0.5), Hit(3, 0.5), Hit(7, 0.5)]


def test_an_attribute_that_occurs_twice_counts_twice(index):
    index.insert(1, [Predicate("a", ">=", 1, 0.25), Predicate("a", "<", 3, 0.5)])
    assert index.top_k({"a": (2, 2.0)}, 1) == [Hit(1, 1.5)]
    assert index.match({"a": 3}) == []


def test_a_missing_attribute_fails_every_operator(index):
    values = {"between": [0, 9], "in": [1], "not in": [1]}
    for id, op in enumerate(["=", "!=", "<", "<=", ">", ">=", "in", "not in", "between"]):
        index.insert(id, [Predicate("a", op, values.get(op, 1))])
    assert index.match({"b": 1}) == []
    assert index.match({"a": "1"}) == []


def test_scores_are_sums_in_the_order_given(index):
    """Floating-point sums depend on the order; operators are evaluated in another one."""
    weights = [0.1, 0.2, 0.3, 0.7, 1.1, 0.9]
    ops = ["!=", "<", "=", "between", "in", "not in"]
    values = [9, 9, 1, [0, 2], [1], [8]]
    forwards = [Predicate("a", *given) for given in zip(ops, values, weights, strict=True)]
    expected = Expressions()
    for id, conjunction in enumerate((forwards, forwards[::-1], forwards[3:] + forwards[:3])):
        index.insert(id, conjunction)
        expected.insert(id, conjunction)
    assert_same_answers(index, expected, [{"a": 1}, {"a": (1, 0.3)}])
    assert len({score for _, score in expected.top_k({"a": (1, 0.3)}, 3)}) > 1


def test_of_alternatives_the_best_counts(index):
    cheap, dear = Predicate("a", ">", 0, 0.5), Predicate("b", ">", 0, 2.0)
    index.insert_any(4, [[cheap], [dear], [cheap, dear]])
    index.insert(5, [cheap])
    assert len(index) == 2
    assert index.top_k({"a": 1}, 5) == [Hit(4, 0.5), Hit(5, 0.5)]
    assert index.top_k({"a": 1, "b": 1}, 5) == [Hit(4, 2.5), Hit(5, 0.5)]
    assert index.match({"a": 1, "b": 1}) == [4, 5]
    index.delete(4)
    assert index.match({"a": 1, "b": 1}) == [5]
    index.check()


def test_thousands_of_values_in_a_list(index):
    names = [f"n{i}" for i in range(3000)]
    index.insert(1, [Predicate("a", "in", names)])
    index.insert(2, [Predicate("a", "not in", names[::2])])
    index.insert(3, [Predicate("b", "in", list(range(0, 4000, 2)))])
    assert index.match({"a": "n1"}) == [1, 2]
    assert index.match({"a": "n2998"}) == [1]
    assert index.match({"a": "n3000"}) == [2]
    assert index.match({"b": 3998}) == [3]
    assert index.match({"b": 3999}) == []


def test_a_batch_is_encoded_once_and_refused_when_names_have_changed(index):
    index.insert(1, [Predicate("a", "=", "x")])
    batch = index.encode([{"a": "x"}, {"a": "y"}])
    assert index.match_many(batch) == [[1], []]
    index.insert(2, [Predicate("a", "=", "y")])
    with pytest.raises(ValueError, match="encode it again"):
        index.top_k_many(batch, 1)


def test_a_batch_is_refused_when_columns_have_come_in_another_order(index):
    """Few are left of many, and columns are numbered anew: as many as before."""
    index.insert_many([1, 2], [[Predicate("b", "=", 1)], [Predicate("a", "=", 2)]])
    index.insert_many(np.arange(10, 110), [[Predicate("b", "=", 3)]] * 100)
    batch = index.encode([{"a": 2}])
    assert index.match_many(batch) == [[2]]
    index.delete_many(np.arange(10, 110))
    with pytest.raises(ValueError, match="encode it again"):
        index.match_many(batch)
    assert index.match_many(index.encode([{"a": 2}])) == [[2]]


def test_a_batch_of_another_index_is_refused(index):
    index.insert_many([1, 2], [[Predicate("a", "=", 1)], [Predicate("b", "=", 1)]])
    other = type(index)()
    other.insert_many([1, 2], [[Predicate("b", "=", 1)], [Predicate("a", "=", 1)]])
    for one in (other, copy.deepcopy(index)):
        with pytest.raises(ValueError, match="encode it again"):
            one.match_many(index.encode([{"a": 1}]))


def test_attributes_beyond_the_columns_of_a_row_are_refused(index, monkeypatch):
    other = type(index)()
    other.insert_many([7, 8], [[Predicate("c", "=", 1)], [Predicate("d", "=", 1)]])
    monkeypatch.setattr("indexes.boolean.batches.MOST_COLUMNS", 3)
    index.insert_many([1, 2], [[Predicate("a", "=", 1)], [Predicate("b", "=", 1)]])
    more = [[Predicate("c", "=", 1)], [Predicate("c", "=", "x")]]
    with pytest.raises(ValueError, match="at most 3"):
        index.insert_many([3, 4], more)
    with pytest.raises(ValueError, match="at most 3"):
        index.insert_arrays(other.to_arrays())
    index.check()
    index.insert(3, more[0])
    assert index.match({"c": 1}) == [3]


def test_an_event_with_a_surrogate_matches_what_names_others(index):
    index.insert(1, [Predicate("a", "=", "x")])
    index.insert(2, [Predicate("a", "!=", "x")])
    assert index.match({"a": "\ud800", "\ud800": 1}) == [2]


@pytest.mark.parametrize("weight", [3.3e38, 3.5e38, 1e300])
def test_weights_beyond_single_precision_rank_as_others_do(index, weight):
    index.insert(1, [Predicate("a", "=", 1, weight)])
    index.insert_many(range(2, 20), [[Predicate("a", "=", 1, float(i))] for i in range(2, 20)])
    index.insert(20, [Predicate("a", "=", 1, weight), Predicate("b", "=", 1, weight / 2)])
    index.check()
    top = [Hit(20, 1.5 * weight), Hit(1, weight), Hit(19, 19.0)]
    assert index.top_k({"a": 1, "b": 1}, 3) == top
    assert index.top_k({"a": (1, 0.0), "b": 1}, 1) == [Hit(20, weight / 2)]
    assert index.top_k({"a": (1, 2.0)}, 2) == [Hit(1, 2 * weight), Hit(19, 38.0)]
    index.delete_many([1, 20])
    index.check()
    assert index.top_k({"a": (1, 2.0)}, 1) == [Hit(19, 38.0)]


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        pytest.param(lambda i: i.insert(1, [Predicate("a", "=", 1)]), KeyError, "1", id="known"),
        pytest.param(lambda i: i.insert(-1, [Predicate("a", "=", 1)]), ValueError, "-1", id="id"),
        pytest.param(lambda i: i.insert(8, []), ValueError, "at least one", id="no-predicates"),
        pytest.param(lambda i: i.insert(8, [("a", "=", 1)]), ValueError, "Predicate", id="tuple"),
        pytest.param(lambda i: i.insert(8, None), ValueError, "None", id="none"),
        pytest.param(lambda i: i.insert_any(8, []), ValueError, "at least one", id="any-of-none"),
        pytest.param(lambda i: i.insert_any(8, [[]]), ValueError, "at least one", id="any-empty"),
        pytest.param(lambda i: i.insert_many([7, 7], [[], []]), ValueError, "7", id="id-twice"),
        pytest.param(lambda i: i.insert_many([7, 8], [[]]), ValueError, "", id="lengths"),
        pytest.param(
            lambda i: i.insert(8, [Predicate("a", "=", 1, 1e308)] * 2),
            ValueError,
            "finite sum",
            id="infinite-sum",
        ),
        pytest.param(lambda i: i.delete(99), KeyError, "99", id="unknown"),
        pytest.param(lambda i: i.delete_many([1, 99]), KeyError, "99", id="one-unknown"),
        pytest.param(lambda i: i.explain(99, {}), KeyError, "99", id="explain-unknown"),
        pytest.param(lambda i: i.top_k({}, -1), ValueError, "-1", id="negative-k"),
    ],
)
def test_what_is_refused_changes_nothing(index, change, error, named):
    index.insert(1, [Predicate("a", "=", 1), Predicate("b", "=", "x")])
    index.insert_any(2, [[Predicate("a", "<", 5)], [Predicate("c", ">", 1)]])
    before = [array_bytes(index.to_arrays()), index.nbytes, len(index)]
    with pytest.raises(error) as caught:
        change(index)
    assert named in str(caught.value)
    index.check()
    assert [array_bytes(index.to_arrays()), index.nbytes, len(index)] == before


def test_an_explanation_says_what_held_and_what_each_predicate_adds(index):
    index.insert(1, [Predicate("a", "<", 5, 0.5), Predicate("b", "in", ["y", "x"], 2.0)])
    good = index.explain(1, {"a": (3, 2.0), "b": "x"})
    assert good == (
        1,
        True,
        (("a", "<", 5.0, 3, True, 1.0), ("b", "in", ("x", "y"), "x", True, 2.0)),
        3.0,
    )
    bad = index.explain(1, {"a": 7})
    assert not bad.matched
    assert bad.total == 0.0
    assert [(term.attribute, term.got, term.held) for term in bad.terms] == [
        ("a", 7, False),
        ("b", None, False),
    ]


def test_of_alternatives_the_nearest_is_explained(index):
    far = [Predicate("a", "=", 1), Predicate("b", "=", 1)]
    near = [Predicate("a", "=", 2), Predicate("b", "=", 1)]
    index.insert_any(1, [far, near])
    assert [term.held for term in index.explain(1, {"a": 2, "b": 2}).terms] == [True, False]
    assert index.explain(1, {"a": 1, "b": 1}).total == 2.0


@given(st.dictionaries(some.ids, some.alternatives, max_size=25))
def test_arrays_bring_everything_back(content):
    """Whatever the order of insertion was, equal content gives equal bytes."""
    for cls in (Scan, BEStarTree, TinyTree):
        expected, index, backwards = Expressions(), cls(), cls()
        for id, alternatives in content.items():
            expected.insert_any(id, alternatives)
            index.insert_any(id, alternatives)
        for id in reversed(content):
            backwards.insert_any(id, content[id])
        restored = cls.from_arrays(index.to_arrays())
        assert_same_answers(restored, expected)
        assert array_bytes(restored.to_arrays()) == array_bytes(index.to_arrays())
        assert array_bytes(backwards.to_arrays()) == array_bytes(index.to_arrays())


@given(st.lists(some.conjunctions, max_size=40), st.lists(some.events, max_size=5))
def test_building_at_once_answers_as_one_by_one(conjunctions, events):
    expected = Expressions()
    for id, conjunction in enumerate(conjunctions):
        expected.insert(id, conjunction)
    ids = np.arange(len(conjunctions))
    for cls in INDEXES:
        assert_same_answers(cls.build(ids, conjunctions), expected, events)


def test_matches_are_all_listed_where_there_are_more_than_room_was_made_for(index):
    """Room is made anew several times, in the middle of a batch."""
    expected = Expressions()
    conjunctions = [[Predicate("a", "<=", float(i % 40))] for i in range(300)]
    index.insert_many(np.arange(300), conjunctions)
    for id, conjunction in enumerate(conjunctions):
        expected.insert(id, conjunction)
    events = [{"a": float(i % 45)} for i in range(60)]
    wanted = [expected.match(event) for event in events]
    assert sum(map(len, wanted)) > 8 * 1024
    assert index.match_many(events) == wanted


class AgainstEvaluation(RuleBasedStateMachine):
    """All indexes at once, so that one drawn history serves them all."""

    def __init__(self) -> None:
        super().__init__()
        self.expected = Expressions()
        self.indexes = [cls() for cls in TINY]
        for index in self.indexes:
            index._store = RowStore(few_dead=1)  # gaps are closed all the time

    @rule(id=some.ids, conjunction=some.conjunctions)
    def insert(self, id, conjunction):
        if id not in self.expected.live:
            for index in (self.expected, *self.indexes):
                index.insert(id, conjunction)

    @rule(id=some.ids, alternatives=some.alternatives)
    def insert_any(self, id, alternatives):
        if id not in self.expected.live:
            for index in (self.expected, *self.indexes):
                index.insert_any(id, alternatives)

    @rule(items=st.dictionaries(some.ids, some.conjunctions, max_size=6))
    def insert_many(self, items):
        new = {id: one for id, one in items.items() if id not in self.expected.live}
        for index in self.indexes:
            index.insert_many(list(new), list(new.values()))
        for id, conjunction in new.items():
            self.expected.insert(id, conjunction)

    @rule(id=some.ids)
    def delete(self, id):
        if id in self.expected.live:
            for index in (self.expected, *self.indexes):
                index.delete(id)

    @rule(share=st.sampled_from([2, 3, 5]))
    def delete_many(self, share):
        self.delete_all(sorted(self.expected.live)[::share])

    def delete_all(self, ids):
        for index in self.indexes:
            index.delete_many(ids)
        for id in ids:
            self.expected.delete(id)

    @rule(event=some.events, k=st.integers(0, 5))
    def query(self, event, k):
        for index in self.indexes:
            assert index.top_k(event, k) == self.expected.top_k(event, k)
            assert index.match(event) == self.expected.match(event)

    @invariant()
    def structures_hold(self):
        for index in self.indexes:
            assert len(index) == len(self.expected.live)
        self.indexes[-1].check()

    def teardown(self):
        for index in self.indexes:
            index.check()


class CrowdsAgainstEvaluation(AgainstEvaluation):
    """So many come that an index starts anew when most of them leave."""

    @rule(crowd=st.lists(some.conjunctions, min_size=1, max_size=4), count=st.integers(100, 120))
    def insert_a_crowd(self, crowd, count):
        if 100 not in self.expected.live:
            self.insert_many({100 + i: crowd[i % len(crowd)] for i in range(count)})
            self.insert_any(300, crowd)

    @rule(left=st.integers(0, 5))
    def nearly_all_leave(self, left):
        self.delete_all(sorted(self.expected.live)[: -left or None])


TestAgainstEvaluation = SHRINKING(AgainstEvaluation.TestCase)
TestCrowdsAgainstEvaluation = SHRINKING(CrowdsAgainstEvaluation.TestCase)
TestCrowdsAgainstEvaluation.settings = settings(
    max_examples=settings().max_examples // 4, stateful_step_count=15
)


def test_everything_is_deleted_and_comes_back(index):
    rng = np.random.default_rng(0)
    content = {
        id: [
            Predicate(name, "between", [low, low + 2], float(rng.integers(1, 5)))
            for name, low in zip("abc", rng.integers(0, 9, 3).tolist(), strict=True)
        ][: rng.integers(1, 4)]
        for id in range(90)
    }
    events = [{"a": a, "b": b, "c": (2.0, 0.5)} for a in range(4) for b in range(4)]
    expected = Expressions()
    for _ in range(2):
        for id, conjunction in content.items():
            index.insert(id, conjunction)
            expected.insert(id, conjunction)
        assert_same_answers(index, expected, events)
        for id in rng.permutation(90).tolist():
            index.delete(id)
            expected.delete(id)
            if id % 30 == 0:
                assert_same_answers(index, expected, events[:3])
        assert_same_answers(index, expected, events)
