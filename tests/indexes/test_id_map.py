import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from indexes.id_map import IdMap

# Few ids, some of them 2**33 apart: collisions and wrap-around at the table's end are common.
ids = st.tuples(st.integers(0, 12), st.sampled_from([0, 1 << 33])).map(sum)
values = st.integers(0, 1000)


class IdMapAgainstDict(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.map = IdMap(np.int32)
        self.dict = {}

    @rule(items=st.dictionaries(ids, values, max_size=8))
    def put_many(self, items):
        self.map.put_many(list(items), list(items.values()))
        self.dict.update(items)

    @rule(wanted=st.sets(ids, max_size=8))
    def remove_many(self, wanted):
        known = sorted(wanted & self.dict.keys())
        self.map.remove_many(known)
        for id in known:
            del self.dict[id]

    @rule(wanted=st.lists(ids, max_size=8))
    def get_many(self, wanted):
        assert self.map.get_many(wanted).tolist() == [self.dict.get(id, -1) for id in wanted]

    @invariant()
    def structure_holds(self):
        self.map.check()
        assert len(self.map) == len(self.dict)


TestIdMapAgainstDict = IdMapAgainstDict.TestCase


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
