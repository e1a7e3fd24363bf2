"""Lists that messages keep right, and the records that say what has changed in them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from indexes.paint.lists import DISPLACED, LEFT_RANGE, REMOVED, SubscriberLists
from indexes.paint.named import NamedPaint
from tests.indexes.intervals.columns import SHRINKING
from tests.indexes.paint.audience import copied
from tests.indexes.paint.named import listeners as some
from tests.indexes.paint.named.listeners import INF, columns, value_of
from tests.oracles import range_topk as oracle

OPERATIONS = ["leave", "enter", "move", "update"]
WHY = {DISPLACED: "displaced", REMOVED: "removed", LEFT_RANGE: "left"}


class Zone:
    """Lists, the server that tells them, the logs of both, and all records by subscription."""

    def __init__(self, k, form="dense", epsilon=None, least=1, first_offset=0):
        self.k = k
        self.server = NamedPaint(k, form, epsilon)
        self.lists = SubscriberLists(k, least)
        self.history = oracle.History(k)
        self.objects = {}
        self.offset = first_offset - 1  # of the last object record
        self.subscribed = 0  # records of subscriptions so far
        self.told = []  # (messages, numbers) of each call
        self.ends = []  # of groups
        self.since = {}  # of the subscriptions that are in, by id
        self.lives = {}  # records by since

    def subscribe(self, ranges, own_k=None):
        """`id -> range`; their first lists are as of now."""
        self.arrive(self.asked(ranges, own_k))

    def asked(self, ranges, own_k=None):
        """The server knows them; their first lists are on their way."""
        ids, own = list(ranges), self.k if own_k is None else own_k
        lows, highs = ([ends[side] for ends in ranges.values()] for side in (0, 1))
        self.server.subscribe_many(ids, lows, highs)
        for id, ends in ranges.items():
            value = {"range": ends, "k": own}
            self.history.subscribe(0, self.subscribed, f"s-{id}", value)
            self.since[id] = self.subscribed
            self.subscribed += 1
        found = self.server.first_lists(lows, highs)
        return ids, lows, highs, [own] * len(ids), self.offset, *found

    def arrive(self, first):
        self.lists.subscribe_many(*first)
        ids, own_ks, as_of = first[0], first[3], first[4]
        for id, own in zip(ids, own_ks, strict=True):
            shown = self.lists.list_of(id)[:own]
            self.lives[self.since[id]] = [self.record(id, 1, as_of, own, shown, [])]

    def record(self, id, seq, number, own_k, listed, changes):
        return {
            "subscription": f"s-{id}",
            "since": f"subscriptions[0]@{self.since[id]}",
            "seq": seq,
            "first": seq == 1,
            "objects": None if number < 0 else f"objects[0]@{number}",
            "k": own_k,
            "list": [{"id": name.decode(), "x": x, "y": y} for name, x, y in listed],
            "changes": changes,
        }

    def unsubscribe(self, ids):
        self.server.unsubscribe_many(ids)
        self.lists.unsubscribe_many(ids)
        for id in ids:
            del self.since[id]

    def put_many(self, changes, records=True):
        painted = self.server.put_many(*columns(changes))
        self.log(changes)
        numbers = range(self.offset - len(changes) + 1, self.offset + 1)
        self.ends += numbers
        return self.tell(painted, list(numbers), records)

    def put_batch(self, changes, records=True):
        painted = self.server.put_batch(*columns(changes))
        self.log(changes)
        self.ends.append(self.offset)
        return self.tell(painted, [self.offset], records)

    def log(self, changes):
        for id, x, y in changes:
            self.offset += 1
            self.history.put(self.offset, id, value_of(x, y))
        self.objects = self.history.as_of(self.offset)

    def tell(self, painted, numbers, records=True):
        self.told.append((painted, numbers))
        return self.note(self.lists.apply(painted, numbers, records))

    def tell_again(self, since):
        """All calls from one on."""
        for painted, numbers in self.told[since:]:
            self.note(self.lists.apply(painted, numbers))

    def flush(self):
        return self.note(self.lists.flush())

    def note(self, changed):
        """Write the records down; how many."""
        entries, changes = iter(changed.entries.tolist()), iter(changed.changes.tolist())
        for at, id in enumerate(changed.ids.tolist()):
            life = self.lives[self.since[id]]
            listed = self.lists.named(
                np.array([next(entries) for _ in range(changed.list_count[at])], np.int64)
            )
            made = [self.change(next(changes)) for _ in range(changed.change_count[at])]
            seq, number = int(changed.seq[at]), int(changed.number[at])
            life.append(self.record(id, seq, number, life[0]["k"], listed, made))
        assert next(entries, None) is next(changes, None) is None
        return len(changed.ids)

    def change(self, row):
        operation, state, place, to, why = row
        ((name, x, y),) = self.lists.named(np.array([state]))
        op, id = OPERATIONS[operation], name.decode()
        if op == "leave":
            return {"op": op, "id": id, "from": place, "why": WHY[why]}
        told = {"op": op, "id": id, "x": x, "y": y, "to": to}
        return {**told, "from": place} if op == "move" else told

    def save_and_restore(self, least=1):
        self.lists = SubscriberLists.from_arrays(copied(self.lists.to_arrays()), least)
        self.server = NamedPaint.from_arrays(copied(self.server.to_arrays()))

    def shown(self, id):
        own = self.lives[self.since[id]][0]["k"]
        return [name.decode() for name, _, _ in self.lists.list_of(id)[:own]]

    def changes(self, id):
        return self.lives[self.since[id]][-1]["changes"]

    def check(self, without=()):
        """`without`: the ids of those that are on their way."""
        self.lists.check()
        self.server.check()
        arrived = self.since.keys() - set(without)
        assert len(self.lists) == len(arrived)
        for id in arrived:
            life = self.history.subscriptions[0, self.since[id]]
            listed = [(name.decode(), x, y) for name, x, y in self.lists.list_of(id)]
            expected = oracle.top_k(self.objects, life.low, life.high, self.k)
            assert listed == [tuple(item.values()) for item in expected], f"{id}: {life}"
            assert self.lists.seq_of(id) == len(self.lives[self.since[id]])

    def check_records(self, merged=False):
        """`merged`: records were put off."""
        live = set(self.since.values())
        for since, records in self.lives.items():
            until = self.offset if since in live and self.offset >= 0 else None
            upto = oracle.objects_of(records[-1])
            ends = [
                end for end in self.ends if until is not None or (upto is not None and end <= upto)
            ]
            oracle.check_life(
                records,
                self.history,
                until=until,
                group_ends=None if merged else ends,
                merged=merged,
            )


class ListsAgainstTheOracle(RuleBasedStateMachine):
    """Records after every group."""

    @initialize(
        k=some.ks,
        form=some.forms,
        objects=st.one_of(st.just([]), some.puts),
        ranges=st.lists(some.ranges, min_size=1, max_size=6),
        least=st.integers(1, 3),
    )
    def start(self, k, form, objects, ranges, least):
        self.zone = Zone(k, *form, least=least)
        self.on_their_way = []
        self.ids = 0
        if objects:
            self.zone.put_many(objects)
        self.subscribe(ranges, 4)

    def new(self, ranges):
        self.ids += len(ranges)
        return dict(zip(range(self.ids - len(ranges), self.ids), ranges, strict=True))

    @property
    def waiting(self):
        return {id for _, first in self.on_their_way for id in first[0]}

    @property
    def arrived(self):
        return sorted(self.zone.since.keys() - self.waiting)

    records = st.just(True)

    @rule(changes=st.one_of(some.puts, some.crowds), at_once=st.booleans(), data=st.data())
    def put(self, changes, at_once, data):
        put = self.zone.put_batch if at_once else self.zone.put_many
        put(changes, records=data.draw(self.records))

    @precondition(lambda self: self.zone.objects)
    @rule(data=st.data(), at_once=st.booleans(), again=st.booleans())
    def remove(self, data, at_once, again):
        """Some of those that are there; they may come back, where they were or elsewhere."""
        known = self.zone.objects
        gone = data.draw(st.lists(st.sampled_from(sorted(known)), min_size=1, unique=True))
        changes = [(id, known[id][0], None) for id in gone]
        if again:
            changes += [(id, data.draw(some.xs), known[id][1]) for id in gone]
        self.put(changes, at_once, data)

    @precondition(lambda self: self.zone.objects)
    @rule(data=st.data(), to=some.xs, at_once=st.booleans())
    def move(self, data, to, at_once):
        known = self.zone.objects
        chosen = data.draw(st.lists(st.sampled_from(sorted(known)), min_size=1, unique=True))
        self.put([(id, to, known[id][1]) for id in chosen], at_once, data)

    @rule(ranges=st.lists(some.ranges, min_size=1, max_size=4), own_k=st.integers(1, 4))
    def subscribe(self, ranges, own_k):
        self.zone.subscribe(self.new(ranges), min(own_k, self.zone.k))

    @precondition(lambda self: self.arrived)
    @rule(data=st.data(), ends=some.ranges)
    def subscribe_again(self, data, ends):
        """The same id, another life."""
        id = data.draw(st.sampled_from(self.arrived))
        self.zone.unsubscribe([id])
        self.zone.subscribe({id: ends})

    @rule(data=st.data())
    def unsubscribe(self, data):
        if self.arrived:
            chosen = st.lists(st.sampled_from(self.arrived), unique=True)
            self.zone.unsubscribe(data.draw(chosen))

    @rule(ranges=st.lists(some.ranges, min_size=1, max_size=3), own_k=st.integers(1, 4))
    def ask(self, ranges, own_k):
        """First lists that get lost with the worker, and are as of now when they come again."""
        first = self.zone.asked(self.new(ranges), min(own_k, self.zone.k))
        self.on_their_way.append((len(self.zone.told), first))

    @rule(earlier=st.integers(0, 3))
    def begin_again(self, earlier, records=True):
        """Messages come again from some place on, first lists where they were."""
        at = min((at for at, _ in self.on_their_way), default=len(self.zone.told))
        at = max(0, at - earlier)
        for place in range(at, len(self.zone.told) + 1):
            for asked, first in self.on_their_way:
                if asked == place:
                    self.zone.arrive(first)
            if place < len(self.zone.told):
                painted, numbers = self.zone.told[place]
                self.zone.note(self.zone.lists.apply(painted, numbers, records))
        self.on_their_way = []

    @rule(least=st.integers(1, 64))
    def save_and_restore(self, least):
        self.zone.save_and_restore(least)

    @rule()
    def flush(self):
        assert self.zone.flush() == 0

    @invariant()
    def lists_are_right(self):
        if hasattr(self, "zone"):
            self.zone.check(without=self.waiting)

    def teardown(self):
        if hasattr(self, "zone"):
            self.begin_again(len(self.zone.told))
            self.flush()
            self.lists_are_right()
            self.zone.check_records()


class PutOffAgainstTheOracle(ListsAgainstTheOracle):
    """Records of several groups at once, with their net effect."""

    records = st.sampled_from([True, False, False])

    @rule(least=st.integers(1, 64))
    def save_and_restore(self, least):
        self.flush()
        super().save_and_restore(least)

    @rule(earlier=st.integers(0, 3), records=st.booleans())
    def begin_again(self, earlier, records=True):
        """Who begins again has put nothing off."""
        self.flush()
        super().begin_again(earlier, records)

    @rule()
    def flush(self):
        self.zone.flush()
        assert self.zone.flush() == 0

    def teardown(self):
        if hasattr(self, "zone"):
            self.begin_again(len(self.zone.told))
            self.flush()
            self.lists_are_right()
            self.zone.check_records(merged=True)


MORE = settings(max_examples=3 * settings.default.max_examples)

TestListsAgainstTheOracle = SHRINKING(ListsAgainstTheOracle.TestCase)
TestListsAgainstTheOracle.settings = MORE
TestPutOffAgainstTheOracle = SHRINKING(PutOffAgainstTheOracle.TestCase)
TestPutOffAgainstTheOracle.settings = MORE


@given(
    k=some.ks,
    before=st.lists(st.one_of(some.puts, some.crowds), min_size=1, max_size=3),
    again=st.lists(st.one_of(some.puts, some.crowds), min_size=1, max_size=3),
    after=st.lists(st.one_of(some.puts, some.crowds), min_size=1, max_size=3),
    cut=st.integers(1, 9),
)
def test_a_server_that_begins_again_cuts_the_log_elsewhere(k, before, again, after, cut):
    """Lists have what the first one told, and go on with what the second one tells."""
    zone = Zone(k)
    for changes in before:
        zone.put_many(changes)
    zone.subscribe(dict(enumerate(some.EVERY_RANGE)))
    saved, offset = copied(zone.server.to_arrays()), zone.offset
    for changes in again:
        zone.put_many(changes)
    zone.server = NamedPaint.from_arrays(saved)
    log = [change for changes in again for change in changes]
    for first in range(0, len(log), cut):
        part = log[first : first + cut]
        numbers = [offset + 1 + first + i for i in range(len(part))]
        changed = zone.lists.apply(zone.server.put_many(*columns(part)), numbers)
        assert len(changed.ids) == 0
    for changes in after:
        zone.put_many(changes)
        zone.check()
    zone.check_records()


def test_an_object_that_comes_back_to_its_place_stands_where_it_stood_however_the_log_is_cut():
    """Else the next one of that place would get a place that the lists take for the other's."""
    zone = zone_of(2, [("a", 0.0, 1.0)], [(0.0, 0.0), (-INF, INF)])
    saved = copied(zone.server.to_arrays())
    there, back = ("a", 1.0, 1.0), ("a", 0.0, 1.0)
    zone.put_many([there, back])
    zone.server = NamedPaint.from_arrays(saved)
    for number, change in enumerate([there, back], start=1):
        zone.note(zone.lists.apply(zone.server.put_many(*columns([change])), [number]))
    zone.put_many([("9", 0.0, 1.0)])
    assert zone.shown(0) == zone.shown(1) == ["9", "a"]
    zone.check_records()


