import json

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.effort import effort
from workers.shard.key_table import KeyTable, MixedUp

names = st.one_of(
    st.integers(0, 30).map(str),
    st.text(max_size=4),
    st.sampled_from(['"', "\\", "\x00", "é", "🐞", "x" * 256]),
)


def offsets_of(numbers):
    return np.array(numbers, np.int64)


def read(texts):
    """The ids that these JSON strings spell."""
    return [json.loads(text) for text in texts.unpack()]


class TableAgainstDict(RuleBasedStateMachine):
    """From one row on, so that within a few steps it grows, is written anew and reuses rows."""

    @initialize(least_rows=st.sampled_from([1, 2, 3, 8, 1024]))
    def start(self, least_rows):
        self.least_rows = least_rows
        self.table = KeyTable(least_rows)
        self.expected = {}  # offset by name
        self.next_offset = 0

    @rule(chosen=st.lists(names, unique=True, max_size=8), gap=st.integers(0, 2**40))
    def put_new(self, chosen, gap):
        new = [name for name in chosen if name not in self.expected]
        first = self.next_offset + gap
        offsets = range(first, first + len(new))
        self.table.put_many([name.encode() for name in new], offsets_of(offsets))
        self.expected.update(zip(new, offsets, strict=True))
        self.next_offset = offsets.stop

    @rule(chosen=st.lists(names, unique=True, max_size=8))
    def put(self, chosen):
        """Known names and new ones together: the offsets of the known ones are replaced."""
        offsets = range(self.next_offset, self.next_offset + len(chosen))
        replaced = self.table.put_many([name.encode() for name in chosen], offsets_of(offsets))
        known = [self.expected[name] for name in chosen if name in self.expected]
        assert replaced.tolist() == known
        self.expected.update(zip(chosen, offsets, strict=True))
        self.next_offset = offsets.stop

    @rule(chosen=st.lists(names, unique=True, max_size=8))
    def remove(self, chosen):
        removed = self.table.remove_many([name.encode() for name in chosen])
        known = [self.expected.pop(name) for name in chosen if name in self.expected]
        assert removed.tolist() == known
        assert removed.dtype == np.int64

    @rule(data=st.data())
    def spell(self, data):
        if self.expected:
            asked = data.draw(st.lists(st.sampled_from(sorted(self.expected)), max_size=12))
            texts = self.table.texts(offsets_of([self.expected[name] for name in asked]))
            assert read(texts) == asked

    @rule()
    def store_and_restore(self):
        offsets = offsets_of(sorted(self.expected.values()))
        self.table = KeyTable.of_texts(offsets, self.table.texts(offsets), self.least_rows)

    @invariant()
    def all_holds(self):
        self.table.check()
        assert len(self.table) == len(self.expected)
        texts = self.table.texts(offsets_of(list(self.expected.values())))
        assert read(texts) == list(self.expected)


TestTableAgainstDict = TableAgainstDict.TestCase
TestTableAgainstDict.settings = settings(
    max_examples=effort(short=80, long=150), stateful_step_count=25, deadline=None
)


def filled(count, stem="subscription"):
    table = KeyTable()
    keys = [f"{stem}-{i}".encode() for i in range(count)]
    table.put_many(keys, np.arange(count) * 3)
    return table, keys


def test_an_empty_table_holds():
    table = KeyTable()
    table.check()
    assert len(table) == 0
    assert table.texts(offsets_of([])).lengths.tolist() == []


def test_texts_are_json_strings_in_the_order_asked_for_and_as_often():
    table, _ = filled(5, 'say "é"')
    assert read(table.texts(offsets_of([12, 0, 12]))) == ['say "é"-4', 'say "é"-0', 'say "é"-4']


def test_removing_what_is_not_there_removes_nothing():
    table, keys = filled(3)
    assert table.remove_many([b"nobody", keys[1], b"no one"]).tolist() == [3]
    assert table.remove_many([]).tolist() == []
    assert len(table) == 2
    table.check()


def test_a_table_grows_beyond_its_first_rows_and_bytes():
    table, keys = filled(5000, "a rather long name for a subscription")
    table.check()
    assert read(table.texts(offsets_of([0, 14_997]))) == [keys[0].decode(), keys[-1].decode()]


