import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.id_map import (
    ABSENT,
    IdMap,
    check_slots,
    empty_slots,
    find,
    find_many,
    link,
    link_many,
    unlink,
)

# Few ids, some of them 2**33 apart: collisions and wrap-around at the table's end are common.
# More of them than what a lookup asks for ahead.
ids = st.tuples(st.integers(0, 24), st.sampled_from([0, 1 << 33])).map(sum)
EVERY_ID = [id + far for id in range(25) for far in (0, 1 << 33)]
values = st.integers(0, 1000)
entry_numbers = st.integers(0, 63)


class IdMapAgainstDict(RuleBasedStateMachine):
    @initialize(spare=st.integers(0, 3))
    def start(self, spare):
        self.map = IdMap(np.int32, spare)
        self.dict = {}
        self.before = self.map.table

    @rule(items=st.dictionaries(ids, values, max_size=24))
    def put_many(self, items):
        self.before = self.map.table
        self.map.put_many(list(items), list(items.values()))
        self.dict.update(items)

    @rule(id=ids, value=values)
    def put(self, id, value):
        self.before = self.map.table
        self.map.put(id, value)
        self.dict[id] = value

    @rule(wanted=st.sets(ids))
    def remove_many(self, wanted):
        known = sorted(wanted & self.dict.keys())
        self.before = self.map.table
        self.map.remove_many(known)
        for id in known:
            del self.dict[id]

    @rule(left=st.integers(0, 3))
    def remove_all_but_a_few(self, left):
        self.remove_many(set(sorted(self.dict)[left:]))

    @rule(wanted=st.sets(ids, min_size=1))
    def remove_with_an_unknown_one(self, wanted):
        if wanted - self.dict.keys():
            with pytest.raises(KeyError):
                self.map.remove_many(sorted(wanted))

    @rule(wanted=st.lists(ids))
    def get_many(self, wanted):
        assert self.map.get_many(wanted).tolist() == [self.dict.get(id, -1) for id in wanted]

    @invariant()
    def contents_are_those_of_the_dict(self):
        self.map.check()
        assert len(self.map) == len(self.dict)
        assert self.map.get_many(EVERY_ID).tolist() == [self.dict.get(id, -1) for id in EVERY_ID]
        t = self.map.table
        stored = zip(t.keys[: len(self.map)].tolist(), t.values.tolist(), strict=False)
        assert dict(stored) == self.dict

    @invariant()
    def a_table_that_was_replaced_is_left_as_it_was(self):
        """So that a kernel of another thread, which has it, reads no half of another."""
        if self.before is not self.map.table:
            old = self.before
            check_slots(old.slots, old.keys, np.arange(int(old.used[0])))


TestIdMapAgainstDict = IdMapAgainstDict.TestCase


class SlotsAgainstDict(RuleBasedStateMachine):
    """Slots over a column of ids that somebody else owns: its entries are in any order."""

    @initialize()
    def start(self):
        self.slots = empty_slots(0)
        self.column = np.full(64, 7)  # an id that stands where no entry is says nothing
        self.entries = {}  # by id

    def make_room(self, more):
        needed = len(self.entries) + more
        if 5 * needed > 4 * len(self.slots):
            self.slots = empty_slots(needed)
            link_many(self.slots, self.column, np.array(list(self.entries.values()), np.int32))

    def write(self, wanted, at):
        """Give new ids free entries, from `at` on."""
        new = sorted(wanted - self.entries.keys())
        free = sorted(set(range(64)) - set(self.entries.values()), key=lambda i: (i < at, i))
        chosen = free[: len(new)]
        self.make_room(len(new))
        for id, entry in zip(new, chosen, strict=True):
            self.column[entry] = id
            self.entries[id] = entry
        return np.array(chosen, np.int32)

    @rule(wanted=st.sets(ids), at=entry_numbers)
    def link_many(self, wanted, at):
        entries = self.write(wanted, at)
        link_many(self.slots, self.column, entries)

    @rule(id=ids, at=entry_numbers)
    def link_one(self, id, at):
        for entry in self.write({id}, at):
            link(self.slots, self.column, entry)

    @rule(wanted=st.sets(ids))
    def unlink(self, wanted):
        for id in sorted(wanted & self.entries.keys()):
            unlink(self.slots, self.column, id)
            self.column[self.entries.pop(id)] = 7

    @invariant()
    def every_id_is_found_where_it_is(self):
        check_slots(self.slots, self.column, np.array(list(self.entries.values()), np.int32))
        expected = [self.entries.get(id, ABSENT) for id in EVERY_ID]
        assert find_many(self.slots, self.column, np.array(EVERY_ID)).tolist() == expected
        assert [find(self.slots, self.column, id) for id in EVERY_ID] == expected


TestSlotsAgainstDict = SlotsAgainstDict.TestCase


def test_get_and_contains_tell_known_ids_from_unknown_ones():
    rows = IdMap()
    rows.put(7, 2**40)
    assert 7 in rows
    assert 8 not in rows
    assert rows.get(7) == 2**40
    assert rows.get(8) == -1


def test_putting_a_known_id_replaces_its_value():
    rows = IdMap()
    rows.put(7, 1)
    rows.put(7, 2)
    assert rows.get(7) == 2
    assert len(rows) == 1


def test_removing_an_unknown_id_removes_none():
    rows = IdMap()
    rows.put_many([1, 2], [10, 20])
    with pytest.raises(KeyError, match="id 3 is not in the map"):
        rows.remove_many([1, 3])
    assert rows.get_many([1, 2]).tolist() == [10, 20]


@pytest.mark.parametrize(
    ("ids", "values", "message"),
    [
        pytest.param([-1], [0], "got -1", id="negative-id"),
        pytest.param([1, 1], [0, 0], "got 1 twice", id="id-twice"),
        pytest.param([1], [-5], "got -5", id="negative-value"),
        pytest.param([1], [2**31], "got 2147483648", id="value-too-big-for-int32"),
        pytest.param([1, 2], [0], "2 ids, 1 values", id="lengths-differ"),
        pytest.param([1.5], [0], r"got 1\.5", id="not-an-integer"),
        pytest.param([[1]], [0], "2 dimensions", id="two-dimensions"),
    ],
)
def test_a_refused_put_names_the_value_and_changes_nothing(ids, values, message):
    rows = IdMap(np.int32)
    rows.put(9, 3)
    with pytest.raises(ValueError, match=message):
        rows.put_many(ids, values)
    assert len(rows) == 1
    assert rows.get(9) == 3
    rows.check()


def test_lookups_stay_short_whatever_was_deleted_before():
    rows = IdMap()
    for start in range(0, 2000, 50):
        rows.put_many(range(start, start + 100), range(100))
        rows.remove_many(range(start, start + 50))
    slots = rows.table.slots
    assert (slots >= 0).sum() == len(rows) == 50, "no slot is lost to a removed id"
    rows.check()


def test_memory_is_given_back_after_mass_removal():
    rows = IdMap()
    rows.put_many(range(5000), range(5000))
    full = rows.nbytes
    rows.remove_many(range(4990))
    assert rows.nbytes < full / 20
    assert rows.get(4995) == 4995
