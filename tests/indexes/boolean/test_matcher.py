"""`BooleanMatcher` beyond the contract of matchers: names and strings that come and go."""

import numpy as np

from indexes.boolean import BooleanArrays, BooleanMatcher, Predicate
from tests.indexes.boolean.matcher_subject import BOOLEAN, named
from tests.indexes.intervals.columns import SHRINKING
from tests.indexes.matcher_contract import machine, revived

TestAgainstOracle = SHRINKING(machine(BOOLEAN).TestCase)


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
    again = revived(BOOLEAN, matcher)
    assert again.ids().tolist() == list(range(30))
    # 30 conjunctions have an attribute of their own, and one column is kept for those without.
    assert matcher.unplaced == again.unplaced == 30 - (12 - 1)
    matcher.delete_many(np.arange(2, 30))
    matcher.rebase()
    assert matcher.unplaced == 0
    matcher.insert_many(np.array([40]), [[[Predicate("n29", "=", 1)]]])
    assert matcher.top_k_many(named([{"n29": (1, 1.0)}]), 3).ids[0].tolist() == [40, -1, -1]


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
