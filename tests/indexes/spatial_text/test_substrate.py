"""Tokens and records, which all structures share: growth from nothing, gaps, numbers used again."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.spatial_text.records import Columns, Records
from indexes.spatial_text.tokens import TokenDictionary, pack_strings, unpack_strings

WORDS = ["", "a", "b", "é", "日本", "\ud800"]


def columns_of(rows):
    """Columns of {id: (box, tokens, score)}."""
    starts = np.cumsum([0, *(len(tokens) for _, tokens, _ in rows.values())])
    tokens = [token for _, tokens, _ in rows.values() for token in tokens]
    return Columns(
        np.array(list(rows), np.int64),
        np.array([box for box, _, _ in rows.values()], np.float64).reshape(-1, 4),
        np.array(tokens, np.int32),
        starts,
        np.array([score for _, _, score in rows.values()], np.float64),
    )


class TokensAgainstCounts(RuleBasedStateMachine):
    @initialize(spare=st.integers(1, 3))
    def start(self, spare):
        self.dictionary = TokenDictionary(spare)
        self.counts = {}

    @rule(lists=st.lists(st.lists(st.sampled_from(WORDS)), max_size=4))
    def retain(self, lists):
        numbers, starts = self.dictionary.ids_of(lists)
        self.dictionary.retain(numbers)
        for tokens, a, b in zip(lists, starts[:-1], starts[1:], strict=True):
            own = [self.dictionary.string(number) for number in numbers[a:b].tolist()]
            assert own == list(dict.fromkeys(tokens))
            for token in own:
                self.counts[token] = self.counts.get(token, 0) + 1

    @rule(data=st.data())
    def release(self, data):
        gone = data.draw(st.sets(st.sampled_from(sorted(self.counts)))) if self.counts else set()
        numbers, _ = self.dictionary.known_ids([sorted(gone)])
        assert len(numbers) == len(gone)
        self.dictionary.release(numbers)
        for token in gone:
            self.counts[token] -= 1
        self.counts = {token: count for token, count in self.counts.items() if count}

    @rule(tokens=st.lists(st.sampled_from(WORDS)))
    def ask(self, tokens):
        numbers, starts = self.dictionary.known_ids([tokens])
        known = [token for token in dict.fromkeys(tokens) if token in self.counts]
        assert [self.dictionary.string(number) for number in numbers.tolist()] == known
        assert starts.tolist() == [0, len(known)]

    @invariant()
    def counts_are_right(self):
        self.dictionary.check()
        assert len(self.dictionary) == len(self.counts)
        numbers, _ = self.dictionary.known_ids([sorted(self.counts)])
        frequencies = self.dictionary.frequencies[numbers].tolist()
        assert frequencies == [count for _, count in sorted(self.counts.items())]


TestTokens = TokensAgainstCounts.TestCase


def test_a_number_that_is_free_is_given_again():
    dictionary = TokenDictionary(spare=1)
    numbers, _ = dictionary.ids_of([["a", "b"]])
    dictionary.retain(numbers)
    dictionary.release(numbers[:1])
    with pytest.raises(ValueError, match="tokens: got 0"):
        dictionary.require_known(numbers)
    assert dictionary.ids_of([["c"]])[0].tolist() == [0]
    assert dictionary.size == 2


@pytest.mark.parametrize("strings", [[], [""], WORDS, ["", "", "a"]])
def test_strings_come_back_from_bytes(strings):
    assert unpack_strings(*pack_strings(strings)) == strings


class RecordsAgainstDict(RuleBasedStateMachine):
    @initialize(spare=st.integers(1, 3), few_gaps=st.sampled_from([0, 2, 100]))
    def start(self, spare, few_gaps):
        self.records = Records(spare, few_gaps)
        self.rows = {}

    @rule(sizes=st.dictionaries(st.integers(0, 9), st.integers(1, 4), max_size=4))
    def add(self, sizes):
        new = {
            id: ((id, 0.0, id + size, np.inf), [7 * id + i for i in range(size)], 0.5 * size)
            for id, size in sizes.items()
            if id not in self.rows
        }
        rows = self.records.add(columns_of(new))
        assert self.records.rows_of(np.array(list(new), np.int64)).tolist() == rows.tolist()
        self.rows.update(new)

    @rule(data=st.data())
    def release(self, data):
        gone = data.draw(st.sets(st.sampled_from(sorted(self.rows)))) if self.rows else set()
        self.records.release(self.records.find(np.array(sorted(gone), np.int64)))
        for id in gone:
            del self.rows[id]

    @rule(data=st.data())
    def rearrange(self, data):
        live = data.draw(st.permutations(self.records.live().tolist()))
        ids = self.records.table.ids[live].tolist()
        self.records.rearrange(np.array(live, np.int32))
        assert self.records.table.ids.tolist() == ids

    @invariant()
    def rows_are_right(self):
        self.records.check()
        assert len(self.records) == len(self.rows)
        wanted = columns_of(self.rows)
        exported = self.records.export(self.records.find(wanted.ids))
        for mine, its in zip(exported, wanted, strict=True):
            assert (mine == its).all()


TestRecords = RecordsAgainstDict.TestCase


def test_an_id_that_is_there_or_is_not_is_named():
    records = Records(spare=1)
    records.add(columns_of({5: ((0, 0, 1, 1), [3], 1.0)}))
    with pytest.raises(KeyError, match="id 5 is already indexed"):
        records.require_new(np.array([4, 5]))
    with pytest.raises(KeyError, match="id 4 is not indexed"):
        records.find(np.array([5, 4]))


def test_room_is_given_back_when_rows_are_laid_out_anew():
    records = Records(spare=8)
    for id in range(20):
        records.add(columns_of({id: ((0, 0, 1, 1), [id, id + 1], 1.0)}))
    records.release(records.find(np.arange(19)))
    records.rearrange(records.live())
    assert records.capacity == 1
    assert len(records.table.tokens) == 2
