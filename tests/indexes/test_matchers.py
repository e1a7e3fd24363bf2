"""The contract of matchers in sentences: exact, live, relaxed and Boolean, each with its oracle."""

import os

import numpy as np
import pytest

from indexes.intervals import IRTree
from tests.indexes.boolean.matcher_subject import BOOLEAN
from tests.indexes.intervals.columns import ID_ERRORS, array_bytes, assert_table
from tests.indexes.intervals.matcher_subjects import (
    EXACT_1,
    EXACT_3,
    LIVE,
    MERGING_2,
    RELAXED_3,
    SIFTING_2,
)
from tests.indexes.matcher_contract import (
    agree,
    answers,
    filled,
    insert,
    keeps,
    modelled,
    revived,
)

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
SUBJECTS = [EXACT_1, EXACT_3, LIVE, MERGING_2, SIFTING_2, RELAXED_3, BOOLEAN]
every_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=str)
with_bases = pytest.mark.parametrize("subject", [s for s in SUBJECTS if s.has_bases], ids=str)


def of_thousands(*subjects):
    """Of thousands of subscriptions, which take these too long where kernels are interpreted."""
    slow = [pytest.param(subject, marks=pytest.mark.large) for subject in (EXACT_3, *subjects)]
    return pytest.mark.parametrize("subject", [EXACT_1, LIVE, *slow], ids=str)


def few(subject):
    """Three subscriptions that the sure event matches, the best last."""
    return {id: subject.sure(float(id)) for id in (1, 2, 3)}


def crowd(subject, count, first=0):
    return {first + i: one for i, one in enumerate(subject.crowd(count))}


@every_subject
def test_an_empty_matcher_answers_with_nothing_and_can_all_that_others_can(subject):
    empty = subject.new()
    insert(subject, empty, {})
    empty.delete_many(np.array([], np.int64))
    emptied = filled(subject, few(subject))
    emptied.delete_many(np.array([3, 1, 2]))
    for matcher in (empty, emptied, empty.fork(), revived(subject, empty)):
        for change in ("rebase", "refresh"):
            getattr(matcher, change)()
            agree(subject, matcher, subject.model())
            for k in (0, 2):
                for form in subject.forms([subject.sure_event, {}]):
                    assert_table(matcher.top_k_many(form, k), [[], []], k)
        assert (matcher.delta_share, matcher.is_worn, matcher.is_stale) == (0.0, False, False)
        assert matcher.nbytes >= 0


@every_subject
@pytest.mark.parametrize("k", [0, 1, 5, 9])
def test_a_hit_table_always_has_k_columns(subject, k):
    new = crowd(subject, 6)
    matcher, expected = filled(subject, new), modelled(subject, new)
    wanted = [expected.top_k(event, k) for event in subject.probes]
    for form in subject.forms(subject.probes):
        assert_table(matcher.top_k_many(form, k), wanted, k)
    for form in subject.forms([]):
        assert_table(matcher.top_k_many(form, k), [], k)


@every_subject
def test_a_negative_k_is_refused_also_by_an_empty_matcher(subject):
    for matcher in (subject.new(), filled(subject, few(subject))):
        for form in subject.forms([subject.sure_event]):
            with keeps(subject, matcher, ValueError, -3):
                matcher.top_k_many(form, -3)


@every_subject
def test_equal_scores_come_in_order_of_id(subject):
    ids = [2**62, 7, 40, 3, 12, 0, 33, 8, 21, 5, 9, 4]
    matcher = filled(subject, dict.fromkeys(ids[:8], subject.sure(1.0)))
    matcher.rebase()
    insert(subject, matcher, dict.fromkeys(ids[8:], subject.sure(1.0)))
    for one in (matcher, revived(subject, matcher), matcher.fork()):
        for k in range(len(ids) + 2):
            wanted = [(id, 1.0) for id in sorted(ids)][:k]
            assert answers(subject, one, subject.sure_event, k) == wanted


@every_subject
@pytest.mark.parametrize("rebased", [False, True], ids=["delta", "base"])
def test_an_id_may_come_back_otherwise(subject, rebased):
    matcher = filled(subject, few(subject))
    for turn in range(1, 4):
        if rebased:
            matcher.rebase()
        matcher.delete_many(np.array([3]))
        assert answers(subject, matcher, subject.sure_event, 9) == [(2, 2.0), (1, 1.0)]
        insert(subject, matcher, {3: subject.sure(turn / 4)})
        matcher.check()
        assert answers(subject, matcher, subject.sure_event, 9)[-1] == (3, turn / 4)
    matcher.delete_many(np.array([2, 3, 1]))
    matcher.check()
    assert len(matcher) == 0
    assert answers(subject, matcher, subject.sure_event, 9) == []
    insert(subject, matcher, few(subject))
    assert answers(subject, matcher, subject.sure_event, 1) == [(3, 3.0)]


