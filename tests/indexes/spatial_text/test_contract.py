"""The same contract for every index of places and words, against comparison of all."""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from indexes.hits import Hit
from tests.indexes.intervals.columns import (
    SHRINKING,
    array_bytes,
    assert_plain,
    assert_table,
    refused,
)
from tests.indexes.spatial_text import strategies as some
from tests.indexes.spatial_text.strategies import INF, Row, oracle_of
from tests.oracles.spatial_text import FloatBox, Placed

EVERYWHERE = (-INF, -INF, INF, INF)
PROBES = [
    ((1, 1, 1, 1), ["a", "b", "c", "d"]),
    ((0, 0, 0, 0), ["a"]),
    ((0, 0, 3, 3), ["b", "d", "d"]),
    ((2, 2, INF, INF), ["c", "unheard of", "a"]),
    ((-INF, 0, 1, 0), ["d", "c", "b"]),
    ((3, 3, 3, 3), ["a", "d"]),
    (EVERYWHERE, ["a", "b", "c", "d", "unheard of"]),
    (EVERYWHERE, ["unheard of"]),
    (EVERYWHERE, []),
]


@pytest.fixture(params=some.SUBJECTS, ids=str)
def subject(request):
    return request.param


@pytest.fixture
def index(subject):
    return subject.empty()


@pytest.fixture(params=[one for one in some.SUBJECTS if not one.options], ids=str)
def usual(request):
    """With what a class takes unless told: enough where all options share the code."""
    return request.param


class Answers(NamedTuple):
    """What is right for a list of messages."""

    live: int
    boxes: list[FloatBox]
    token_lists: list[list[str]]
    hits: list[list[tuple[int, float]]]  # of each message, all that match, best first


def answers_of(expected, messages):
    n = len(expected.live)
    boxes, token_lists = [list(part) for part in zip(*messages, strict=True)]
    return Answers(n, boxes, token_lists, [expected.top_k(*message, n) for message in messages])


def assert_same_answers(index, expected, messages=PROBES):
    assert_answers(index, answers_of(expected, messages))


def assert_answers(index, expected):
    n, boxes, token_lists, wanted = expected
    index.check()
    assert len(index) == n
    matches = [sorted(id for id, _ in hits) for hits in wanted]
    assert index.match_many(boxes, token_lists) == matches
    for k in (1, 2, n + 1):
        assert_table(index.top_k_many(boxes, token_lists, k), [hits[:k] for hits in wanted], k)


def fill(index, rows):
    for id, (box, tokens, score) in rows.items():
        index.insert(id, box, list(tokens), score)
    return index


def seen(index):
    boxes, token_lists = [list(part) for part in zip(*PROBES, strict=True)]
    matches = index.match_many(boxes, token_lists)
    return [len(index), index.nbytes, matches, array_bytes(index.to_arrays())]


def test_an_empty_index_matches_nothing(index):
    assert_same_answers(index, Placed())
    assert index.match_many([], []) == []
    assert index.top_k_many([], [], 3).ids.shape == (0, 3)
    assert index.top_k((0, 0, 0, 0), ["a"], 3) == []


def test_the_subscriptions_that_the_paper_spells_out(subject):
    rows = {
        1: Row((25, 0, 30, 20), "abc"),
        3: Row((20, 32, 35, 35), "bcd"),
        4: Row((20, 10, 28, 18), "bcd"),
    }
    for index in (subject.build(rows), fill(subject.empty(), rows)):
        index.check()
        assert index.match((26, 14, 26, 14), ["b", "c", "d", "e", "f"]) == [4]
        assert index.match((26, 14, 26, 14), ["a", "b", "c", "d"]) == [1, 4]
        assert index.match((10, 10, 40, 40), ["a", "c", "d", "e"]) == []
        assert index.match((10, 10, 40, 40), ["b", "c", "d"]) == [3, 4]
        assert index.top_k((10, 10, 40, 40), ["b", "c", "d"], 1) == [Hit(3, 1.0)]


