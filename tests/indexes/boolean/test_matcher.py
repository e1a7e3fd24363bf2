"""`BooleanMatcher` against the oracle: batches that bring their own names and strings."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.boolean import BooleanArrays, BooleanMatcher, Predicate
from tests.oracles.boolean import Expressions

NAMES = ["age", "colour"]
numbers, texts = st.integers(0, 4).map(float), st.sampled_from(["red", "blue", "grün", ""])


@st.composite
def predicates(draw):
    name, weight = draw(st.sampled_from(NAMES)), draw(st.sampled_from([0.0, 0.5, 1.0, 2.0]))
    op = draw(st.sampled_from(["<", "<=", "=", "!=", ">=", ">", "in", "not in", "between"]))
    if op == "between":
        return Predicate(name, op, sorted([draw(numbers), draw(numbers)]), weight)
    of = draw(st.sampled_from([numbers, texts])) if op in ("=", "!=", "in", "not in") else numbers
    value = draw(st.lists(of, min_size=1, max_size=3)) if "in" in op else draw(of)
    return Predicate(name, op, value, weight)


expressions = st.lists(st.lists(predicates(), min_size=1, max_size=3), min_size=1, max_size=3)
weighted = st.tuples(numbers | texts, st.sampled_from([0.0, 1.0, 2.0]))
events = st.lists(st.dictionaries(st.sampled_from([*NAMES, "other"]), weighted), max_size=4)
steps = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 30), expressions), unique_by=lambda one: one[0]),
        st.lists(st.integers(0, 30), max_size=10),
        st.sampled_from(["go on", "save", "fork", "rebase"]),
    ),
    max_size=4,
)


def named(batch):
    """A batch in columns, by the plainest way: every name and string as often as it is there."""
    names, strings, columns, values, weights, starts = [], [], [], [], [], [0]
    for event in batch:
        for name, (value, weight) in event.items():
            columns.append(len(names))
            names.append((name, isinstance(value, str)))
            if isinstance(value, str):
                strings.append((columns[-1], value))
                value = len(strings) - 1
            values.append(value)
            weights.append(weight)
        starts.append(len(columns))
    return SimpleNamespace(
        starts=np.array(starts, np.int64),
        values=np.array(values, np.float64),
        weights=np.array(weights, np.float64),
        columns=np.array(columns, np.int32),
        names=names,
        strings=strings,
    )


def saved(matcher):
    arrays = matcher.to_arrays()
    for array in arrays:
        array.flags.writeable = False
    again = BooleanMatcher.from_arrays(arrays)
    assert [a.tobytes() for a in again.to_arrays()] == [a.tobytes() for a in arrays]
    return again


@settings(max_examples=60, deadline=None)
@given(steps=steps, batch=events, k=st.integers(0, 5))
def test_answers_are_those_of_the_oracle_whatever_came_before(steps, batch, k):
    matcher, model = BooleanMatcher(), Expressions()
    for inserted, deleted, then in steps:
        new = [(id, given) for id, given in inserted if id not in model.live]
        matcher.insert_many(np.array([id for id, _ in new], np.int64), [given for _, given in new])
        for id, given_ in new:
            model.insert_any(id, given_)
        gone = [id for id in dict.fromkeys(deleted) if id in model.live]
        matcher.delete_many(np.array(gone, np.int64))
        for id in gone:
            model.delete(id)
        if then == "save":
            matcher = saved(matcher)
        elif then == "fork":
            matcher = matcher.fork()
        elif then == "rebase":
            matcher.rebase()
        matcher.check()
        assert len(matcher) == len(model.live)
        assert matcher.ids().tolist() == sorted(model.live)
        table = matcher.top_k_many(named(batch), k)
        for i, event in enumerate(batch):
            count = table.counts[i]
            got = list(zip(table.ids[i, :count].tolist(), table.scores[i, :count], strict=True))
            assert got == model.top_k(event, k)


def test_a_fork_goes_its_own_way():
    matcher = BooleanMatcher()
    matcher.insert_many(np.array([1]), [[[Predicate("age", "=", 3)]]])
    other = matcher.fork()
    other.insert_many(np.array([2]), [[[Predicate("colour", "=", "red")]]])
    matcher.delete_many(np.array([1]))
    assert (len(matcher), len(other)) == (0, 2)


def test_strings_that_nobody_names_any_more_wear_it_until_it_is_built_anew(monkeypatch):
    monkeypatch.setattr("indexes.boolean.matcher._FEW_STRINGS", 100)
    matcher = BooleanMatcher()
    for turn in range(20):
        if turn:
            matcher.delete_many(np.arange(10))
        terms = [[[Predicate("user", "=", f"{turn}-{i}")]] for i in range(10)]
        matcher.insert_many(np.arange(10), terms)
        if turn == 5:
            assert not matcher.is_worn
    assert matcher.is_worn
    before = matcher.nbytes
    matcher.rebase()
    assert not matcher.is_worn
    assert matcher.nbytes < before


def test_attributes_that_nobody_names_any_more_wear_it_until_it_is_built_anew(monkeypatch):
    monkeypatch.setattr("indexes.boolean.matcher._FEW_COLUMNS", 10)
    matcher = BooleanMatcher()
    for i in range(20):
        matcher.insert_many(np.array([i]), [[[Predicate(f"n{i}", "=", 1)]]])
    assert matcher.is_worn
    matcher.delete_many(np.arange(18))
    matcher.rebase()
    assert not matcher.is_worn
    assert len(matcher.to_arrays().name_lengths) == 2


def test_attributes_without_a_place_match_nothing_and_stop_nobody(monkeypatch):
    monkeypatch.setattr("indexes.boolean.naming.MOST_COLUMNS", 12)
    matcher = BooleanMatcher()
    for i in range(0, 30, 3):
        terms = [[[Predicate(f"n{j}", "=", 1)]] for j in (i, i + 1)]
        either = [[Predicate(f"n{i + 2}", "=", "x")], [Predicate("n0", "=", 1)]]
        matcher.insert_many(np.arange(i, i + 3), [*terms, either])
        matcher.check()
    assert matcher.ids().tolist() == list(range(30))
    assert len(matcher._tree._vocabulary) <= 12
    event = {f"n{i}": (1, 1.0) for i in range(30)} | {"": (0, 1.0)}
    table = matcher.top_k_many(named([event]), 30)
    got = table.ids[0, : table.counts[0]].tolist()
    assert got == [*range(12), *range(14, 30, 3)]
    again = saved(matcher)
    assert again.ids().tolist() == list(range(30))
    # 30 conjunctions have an attribute of their own, and one column is kept for those without.
    assert matcher.unplaced == again.unplaced == 30 - (12 - 1)
    matcher.delete_many(np.arange(2, 30))
    matcher.rebase()
    assert matcher.unplaced == 0
    matcher.insert_many(np.array([40]), [[[Predicate("n29", "=", 1)]]])
    assert matcher.top_k_many(named([{"n29": (1, 1.0)}]), 3).ids[0].tolist() == [40, -1, -1]


def test_a_base_is_refused():
    with pytest.raises(ValueError, match="Boolean expressions have none"):
        BooleanMatcher().replace_base([], 0)


def test_an_empty_matcher_saves_nothing_and_comes_back():
    arrays = BooleanMatcher().to_arrays()
    assert all(len(array) == 0 for array in arrays)
    assert len(BooleanMatcher.from_arrays(BooleanArrays(*arrays))) == 0


def test_one_long_string_does_not_make_the_others_long():
    """Saved strings take what they have, not what the longest has."""
    matcher = BooleanMatcher()
    texts = ["x" * 100_000, *(str(number) for number in range(1000))]
    terms = [[[Predicate("text", "=", text)]] for text in texts]
    matcher.insert_many(np.arange(len(texts)), terms)
    arrays = matcher.to_arrays()
    assert sum(array.nbytes for array in arrays) < 250_000
    again = BooleanMatcher.from_arrays(arrays)
    event = named([{"text": ("x" * 100_000, 1.0)}])
    assert again.top_k_many(event, 3).ids[0].tolist() == [0, -1, -1]