@every_subject
@pytest.mark.parametrize("rebased", [False, True], ids=["delta", "base"])
@pytest.mark.parametrize("copied", [revived, lambda _, matcher: matcher.fork()], ids=["saved", "f"])
def test_a_copy_lives_on_by_itself(subject, copied, rebased):
    matcher, model, other = (make(subject, few(subject)) for make in (filled, modelled, modelled))
    if rebased:
        matcher.rebase()
    twin = copied(subject, matcher)
    matcher.delete_many(np.array([2]))
    model.delete(2)
    insert(subject, twin, {9: subject.sure(0.5)})
    other.insert(9, *subject.sure(0.5))
    twin.delete_many(np.array([3]))
    other.delete(3)
    for one in (matcher, twin):
        one.refresh()
    agree(subject, matcher, model)
    agree(subject, twin, other)
    twin.rebase()
    agree(subject, matcher, model)
    agree(subject, twin, other)


@every_subject
def test_a_matcher_keeps_nothing_of_the_callers_arguments(subject):
    ids, columns = np.array([1, 2, 3]), subject.columns(list(few(subject).values()))
    matcher = subject.new()
    matcher.insert_many(ids, *columns)
    ids[:] = 7
    for column in columns:
        if isinstance(column, np.ndarray):
            column[:] = 3.5
        else:
            for alternatives in column:
                alternatives.clear()
            column.clear()
    agree(subject, matcher, modelled(subject, few(subject)))


@every_subject
def test_nbytes_grows_with_the_subscriptions(subject):
    one, many = (filled(subject, crowd(subject, count)) for count in (1, 1000))
    assert type(many.nbytes) is int
    assert many.nbytes > 1000 * 16
    assert many.nbytes > one.nbytes > 0


@every_subject
@pytest.mark.parametrize(
    ("ids", "error", "named"),
    [
        pytest.param([50, 51, 2], KeyError, [2], id="known"),
        pytest.param([50, 51, 50], ID_ERRORS, [50], id="twice"),
        pytest.param([50, -8, 52], ValueError, [-8], id="negative"),
        pytest.param([50, 51], ValueError, [2, 3], id="fewer"),
        pytest.param([50, 51, 52, 53], ValueError, [4, 3], id="more"),
    ],
)
def test_an_insert_is_all_or_nothing(subject, ids, error, named):
    matcher = filled(subject, few(subject))
    columns = subject.columns([subject.sure(1.0)] * 3)
    with keeps(subject, matcher, error, *named):
        matcher.insert_many(np.array(ids), *columns)
    matcher.insert_many(np.array([50, 51, 52]), *columns)
    matcher.check()
    assert matcher.ids().tolist() == [1, 2, 3, 50, 51, 52]


@every_subject
@pytest.mark.parametrize(
    ("ids", "error", "named"),
    [
        pytest.param([1, 41, 2], KeyError, [41], id="unknown"),
        pytest.param([1, 2, 1], ID_ERRORS, [1], id="twice"),
        pytest.param([1, -8], ID_ERRORS, [-8], id="negative"),
        pytest.param([[1, 2]], ValueError, [2], id="two-dimensions"),
    ],
)
def test_a_delete_is_all_or_nothing(subject, ids, error, named):
    matcher = filled(subject, few(subject))
    with keeps(subject, matcher, error, *named):
        matcher.delete_many(np.array(ids))
    matcher.delete_many(np.array([1, 3]))
    assert matcher.ids().tolist() == [2]