def test_edges_and_corners_that_touch_meet(index):
    """Around the box 1 at [1, 2] x [1, 2], one neighbour a side and a corner.

    7 7 6 5 5
    7 . . . 5       All that is drawn touches it; one step of
    8 . 1 . 4       a float further nothing does.
    9 . . . 3
    9 9 2 3 3
    """
    index.insert(1, (1, 1, 2, 2), ["a"])
    spans = [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]
    for (x_low, x_high), (y_low, y_high) in itertools.product(spans, spans):
        assert index.match((x_low, y_low, x_high, y_high), ["a"]) == [1]
    below, above = math.nextafter(1, 0), math.nextafter(2, 3)
    for low, high in ((0.0, below), (above, 3.0), (below, below), (above, above)):
        assert index.match((low, 0, high, 3), ["a"]) == []
        assert index.match((0, low, 3, high), ["a"]) == []
    for corner in itertools.product((1.0, 2.0), (1.0, 2.0)):
        assert index.match((*corner, *corner), ["a"]) == [1]
    for corner in ((below, 1), (2, above), (above, above)):
        assert index.match((*corner, *corner), ["a"]) == []


@pytest.mark.parametrize("edge", [2.0**24 + 1, 1 / 3, -1e300, 5e-324, -1e-50])
def test_edges_are_those_of_double_precision(subject, edge):
    below, above = math.nextafter(edge, -INF), math.nextafter(edge, INF)
    rows = {
        1: Row((edge, edge, edge, edge), "a"),
        2: Row((edge, -INF, INF, edge), "a"),
        3: Row((-INF, edge, edge, INF), "a"),
        **{id: Row((0, 0, 1, 1), "b") for id in range(10, 20)},
    }
    for index in (subject.build(rows), fill(subject.empty(), rows)):
        assert index.match((edge, edge, edge, edge), ["a"]) == [1, 2, 3]
        assert index.match((below, edge, below, edge), ["a"]) == [3]
        assert index.match((above, edge, above, edge), ["a"]) == [2]
        assert index.match((edge, above, edge, above), ["a"]) == [3]
        assert index.match((edge, below, edge, below), ["a"]) == [2]
        index.check()


def test_a_zero_is_a_zero_whatever_its_sign(index):
    index.insert(1, (0.0, -0.0, -0.0, 0.0), ["a"])
    index.insert(2, (-0.0, -0.0, 5.0, 5.0), ["a"])
    index.insert(3, (-5.0, -5.0, 0.0, -0.0), ["a"])
    assert index.match((-0.0, 0.0, 0.0, -0.0), ["a"]) == [1, 2, 3]
    index.check()


def test_sides_may_be_infinite(subject):
    rows = {
        1: Row(EVERYWHERE, "a"),
        2: Row((-INF, 0, 0, INF), "a"),
        3: Row((0, -INF, 0, INF), "a"),
        4: Row((5, 5, INF, 5), "a"),
        5: Row((1, 1, 1, 1), "a"),
    }
    messages = [
        *(((x, y, x, y), ["a"]) for x in (-1e308, -1, 0, 5, 1e308) for y in (-7, 0, 5)),
        ((-INF, 0, INF, 0), ["a"]),
        ((1, -INF, INF, INF), ["a"]),
        ((-INF, -INF, -1, -1), ["a"]),
        (EVERYWHERE, ["a"]),
    ]
    for index in (subject.build(rows), fill(subject.empty(), rows)):
        assert_same_answers(index, oracle_of(rows), messages)


def test_all_tokens_of_a_subscription_must_be_in_the_message(index):
    for id, tokens in enumerate(["a", "ab", "abc", "b", "bc", "c", "d", "da"], 1):
        index.insert(id, (0, 0, 1, 1), list(tokens))
    assert index.match((0, 0, 0, 0), ["c", "a"]) == [1, 6]
    assert index.match((0, 0, 0, 0), ["b", "a", "d"]) == [1, 2, 4, 7, 8]
    assert index.match((0, 0, 0, 0), ["ab", "abc"]) == []
    assert index.match((0, 0, 0, 0), []) == []


def test_a_repeated_token_counts_once(index):
    index.insert(1, (0, 0, 1, 1), ["b", "a", "b", "b"])
    index.insert(2, (0, 0, 1, 1), ["b", "b"])
    assert index.match((1, 1, 1, 1), ["a", "a", "b"]) == [1, 2]
    assert index.match((1, 1, 1, 1), ["b", "b"]) == [2]
    index.delete(1)
    index.check()
    assert index.match((1, 1, 1, 1), ["a", "a", "b"]) == [2]


