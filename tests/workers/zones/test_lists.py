"""What zones write, against brute force, record by record; no Kafka."""

from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.effort import effort
from tests.oracles.range_topk import begun_by, check_matches
from tests.workers.zones.lab import SHARDS, UNREADABLE, K, Lab, cut_after
from topics import messages

objects = st.sampled_from("abcdef")
xs = st.integers(0, 7).map(float)
ys = st.one_of(st.none(), st.integers(0, 4).map(float))
keys = st.sampled_from(["u", "v", "w", "z"])
ends = st.one_of(st.none(), st.integers(0, 7).map(float))


def range_of(low, high, k):
    if low is not None and high is not None and low > high:
        low, high = high, low
    return {"range": [low, high]} | ({} if k is None else {"k": k})


values = st.one_of(
    st.none(),
    st.builds(range_of, ends, ends, st.one_of(st.none(), st.integers(1, K))),
)
several = st.lists(st.tuples(objects, xs, ys), min_size=1, max_size=5)


class Zones(RuleBasedStateMachine):
    min_interval_ms = 0.0

    def __init__(self):
        super().__init__()
        self.within = ExitStack()

    @initialize(bounds=st.sampled_from([(), (3.0,)]), most=st.integers(1, 4))
    def begin(self, bounds, most):
        self.within.enter_context(cut_after(most))
        self.lab = Lab(bounds, self.min_interval_ms)

    @rule(changes=several)
    def objects_change(self, changes):
        for change in changes:
            self.lab.put(*change)

    @rule(key=keys, value=values)
    def somebody_subscribes_or_leaves(self, key, value):
        self.lab.subscribe(key, value)

    @rule(most=st.integers(1, 5))
    def the_painter_takes_objects(self, most):
        self.lab.painter.take_objects(most)

    @rule(shard=st.integers(0, SHARDS - 1), most=st.integers(1, 3))
    def the_painter_takes_subscriptions(self, shard, most):
        self.lab.painter.take_subscriptions(shard, most)

    @rule(most=st.integers(1, 5), due=st.booleans(), data=st.data())
    def a_zone_takes_messages(self, most, due, data):
        self.a_zone(data).take(most, due or not self.min_interval_ms)

    @rule(data=st.data())
    def a_zone_is_saved(self, data):
        self.a_zone(data).save()

    @rule(data=st.data())
    def a_zone_is_killed(self, data):
        zone = self.a_zone(data)
        first = zone.acknowledged if self.min_interval_ms else 0
        zone.restart(data.draw(st.integers(first, zone.acknowledged), "acknowledged"))

    @rule(data=st.data())
    def a_record_cannot_be_read(self, data):
        self.a_zone(data).log.append(UNREADABLE)

    @rule(most=st.integers(1, 5))
    def a_painter_is_killed_and_still_heard(self, most):
        before = self.lab.restart_painter()
        before.is_stale = True
        before.take_objects(most)
        for shard in range(SHARDS):
            before.take_subscriptions(shard, most)

    @rule(data=st.data())
    def a_painter_dies_with_records_on_their_way(self, data):
        draw = lambda zone, least, most: data.draw(st.integers(least, most), f"left of {zone}")  # noqa: E731
        self.lab.lose_messages(draw)
        self.lab.restart_painter()

    @precondition(lambda self: self.lab.bounds)
    @rule(bound=st.integers(1, 6).map(float))
    def zones_are_cut_anew(self, bound):
        self.lab.restart_painter([bound])

    @rule()
    def all_is_done(self):
        self.lab.settle()
        last = len(self.lab.objects) - 1
        check_matches(
            self.lab.records(),
            self.lab.history,
            until=last if last >= 0 else None,
            merged=bool(self.min_interval_ms),
        )
        for zone in self.lab.zones:
            zone.lists.lists.check()

    def a_zone(self, data):
        return data.draw(st.sampled_from(self.lab.zones), "zone")

    def teardown(self):
        with self.within:
            if hasattr(self, "lab"):
                self.all_is_done()


class PuttingOff(Zones):
    min_interval_ms = 1000.0


how_long = settings(
    max_examples=effort(60, 600), stateful_step_count=30, deadline=None, report_multiple_bugs=False
)
TestZones = Zones.TestCase
TestZones.settings = how_long
TestPuttingOff = PuttingOff.TestCase
TestPuttingOff.settings = how_long


def test_a_batch_of_which_a_zone_has_heard_a_part_is_told_again_as_it_was():
    """Else the zone takes in a life whose end it thinks to have heard of."""
    lab = Lab()
    lab.subscribe("u", {"range": [0, 5]})
    lab.settle()
    lab.subscribe("u", {"range": [1, 5]})
    lab.subscribe("u", {"range": [2, 5]})
    (zone,) = lab.zones
    lab.painter.take_subscriptions(1, 2)
    where, leaving, coming = map(messages.decode, zone.log[-3:])
    assert [len(where.leaving.lives), len(leaving.leaving.lives), len(coming.coming.lives)] == [
        0, 1, 1,
    ]  # fmt: skip
    zone.take(len(zone.log) - zone.lists.next_offset - 1)
    lab.lose_messages(lambda zone, least, most: least)
    lab.restart_painter()
    lab.painter.take_subscriptions(1, 1)
    lab.put("a", 3, 1)
    lab.settle()
    assert [begun_by(record)[1] for record in lab.records()["u"]] == [0, 2, 2]
    check_matches(lab.records(), lab.history, until=0)