@of_thousands(MERGING_2, SIFTING_2, RELAXED_3, BOOLEAN)
def test_new_bases_change_no_answer(subject):
    count = 200 if INTERPRETED else 1400
    new = crowd(subject, count)
    matcher, expected = filled(subject, new), modelled(subject, new)
    agree(subject, matcher, expected)
    matcher.rebase()
    assert matcher.delta_share == 0.0
    agree(subject, matcher, expected)
    plain = array_bytes(matcher.top_k_many(subject.forms(subject.probes)[0], 300))
    if subject.has_bases:
        matcher.replace_base(subject.trees(new), count // 2)
        assert matcher.delta_share == 0.5
    else:
        with keeps(subject, matcher, ValueError, "none was expected"):
            matcher.replace_base([], count // 2)
    assert array_bytes(matcher.top_k_many(subject.forms(subject.probes)[0], 300)) == plain
    agree(subject, matcher, expected)


@of_thousands(MERGING_2, SIFTING_2, RELAXED_3)
def test_a_matcher_is_worn_when_a_tenth_has_changed(subject):
    same, ids = subject.columns([subject.sure(1.0)]), np.arange(20_000)
    columns = [np.repeat(column, len(ids), axis=0) for column in same]
    matcher = subject.new()
    matcher.insert_many(ids, *columns)
    assert matcher.is_worn
    assert matcher.delta_share == 1.0
    matcher.rebase()
    assert not matcher.is_worn
    assert matcher.delta_share == 0.0
    matcher.delete_many(ids[:1800])
    assert not matcher.is_worn
    matcher.delete_many(ids[1800:1900])  # gone from the base, come to the delta
    matcher.insert_many(ids[1800:1900], *(column[:100] for column in columns))
    assert matcher.is_worn
    assert matcher.delta_share == 100 / 18_200


@with_bases
def test_what_trees_have_and_is_no_longer_here_counts_as_change(subject):
    new = dict.fromkeys(range(2000), subject.sure(1.0))
    matcher, trees = filled(subject, new), subject.trees(new)
    matcher.delete_many(np.arange(1000))
    matcher.replace_base(trees, since=2000)
    assert (matcher.delta_share, matcher.is_worn) == (0.0, False)
    matcher.delete_many(np.arange(1000, 1025))
    assert matcher.is_worn


@with_bases
def test_trees_that_do_not_fit_are_refused(subject):
    matcher, fitting = filled(subject, few(subject)), subject.trees(few(subject))
    first, last = subject.attributes[0], subject.attributes[-1]

    def refuses(*named):
        return keeps(subject, matcher, ValueError, *named)

    with refuses(len(fitting) + 1, first):
        matcher.replace_base([*fitting, fitting[0]], 5)
    with refuses(0, "SOPTRTree"):
        matcher.replace_base([], 5)
    with refuses("SOPTRTree", first):
        matcher.replace_base(fitting[0], 5)
    with refuses("IRTree", last):
        matcher.replace_base([*fitting[:-1], IRTree()], 5)
    with refuses("since", -1):
        matcher.replace_base(fitting, -1)
    matcher.replace_base(fitting, 2**70)
    assert matcher.delta_share == 0.0
    agree(subject, matcher, modelled(subject, few(subject)))


@of_thousands(MERGING_2, SIFTING_2, RELAXED_3, BOOLEAN)
def test_a_matcher_is_stale_when_a_quarter_has_changed_and_refreshed_it_is_not(subject):
    new = crowd(subject, 8000)
    matcher, expected = filled(subject, new), modelled(subject, new)
    matcher.rebase()
    matcher.delete_many(np.arange(1600))
    assert not matcher.is_stale
    insert(subject, matcher, dict.fromkeys(range(100), subject.sure(1.0)))
    assert matcher.is_stale == subject.goes_stale
    for id in range(1600):
        expected.delete(id)
        if id < 100:
            expected.insert(id, *subject.sure(1.0))
    wanted = [expected.top_k(event, 200) for event in subject.probes]
    form = subject.forms(subject.probes)[0]
    assert_table(matcher.top_k_many(form, 200), wanted, 200)
    matcher.refresh()
    assert not matcher.is_stale
    assert_table(matcher.top_k_many(form, 200), wanted, 200)
    matcher.delete_many(np.arange(2000, 5200))  # half: it does so by itself
    assert not matcher.is_stale


@of_thousands(MERGING_2, SIFTING_2, RELAXED_3)
def test_much_that_comes_at_once_is_answered_beside_the_base_or_drops_it(subject):
    new = crowd(subject, 4000)
    matcher = filled(subject, {id: new[id] for id in range(2000)})
    matcher.rebase()
    insert(subject, matcher, {id: new[id] for id in range(2000, 4000)})
    assert matcher.delta_share == (1.0 if subject.drops_bases else 0.5)
    agree(subject, matcher, modelled(subject, new))


@with_bases
@pytest.mark.parametrize("rebased", [False, True], ids=["delta", "base"])
def test_memory_is_given_back_when_much_goes_at_once(subject, rebased):
    new = crowd(subject, 2000)
    matcher = filled(subject, new)
    if rebased:
        matcher.rebase()
    full = matcher.nbytes
    matcher.delete_many(np.arange(20, 2000))
    if rebased and not subject.drops_bases:
        assert matcher.is_worn
        matcher.rebase()
    assert matcher.nbytes < full // 10
    agree(subject, matcher, modelled(subject, {id: new[id] for id in range(20)}))