def test_tokens_are_whatever_strings_are(usual):
    index = usual.empty()
    odd = ["a", "a\0", "A", "é", "e\u0301", " ", "\n", "一", "🦊", "0", "-1", "a b", "x" * 10_000]
    for id, token in enumerate(odd):
        index.insert(id, (0, 0, 1, 1), [token])
    index.check()
    for one in (index, usual.restored(index.to_arrays())):
        for id, token in enumerate(odd):
            assert one.match((0, 0, 0, 0), [token, "\ud800", "x"]) == [id]
        assert one.match((0, 0, 0, 0), odd) == list(range(len(odd)))


def test_ties_go_to_the_lower_id(index):
    for id in (9, 3, 7, 1):
        index.insert(id, (0, 0, 1, 1), ["a"], 0.5)
    index.insert(8, (0, 0, 1, 1), ["a"], 0.75)
    index.insert(2, (0, 0, 1, 1), ["a"], -4)
    assert index.top_k((1, 1, 1, 1), ["a"], 3) == [Hit(8, 0.75), Hit(1, 0.5), Hit(3, 0.5)]
    assert index.top_k((1, 1, 1, 1), ["a"], 99)[-2:] == [Hit(9, 0.5), Hit(2, -4.0)]


def test_ties_among_many_go_to_the_lower_ids(subject):
    """Nodes are visited in any order; the bound of one may equal the worst hit that is held."""
    rng = np.random.default_rng(5)
    ids = rng.permutation(200).tolist()
    rows = {
        id: Row((x, 0, x + 2, 3), tokens, float(score))
        for id, x, tokens, score in zip(
            ids,
            rng.integers(0, 9, 200).tolist(),
            rng.choice(["a", "ab", "b", "c", "ad", "abcd"], 200).tolist(),
            rng.integers(0, 3, 200).tolist(),
            strict=True,
        )
    }
    messages = [((x, 1, x, 1), tokens) for x in range(10) for tokens in (["a"], list("abd"))]
    index, expected = subject.build(rows), oracle_of(rows)
    boxes, token_lists = [list(part) for part in zip(*messages, strict=True)]
    for k in (1, 3, 10, 50):
        wanted = [expected.top_k(*message, k) for message in messages]
        assert_table(index.top_k_many(boxes, token_lists, k), wanted, k)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 16777217.0, -3.3])
def test_scores_rank_in_double_precision(usual, scale):
    index = usual.empty()
    scores = [scale, math.nextafter(scale, INF), math.nextafter(scale, -INF), 0.0, -0.0]
    for id, score in enumerate(scores):
        index.insert(id, (0, 0, 1, 1), ["a"], score)
    expected = sorted(enumerate(scores), key=lambda hit: (-hit[1], hit[0]))
    for k in range(1, 6):
        assert index.top_k((0, 0, 0, 0), ["a"], k) == expected[:k]
    index.check()


def test_no_hits_are_asked_for(usual):
    index = usual.empty()
    index.insert(1, (0, 0, 1, 1), ["a"])
    assert index.top_k((0, 0, 0, 0), ["a"], 0) == []
    assert index.top_k_many([(0, 0, 0, 0)], [["a"]], 0).ids.shape == (1, 0)


def test_answers_are_plain_numbers(usual):
    index = usual.empty()
    index.insert(np.int64(4), np.array([0.0, 0, 1, 1]), ("a", "b"), np.float64(2))
    assert_plain(index.top_k(np.zeros(4), ["b", "a"], 2))
    (found,) = index.match(np.zeros(4), ("a", "b"))
    assert type(found) is int
    ((found,),) = index.match_many(np.zeros((1, 4)), [{"a", "b"}])
    assert type(found) is int
    assert type(len(index)) is type(index.nbytes) is int


def test_arguments_need_not_be_contiguous_or_writable(usual):
    boxes = np.asfortranarray(np.zeros((6, 8)))[::2, ::2]
    ids, scores = np.arange(6, dtype=np.uint16)[::2], np.ones(6, np.float32)[::2]
    for array in (boxes, ids, scores):
        array.flags.writeable = False
    index = usual.cls.build(ids, boxes, [["a"]] * 3, scores, **usual.options)
    assert index.match_many(boxes, [["a"], ["b"], ("b", "a")]) == [[0, 2, 4], [], [0, 2, 4]]
    index.check()