def zone_of(k, objects, ranges, own_k=None, **options):
    zone = Zone(k, **options)
    zone.put_many(objects)
    zone.subscribe(dict(enumerate(ranges)), own_k)
    return zone


def test_the_docstrings_example():
    zone = zone_of(3, [("o-3", 1.0, 0.2), ("o-7", 2.0, 0.5), ("o-9", 3.0, 0.8)], [(0.0, 9.0)])
    zone.put_batch([("o-3", 1.0, None), ("o-9", 3.0, 0.4), ("o-5", 4.0, 0.9)])
    assert zone.shown(0) == ["o-9", "o-7", "o-5"]
    assert zone.changes(0) == [
        {"op": "leave", "id": "o-3", "from": 0, "why": "removed"},
        {"op": "move", "id": "o-9", "x": 3.0, "y": 0.4, "from": 2, "to": 0},
        {"op": "enter", "id": "o-5", "x": 4.0, "y": 0.9, "to": 2},
    ]


def test_why_an_object_leaves():
    zone = zone_of(
        1, [("a", 1.0, 1.0), ("b", 2.0, 2.0), ("c", 3.0, 3.0), ("d", 4.0, 4.0)], [(0.0, 5.0)]
    )
    zone.put_many([("b", 2.0, 0.0), ("b", 9.0, 0.0), ("a", 1.0, None), ("c", 3.0, 7.0)])
    zone.put_many([("d", 4.0, None), ("c", 5.0, 7.0)])
    leaves = [
        (change["id"], change["why"])
        for record in zone.lives[0]
        for change in record["changes"]
        if change["op"] == "leave"
    ]
    assert leaves == [
        ("a", "displaced"), ("b", "left"), ("a", "removed"), ("c", "displaced"), ("d", "removed")
    ]  # fmt: skip
    zone.check_records()