def test_a_batch_that_has_the_table_written_anew_updates_the_keys_that_it_names():
    table = KeyTable()
    keys = [b"k%03d" % i + b"x" * 10 for i in range(1000)]
    table.put_many(keys[:900], np.arange(900))
    table.remove_many(keys[:100])
    new = [b"new%03d" % i + b"y" * 10 for i in range(150)]
    assert table.put_many([keys[500], *new], np.arange(1000, 1151)).tolist() == [500]
    table.check()
    assert read(table.texts(offsets_of([1000, 600]))) == [keys[500].decode(), keys[600].decode()]


def test_rows_of_before_the_table_was_written_anew_are_not_used(monkeypatch):
    table = KeyTable(4)
    table.put_many([b"a", b"b", b"c", b"d"], offsets_of([0, 1, 2, 3]))
    table.remove_many([b"a"])
    stale = table._find
    monkeypatch.setattr(table, "_find", lambda texts: (stale(texts)[0], np.array([0, 1, 2])))
    with pytest.raises(MixedUp):
        table.put_many([b"b", b"c", b"d"], offsets_of([5, 6, 7]))


def test_an_offset_that_no_key_has_is_an_error():
    table, _ = filled(3)
    with pytest.raises(KeyError):
        table.texts(offsets_of([0, 1]))
    with pytest.raises(KeyError):
        table.texts(np.full(30_000, 1))


def test_texts_with_an_id_twice_are_no_table():
    table, _ = filled(3)
    texts = table.texts(offsets_of([0, 3, 0]))
    with pytest.raises(ValueError, match="twice"):
        KeyTable.of_texts(offsets_of([0, 3, 6]), texts)


def test_ids_that_fall_together_in_one_process_do_not_in_another(monkeypatch):
    keys = [b"%d" % i for i in range(2000)]
    orders = set()
    for seed in (1, 2):
        monkeypatch.setattr("workers.shard.key_table._SEED", seed)
        table = KeyTable(2000)
        table.put_many(keys, np.arange(2000))
        orders.add(table._table.by_text.tobytes())
    assert len(orders) == 2


def test_a_table_is_written_anew_when_most_of_it_is_gone():
    table, keys = filled(20_000)
    full = table.nbytes
    gone = table.remove_many(keys[100:])
    assert gone.tolist() == (np.arange(100, 20_000) * 3).tolist()
    table.check()
    assert table.nbytes < full / 4
    assert read(table.texts(np.arange(100) * 3)) == [key.decode() for key in keys[:100]]


def test_a_table_does_not_grow_while_the_same_keys_are_updated_for_ever():
    table, keys = filled(3000)
    sizes = []
    for generation in range(1, 30):
        table.remove_many(keys)
        table.put_many(keys, np.arange(3000) + generation * 10_000)
        sizes.append(table.nbytes)
    table.check()
    assert max(sizes[10:]) <= max(sizes[:10])


def test_a_table_does_not_grow_while_few_of_its_keys_are_updated_for_ever():
    table, keys = filled(3000)
    sizes = []
    for generation in range(1, 200):
        some = keys[:100] if generation % 2 else keys[1000:1100]
        table.remove_many(some)
        table.put_many(some, np.arange(100) + generation * 10_000)
        sizes.append(table.nbytes)
    table.check()
    assert max(sizes[100:]) <= max(sizes[:100])


def test_a_table_of_the_texts_of_another_is_the_same():
    table, keys = filled(3000, 'say "é"')
    offsets = np.arange(3000) * 3
    other = KeyTable.of_texts(offsets, table.texts(offsets))
    other.check()
    assert other.remove_many(keys[10:12]).tolist() == [30, 33]
    assert read(other.texts(offsets_of([0]))) == [keys[0].decode()]


def test_a_table_that_was_emptied_can_be_filled_again():
    table, keys = filled(3000)
    table.remove_many(keys)
    table.check()
    table.put_many(keys[:2], offsets_of([100_000, 100_001]))
    table.check()
    assert read(table.texts(offsets_of([100_001]))) == [keys[1].decode()]