def test_scores_are_one_where_none_are_given(usual):
    index = usual.cls.build([2, 1], [(0, 0, 1, 1)] * 2, [["a"], ["a"]], **usual.options)
    index.insert(0, (0, 0, 1, 1), ["a"])
    assert index.top_k((0, 0, 0, 0), ["a"], 5) == [Hit(0, 1.0), Hit(1, 1.0), Hit(2, 1.0)]


def test_building_from_nothing_is_an_empty_index(usual):
    index = usual.build({})
    assert_same_answers(index, Placed())
    index.insert(1, (0, 0, 1, 1), ["a"])
    assert index.match((0, 0, 0, 0), ["a"]) == [1]


@pytest.mark.parametrize(
    "box",
    [(1, 1, 1, 1), (0, 0, 4, 4), EVERYWHERE, (1 / 3, 1 / 3, 1 / 3, 1 / 3)],
    ids=["point", "box", "everywhere", "third"],
)
def test_equal_boxes_however_many_are_kept_apart_by_their_ids(subject, box):
    rows = {id: Row(box, ["a"] if id % 2 else ["a", "b"], float(id % 3)) for id in range(120)}
    probes = [(box, ["a"]), (box, ["b", "a"]), ((1, 1, 1, 1), ["a", "b"])]
    for index in (subject.build(rows), fill(subject.empty(), rows)):
        expected = oracle_of(rows)
        assert_same_answers(index, expected, probes)
        for id in range(0, 120, 7):
            index.delete(id)
            expected.delete(id)
        assert_same_answers(index, expected, probes)


def test_many_tokens_on_both_sides(index):
    names = [f"n{number}" for number in range(1000)]
    index.insert(1, (0, 0, 1, 1), names)
    index.insert(2, (0, 0, 1, 1), names[::2])
    index.insert(3, (0, 0, 1, 1), names[500:501])
    index.check()
    assert index.match((1, 1, 1, 1), names[::-1]) == [1, 2, 3]
    assert index.match((1, 1, 1, 1), names[1:]) == [3]
    assert index.match((1, 1, 1, 1), [*names[::2], "other"]) == [2, 3]
    assert index.match((1, 1, 1, 1), [f"other{number}" for number in range(2000)]) == []


def test_an_id_may_come_back_as_another_subscription(index):
    index.insert(1, (0, 0, 1, 1), ["a"], 5.0)
    index.insert(2, (0, 0, 1, 1), ["a"], 1.0)
    index.delete(1)
    assert index.top_k((0, 0, 0, 0), ["a", "b"], 2) == [Hit(2, 1.0)]
    index.insert(1, (1, 1, 2, 2), ["b"], 0.5)
    index.check()
    assert index.match((0, 0, 0, 0), ["a", "b"]) == [2]
    assert index.top_k((1, 1, 1, 1), ["a", "b"], 2) == [Hit(2, 1.0), Hit(1, 0.5)]