def test_to_move_within_the_range_is_a_move_or_an_update():
    zone = zone_of(3, [("a", 1.0, 1.0), ("b", 2.0, 1.0), ("c", 3.0, 1.0)], [(0.0, 5.0)])
    zone.put_many([("b", 2.5, 1.0)])
    assert [change["op"] for change in zone.changes(0)] == ["update"]
    zone.put_many([("b", 0.5, 1.0)])
    assert zone.changes(0) == [{"op": "move", "id": "b", "x": 0.5, "y": 1.0, "from": 1, "to": 0}]
    zone.put_many([("b", 0.5, 0.5)])
    assert [change["op"] for change in zone.changes(0)] == ["update"]
    zone.check_records()


def test_an_object_that_moves_out_beyond_the_best_has_left_or_is_displaced():
    """To another x in the range, but with more than k before it: displaced, not left."""
    zone = zone_of(1, [("a", 2.0, 1.0), ("b", 3.0, 1.0)], [(0.0, 5.0), (0.0, 3.5)])
    zone.put_many([("a", 4.0, 1.0)])
    assert zone.changes(0)[0]["why"] == "displaced"
    assert zone.changes(1)[0]["why"] == "left"
    zone.check_records()


def test_what_is_removed_and_comes_back_within_a_batch_is_an_update_a_move_or_displaced():
    zone = zone_of(2, [("a", 1.0, 1.0), ("b", 2.0, 2.0), ("c", 3.0, 3.0)], [(0.0, 5.0)])
    zone.put_batch([("a", 1.0, None), ("a", 1.0, 1.5)])
    assert [change["op"] for change in zone.changes(0)] == ["update"]
    zone.put_batch([("a", 1.0, None), ("a", 1.0, 2.5)])
    assert [change["op"] for change in zone.changes(0)] == ["move"]
    zone.put_batch([("a", 1.0, None), ("a", 1.0, 9.0)])
    assert zone.changes(0)[0] == {"op": "leave", "id": "a", "from": 1, "why": "displaced"}
    assert zone.put_batch([("b", 2.0, None), ("b", 2.0, 2.0)]) == 0
    zone.check_records()


