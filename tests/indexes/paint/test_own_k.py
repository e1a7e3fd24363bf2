"""A k of its own for each subscriber: it keeps the server's k and shows its own."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.paint import PaintDense, PaintSparse, Unicast
from tests.indexes.intervals.columns import SHRINKING
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import Race, change_of, exact

CLASSES = [PaintDense, PaintSparse, Unicast]


class SmallerLists(RuleBasedStateMachine):
    @initialize(
        k=some.ks,
        objects=some.objects,
        ranges=st.lists(st.tuples(some.ranges, some.ks), min_size=1, max_size=12),
    )
    def start(self, k, objects, ranges):
        self.race = Race(k, objects, exact(k, **{cls.__name__: cls(k) for cls in CLASSES}))
        for id, (ends, own_k) in enumerate(ranges):
            self.race.subscribe(id, *ends, k=min(k, own_k))

    @rule(x=some.xs, y=st.one_of(st.none(), some.ys, some.ys))
    def change(self, x, y):
        expected = self.race.expected
        if not (events := change_of(expected.objects, x, y)):
            return
        needs = expected.apply(events)  # by the server's k
        for audience in self.race.audiences:
            received = audience.deliver(audience.server.update(*events[0]), expected)
            audience.assert_lists(expected)
            for id, got in received.items():
                assert len(dict(got)) == len(got)
                assert dict(got).items() <= needs[id].must.items()

    @rule(id=some.ids, ends=some.ranges, own_k=some.ks)
    def subscribe(self, id, ends, own_k):
        if id in self.race.expected.subscriptions:
            self.race.unsubscribe(id)
        self.race.subscribe(id, *ends, k=min(self.race.expected.k, own_k))

    @invariant()
    def structures_hold(self):
        if hasattr(self, "race"):
            self.race.check()


TestSmallerLists = SHRINKING(SmallerLists.TestCase)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("own_k", [0, -1, 3, 4])
def test_a_k_below_one_or_above_the_servers_is_refused(cls, own_k):
    server = cls(2)
    server.load([(1.0, 1.0)])
    with pytest.raises(ValueError, match=str(own_k)):
        server.subscribe(5, 0.0, 2.0, k=own_k)
    server.check()
    server.subscribe(5, 0.0, 2.0, k=2)  # the id is still free
