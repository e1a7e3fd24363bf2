"""Names as numbers against dicts: a column and a code, once given, stay what they are."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from indexes.boolean import Predicate, Scan
from indexes.boolean.events import encode_events
from indexes.boolean.naming import encode_named
from indexes.boolean.vocabulary import UNKNOWN, Vocabulary

attributes = st.sampled_from(["a", "b", "c", "", "ö", "a" * 40])
strings = st.sampled_from(["x", "y", "", "ü", "x" * 40])
values = st.one_of(st.sampled_from([-1.0, 0.0, 2.5]), strings)
events = st.lists(st.dictionaries(attributes, values), max_size=4)


class VocabularyAgainstDicts(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.vocabulary = Vocabulary()
        self.columns = {}  # (attribute, whether of strings) -> column
        self.codes = {}  # (attribute, string) -> code
        self.others = []

    @rule(attribute=attributes, is_text=st.booleans())
    def column(self, attribute, is_text):
        wanted = attribute, is_text
        assert self.vocabulary.new_columns([wanted, wanted]) == (wanted not in self.columns)
        column = self.vocabulary.column(attribute, is_text)
        assert self.columns.setdefault(wanted, len(self.columns)) == column

    @rule(attribute=attributes, string=strings)
    def code(self, attribute, string):
        column = self.vocabulary.column(attribute, True)
        self.columns.setdefault((attribute, True), len(self.columns))
        known = [code for (name, _), code in self.codes.items() if name == attribute]
        code = self.vocabulary.code(column, string)
        assert self.codes.setdefault((attribute, string), len(known)) == code

    @rule(copied=st.sampled_from([copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]))
    def go_on_with_a_copy(self, copied):
        """And leave the other as it is."""
        other = self.vocabulary
        self.vocabulary = copied(other)
        assert self.vocabulary.stamp != other.stamp
        self.others = [(other, dict(self.columns), dict(self.codes))]

    @rule(asked=events)
    def encode(self, asked):
        expected = []
        for event in asked:
            known = {}
            for name, value in event.items():
                is_text = isinstance(value, str)
                if (name, is_text) in self.columns:
                    number = self.codes.get((name, value), UNKNOWN) if is_text else value
                    known[self.columns[name, is_text]] = number
            expected.append(known)
        for encoded in (
            encode_events(asked, self.vocabulary),
            encode_named(named(asked), self.vocabulary),
        ):
            assert (encoded.stamp, encoded.size) == (self.vocabulary.stamp, self.vocabulary.size)
            assert spelled(encoded) == expected

    @invariant()
    def names_are_those_of_the_dicts(self):
        for vocabulary, columns, codes in [
            (self.vocabulary, self.columns, self.codes),
            *self.others,
        ]:
            assert vocabulary.size == (len(columns), len(codes))
            assert len(vocabulary) == len(vocabulary.codes) == len(columns)
            for (attribute, is_text), column in columns.items():
                assert vocabulary.names[column] == attribute
                of_column = [string for name, string in codes if name == attribute]
                assert vocabulary.strings(column) == (of_column if is_text else None)


TestVocabularyAgainstDicts = VocabularyAgainstDicts.TestCase


def named(events):
    """Events as a frame has them, with names and strings of its own, and no order in common."""
    names = sorted({(k, isinstance(v, str)) for event in events for k, v in event.items()})
    strings = sorted(
        {(names.index((k, True)), v) for e in events for k, v in e.items() if isinstance(v, str)}
    )
    columns, values, starts = [], [], [0]
    for event in events:
        for name, value in event.items():
            column = names.index((name, isinstance(value, str)))
            columns.append(column)
            is_text = isinstance(value, str)
            values.append(strings.index((column, value)) if is_text else value)
        starts.append(len(columns))
    return SimpleNamespace(
        starts=np.array(starts, np.int64),
        columns=np.array(columns, np.int32),
        values=np.array(values, np.float64),
        weights=np.ones(len(columns)),
        names=names,
        strings=strings,
    )


def spelled(encoded):
    spans = zip(encoded.starts[:-1].tolist(), encoded.starts[1:].tolist(), strict=True)
    return [
        dict(zip(encoded.columns[a:b].tolist(), encoded.values[a:b].tolist(), strict=True))
        for a, b in spans
    ]


def test_events_that_were_encoded_before_most_was_deleted_are_refused():
    """Columns and codes are given anew then, and may be as many as before."""

    def conjunctions(name, count):
        return [[Predicate(f"{name}{i}", "=", "x" if i % 2 else 1.0)] for i in range(count)]

    index = Scan.build(np.arange(200), conjunctions("n", 200))
    encoded = index.encode([{"n0": 1.0, "n1": "x"}])
    assert index.match_many(encoded) == [[0, 1]]
    index.delete_many(np.arange(198))
    index.insert_many(np.arange(198), conjunctions("m", 198))
    assert index.encode([]).size == encoded.size
    with pytest.raises(ValueError, match="encode it again"):
        index.match_many(encoded)
    assert index.match_many([{"n198": 1.0, "m3": "x"}]) == [[3, 198]]