@pytest.mark.parametrize("last", ["removed", "left"])
def test_why_is_as_of_the_last_time_that_it_went_when_records_are_put_off(last):
    """It has been gone in each way before."""
    zone = zone_of(1, [("a", 1.0, 1.0), ("b", 2.0, 2.0)], [(0.0, 5.0)])
    ways = {"removed": (1.0, None), "left": (9.0, 0.0), "displaced": (1.0, 8.0)}
    for why in [*ways.keys() - {last}, last]:
        zone.put_many([("a", *ways[why])], records=False)
        zone.put_many([("a", 1.0, 1.0)], records=False)
    zone.put_many([("a", *ways[last])], records=False)
    assert zone.flush() == 1
    assert zone.changes(0)[0] == {"op": "leave", "id": "a", "from": 0, "why": last}
    zone.check_records(merged=True)


def test_what_was_put_off_and_is_as_before_gives_no_record():
    zone = zone_of(2, [("a", 1.0, 1.0), ("b", 2.0, 2.0)], [(0.0, 5.0), (1.5, 5.0)])
    assert zone.put_many([("a", 1.0, 9.0), ("c", 3.0, 0.0), ("c", 3.0, None)], records=False) == 0
    assert zone.put_many([("a", 1.0, 1.0)], records=False) == 0
    assert zone.flush() == 0
    assert zone.put_many([("a", 1.0, 0.5)]) == 1


