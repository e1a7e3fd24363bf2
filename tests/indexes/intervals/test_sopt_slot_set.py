"""Sets of slots with one to four levels, against a set."""

import bisect

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.intervals.sopt_slot_set import (
    add_slot,
    drop_slot,
    first_slot,
    last_slot_to,
    new_slots,
    slot_from,
)

# Either side of where a word, and a word of words, ends.
edges = [1, 31, 32, 33, 1023, 1024, 1025, 32768, 33000]


class SlotSetAgainstSet(RuleBasedStateMachine):
    @initialize(bound=st.sampled_from(edges))
    def start(self, bound):
        self.bound = bound
        self.slots, self.set = new_slots(bound), set()
        self.probes = sorted({p for e in (0, *edges) for p in (e - 1, e, e + 1) if 0 <= p < bound})

    def some(self, drawn):
        """Slots below the bound, many of them next to an edge."""
        return [self.probes[n % len(self.probes)] if near else n % self.bound for near, n in drawn]

    numbers = st.lists(st.tuples(st.booleans(), st.integers(0, 33000)), min_size=1, max_size=6)

    @rule(drawn=numbers)
    def add(self, drawn):
        for slot in self.some(drawn):
            add_slot(self.slots, slot)
            self.set.add(slot)

    @rule(drawn=numbers)
    def drop(self, drawn):
        for slot in self.some(drawn):
            drop_slot(self.slots, slot)
            self.set.discard(slot)

    @rule(left=st.integers(0, 2))
    def drop_most(self, left):
        for slot in sorted(self.set)[left:]:
            drop_slot(self.slots, slot)
            self.set.discard(slot)

    @rule(drawn=numbers)
    def look_from(self, drawn):
        members = sorted(self.set)
        for slot in self.some(drawn):
            at, behind = bisect.bisect_left(members, slot), bisect.bisect_right(members, slot)
            if at < len(members):
                assert slot_from(self.slots, slot) == members[at]
            if behind:
                assert last_slot_to(self.slots, slot) == members[behind - 1]

    @invariant()
    def members_are_those_of_the_set(self):
        members, slot = [], 0
        if self.set:
            assert first_slot(self.slots) == min(self.set)
            while slot <= max(self.set):
                members.append(int(slot_from(self.slots, slot)))
                slot = members[-1] + 1
        assert members == sorted(self.set)
        assert (self.slots.words.any()) == bool(self.set)


TestSlotSetAgainstSet = SlotSetAgainstSet.TestCase
