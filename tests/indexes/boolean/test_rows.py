"""Rows of conjunctions against a dict: released, used again, compacted and laid out anew."""

import copy

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.boolean.batches import BETWEEN, EQ, IN, LT, NE, NOT_IN, Batch
from indexes.boolean.row_words import DEAD, DEAD_LISTS, LISTS, WORDS
from indexes.boolean.rows import RowStore, grown
from indexes.kernels import NIL

ids = st.integers(0, 20)
EVERY_ID = np.arange(21)
numbers = st.sampled_from([-1.0, 0.0, 0.1, 1.0, 1e300])
lists = st.lists(numbers, min_size=1, max_size=4, unique=True).map(sorted).map(tuple)
# Ends of which some fit into one word and some take two.
ends = st.tuples(numbers, numbers).map(sorted).map(tuple)
predicates = st.one_of(
    st.tuples(st.integers(0, 5), st.sampled_from([EQ, NE, LT]), numbers, numbers),
    st.tuples(st.integers(0, 5), st.sampled_from([IN, NOT_IN]), numbers, lists),
    st.tuples(st.integers(0, 5), st.just(BETWEEN), numbers, ends),
)
conjunctions = st.lists(predicates, min_size=1, max_size=5)
alternatives = st.lists(conjunctions, min_size=1, max_size=3)


def batch_of(conjunctions):
    flat = [predicate for conjunction in conjunctions for predicate in conjunction]
    firsts, seconds, values = [], [], []
    for _, kind, _, operand in flat:
        if kind in (IN, NOT_IN):
            firsts.append(len(values))
            seconds.append(len(operand))
            values += operand
        else:
            firsts.append(operand[0] if kind == BETWEEN else operand)
            seconds.append(operand[1] if kind == BETWEEN else 0.0)
    return Batch(
        np.array([len(conjunction) for conjunction in conjunctions], np.int64),
        np.array([column for column, _, _, _ in flat], np.int32),
        np.array([kind for _, kind, _, _ in flat], np.uint8),
        np.array([weight for _, _, weight, _ in flat], np.float64),
        np.array(firsts, np.float64),
        np.array(seconds, np.float64),
        np.array(values, np.float64),
    )


def conjunctions_of(batch):
    """The reverse."""
    made, at = [], 0
    for count in batch.counts.tolist():
        made.append([predicate_of(batch, i) for i in range(at, at + count)])
        at += count
    return made


def predicate_of(batch, i):
    kind, first, second = int(batch.kinds[i]), float(batch.firsts[i]), float(batch.seconds[i])
    operand = first
    if kind in (IN, NOT_IN):
        operand = tuple(batch.lists[int(first) : int(first) + int(second)].tolist())
    elif kind == BETWEEN:
        operand = first, second
    return int(batch.columns[i]), kind, float(batch.weights[i]), operand


class RowStoreAgainstDict(RuleBasedStateMachine):
    @initialize(few_dead=st.sampled_from([0, 1, 20]))
    def start(self, few_dead):
        self.store = RowStore(few_dead)
        self.rows = {}  # id -> the rows of its alternatives, as they were told
        self.kept = {}  # id -> the alternatives
        self.copies = []

    @rule(items=st.dictionaries(ids, alternatives, max_size=6))
    def append(self, items):
        new = {id: one for id, one in items.items() if id not in self.kept}
        flat = [conjunction for one in new.values() for conjunction in one]
        repeated = np.array([id for id, one in new.items() for _ in one], np.int64)
        starting = np.array([i == 0 for one in new.values() for i in range(len(one))], np.bool_)
        rows = self.store.append(repeated, batch_of(flat), starting).tolist()
        assert not set(rows) & {row for own in self.rows.values() for row in own}
        for id, one in new.items():
            self.rows[id], rows = rows[: len(one)], rows[len(one) :]
        self.kept.update(new)

    @rule(wanted=st.sets(ids))
    def release(self, wanted):
        known = sorted(wanted & self.kept.keys())
        firsts = self.store.find(np.array(known, np.int64)).tolist()
        assert firsts == [self.rows[id][0] for id in known]
        gone = [row for id in known for row in self.rows.pop(id)]
        self.store.release(np.array(gone, np.int32))
        for id in known:
            del self.kept[id]

    @rule()
    def release_most(self):
        self.release(set(sorted(self.kept)[1:]))

    @rule()
    def compact(self):
        self.store.compact()
        state = self.store.rows.state
        assert state[DEAD] == state[DEAD_LISTS] == 0
        assert state[WORDS] == len(self.store.rows.reals)
        assert state[LISTS] == len(self.store.rows.lists)

    @rule(turned=st.booleans())
    def renumber(self, turned):
        """By id, or the other way round."""
        order = [row for id in sorted(self.rows, reverse=turned) for row in self.rows[id]]
        new = self.store.renumber(np.array(order, np.int32))
        assert new[order].tolist() == list(range(len(order)))
        assert (np.delete(new, order) == NIL).all()
        self.rows = {id: new[rows].tolist() for id, rows in self.rows.items()}

    @rule()
    def copied(self):
        """A copy stays as it is, whatever becomes of the store."""
        self.copies = [(copy.deepcopy(self.store), dict(self.rows), dict(self.kept))]

    @invariant()
    def contents_are_those_of_the_dict(self):
        for store, rows, kept in [(self.store, self.rows, self.kept), *self.copies]:
            store.check({id: own for id, own in rows.items() if len(own) > 1})
            assert len(store) == sum(map(len, rows.values())) <= store.capacity
            assert store.live().tolist() == sorted(row for own in rows.values() for row in own)
            expected = [rows.get(id, [NIL])[0] for id in EVERY_ID.tolist()]
            assert store.find(EVERY_ID).tolist() == expected
            flat = np.array([row for own in rows.values() for row in own], np.int32)
            wanted = [conjunction for id in rows for conjunction in kept[id]]
            assert conjunctions_of(store.export(flat)) == wanted
            assert store.sizes(flat).tolist() == [len(conjunction) for conjunction in wanted]
            owners = [id for id, own in rows.items() for _ in own]
            assert store.rows.ids[flat].tolist() == owners


TestRowStoreAgainstDict = RowStoreAgainstDict.TestCase


@pytest.mark.parametrize("needed", range(20))
@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_a_grown_array_begins_with_what_it_had_and_goes_on_with_zeros(size, needed):
    array = np.arange(1, size + 1)
    more = grown(array, needed)
    assert len(more) >= max(size, needed)
    assert more[:size].tolist() == array.tolist()
    assert not more[size:].any()
    assert (more is array) == (needed <= size)