REFUSED = [
    pytest.param(lambda i: i.insert(1, (0, 0, 1, 1), ["a"]), KeyError, "1", id="known-id"),
    pytest.param(lambda i: i.insert(-1, (0, 0, 1, 1), ["a"]), ValueError, "-1", id="negative-id"),
    pytest.param(lambda i: i.insert(1.5, (0, 0, 1, 1), ["a"]), ValueError, "1.5", id="float-id"),
    pytest.param(lambda i: i.insert(8, (0, 0, 1, 1), []), ValueError, "token", id="no-tokens"),
    pytest.param(lambda i: i.insert(8, (0, 0, 1, 1), [7]), ValueError, "7", id="no-string"),
    pytest.param(
        lambda i: i.insert(8, (0, 0, 1, 1), ["c", 7]), ValueError, "7", id="one-no-string"
    ),
    pytest.param(lambda i: i.insert(8, (0, 0, 1, 1), "ab"), ValueError, "ab", id="one-string"),
    pytest.param(lambda i: i.insert(8, (0, 0, 1, 1), None), ValueError, "None", id="none"),
    pytest.param(lambda i: i.insert(8, (2, 0, 1, 1), ["a"]), ValueError, "2", id="inverted-x"),
    pytest.param(lambda i: i.insert(8, (0, 2, 1, 1), ["a"]), ValueError, "2", id="inverted-y"),
    pytest.param(lambda i: i.insert(8, (0, 0, np.nan, 1), ["a"]), ValueError, "nan", id="nan"),
    pytest.param(lambda i: i.insert(8, (0, 0, 1), ["a"]), ValueError, "3", id="three-sides"),
    pytest.param(
        lambda i: i.insert(8, (0, 0, 1, 1), ["a"], np.nan), ValueError, "nan", id="nan-score"
    ),
    pytest.param(
        lambda i: i.insert(8, (0, 0, 1, 1), ["a"], INF), ValueError, "inf", id="infinite-score"
    ),
    pytest.param(lambda i: i.delete(99), KeyError, "99", id="unknown-id"),
    pytest.param(lambda i: i.delete_many([1, 99]), KeyError, "99", id="one-unknown"),
    pytest.param(lambda i: i.delete_many([1, 1]), ValueError, "1", id="deleted-twice"),
    pytest.param(
        lambda i: i.insert_many([8, 1], [(0, 0, 1, 1)] * 2, [["c"], ["d"]]),
        KeyError,
        "1",
        id="one-known",
    ),
    pytest.param(
        lambda i: i.insert_many([8, 9], [(0, 0, 1, 1)] * 2, [["c"], []]),
        ValueError,
        "token",
        id="one-without-tokens",
    ),
    pytest.param(
        lambda i: i.insert_many([8, 9], [(0, 0, 1, 1), (0, 0, -1, 1)], [["c"], ["d"]]),
        ValueError,
        "-1",
        id="one-inverted",
    ),
    pytest.param(lambda i: i.match((1, 0, 0, 0), ["a"]), ValueError, "1", id="ask-inverted"),
    pytest.param(lambda i: i.match((0, 0, 0, np.nan), ["a"]), ValueError, "nan", id="ask-nan"),
    pytest.param(lambda i: i.match((0, 0, 0, 0), [1]), ValueError, "1", id="ask-no-string"),
    pytest.param(lambda i: i.match((0, 0, 0, 0), "ab"), ValueError, "ab", id="ask-one-string"),
    pytest.param(lambda i: i.top_k((0, 0, 0, 0), ["a"], -1), ValueError, "-1", id="negative-k"),
    pytest.param(lambda i: i.top_k((0, 0, 0, 0), ["a"], 1.0), ValueError, "1.0", id="float-k"),
    pytest.param(
        lambda i: i.match_many([(0, 0, 0, 0)], [["a"], ["b"]]), ValueError, "2", id="ask-lengths"
    ),
]


@pytest.mark.parametrize(("change", "error", "named"), REFUSED)
def test_what_is_refused_changes_nothing(usual, change, error, named):
    index = usual.empty()
    index.insert(1, (0, 0, 1, 1), ["a", "b"])
    index.insert(2, (0, 0, INF, 3), ["b"], 2.0)
    with refused(index, error, named, see=seen):
        change(index)


@pytest.mark.parametrize(
    ("columns", "error", "named"),
    [
        pytest.param(([7, 7], 2, [["a"], ["b"]], None), ValueError, "7", id="twice"),
        pytest.param(([7, -8], 2, [["a"], ["b"]], None), ValueError, "-8", id="negative"),
        pytest.param(([7], 2, [["a"], ["b"]], None), ValueError, "1 ids", id="ids"),
        pytest.param(([7, 8], 1, [["a"], ["b"]], None), ValueError, "2 ids", id="boxes"),
        pytest.param(([7, 8], 2, [["a"]], None), ValueError, "2 ids", id="token-lists"),
        pytest.param(([7, 8], 2, [["a"], []], None), ValueError, "token", id="no-tokens"),
        pytest.param(([7, 8], 2, [["a"], ["b"]], [1.0]), ValueError, "2 ids", id="scores"),
        pytest.param(([7, 8], 2, [["a"], ["b"]], [1, np.nan]), ValueError, "nan", id="nan"),
    ],
)
def test_columns_that_do_not_make_an_index_are_refused(usual, columns, error, named):
    ids, boxes, token_lists, scores = columns
    with pytest.raises(error, match=named):
        usual.cls.build(ids, [(0, 0, 1, 1)] * boxes, token_lists, scores)