def test_put_off_records_come_with_the_next_ones():
    """Of a list that the next message has nothing to do with, too."""
    zone = zone_of(1, [("a", 1.0, 1.0), ("b", 9.0, 2.0)], [(0.0, 5.0), (6.0, 9.0)])
    zone.put_many([("a", 1.0, 0.5)], records=False)
    assert zone.put_many([("b", 9.0, 3.0)]) == 2
    zone.check_records(merged=True)


def test_lists_with_records_that_are_put_off_are_not_saved():
    zone = zone_of(1, [("a", 1.0, 1.0)], [(0.0, 5.0)])
    zone.put_many([("a", 1.0, 0.5)], records=False)
    with pytest.raises(ValueError, match="flush"):
        zone.lists.to_arrays()
    zone.flush()
    zone.save_and_restore()
    zone.check()


def test_a_life_that_follows_has_nothing_of_what_was_put_off():
    zone = zone_of(1, [("a", 1.0, 1.0)], [(0.0, 5.0)])
    zone.put_many([("a", 1.0, 0.5)], records=False)
    zone.unsubscribe([0])
    zone.subscribe({0: (0.0, 2.0)})
    assert zone.flush() == 0
    zone.put_many([("a", 1.0, 0.7)], records=False)
    assert zone.flush() == 1
    zone.check_records(merged=True)


