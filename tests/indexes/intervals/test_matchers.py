"""What the matchers of intervals promise beyond the contract of all matchers."""

import numpy as np
import pytest

from indexes.intervals import ExactMatcher, LiveMatcher, RelaxedMatcher
from tests.indexes.intervals.columns import INF
from tests.indexes.intervals.matcher_subjects import (
    EXACT_1,
    EXACT_3,
    LIVE,
    NAN,
    RELAXED_3,
    Exact,
    Relaxed,
)
from tests.indexes.matcher_contract import answers, filled, keeps

SUBJECTS = [EXACT_1, EXACT_3, LIVE, RELAXED_3]
every_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=str)


def few(subject):
    return {id: subject.sure(float(id)) for id in (1, 2, 3)}


EVENT_REFUSALS = [
    pytest.param(lambda m, a: m.top_k({a: NAN}, 2), ["nan"], id="nan"),
    pytest.param(lambda m, a: m.top_k({"age": 1.0, a: INF}, 2), ["inf"], id="inf"),
    pytest.param(lambda m, a: m.top_k({a: -INF}, 0), ["-inf"], id="minus-inf-of-none"),
    pytest.param(lambda m, a: m.top_k_many([{}, {a: NAN}], 2), ["nan"], id="many-nan"),
    pytest.param(lambda m, a: m.top_k_many([{}, {a: INF}], 2), ["inf"], id="many-inf"),
]
TABLE_REFUSALS = [
    pytest.param(lambda m, d: m.top_k({}, -3), [-3], id="negative-k"),
    pytest.param(lambda m, d: m.top_k_many([], -3), [-3], id="many-negative-k"),
    pytest.param(lambda m, d: m.top_k_many(np.full((2, d), INF), 2), ["inf"], id="array-inf"),
    pytest.param(lambda m, d: m.top_k_many(np.zeros((4, d + 1)), 2), ["{d}", "{e}"], id="wide"),
    pytest.param(lambda m, d: m.top_k_many(np.zeros((4, d - 1)), 2), ["{d}"], id="narrow"),
    pytest.param(lambda m, d: m.top_k_many(np.zeros(3), 2), [], id="array-one-dimension"),
    pytest.param(lambda m, d: m.top_k_many(np.zeros((4, d)), -3), [-3], id="array-negative-k"),
]


@every_subject
@pytest.mark.parametrize("is_filled", [True, False], ids=["filled", "empty"])
@pytest.mark.parametrize(("query", "named"), EVENT_REFUSALS)
def test_bad_events_are_refused_also_by_an_empty_matcher(subject, query, named, is_filled):
    matcher, last = filled(subject, few(subject) if is_filled else {}), subject.attributes[-1]
    with keeps(subject, matcher, ValueError, *named, last):
        query(matcher, last)


@every_subject
@pytest.mark.parametrize("is_filled", [True, False], ids=["filled", "empty"])
@pytest.mark.parametrize(("query", "named"), TABLE_REFUSALS)
def test_bad_queries_are_refused_also_by_an_empty_matcher(subject, query, named, is_filled):
    matcher, d = filled(subject, few(subject) if is_filled else {}), len(subject.attributes)
    words = [str(word).format(d=d, e=d + 1) for word in named]
    with keeps(subject, matcher, ValueError, *words):
        query(matcher, d)


@every_subject
def test_a_bad_value_of_an_unknown_attribute_is_ignored_with_it(subject):
    matcher = filled(subject, few(subject))
    event = {**subject.sure_event, "shoe size": NAN}
    assert matcher.top_k(event, 2) == answers(subject, matcher, subject.sure_event, 2)
    assert matcher.top_k(event, 2) == [(3, 3.0), (2, 2.0)]


@pytest.mark.parametrize("make", [ExactMatcher, LiveMatcher, RelaxedMatcher])
@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param([], id="no-attribute"),
        pytest.param(["age", "age"], id="twice"),
        pytest.param("age", id="one-text"),
    ],
)
def test_a_matcher_is_not_made_from_nonsense(make, attributes):
    with pytest.raises(ValueError, match="expected"):
        make(attributes)


@pytest.mark.parametrize("subject", [Exact(ExactMatcher, 2), Relaxed(3)], ids=str)
def test_bases_take_less_memory_than_deltas_and_a_fork_shares_them(subject):
    matcher = filled(subject, dict(enumerate(subject.crowd(5000))))
    before = matcher.nbytes
    matcher.rebase()
    assert matcher.nbytes < 0.95 * before
    twin = matcher.fork()
    pairs = zip(matcher._trees.bases, twin._trees.bases, strict=True)
    assert all(ours is theirs for ours, theirs in pairs)