def test_columns_answer_as_lists_do(usual):
    """A message's tokens as numbers of the index's dictionary, unknown ones left out."""
    index = usual.empty()
    rows = {id: Row((id, 0, id + 2, 1), ["a", "bc"[id % 2]], float(id % 3)) for id in range(9)}
    tokens, starts = index.dictionary.ids_of([row.tokens for row in rows.values()])
    boxes = np.array([row.box for row in rows.values()], np.float64)
    scores = np.array([row.score for row in rows.values()])
    index.insert_columns(np.arange(9), boxes, tokens, starts, scores)
    expected = oracle_of(rows)
    assert_same_answers(index, expected)
    asked = [((x, 1, x + 1, 1), ["c", "unheard of", "a"]) for x in range(12)]
    messages = index.messages([box for box, _ in asked], [tokens for _, tokens in asked])
    ids, starts = index.match_columns(*messages)
    assert (ids.dtype, starts.dtype) == (np.int64, np.int64)
    found = [ids[a:b].tolist() for a, b in itertools.pairwise(starts.tolist())]
    assert found == [expected.match(*message) for message in asked]
    wanted = [expected.top_k(*message, 2) for message in asked]
    assert_table(index.top_k_columns(*messages, 2), wanted, 2)


@pytest.mark.parametrize("algorithm", ["probe", "", None, "COST_BASED"])
def test_an_unknown_algorithm_is_refused(algorithm):
    with pytest.raises(ValueError, match=f"algorithm: got {algorithm!r}.*cost_based"):
        some.family.MBRTrie(algorithm=algorithm)