def test_a_smaller_k_shows_less_and_hears_of_what_it_shows():
    zone = zone_of(4, [(f"o-{i}", 1.0, float(i)) for i in range(9)], [(0.0, 5.0)] * 2, own_k=2)
    assert zone.put_many([("o-3", 1.0, 2.5)]) == 0, "the third of two"
    assert zone.put_many([("o-2", 1.0, None)]) == 0
    assert zone.put_many([("o-0", 1.0, None)]) == 2
    assert zone.changes(1) == [
        {"op": "leave", "id": "o-0", "from": 0, "why": "removed"},
        {"op": "enter", "id": "o-3", "x": 1.0, "y": 2.5, "to": 1},
    ]
    assert zone.put_many([("o-1", 1.0, 50.0)]) == 2
    assert zone.changes(1)[0]["why"] == "displaced"
    zone.check()
    zone.check_records()


def test_messages_that_come_again_change_nothing():
    zone = zone_of(2, [("a", 1.0, 1.0)], [(0.0, 5.0), (1.0, 1.0)])
    zone.put_many([("b", 1.0, 0.5), ("a", 1.0, None), ("a", 1.0, 0.1), ("c", 2.0, 0.0)])
    for _ in range(2):
        for since in range(len(zone.told)):
            zone.tell_again(since)
    zone.check()
    zone.check_records()


def test_a_list_that_came_late_catches_up_and_others_stay():
    """Its first list was computed before messages that the zone had applied when it came."""
    zone = zone_of(1, [("a", 1.0, 1.0)], [(0.0, 5.0)])
    first = zone.asked({1: (0.0, 5.0), 2: (2.0, 5.0)})
    at = len(zone.told)
    zone.put_many([("b", 2.0, 0.5), ("b", 2.0, 2.0), ("a", 1.0, None)])
    zone.put_batch([("c", 3.0, 0.0)])
    zone.arrive(first)
    had = len(zone.lives[0])
    zone.save_and_restore()
    zone.tell_again(at)
    assert len(zone.lives[0]) == had
    assert [record["list"] for record in zone.lives[1]] == [
        record["list"] for record in zone.lives[0]
    ]
    zone.check()
    zone.put_many([("c", 3.0, None)])
    zone.check_records()


def test_put_off_records_of_a_late_list_are_as_of_what_it_has():
    """The zone has applied more than that, and messages have not all come again."""
    zone = zone_of(1, [("a", 1.0, 1.0)], [(0.0, 5.0)])
    first = zone.asked({1: (0.0, 5.0)})
    zone.put_many([("b", 2.0, 0.5)])
    zone.put_many([("b", 2.0, None)])
    zone.arrive(first)
    again = zone.told[-2:]
    zone.note(zone.lists.apply(*again[0], records=False))
    assert zone.flush() == 1
    assert zone.lives[1][-1]["objects"] == "objects[0]@1"
    zone.note(zone.lists.apply(*again[1], records=False))
    assert zone.flush() == 1
    zone.check()
    zone.check_records()