def test_a_life_of_which_no_zone_has_heard_holds_up_nobody():
    lab = Lab((3.0,))
    lab.settle()
    lab.subscribe("u", {"range": [5, 6]})
    lab.subscribe("u", None)
    lab.painter.take_subscriptions(1, 2)
    lab.painter.say_where()
    lab.restart_painter()
    lab.subscribe("u", {"range": [0, 1]})
    lab.settle()
    assert [begun_by(record)[1] for record in lab.records()["u"]] == [2]


def names_of(lab, key):
    return [item["id"] for item in lab.records()[key][-1]["list"]]


def test_what_was_written_before_a_reset_is_not_in_lists_after_it():
    lab = Lab()
    lab.put("a", 1, 1)
    lab.subscribe("u", {"range": [0, 5]})
    lab.settle()
    assert names_of(lab, "u") == ["a"]
    lab.messages[0].append(UNREADABLE)
    lab.put("a", 1, None)
    lab.put("b", 2, 2)
    lab.settle()
    assert names_of(lab, "u") == ["b"]


def test_a_zone_that_reads_the_end_of_a_reset_alone_has_no_lists():
    lab = Lab()
    for key in "uv":
        lab.subscribe(key, {"range": [0, 5]})
    lab.settle()
    lab.painter.reset_zone(0, 2000)
    (zone,) = lab.zones
    zone.lists.lose()  # what comes before the last of them is gone
    zone.lists.next_offset = len(zone.log) - 1
    zone.take_all()
    assert zone.lists.is_lost
    assert not zone.lists.is_live
    assert not len(zone.lists)
    lab.settle()
    assert len(zone.lists) == 2


def test_lists_of_a_painter_with_a_larger_k_are_not_taken():
    lab = Lab()
    lab.subscribe("u", {"range": [0, 5]})
    lab.settle()
    (zone,) = lab.zones
    record = next(one for one in map(messages.decode, zone.log) if len(one.coming.lives))
    larger = record.coming._replace(
        counts=np.array([K + 1], np.int32), entries=np.zeros(K + 1, np.int32)
    )
    assert zone.lists.take(record._replace(coming=larger)) == []
    assert zone.lists.is_lost


def test_lists_of_a_reset_are_written_again_as_they_were_after_a_crash_behind_it():
    lab = Lab()
    lab.put("a", 1, 3)
    lab.subscribe("u", {"range": [0, 5]})
    lab.settle()
    lab.messages[0].append(UNREADABLE)
    lab.put("b", 1, 2)
    lab.settle()
    (zone,) = lab.zones
    behind = zone.acknowledged
    lab.put("c", 1, 1)
    lab.settle()
    written = list(lab.matches[b"u"])
    zone.restart(behind - 1)  # the last record of the reset comes again
    lab.settle()
    assert {one.value for one in lab.matches[b"u"][len(written) :]} <= {
        one.value for one in written
    }
    check_matches(lab.records(), lab.history, until=2)


def test_objects_wait_for_the_subscriptions_that_a_zone_knows_of():
    lab = Lab((3.0,))
    lab.subscribe("u", {"range": [0, 5]})
    lab.settle()
    lab.restart_painter()  # the other zone has heard of no subscription, so it begins before
    lab.put("a", 1, 1)
    lab.painter.take_objects(1)
    lab.settle()
    assert names_of(lab, "u") == ["a"]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_null_comes_before_the_list_that_another_zone_begins(restarted):
    lab = Lab((3.0,))
    lab.subscribe("u", {"range": [5, 6]})
    lab.settle()
    lab.subscribe("u", None)
    lab.painter.take_subscriptions(1, 1)
    lab.painter.say_where()
    if restarted:
        lab.restart_painter()
        assert lab.painter.positions == lab.painter.to_repeat, "the null is not told again"
    lab.subscribe("u", {"range": [0, 1]})
    lab.painter.take_subscriptions(1, 1)
    first, second = lab.zones
    first.take_all()
    second.take_all()
    assert [one is None for one in lab.records()["u"]] == [False, True, False]


def test_the_painter_after_the_next_still_knows_what_a_zone_was_told():
    lab = Lab((3.0,))
    lab.subscribe("u", {"range": [0, 5]})
    lab.settle()  # the other zone has not heard how far subscriptions are
    lab.restart_painter()
    lab.subscribe("u", {"range": [0, 6]})
    lab.restart_painter()
    lab.put("a", 1, 1)
    lab.settle()
    check_matches(lab.records(), lab.history, until=0)
    assert len(lab.zones[0].lists) == 1