@settings(max_examples=settings().max_examples // 2)
@given(st.dictionaries(some.ids, some.rows, max_size=30), st.lists(some.messages, max_size=6))
def test_building_at_once_answers_as_one_by_one(rows, messages):
    expected, probes = oracle_of(rows), [*messages, *PROBES]
    for subject in some.SUBJECTS:
        built = subject.build(rows)
        assert_same_answers(built, expected, probes)
        for index in (fill(subject.empty(), rows), built):
            for id in list(rows)[::3]:
                index.delete(id)
                index.insert(id, *rows[id])
            assert_same_answers(index, expected, probes)


@settings(max_examples=settings().max_examples // 2)
@given(st.dictionaries(some.ids, some.rows, max_size=20), some.rows)
def test_arrays_bring_everything_back(rows, another):
    """Equal content gives equal bytes, and what came back lives on as the first would have."""
    expected = oracle_of(rows)
    expected.insert(99, *another)
    backwards = dict(reversed(rows.items()))
    for subject in some.SUBJECTS:
        index = fill(subject.empty(), rows)
        index.insert(77, *another)
        index.delete(77)
        arrays = array_bytes(index.to_arrays())
        restored = subject.restored(index.to_arrays())
        for one in (fill(subject.empty(), backwards), subject.build(rows), restored):
            assert array_bytes(one.to_arrays()) == arrays
        for one in (restored, index):
            one.insert(99, *another)
            assert_same_answers(one, expected)


class AgainstComparison(RuleBasedStateMachine):
    """All indexes at once, so that one drawn history serves them all."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.expected = Placed()
        self.indexes = [subject.empty() for subject in some.SUBJECTS]

    @rule(id=some.ids, row=some.rows)
    def insert(self, id, row):
        if id not in self.expected.live:
            for index in (self.expected, *self.indexes):
                index.insert(id, *row)

    @rule(rows=st.lists(some.rows, max_size=8))
    def insert_many(self, rows):
        free = (id for id in range(100) if id not in self.expected.live)
        self.insert_all(dict(zip(free, rows, strict=False)))

    def insert_all(self, new):
        columns = (
            list(new),
            *([list(column) for column in zip(*new.values(), strict=True)] or [[]] * 3),
        )
        for index in self.indexes:
            index.insert_many(*columns)
        for id, row in new.items():
            self.expected.insert(id, *row)

    @rule(id=some.ids)
    def delete(self, id):
        if id in self.expected.live:
            for index in (self.expected, *self.indexes):
                index.delete(id)

    @rule(share=st.sampled_from([1, 2, 3]))
    def delete_many(self, share):
        self.delete_all(sorted(self.expected.live)[::share])

    def delete_all(self, ids):
        for index in self.indexes:
            index.delete_many(ids)
        for id in ids:
            self.expected.delete(id)

    @rule()
    def save_and_restore(self):
        pairs = zip(some.SUBJECTS, self.indexes, strict=True)
        self.indexes = [subject.restored(index.to_arrays()) for subject, index in pairs]

    @rule(messages=st.lists(some.messages, min_size=1, max_size=3), k=st.integers(0, 5))
    def query(self, messages, k):
        boxes, token_lists = [list(part) for part in zip(*messages, strict=True)]
        wanted = [self.expected.top_k(*message, k) for message in messages]
        matches = [self.expected.match(*message) for message in messages]
        for index in self.indexes:
            assert_table(index.top_k_many(boxes, token_lists, k), wanted, k)
            assert index.match_many(boxes, token_lists) == matches
            assert index.match(*messages[0]) == matches[0]

    @invariant()
    def structures_hold(self):
        for index in self.indexes:
            assert len(index) == len(self.expected.live)
        self.indexes[self.steps % len(self.indexes)].check()  # one at a time; all in the end
        self.steps += 1

    def teardown(self):
        for index in self.indexes:
            assert_same_answers(index, self.expected)


class CrowdsAgainstComparison(AgainstComparison):
    """So many come that an index is put in order anew when most of them leave."""

    @rule(rows=st.lists(some.rows, min_size=1, max_size=5), count=st.integers(70, 90))
    def insert_a_crowd(self, rows, count):
        if max(self.expected.live, default=0) < 100:
            self.insert_all({100 + at: rows[at % len(rows)] for at in range(count)})

    @rule(left=st.integers(0, 5))
    def nearly_all_leave(self, left):
        self.delete_all(sorted(self.expected.live)[: -left or None])


TestAgainstComparison = SHRINKING(AgainstComparison.TestCase)
TestCrowdsAgainstComparison = SHRINKING(CrowdsAgainstComparison.TestCase)
TestCrowdsAgainstComparison.settings = settings(
    max_examples=settings().max_examples // 4, stateful_step_count=12
)


class Phase(NamedTuple):
    """Ids that leave, ids that come, and what is right then."""

    leave: list[int]
    come: list[int]
    expected: Answers


@functools.cache
def phases_of_a_crowd():
    rows, messages = some.crowd(3000, 300, seed=1), some.crowd_messages(60, 300, seed=2)
    live, phases = Placed(), []
    steps = [
        ([], [id for id in rows if id % 3]),
        ([id for id in rows if id % 3 and id % 5 == 0], []),
        ([], [id for id in rows if id % 3 == 0 or id % 5 == 0]),
        ([id for id in rows if id % 100], []),
    ]
    for leave, come in steps:
        for id in leave:
            live.delete(id)
        for id in come:
            live.insert(id, *rows[id])
        phases.append(Phase(leave, come, answers_of(live, messages)))
    return rows, phases


@pytest.mark.large
def test_a_crowd_is_matched_while_it_changes(subject):
    rows, (first, *phases) = phases_of_a_crowd()
    index = subject.build({id: rows[id] for id in first.come})
    assert_answers(index, first.expected)
    for phase in phases:
        index.delete_many(phase.leave)
        for id in phase.come:
            index.insert(id, *rows[id])
        assert_answers(index, phase.expected)


@pytest.mark.large
def test_everything_is_deleted_and_comes_back(subject):
    rows = some.crowd(600, 100, seed=3)
    index, expected = subject.empty(), Placed()
    messages = some.crowd_messages(12, 100, seed=4)
    order = np.random.default_rng(0).permutation(600).tolist()
    for _ in range(2):
        for id, row in rows.items():
            index.insert(id, *row)
            expected.insert(id, *row)
        assert_same_answers(index, expected, messages)
        for at, id in enumerate(order):
            index.delete(id)
            expected.delete(id)
            if at % 200 == 199:
                assert_same_answers(index, expected, messages)


@pytest.mark.large
def test_bytes_grow_with_what_is_held(usual):
    small, large = (usual.build(some.crowd(n, 100, seed=6)).nbytes for n in (200, 4000))
    least = 8 + 32 + 8 + 4  # id, box, score and a token
    assert 200 * least < small < large
    assert 4000 * least < large < 4000 * 12 * least


@pytest.mark.large
def test_the_filter_counts_both_of_its_indexes():
    rows = some.crowd(4000, 100, seed=6)
    trie, quadtree, both = (
        some.subject(name).build(rows).nbytes for name in ("MBRTrie", "PTQuadtree", "LFilter")
    )
    assert max(trie, quadtree) < both <= trie + quadtree