def test_messages_that_come_again_do_not_change_what_was_put_off():
    zone = zone_of(1, [("a", 1.0, 1.0), ("b", 2.0, 2.0)], [(0.0, 1.5)])
    zone.put_many([("a", 1.2, 1.0), ("b", 1.4, 2.0)])
    zone.put_many([("a", 1.2, None), ("b", 9.0, 2.0)], records=False)
    zone.tell_again(1)
    assert zone.lives[0][-1]["objects"] == "objects[0]@5"
    assert zone.changes(0) == [{"op": "leave", "id": "a", "from": 0, "why": "removed"}]
    zone.check()
    zone.check_records(merged=True)


def test_a_list_computed_ahead_of_what_was_applied_waits_for_later_messages():
    """The first list came before the messages that are in it."""
    zone = zone_of(1, [("a", 1.0, 1.0)], [(0.0, 5.0)])
    painted = zone.server.put_many(*columns([("b", 1.0, 0.5), ("b", 1.0, None)]))
    zone.log([("b", 1.0, 0.5), ("b", 1.0, None)])
    zone.ends += [1, 2]
    zone.subscribe({1: (0.0, 5.0)})
    zone.tell(painted, [1, 2])
    assert len(zone.lives[1]) == 1
    assert len(zone.lives[0]) == 3
    zone.put_many([("b", 1.0, 0.2)])
    zone.check()
    zone.check_records()


def test_lists_that_are_computed_anew_go_on_with_their_numbers():
    """Messages got lost; only the lists that differ have a record, and late messages do nothing."""
    ranges = [(0.0, 5.0), (3.0, 5.0), (0.0, 1.5)]
    zone = zone_of(2, [("a", 1.0, 1.0), ("b", 2.0, 2.0), ("c", 3.0, 3.0)], ranges)
    zone.put_many([("c", 4.0, 3.0)])
    lost = [("d", 2.0, 1.5), ("a", 1.0, 0.5), ("b", 2.0, 2.5)]
    painted = zone.server.put_many(*columns(lost))
    zone.log(lost)
    numbers = [zone.offset - 2, zone.offset - 1, zone.offset]
    found = zone.server.first_lists(*zip(*ranges, strict=True))
    changed = zone.lists.replace_many([0, 1, 2], *found, zone.offset)
    assert changed.ids.tolist() == [0, 2]
    assert zone.note(changed) == 2
    assert zone.lists.applied == zone.offset
    assert zone.tell(painted, numbers) == 0
    zone.check()
    zone.put_many([("d", 2.0, None)])
    zone.check()
    zone.check_records(merged=True)


def test_applied_is_the_last_group_with_or_without_messages():
    zone = zone_of(1, [("a", 1.0, 1.0)], [(0.0, 5.0)], first_offset=40)
    assert zone.lists.applied == 40
    zone.put_many([("a", 1.0, 1.0), ("x", 1.0, None)])
    assert zone.lists.applied == 42
    assert SubscriberLists(1).applied == -1


def test_objects_of_one_place_that_get_others_inside_are_no_change():
    """Room between them halves each time; no record says that."""
    zone = zone_of(3, [("a", 1.0, 5.0), ("b", 1.0, 5.0), ("c", 1.0, 5.0)], [(1.0, 1.0)])
    for step in range(12):
        name = "a" + "a" * step + "b"
        zone.put_many([(name, 1.0, 5.0), (name, 1.0, 6.0), (name, 1.0, None)])
        zone.check()
    zone.check_records()


