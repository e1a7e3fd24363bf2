"""The part of a matcher's state machine that is about bases and copies."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.indexes.intervals import strategies as some


class Renewing(RuleBasedStateMachine):
    """New bases, from here and from elsewhere, and forks; none of them changes an answer."""

    matcher: Any
    expected: Any

    def __init__(self):
        super().__init__()
        self.elsewhere = []  # trees of what was live at some time

    def trees(self, live):
        """What a job elsewhere builds of this: a tree an attribute."""
        raise NotImplementedError

    @rule()
    def rebase(self):
        self.matcher.rebase()
        assert self.matcher.delta_share == 0.0
        assert not self.matcher.is_worn

    @rule()
    def refresh(self):
        self.matcher.refresh()
        assert not self.matcher.is_stale

    @rule(late=st.booleans())
    def fork(self, late):
        other = self.matcher.fork()
        if late:
            self.matcher, other = other, self.matcher
        other.delete_many(list(self.expected.live))
        other.rebase()
        other.check()
        assert len(other) == 0

    @rule(since=some.ids)
    def replace_base(self, since):
        live = self.expected.live
        old = {id: row for id, row in live.items() if id < since}
        self.matcher.replace_base(self.trees(old), since)
        late = self.matcher.delta_share * len(live)
        assert late == pytest.approx(len(live) - len(old))

    @rule()
    def build_trees_elsewhere(self):
        self.elsewhere = [*self.elsewhere[-2:], self.trees(self.expected.live)]

    @rule(drawn=st.lists(st.integers(0, 2), min_size=3, max_size=3), since=some.ids)
    def replace_base_with_trees_of_several_ages(self, drawn, since):
        if self.elsewhere:
            ages = [self.elsewhere[age % len(self.elsewhere)] for age in drawn]
            trees = [age[j] for j, age in enumerate(ages[: len(self.matcher.attributes)])]
            self.matcher.replace_base(trees, since)