def test_many_objects_at_one_place_in_every_order():
    zone = zone_of(2, [(f"o-{i:02}", 1.0, 3.0) for i in range(30)], [(1.0, 1.0), (-INF, INF)])
    zone.put_many([(f"o-{i * 7 % 30:02}", 1.0, float(i % 2)) for i in range(60)])
    zone.put_batch([(f"o-{i:02}", 1.0, 1.0) for i in range(30)])
    zone.put_many([(f"o-{i * 11 % 30:02}", 1.0, None) for i in range(30)])
    assert zone.shown(0) == []
    zone.check()
    zone.check_records()


def test_states_that_nobody_has_any_more_are_forgotten():
    zone = zone_of(2, [("a", 1.0, 1.0), ("b", 2.0, 2.0)], [(0.0, 5.0), (1.0, 1.0)])
    sizes = []
    for step in range(120):
        zone.put_many([(f"o-{step}", 1.0, 1.0 / (step + 2)), (f"o-{step - 1}", 1.0, None)])
        sizes.append(zone.lists.nbytes)
        zone.check()
    assert zone.lists.rewritten > 2
    assert max(sizes[60:]) < 1.2 * max(sizes[:60])
    assert len(zone.lists.object_ids) < 60
    zone.check_records()


def test_unknown_ids_are_refused():
    zone = zone_of(1, [("a", 1.0, 1.0)], [(0.0, 5.0)])
    with pytest.raises(KeyError, match="id 7"):
        zone.lists.unsubscribe_many([0, 7])
    with pytest.raises(KeyError, match="id 7"):
        zone.lists.list_of(7)
    assert 0 in zone.lists
    assert 7 not in zone.lists
    zone.check()


def test_lists_without_subscribers_take_messages():
    zone = Zone(2)
    assert zone.put_many([("a", 1.0, 1.0), ("a", 1.0, None)]) == 0
    zone.save_and_restore()
    zone.subscribe({1: (0.0, 1.0)})
    assert zone.put_many([("a", 1.0, 1.0)]) == 1
    zone.check_records()


@pytest.mark.large
def test_hundreds_of_lists_over_thousands_of_changes():
    rng = np.random.default_rng(8)
    names = [f"o-{i}" for i in range(300)]

    def drawn(count):
        return [
            (
                names[rng.integers(300)],
                float(rng.integers(40)),
                None if rng.random() < 0.2 else float(rng.integers(30)),
            )
            for _ in range(count)
        ]

    ends = np.sort(rng.integers(0, 40, (200, 2)).astype(float), axis=1).tolist()
    zone = zone_of(5, drawn(600), [tuple(pair) for pair in ends], form="sparse")
    for round in range(6):
        zone.put_many(drawn(100))
        zone.put_batch(drawn(100))
        zone.unsubscribe([round])
        zone.subscribe({300 + round: (5.0, 20.0)}, own_k=round % 5 + 1)
        zone.save_and_restore(64)
    zone.check()
    zone.check_records()


def test_messages_and_the_lists_that_they_change_are_counted():
    zone = Zone(2)
    zone.subscribe({1: (0, 4), 2: (0, 9), 3: (8, 9)})
    zone.put_many([("A", 1, 1.0), ("B", 2, 2.0)])
    assert zone.lists.take_counts() == (4, 4)
    zone.put_many([("C", 3, 3.0)])  # good enough for nobody
    assert zone.lists.take_counts() == (0, 0)
    zone.put_batch([("A", 1, 5.0), ("C", 3, 1.5)])
    counts = zone.lists.take_counts()
    assert counts.changed == 2
    assert counts.received > counts.changed, "both lists lose A or move it, and get C"
    zone.tell_again(0)
    assert zone.lists.take_counts() == (0, 0), "what comes again is not taken in"


def test_net_effects_are_counted_when_they_are_told():
    zone = Zone(2)
    zone.subscribe({1: (0, 4)})
    zone.put_many([("A", 1, 1.0), ("A", 1, 2.0)], records=False)
    assert zone.lists.take_counts() == (2, 0)
    zone.flush()
    assert zone.lists.take_counts() == (0, 1)
